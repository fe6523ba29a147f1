//! The binary under test, as a server or run to its end, with a minimal environment.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::{Call, Client, Response};
use super::gate::PATIENCE;

const LISTENING: &str = "loomrec listening on http";

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code, or the negative number of the signal.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Fails with all output unless the process exited with `code`.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} not in stderr:\n{}", self.stderr);
        }
        self
    }
}

/// The binary, with only PATH from this machine's environment.
pub(crate) fn command<A: AsRef<OsStr>>(dir: &Path, args: &[A]) -> Command {
    prepared(Command::new(env!("CARGO_BIN_EXE_loomrec")), dir, args)
}

/// The binary, which may open at most this many files.
pub(crate) fn command_with_files<A: AsRef<OsStr>>(most: u32, dir: &Path, args: &[A]) -> Command {
    let mut shell = Command::new("sh");
    let script = "ulimit -n \"$0\" && exec \"$@\"";
    shell.args(["-c", script, &most.to_string(), env!("CARGO_BIN_EXE_loomrec")]);
    prepared(shell, dir, args)
}

fn prepared<A: AsRef<OsStr>>(mut command: Command, dir: &Path, args: &[A]) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(args).current_dir(dir).env_clear().env("PATH", path).env("HOME", dir);
    command.process_group(0);
    command
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Runs the binary to its end, with nothing on stdin.
#[track_caller]
pub(crate) fn run<A: AsRef<OsStr>>(dir: &Path, args: &[A]) -> Finished {
    finish(&mut command(dir, args), b"")
}

/// Runs a prepared command to its end, with `input` on stdin.
#[track_caller]
pub(crate) fn finish(command: &mut Command, input: &[u8]) -> Finished {
    let mut process = Process::spawn(command.stdin(Stdio::piped()));
    if let Some(mut stdin) = process.child.stdin.take() {
        // A process that does not read its input may have ended already.
        let _ = stdin.write_all(input);
    }
    process.wait()
}

/// The output of a pipe so far.
#[derive(Clone, Default)]
struct PipeOutput(Arc<(Mutex<Vec<u8>>, Condvar)>);

impl PipeOutput {
    fn listen(&self, pipe: impl Read + Send + 'static) -> JoinHandle<()> {
        let own = self.clone();
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                own.0.0.lock().unwrap().append(&mut line);
                own.0.1.notify_all();
            }
            own.0.1.notify_all();
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.0.lock().unwrap()).into_owned()
    }
}

/// A running process whose output is collected.
pub(crate) struct Process {
    child: Child,
    out: PipeOutput,
    err: PipeOutput,
    listeners: Vec<JoinHandle<()>>,
}

impl Process {
    #[track_caller]
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("spawning");
        let (out, err) = (PipeOutput::default(), PipeOutput::default());
        let stdout = child.stdout.take().map(|pipe| out.listen(pipe));
        let stderr = child.stderr.take().map(|pipe| err.listen(pipe));
        let listeners = stdout.into_iter().chain(stderr).collect();
        Self { child, out, err, listeners }
    }

    /// Starts it with a pipe as stdin.
    #[track_caller]
    pub(crate) fn with_stdin(command: &mut Command) -> (Self, ChildStdin) {
        let mut process = Self::spawn(command.stdin(Stdio::piped()));
        let stdin = process.child.stdin.take().unwrap();
        (process, stdin)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stdout(&self) -> String {
        self.out.text()
    }

    pub(crate) fn stderr(&self) -> String {
        self.err.text()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, &self.pid().to_string());
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until one of the pipes has output `text`; returns everything it has output.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            for said in [&self.err, &self.out] {
                let heard = said.0.0.lock().unwrap();
                let heard = said.0.1.wait_timeout(heard, Duration::from_millis(10)).unwrap().0;
                let heard = String::from_utf8_lossy(&heard).into_owned();
                if heard.contains(text) && heard.ends_with('\n') {
                    return heard;
                }
            }
            let gone = self.child.try_wait().unwrap();
            if gone.is_some() && self.listeners.iter().all(JoinHandle::is_finished) {
                let said = self.stderr() + &self.stdout();
                assert!(said.contains(text), "ended ({gone:?}) before saying {text:?}:\n{said}");
            }
            assert!(Instant::now() < until, "never said {text:?}:\n{}", self.stderr());
        }
    }

    /// Waits for the end; kills the process and fails if it does not come.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Finished {
        let until = Instant::now() + PATIENCE * 2;
        let status: ExitStatus = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => panic!("still running:\n{}", self.stderr()),
                None => std::thread::sleep(Duration::from_millis(3)),
            }
        };
        // A process that it started and left behind may hold the pipes open.
        while !self.listeners.iter().all(JoinHandle::is_finished) {
            assert!(Instant::now() < until, "its pipes stay open:\n{}", self.stderr());
            std::thread::sleep(Duration::from_millis(3));
        }
        self.listeners.drain(..).for_each(|listener| listener.join().unwrap());
        let code = status.code().or(status.signal().map(|n| -n)).unwrap_or_default();
        Finished { code, stdout: self.stdout(), stderr: self.stderr() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // The group too, for processes that a wrapped command left behind.
            signal("KILL", &format!("-{}", self.pid()));
            let _ = self.child.wait();
        }
    }
}

pub(crate) fn signal(name: &str, whom: &str) {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{name}"), "--", whom]).stderr(Stdio::null());
    let _ = kill.status();
}

/// The running server.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts it on a free port and waits until it listens.
    #[track_caller]
    pub(crate) fn start<A: AsRef<OsStr>>(dir: &Path, args: &[A]) -> Self {
        let mut command = command(dir, args);
        Self::spawn(command.args(["--listen", "127.0.0.1:0"]))
    }

    #[track_caller]
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self::listening(Process::spawn(command.stdin(Stdio::null())))
    }

    /// Starts it with a pipe as stdin.
    #[track_caller]
    pub(crate) fn with_stdin(command: &mut Command) -> (Self, ChildStdin) {
        let (process, stdin) = Process::with_stdin(command);
        (Self::listening(process), stdin)
    }

    #[track_caller]
    fn listening(mut process: Process) -> Self {
        let said = process.wait_for(LISTENING);
        let address = said.split(LISTENING).nth(1).unwrap().lines().next().unwrap();
        let address = address.trim_start_matches('s').trim_start_matches("://");
        let address = address.trim().trim_end_matches("\"}").parse().unwrap();
        Self { process, address }
    }

    /// The outcomes and the ends of the calls in its journal, once there are `count`.
    #[track_caller]
    pub(crate) fn call_outcomes(&self, count: usize) -> Vec<(String, String)> {
        let until = Instant::now() + PATIENCE;
        loop {
            let journal = self.call(&Call::get("/__loomrec/journal")).expect(200).json();
            let calls = journal["calls"].as_array().unwrap();
            if calls.len() >= count {
                let word = |call: &Value, name: &str| call[name].as_str().unwrap_or("").to_owned();
                return calls
                    .iter()
                    .map(|call| (word(call, "outcome"), word(call, "end")))
                    .collect();
            }
            assert!(Instant::now() < until, "{journal}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    pub(crate) fn call(&self, call: &Call) -> Response {
        Client::call(self.address, call)
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Ends it as Ctrl-C would.
    #[track_caller]
    pub(crate) fn stop(self) -> Finished {
        self.process.signal("INT");
        self.process.wait()
    }
}
