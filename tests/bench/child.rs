//! One system under load, as a process of its own.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::fault::Fault;
use crate::role::LISTENING;

/// How long a process may take until it accepts connections.
const START: Duration = Duration::from_secs(20);

/// A serving process. Dropping it kills it.
pub struct Server {
    name: &'static str,
    process: Child,
    address: String,
    /// Reads stderr to its end, so that the process never waits for a reader.
    stderr: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts one of the bare systems: this very program in another role.
    ///
    /// # Errors
    /// A process that does not come to serve.
    pub fn bare(name: &'static str, words: &[&str]) -> Result<Self, Fault> {
        let program = std::env::current_exe()
            .map_err(|source| Fault::Io { what: "find this program", source })?;
        Self::start(name, program.as_os_str(), words.iter().map(OsStr::new))
    }

    /// Starts loomrec.
    ///
    /// # Errors
    /// A process that does not come to serve.
    pub fn loomrec<'a>(
        name: &'static str,
        words: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<Self, Fault> {
        Self::start(name, OsStr::new(env!("CARGO_BIN_EXE_loomrec")), words)
    }

    fn start<'a>(
        name: &'static str,
        program: &OsStr,
        words: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<Self, Fault> {
        let failed = |detail: String| Fault::Child { name, detail };
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Settings of whoever runs this are no part of what is measured.
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy().to_ascii_lowercase();
            if text.starts_with("loomrec_") || text.ends_with("_proxy") {
                command.env_remove(variable);
            }
        }
        let mut process = command.spawn().map_err(|error| failed(error.to_string()))?;
        let stderr = process.stderr.take();
        let (sender, address) = channel();
        let reader = stderr.map(|stderr| std::thread::spawn(move || follow(stderr, &sender)));
        let mut server = Self { name, process, address: String::new(), stderr: reader };
        match address.recv_timeout(START) {
            Ok(address) => server.address = address,
            Err(_) => return Err(failed(format!("it did not start: {}", server.last_words()))),
        }
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks it to end and waits until it has.
    ///
    /// # Errors
    /// A process that does not end in success.
    pub fn stop(mut self) -> Result<(), Fault> {
        let failed = |source| Fault::Io { what: "stop a process", source };
        kill_process(Pid::from_child(&self.process), Signal::TERM)
            .map_err(|error| failed(error.into()))?;
        let status = self.process.wait().map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        let detail = format!("it ended with {status}: {}", self.last_words());
        Err(Fault::Child { name: self.name, detail })
    }

    /// What it wrote to stderr last.
    fn last_words(&mut self) -> String {
        drop(self.process.kill());
        self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Sends on the address a process announces; returns its last lines.
fn follow(stderr: ChildStderr, address: &Sender<String>) -> String {
    const KEPT: usize = 12;
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
    last.join("\n")
}
