//! The signals that end a command before it is done, and the exit codes that they give it.

use std::io;

use loomrec_os::{ProcessSignal, SignalStream};

/// The exit code of a command that Ctrl-C ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// The signals that end a command.
pub(crate) struct EndSignals {
    interrupt: SignalStream,
    terminate: SignalStream,
    hangup: SignalStream,
}

impl EndSignals {
    /// Watches for the signals from now on. None of them ends the process by itself then.
    ///
    /// # Errors
    /// The system does not allow watching for them.
    pub(crate) fn watch() -> io::Result<Self> {
        Ok(Self {
            interrupt: ProcessSignal::Interrupt.watch()?,
            terminate: ProcessSignal::Terminate.watch()?,
            hangup: ProcessSignal::Hangup.watch()?,
        })
    }

    /// Waits for the first of the signals, and returns its exit code.
    pub(crate) async fn wait_for_signal(&mut self) -> u8 {
        tokio::select! {
            () = self.interrupt.recv() => INTERRUPTED,
            () = self.terminate.recv() => 143,
            () = self.hangup.recv() => 129,
        }
    }
}
