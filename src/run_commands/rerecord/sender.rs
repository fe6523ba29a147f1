//! Sending the calls of one recording, and recording their answers as those of any live call.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::collect::{CallToSend, RequestSources};
use super::origin::OriginFiles;
use super::progress::RerecordProgress;
use super::request::RequestMaker;
use super::request_override::RequestOverride;
use super::route::RerecordUpstreams;
use crate::args::RerecordArgs;
use crate::stop_signals::StopSignals;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::Output;
use loomrec_cli::{prices, serve_setup};
use loomrec_engine::clock::{ArrivalClock, timestamp_of};
use loomrec_engine::record::rerecord::{RequestLane, RerecordLimits, RerecordSender};
use loomrec_engine::record::writer::{KeepPolicy, RecordWriter};
use loomrec_engine::record::{RecordConfig, RecordEngine, RecordOutcome};
use loomrec_engine::upstream::UpstreamClient;
use loomrec_proxy::server::{OnNotice, UserNotice, report_exchange};
use loomrec_store::RecordingLocation;
use loomrec_telemetry::metric::{Metrics, RunInfo};
use loomrec_telemetry::run_counters::RunCounters;

/// How long open answers are awaited once nothing more is sent.
const GRACE: Duration = Duration::from_secs(30);
/// How many requests are open at one upstream at most: few enough for the limits of a small account.
const MOST_AT_ONCE: usize = 4;
/// How often one request is sent at most, while its upstream is busy.
const MOST_TRIES: u32 = 6;
/// The longest wait before a request is sent again.
const LONGEST_RETRY_WAIT: Duration = Duration::from_secs(120);
/// How long nothing may arrive before an attempt fails. An answer that is not streamed arrives at
/// once, and the SDKs of OpenAI and Anthropic wait ten minutes for it.
const LONGEST_SILENCE: Duration = Duration::from_secs(600);

/// Sends until everything is sent. After the first signal nothing new is sent. The second signal
/// gives up the open calls.
async fn until_stopped(
    sending: impl Future<Output = ()>,
    signals: &mut StopSignals,
    stop: &watch::Sender<bool>,
    recorder: &RecordEngine,
    output: &Output,
) {
    let mut sending = std::pin::pin!(sending);
    tokio::select! {
        () = &mut sending => return,
        _ = signals.next_signal() => {}
    }
    stop.send_replace(true);
    output.info("stopping: the answers under way are waited for (Ctrl-C to give them up)");
    tokio::select! {
        () = &mut sending => return,
        _ = signals.next_signal() => {}
        () = tokio::time::sleep(GRACE) => {}
    }
    recorder.give_up();
    sending.await;
}

/// The requests to send, and the settings for them.
pub(super) struct RerecordWork {
    pub(super) sources: RequestSources,
    pub(super) maker: RequestMaker,
}

impl RerecordWork {
    pub(super) fn open(
        args: &RerecordArgs,
        origin: &OriginFiles,
        output: &Output,
    ) -> Result<Self, CommandFailure> {
        let sets =
            args.set.iter().map(|text| RequestOverride::parse(text)).collect::<Result<_, _>>()?;
        let gateways = RerecordUpstreams::from_args(args)?;
        let sources = origin.open(output)?;
        let recorded = sources.file.meta().rules().redactions();
        let redactor = serve_setup::create_redactor(&[&args.redact, recorded].concat())?;
        let maker = RequestMaker {
            rules: sources.file.meta().rules().clone(),
            redactor,
            sets,
            gateways,
            send_redacted: args.send_redacted,
            secrets: Default::default(),
        };
        Ok(Self { sources, maker })
    }

    /// Sends everything. Returns the number of upstream connections.
    pub(super) async fn send_all(
        self: &Arc<Self>,
        args: &RerecordArgs,
        path: &RecordingLocation,
        lanes: Vec<RequestLane<CallToSend>>,
        progress: &Arc<RerecordProgress>,
        counters: &Arc<RunCounters>,
    ) -> Result<u64, CommandFailure> {
        let output = progress.output_above_bar();
        let printer = output.clone();
        let notify: OnNotice =
            Arc::new(move |notice: UserNotice<'_>| printer.print_notice(&notice));
        // These metrics are never scraped.
        let metrics = Arc::new(Metrics::new(RunInfo::default()));
        let (recorder, place) = self.create_recorder(args, path, (counters, &metrics), &notify)?;
        let clock = ArrivalClock::default();
        let stamp = Arc::new(move || timestamp_of(clock.next_arrival_time(), place));
        let limits = RerecordLimits {
            at_once: MOST_AT_ONCE,
            tries: MOST_TRIES,
            patience: LONGEST_RETRY_WAIT,
            silence: LONGEST_SILENCE,
        };
        let unexpected = |error: io::Error| {
            CommandFailure::new(UNEXPECTED, format!("failed to watch signals: {error}"))
        };
        let mut signals = StopSignals::watch().map_err(unexpected)?;
        let (stop, stopped) = watch::channel(false);
        let (counted, on_notice) = (Arc::clone(counters), Arc::clone(&notify));
        let on_exchange = Arc::new(move |exchange: &RecordOutcome| {
            report_exchange(exchange, &counted, &metrics, &on_notice);
        });
        let sender = Arc::new(RerecordSender::new(
            Arc::clone(&recorder),
            limits,
            stamp,
            on_exchange,
            stopped,
        ));
        let (work, following) = (Arc::clone(self), Arc::clone(progress));
        let prepare =
            Arc::new(move |item: &CallToSend| work.sources.build_request(item, &work.maker));
        let done = Arc::new(move |item: &CallToSend, outcome| {
            following.note_outcome(&item.label, outcome)
        });
        let sending = sender.run(lanes, prepare, done);
        until_stopped(sending, &mut signals, &stop, &recorder, &output).await;
        if let Err(reason) = recorder.finish_exchanges(GRACE).await {
            counters.note_unfolded(&reason);
        }
        Ok(recorder.opened_connections())
    }

    /// Creates the engine that records the new answers, as it records any live call.
    fn create_recorder(
        &self,
        args: &RerecordArgs,
        path: &RecordingLocation,
        (counters, metrics): (&Arc<RunCounters>, &Arc<Metrics>),
        notify: &OnNotice,
    ) -> Result<(Arc<RecordEngine>, usize), CommandFailure> {
        let unexpected = |text: String| CommandFailure::new(UNEXPECTED, text);
        let rules = self.maker.rules.clone();
        let recording =
            loomrec_store::RecordingAppender::open(path, &loomrec_store::RunChoice::New, &rules)?;
        recording.watch_for(&self.maker.all_secrets());
        let place = recording.place_in_run();
        let counts = (Arc::clone(counters), Arc::clone(metrics));
        let on_event = crate::record::on_appender_event(counts, Arc::clone(notify));
        let writer = RecordWriter::start(recording, KeepPolicy::All, on_event)
            .map_err(|error| unexpected(format!("failed to start the writer: {error}")))?;
        let client =
            UpstreamClient::new().map_err(|error| unexpected(format!("failed to {error}")))?;
        let config = RecordConfig {
            max_copy: args.max_body,
            drain: Duration::ZERO,
            keep_audio: false,
            rules,
            prices: prices::load_table(args.prices.as_deref())?,
            cost_limit: None,
            run_values: Arc::default(),
            place,
        };
        let redactor = Arc::clone(&self.maker.redactor);
        Ok((Arc::new(RecordEngine::new(config, client, writer, redactor)), place))
    }
}
