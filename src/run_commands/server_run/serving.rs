//! The time in which a run serves: from the first connection to the last exchange on disk.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::reload::ServerReload;
use super::shared_run::SharedRun;
use crate::args::ServeArgs;
use crate::guard::RunGuard;
use crate::open_files;
use crate::stop_signals::StopSignals;
use loomrec_cli::amount::format_count;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::Output;
use loomrec_cli::wrapped_command::{CommandEnd, CommandEnvironment, WrappedCommand};
use loomrec_engine::blocking;
use loomrec_os::ProcessSignal;
use loomrec_proxy::server::session::SessionTable;
use loomrec_proxy::server::{
    self, ConnectionProxy, ListenerEntrance, OpenConnections, Proxy, RunningServer, ServerConfig,
    ServerThreads,
};
use loomrec_telemetry::run_counters::RunCounters;

/// How long open answers are awaited when a run ends.
const GRACE: Duration = Duration::from_secs(30);
/// After what time a run that ends says that it waits for answers.
const MOMENT: Duration = Duration::from_millis(200);

/// The parts of a server.
pub(super) struct ServerParts<'a> {
    pub(super) listener: TcpListener,
    /// How connections begin.
    pub(super) entrance: ListenerEntrance,
    pub(super) guard: &'a RunGuard,
    pub(super) proxy: &'a Arc<Proxy>,
    pub(super) threads: &'a Arc<ServerThreads>,
    /// The sessions, if each has a recording.
    pub(super) sessions: Option<&'a Arc<SessionTable>>,
    /// What is read again at a signal.
    pub(super) reload: ServerReload,
}

/// The messages that are printed when the server starts to listen.
pub(super) struct Opening<'a> {
    pub(super) origin: &'a str,
    pub(super) notices: Vec<String>,
}

/// Serves until CMD ends or a signal comes. Returns how CMD ended.
pub(super) async fn serve(
    ServerParts { listener, entrance, guard, proxy, threads, sessions, reload }: ServerParts<'_>,
    Opening { origin, notices }: Opening<'_>,
    args: &ServeArgs,
    environment: &CommandEnvironment,
    output: &Output,
) -> Result<Option<CommandEnd>, CommandFailure> {
    let unexpected = |error: std::io::Error| {
        CommandFailure::new(UNEXPECTED, format!("failed to watch signals or the command: {error}"))
    };
    let mut stop_signals = StopSignals::watch().map_err(unexpected)?;
    // Before the server says that it listens: a signal may follow at once.
    let hangup =
        if args.cmd.is_empty() { reload.watch_hangup().map_err(unexpected)? } else { None };
    let (stop, stopped) = oneshot::channel::<()>();
    let (proxy_of_server, sessions_of_server) = (Arc::clone(proxy), sessions.cloned());
    let answering =
        ConnectionProxy { proxy: proxy_of_server, sessions: sessions_of_server, entrance };
    let serving = server::start_server(listener, answering, Arc::clone(threads), stopped);
    guard.lead_to(&serving);
    output.info(&format!("loomrec listening on {origin}"));
    notices.iter().for_each(|text| output.disclose(text));
    if args.verbose {
        output.info(&format!("loomrec: look at the calls at {origin}/__loomrec/"));
    }
    let outcome = if args.cmd.is_empty() {
        open_files::raise_limit();
        let mut stdin_ends = pin!(end_of_stdin(args.stop_with_stdin));
        let mut reloads = pin!(reload.follow_signals(hangup));
        let stopped_by = tokio::select! {
            signal = stop_signals.next_signal() => Some(signal),
            () = &mut stdin_ends => None,
            () = &mut reloads => None,
        };
        if let (Some(ProcessSignal::Terminate), Some(sessions)) = (stopped_by, sessions) {
            let most = args.session_drain();
            tokio::select! {
                () = drain_sessions(sessions, most, output) => {}
                _ = stop_signals.next_signal() => {}
                () = &mut stdin_ends => {}
            }
        }
        Ok(None)
    } else {
        match WrappedCommand::start(&args.cmd, environment) {
            Ok(wrapped) => {
                open_files::raise_limit();
                tokio::select! {
                    ended = wrapped.wait() => ended.map(Some).map_err(unexpected),
                    never = output.release_held() => match never {},
                }
            }
            Err(failure) => Err(failure),
        }
    };
    output.end_holding();
    drop(stop);
    finish_serving(serving, (proxy, sessions), output, args.cmd.is_empty())
        .await
        .map_err(unexpected)?;
    outcome
}

