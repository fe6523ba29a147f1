//! What a server reads again at SIGHUP: its certificate, and the recordings of a hub.

use std::io;
use std::sync::Arc;

use super::shared_run::ReadAgain;
use crate::args::{ServeArgs, TlsArgs};
use loomrec_cli::amount::format_count;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup;
use loomrec_os::{ProcessSignal, SignalStream};
use loomrec_proxy::server::ListenerTls;
use loomrec_telemetry::metric::Metrics;

/// What a hub reads again whose sessions have recordings of their own.
const NOTHING: &str = "nothing, since each session reads its recording";

/// What a server can read again while it serves.
pub(super) struct ServerReload {
    tls: Option<(ListenerTls, TlsArgs)>,
    read_again: Option<ReadAgain>,
    /// Whether it is a hub, which a signal to read again must not end.
    is_hub: bool,
    metrics: Arc<Metrics>,
    output: Output,
}

impl ServerReload {
    /// Creates what follows the signal for a server with these parts.
    pub(super) fn new(
        tls: Option<ListenerTls>,
        args: &ServeArgs,
        read_again: Option<ReadAgain>,
        metrics: Arc<Metrics>,
        output: &Output,
    ) -> Self {
        let tls = tls.map(|tls| (tls, args.tls.clone()));
        let is_hub = args.sessions.sessions_by_control;
        Self { tls, read_again, is_hub, metrics, output: output.clone() }
    }

    /// Watches the signal from now on. A server that is no hub and has no certificate leaves the
    /// signal its default action, which ends the process: for it, this returns `None`.
    ///
    /// # Errors
    /// The signal cannot be watched.
    pub(super) fn watch_hangup(&self) -> io::Result<Option<SignalStream>> {
        (self.tls.is_some() || self.is_hub).then(|| ProcessSignal::Hangup.watch()).transpose()
    }

    /// Reads again at each signal. Never returns.
    pub(super) async fn follow_signals(self, hangup: Option<SignalStream>) {
        let Some(mut hangup) = hangup else { return std::future::pending().await };
        loop {
            hangup.recv().await;
            let read = self.read().await;
            self.metrics.note_reload(read.is_ok());
            match read {
                Ok(text) => self.output.info(&format!("loomrec: read again: {text}")),
                Err(failure) => self.output.error(&format!(
                    "nothing was read again, and everything stays as it was: {}",
                    failure.message
                )),
            }
        }
    }

    /// Reads the certificate and the recordings. They change together, or not at all.
    async fn read(&self) -> Result<String, CommandFailure> {
        let certificate = match &self.tls {
            Some((tls, args)) => serve_setup::listener_tls(args)?.map(|new| (tls, new)),
            None => None,
        };
        let mut parts = Vec::new();
        match &self.read_again {
            Some(read_again) => parts.push(format_count(read_again().await?, "take")),
            None if certificate.is_none() => parts.push(NOTHING.to_owned()),
            None => {}
        }
        if let Some((tls, new)) = certificate {
            tls.replace_certificate(&new);
            parts.push("the certificate".to_owned());
        }
        Ok(parts.join(" and "))
    }
}
