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
    /// The terminal has been closed.
    Hangup,
    /// The size of the terminal changed.
    WindowChange,
    /// A request to stop, as Ctrl-Z sends it.
    Suspend,
    /// A stopped process continues.
    Continue,
    /// A stop that a process can neither refuse nor watch for.
    Stop,
    /// An end that a process can neither refuse nor watch for.
    Kill,
}

/// The signals of one kind that this process receives.
#[derive(Debug)]
pub struct SignalStream(unix::Signal);

impl ProcessSignal {
    /// Watches for this signal from now on. The system's default action for it no longer happens.
    /// Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// If the system does not allow watching for the signal.
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
            Self::Kill => Signal::KILL,
        }
    }
}

impl SignalStream {
    /// Waits for the next signal. Several that came in the meantime count as one.
    pub async fn recv(&mut self) {
        // The stream ends only with the process.
        let _always = self.0.recv().await;
    }
}

/// Makes writing to a file at its size limit (`ulimit -f`) fail, instead of ending the process. It
/// sets a handler and does not ignore the signal, so that processes started later have the system's
/// default action again. Must be called in a Tokio runtime.
pub fn survive_file_size_limit() {
    // If no handler can be set, the default action stays.
    drop(unix::signal(SignalKind::from_raw(Signal::XFSZ.as_raw())));
}