/// Refuses further sessions, and waits until those that control calls have begun are over, for this
/// time at most.
async fn drain_sessions(sessions: &SessionTable, most: Duration, output: &Output) {
    let open = sessions.begin_drain().await;
    if open == 0 || most.is_zero() {
        return;
    }
    output.info(&format!(
        "loomrec: waiting up to {} s for {} to end; a further signal stops now",
        most.as_secs(),
        format_count(open, "session")
    ));
    // Sessions that are still open are ended with the run, which names them.
    drop(tokio::time::timeout(most, sessions.wait_until_drained()).await);
}

/// Returns when stdin ends, if that is to end the run.
async fn end_of_stdin(is_wanted: bool) {
    if !is_wanted {
        return std::future::pending().await;
    }
    // What is read means nothing, and an error is an end.
    blocking::run_blocking(|| drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink())))
        .await;
}

/// Waits for the answers that are on their way, and ends the recording. A signal ends the wait.
async fn finish_serving(
    serving: RunningServer,
    (proxy, sessions): (&Proxy, Option<&Arc<SessionTable>>),
    output: &Output,
    was_signalled: bool,
) -> std::io::Result<()> {
    // A signal that was meant for CMD must not shorten the wait.
    let mut hurry = StopSignals::watch()?;
    let connections = serving.open_connections();
    let rest = async {
        serving.wait_until_ended().await;
        close(proxy, sessions, GRACE).await;
    };
    tokio::select! {
        () = rest => {}
        _ = hurry.next_signal() => close(proxy, sessions, Duration::ZERO).await,
        never = announce_wait(&connections, proxy, output, was_signalled) => match never {},
    }
    // Calls that are still open were never answered, which the receipt and the journal say.
    connections.cut_all().await;
    let counters = &proxy.telemetry.counters;
    counters.leave_unanswered(RunCounters::counter_value(&counters.open));
    Ok(())
}

/// Says how many answers are awaited, if there are any after a moment. Never returns.
async fn announce_wait(
    connections: &OpenConnections,
    proxy: &Proxy,
    output: &Output,
    was_signalled: bool,
) -> Infallible {
    tokio::time::sleep(MOMENT).await;
    let record = proxy.engine.record_engine();
    // The exchange of a call may go on after its client has left.
    let answers = connections.open_count().max(record.map_or(0, |record| record.open_exchanges()));
    let noun = if answers == 1 { "answer" } else { "answers" };
    let again = if was_signalled { " again" } else { "" };
    let kept = if record.is_some() { ", and keeps what has come of them" } else { "" };
    if answers > 0 {
        output
            .info(&format!("loomrec: waiting for {answers} {noun}; Ctrl-C{again} stops now{kept}"));
    }
    std::future::pending().await
}

/// Ends the recording. Exchanges that could not be moved into its file are in the log beside it.
async fn close(proxy: &Proxy, sessions: Option<&Arc<SessionTable>>, grace: Duration) {
    if let Some(sessions) = sessions {
        sessions.end_all().await;
    }
    let Some(record) = proxy.engine.record_engine() else { return };
    if let Err(reason) = record.finish_exchanges(grace).await {
        proxy.telemetry.counters.note_unfolded(&reason);
    }
}

/// Closes the journal and the traces, and says if they are not whole.
pub(super) async fn close_telemetry(proxy: &Proxy, output: &Output) {
    proxy.telemetry.journal.end_followers().await;
    if let Err(error) = proxy.telemetry.journal.close() {
        output.error(&format!("the journal is not whole: {error}"));
    }
    if let Err(error) = proxy.telemetry.spans.close().await {
        output.warning(&format!("the traces are not whole: {error}"));
    }
}

/// Returns the configuration of a server.
pub(super) fn server_config(
    args: &ServeArgs,
    shared: &SharedRun,
    step_header: Option<HeaderName>,
) -> ServerConfig {
    ServerConfig {
        access: shared.access.clone(),
        url: shared.origin.clone(),
        client_timeout: Duration::from_secs(args.limits.client_timeout),
        max_body: args.max_body,
        // An empty token, as from an unset secret, would protect nothing.
        control_token: args.control_token.clone().filter(|token| !token.is_empty()),
        step_header,
    }
}
