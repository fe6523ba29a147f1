//! A run of loomrec as a process, whose output is kept.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::replay_line::ReplayLine;
use crate::stop_signals::StopSignals;

/// How many bytes of an output are compared.
const KEPT: usize = 64 << 20;

/// A run that has ended.
pub(super) struct ProofRun {
    /// Its exit code.
    pub(super) code: u8,
    pub(super) stdout: Vec<u8>,
    /// Empty if it went to the terminal.
    pub(super) stderr: Vec<u8>,
}

impl ProofRun {
    /// Runs `loomrec` with these words. What it prints is printed, and kept.
    pub(super) async fn run_recording(words: &[OsString]) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words).env_remove("LOOMREC_PROVE").stdout(Stdio::piped());
        Self::run(command, true).await
    }

    /// Runs a replay. What it prints is kept.
    pub(super) async fn run_replay(line: &ReplayLine) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        for name in &line.unset {
            command.env_remove(name);
        }
        command.args(&line.words).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::run(command.stdin(Stdio::null()), false).await
    }

    async fn run(
        mut command: impl std::borrow::BorrowMut<Command>,
        is_shown: bool,
    ) -> io::Result<Self> {
        let mut signals = StopSignals::watch()?;
        let mut child = command.borrow_mut().spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let reading =
            async { tokio::join!(read_output(stdout, is_shown), read_output(stderr, false)) };
        tokio::pin!(reading);
        let mut output = None;
        loop {
            tokio::select! {
                read = &mut reading, if output.is_none() => output = Some(read),
                status = child.wait(), if output.is_some() => {
                    let status = status?;
                    let code = status.code().or_else(|| Some(128 + loomrec_os::exit_signal(status)?));
                    let code = u8::try_from(code.unwrap_or(1)).unwrap_or(u8::MAX);
                    let (stdout, stderr) = output.unwrap_or_default();
                    return Ok(Self { code, stdout, stderr });
                }
                signal = signals.next_signal() => pass_signal(&child, signal),
            }
        }
    }
}

/// Passes a signal on. A process that has just ended does not need it, and one on a terminal has
/// got its Ctrl-C already, which does no harm twice.
fn pass_signal(child: &Child, signal: loomrec_os::ProcessSignal) {
    if let Some(id) = child.id() {
        drop(loomrec_os::signal_process(id, signal));
    }
}

/// Reads an output to its end, and keeps its beginning. `is_shown` also prints it.
async fn read_output(output: Option<impl tokio::io::AsyncRead + Unpin>, is_shown: bool) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let Some(mut output) = output else { return kept };
    let mut own = io::stdout();
    while let Ok(read @ 1..) = output.read(&mut buffer).await {
        let bytes = &buffer[..read];
        kept.extend_from_slice(&bytes[..read.min(KEPT.saturating_sub(kept.len()))]);
        if is_shown {
            // A reader that left is no failure of the run.
            let _left = own.write_all(bytes).and_then(|()| own.flush());
        }
    }
    kept
}
