//! A measured system in a process of its own.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::fault::Fault;
use crate::role::LISTENING;

/// How long a process may take until it accepts connections.
const START: Duration = Duration::from_secs(60);
/// How long a process may take to end once it is asked to.
const END: Duration = Duration::from_secs(60);

/// The environment variable that holds the path of the earlier loomrec.
const EARLIER: &str = "LOOMREC_BENCH_EARLIER";

/// The command that starts a process.
pub struct Launch {
    /// Its name in the table.
    pub name: &'static str,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub words: Vec<OsString>,
    /// Environment variables to set in addition.
    pub settings: Vec<(&'static str, String)>,
    /// The port that it was told to use. Without one, the process announces its address on stderr.
    pub port: Option<u16>,
}

impl Launch {
    /// This program itself, in another role.
    ///
    /// # Errors
    /// The path of this program cannot be determined.
    pub fn own<W: Into<OsString>>(
        name: &'static str,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Self, Fault> {
        let program = std::env::current_exe()
            .map_err(|source| Fault::Io { what: "find this program", source })?;
        let words = words.into_iter().map(Into::into).collect();
        Ok(Self { name, program: program.into(), words, settings: Vec::new(), port: None })
    }

    /// loomrec itself.
    pub fn loomrec<W: Into<OsString>>(
        name: &'static str,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        let words = words.into_iter().map(Into::into).collect();
        let program = env!("CARGO_BIN_EXE_loomrec").into();
        Self { name, program, words, settings: Vec::new(), port: None }
    }

    /// The loomrec that `scripts/bench --before COMMIT` built.
    ///
    /// # Errors
    /// No such loomrec was built.
    pub fn earlier(name: &'static str, words: Vec<OsString>) -> Result<Self, Fault> {
        let program = std::env::var_os(EARLIER).ok_or_else(|| Fault::Child {
            name,
            detail: "it was not built: give --before COMMIT".to_owned(),
        })?;
        Ok(Self { name, program, words, settings: Vec::new(), port: None })
    }

    /// Whether an earlier loomrec was built for comparison.
    pub fn has_earlier() -> bool {
        std::env::var_os(EARLIER).is_some()
    }
}

/// Returns a port that was free a moment ago.
///
/// # Errors
/// The system has no free port.
pub fn free_port() -> Result<u16, Fault> {
    let failed = |source| Fault::Io { what: "find a free port", source };
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    Ok(listener.local_addr().map_err(failed)?.port())
}

/// A serving process. Dropping it kills it.
pub struct Server {
    name: &'static str,
    process: Child,
    address: String,
    /// Reads stderr to its end, so that the process never blocks on writing.
    stderr: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts a process and waits until it accepts connections.
    ///
    /// # Errors
    /// A process that does not start to serve.
    pub fn start(launch: Launch) -> Result<Self, Fault> {
        let Launch { name, program, words, settings, port } = launch;
        let failed = |detail: String| Fault::Child { name, detail };
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Settings of the user's environment must not affect the measurement.
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy().to_ascii_lowercase();
            let ours = text.starts_with("loomrec_") || text.starts_with("otel_");
            if ours || text.ends_with("_proxy") {
                command.env_remove(variable);
            }
        }
        command.envs(settings);
        let mut process = command.spawn().map_err(|error| failed(error.to_string()))?;
        let stderr = process.stderr.take();
        let (sender, announced) = channel();
        let reader = stderr.map(|stderr| std::thread::spawn(move || follow(stderr, &sender)));
        let mut server = Self { name, process, address: String::new(), stderr: reader };
        match server.await_address(port, &announced) {
            Some(address) => server.address = address,
            None => return Err(failed(format!("it did not start: {}", server.last_words()))),
        }
        Ok(server)
    }

    /// Waits until the process listens, and returns its address.
    fn await_address(&mut self, port: Option<u16>, announced: &Receiver<String>) -> Option<String> {
        let end = Instant::now() + START;
        let step = Duration::from_millis(1);
        while Instant::now() < end {
            match (port, announced.recv_timeout(step)) {
                (None, Ok(address)) => return Some(address),
                (None, Err(RecvTimeoutError::Disconnected)) => return None,
                (None, Err(RecvTimeoutError::Timeout)) => {}
                (Some(port), gone) => {
                    let address = SocketAddr::from(([127, 0, 0, 1], port));
                    if TcpStream::connect(address).is_ok() {
                        return Some(address.to_string());
                    }
                    if gone == Err(RecvTimeoutError::Disconnected) {
                        if self.process.try_wait().ok().flatten().is_some() {
                            return None;
                        }
                        std::thread::sleep(step);
                    }
                }
            }
        }
        None
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the id of its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Asks it to end and waits until it has.
    ///
    /// # Errors
    /// A process that does not end, or, if `strict`, does not end with success.
    pub fn stop(mut self, strict: bool) -> Result<(), Fault> {
        let failed = |source| Fault::Io { what: "stop a process", source };
        kill_process(Pid::from_child(&self.process), Signal::TERM)
            .map_err(|error| failed(error.into()))?;
        let end = Instant::now() + END;
        let detail = loop {
            match self.process.try_wait().map_err(failed)? {
                Some(status) if status.success() || !strict => return Ok(()),
                Some(status) => break format!("it ended with {status}"),
                None if Instant::now() > end => break "it did not end".to_owned(),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let detail = format!("{detail}: {}", self.last_words());
        Err(Fault::Child { name: self.name, detail })
    }

    /// Kills the process and returns the last lines of its stderr.
    fn last_words(&mut self) -> String {
        drop(self.process.kill());
        self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Sends the address that a process announces to `address`. Returns the last lines.
fn follow(stderr: ChildStderr, address: &Sender<String>) -> String {
    const KEPT: usize = 6;
    let mut last: Vec<String> = Vec::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if let Some((_, origin)) = line.split_once(LISTENING) {
            drop(address.send(origin.trim().to_owned()));
        }
        if last.len() == KEPT {
            last.remove(0);
        }
        last.push(line);
    }
    last.join(" / ")
}
