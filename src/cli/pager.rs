//! The pager: long results for people go through it if stdout is a terminal, otherwise directly to
//! stdout.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

use anstream::AutoStream;

use loomrec_os::{ProcessSignal, SignalStream};

/// The output of a long result. Colours are removed if stdout is not a terminal.
pub struct Pager {
    out: AutoStream<Box<dyn Write>>,
    child: Option<Child>,
    /// Keeps Ctrl-C for the pager while one is running.
    _interrupts: Option<SignalStream>,
}

impl Pager {
    /// Opens the pager that `PAGER` names if stdout is a terminal and `wanted` is set, otherwise
    /// stdout itself. The default is `less`. An empty `PAGER` or `cat` means no pager. If the pager
    /// does not start, stdout is used.
    pub fn open(wanted: bool) -> Self {
        let choice = AutoStream::choice(&io::stdout());
        let wanted = wanted && io::stdout().is_terminal();
        let started = if wanted { command() } else { None };
        let started = started.and_then(|mut command| command.stdin(Stdio::piped()).spawn().ok());
        let (out, child): (Box<dyn Write>, _) =
            match started.map(|mut child| (child.stdin.take(), child)) {
                Some((Some(stdin), child)) => (Box::new(stdin), Some(child)),
                _ => (Box::new(io::stdout()), None),
            };
        let interrupts = child.as_ref().and_then(|_| ProcessSignal::Interrupt.watch().ok());
        Self { out: AutoStream::new(out, choice), child, _interrupts: interrupts }
    }

    /// Writes a part of the result. Returns `false` if the reader has gone.
    ///
    /// # Errors
    /// Any other failure to write.
    pub fn write(&mut self, text: &str) -> io::Result<bool> {
        match self.out.write_all(text.as_bytes()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Ends the result, and waits until the pager exits.
    ///
    /// # Errors
    /// A failure to write, except that the reader has gone.
    pub fn finish(mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        // The pager sees the end of its input.
        drop(self.out);
        if let Some(mut child) = self.child {
            let _status = child.wait();
        }
        match flushed {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Returns the pager's command, run in a shell as git does it. `None` for no pager.
fn command() -> Option<Command> {
    let pager = std::env::var_os("PAGER").or_else(less)?;
    if pager.is_empty() || pager == "cat" {
        return None;
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager);
    // `F` quits if all fits on one screen, `R` passes colours, `X` keeps the screen.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    if std::env::var_os("LV").is_none() {
        command.env("LV", "-c");
    }
    Some(command)
}

/// Returns `less` if it is installed.
fn less() -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let is_there = std::env::split_paths(&path).any(|folder| folder.join("less").is_file());
    is_there.then(|| OsString::from("less"))
}
