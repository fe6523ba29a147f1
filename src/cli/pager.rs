//! Long results for people: through the pager where stdout is a terminal, else to
//! stdout as they are.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

use anstream::AutoStream;

use crate::os::{ProcessSignal, SignalStream};

/// Where a long result goes. Colours are taken out where nobody sees them.
pub(super) struct Pager {
    out: AutoStream<Box<dyn Write>>,
    child: Option<Child>,
    /// Ctrl-C is for the pager, as long as there is one.
    _interrupts: Option<SignalStream>,
}

impl Pager {
    /// The pager that `PAGER` names (`less` where it is not set, none where it is empty
    /// or `cat`), if stdout is a terminal and `wanted`; else stdout itself. A pager that
    /// does not start is none.
    pub(super) fn open(wanted: bool) -> Self {
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

    /// Writes a part of the result; `false` where the reader has had enough.
    ///
    /// # Errors
    /// Any other failure to write.
    pub(super) fn write(&mut self, text: &str) -> io::Result<bool> {
        match self.out.write_all(text.as_bytes()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Ends the result, and waits until the pager is closed.
    ///
    /// # Errors
    /// A failure to write other than a reader that has had enough.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        // The pager sees the end.
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

/// The pager's command, in a shell as git has it; `None` for none.
fn command() -> Option<Command> {
    let pager = std::env::var_os("PAGER").or_else(less)?;
    if pager.is_empty() || pager == "cat" {
        return None;
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager);
    // One screen is shown and done with; colours pass; the screen stays.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    if std::env::var_os("LV").is_none() {
        command.env("LV", "-c");
    }
    Some(command)
}

/// `less`, where there is one.
fn less() -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let is_there = std::env::split_paths(&path).any(|folder| folder.join("less").is_file());
    is_there.then(|| OsString::from("less"))
}
