//! The signals that end a run: SIGINT and SIGTERM.

use loomrec_os::{ProcessSignal, SignalStream};

/// Both signals.
pub(super) struct StopSignals {
    interrupt: SignalStream,
    terminate: SignalStream,
}

impl StopSignals {
    /// Watches for the signals from now on.
    pub(super) fn watch() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: ProcessSignal::Interrupt.watch()?,
            terminate: ProcessSignal::Terminate.watch()?,
        })
    }

    /// Returns the next of them when it arrives.
    pub(super) async fn next_signal(&mut self) -> ProcessSignal {
        tokio::select! {
            () = self.interrupt.recv() => ProcessSignal::Interrupt,
            () = self.terminate.recv() => ProcessSignal::Terminate,
        }
    }
}
