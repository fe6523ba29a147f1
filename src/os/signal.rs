//! Signals to this process, as streams, and their names.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// The signals that loomrec sends or watches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Ctrl-C.
    Interrupt,
    /// A request to end.
    Terminate,
    /// The terminal is gone.
    Hangup,
    /// The size of the terminal changed.
    WindowChange,
    /// A request to stop, as Ctrl-Z makes it.
    Suspend,
    /// A process that was stopped goes on.
    Continue,
    /// A stop that no process can refuse, or watch for.
    Stop,
}

/// The signals of one kind that reach this process.
#[derive(Debug)]
pub struct SignalStream(unix::Signal);

impl ProcessSignal {
    /// Watches for this signal from now on: it no longer does to this process what the
    /// system has it do by default. To be called in a Tokio runtime.
    ///
    /// # Errors
    /// A signal that the system does not let be watched.
    pub fn watch(self) -> io::Result<SignalStream> {
        unix::signal(SignalKind::from_raw(self.to_system().as_raw())).map(SignalStream)
    }

    pub(crate) fn to_system(self) -> Signal {
        match self {
            Self::Interrupt => Signal::INT,
            Self::Terminate => Signal::TERM,
            Self::Hangup => Signal::HUP,
            Self::WindowChange => Signal::WINCH,
            Self::Suspend => Signal::TSTP,
            Self::Continue => Signal::CONT,
            Self::Stop => Signal::STOP,
        }
    }
}

impl SignalStream {
    /// Waits for the next signal. Several that came meanwhile count as one.
    pub async fn recv(&mut self) {
        // The stream does not end before the process does.
        let _always = self.0.recv().await;
    }
}

/// Makes a file that has reached its limit (`ulimit -f`) an error of the write, and not the
/// end of the process. A handler serves, unlike ignoring the signal: a process that is
/// started later has the system's own behaviour again. To be called in a Tokio runtime.
pub fn survive_file_size_limit() {
    // Where there can be no handler, the process ends as it did before.
    drop(unix::signal(SignalKind::from_raw(Signal::XFSZ.as_raw())));
}
