//! The `loomrec rerecord` command: sends recorded requests again, or those that a replay missed,
//! and keeps the new answers apart until they are reviewed.
//!
//! Requests are read once before anything is sent, to see what there is to do and what prevents it.
//! Each is read again when its turn comes.

mod collect;
mod confirmation;
mod destination;
mod filter;
mod new_answers;
mod origin;
mod plan;
mod progress;
mod report;
mod request;
mod request_override;
mod route;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::args::RerecordArgs;
use super::stop_signals::StopSignals;
use collect::{CallToSend, CollectedCalls, RequestSources};
use confirmation::confirm;
use filter::RerecordFilter;
use loomrec_cli::exit::{CommandFailure, NO, NOT_KEPT, UNEXPECTED};
use loomrec_cli::output::{Output, print};
use loomrec_cli::settings::trusted_text;
use loomrec_cli::{prices, serve_setup, terminal};
use loomrec_engine::clock::{ArrivalClock, timestamp_of};
use loomrec_engine::record::rerecord::{RerecordLimits, RerecordSender};
use loomrec_engine::record::writer::{KeepPolicy, RecordWriter};
use loomrec_engine::record::{RecordConfig, RecordEngine, RecordOutcome};
use loomrec_engine::upstream::UpstreamClient;
use loomrec_proxy::server::{OnNotice, UserNotice, report_exchange};
use loomrec_store::RecordingLocation;
use loomrec_telemetry::metric::{Metrics, RunInfo};
use loomrec_telemetry::run_counters::RunCounters;
use new_answers::NewAnswersFile;
use origin::OriginFiles;
use plan::RerecordPlan;
use progress::{RerecordCounts, RerecordProgress};
use report::RerecordReport;
use request::RequestMaker;
use request_override::RequestOverride;
use route::RerecordUpstreams;

/// How long open answers are awaited once nothing more is sent.
const GRACE: Duration = Duration::from_secs(30);
/// The longest wait before a request is sent again.
const LONGEST_RETRY_WAIT: Duration = Duration::from_secs(120);
/// How many calls a message names.
const NAMED: usize = 5;

/// Runs the command.
///
/// # Errors
/// A call that cannot be sent. This is found before any call is sent.
pub async fn run(args: &RerecordArgs) -> Result<u8, CommandFailure> {
    check(args)?;
    let output = Output::new(args.log_format, args.quiet || args.json, false)
        .disclosing(args.from_settings.is_quiet && !args.json);
    if let Some(text) = trusted_text(&args.from_settings.trusted) {
        output.disclose(&format!("loomrec: in force: {text}"));
    }
    let Some(origin) = OriginFiles::of(args)? else {
        output.info("nothing drifted in that replay: there is nothing to send");
        return Ok(0);
    };
    let work = Arc::new(RerecordWork::open(args, &origin, &output)?);
    let new = NewAnswersFile::open(&origin.new, &output)?;
    let mut choice = RerecordFilter::of(args);
    let plan = RerecordPlan::at(Arc::new(prices::load(args.prices.as_deref())?));
    let mut collected = work.sources.collect(&work.maker, &mut choice, &new, plan)?;
    refuse(&collected, &origin)?;
    report_left_out(&collected, &output);
    let lanes = std::mem::take(&mut collected.lanes);
    let total: usize = lanes.iter().map(|lane| lane.items.len()).sum();
    let mut report = |counts: &RerecordCounts, counters: &RunCounters, connections: u64| {
        let over = counts.kept() + counts.unkept + counts.failed.len() as u64;
        let left = total.saturating_sub(usize::try_from(over).unwrap_or(usize::MAX));
        let left = if args.dry_run { 0 } else { left };
        let (file, more) = (&origin.file, counters.more());
        let report = RerecordReport {
            file,
            new: &origin.new,
            is_elsewhere: args.output.is_some(),
            collected: &collected,
            counts,
            more: &more,
            connections,
            left,
        };
        finish(args, &report, &output)
    };
    if args.dry_run || total == 0 {
        return shown(args, &collected, total, &output, &mut report);
    }
    confirm(args, &collected, total, &output)?;
    let fresh = new.prepare(&work.maker.rules)?;
    let counters = Arc::<RunCounters>::default();
    let progress = Arc::new(RerecordProgress::new(total, &output, Arc::clone(&counters)));
    let sent = work.send(args, &origin.new, lanes, &progress, &counters).await;
    let counts = progress.finish();
    if fresh && counts.kept() == 0 {
        remove_empty(&origin.new);
    }
    report(&counts, &counters, sent?)
}

/// Checks the numeric flags.
fn check(args: &RerecordArgs) -> Result<(), CommandFailure> {
    match (args.concurrency, args.tries) {
        (0, _) => Err(CommandFailure::usage(
            "--concurrency 0: nothing would ever be sent; give 1 or more",
        )),
        (_, 0) => {
            Err(CommandFailure::usage("--tries 0: nothing would ever be sent; give 1 or more"))
        }
        _ => Ok(()),
    }
}

/// Reports when nothing is sent: shows the plan, or says that there is nothing to send.
fn shown(
    args: &RerecordArgs,
    collected: &CollectedCalls,
    total: usize,
    output: &Output,
    report: &mut impl FnMut(&RerecordCounts, &RunCounters, u64) -> Result<u8, CommandFailure>,
) -> Result<u8, CommandFailure> {
    if args.json {
        return report(&RerecordCounts::default(), &RunCounters::default(), 0);
    }
    match (total, collected.done) {
        (0, 0) => output.info("there is nothing to send"),
        (0, done) => output
            .info(&format!("there is nothing to send: the new answers ({done}) are there already")),
        _ => {
            let mut text = format!("{}\nnothing was sent (--dry-run)\n", collected.text());
            for why in &collected.missing_keys {
                text.push_str(&format!(
                    "not ready to send: {}\n",
                    terminal::line(&why.to_string())
                ));
            }
            print(&text)?;
            return Ok(if collected.unsendable.is_empty() { 0 } else { NO });
        }
    }
    if collected.done > 0 {
        return report(&RerecordCounts::default(), &RunCounters::default(), 0);
    }
    Ok(0)
}

/// Refuses a run in which no call can be sent, or one would take the place of another.
fn refuse(collected: &CollectedCalls, origin: &OriginFiles) -> Result<(), CommandFailure> {
    if !collected.taken.is_empty() {
        let new = origin.new.display();
        return Err(CommandFailure::usage(format!(
            "{new} holds answers to other requests in the place of {}: review them first (loomrec \
             review {} --new {new}), or delete it",
            names(&collected.taken),
            origin.file.display(),
        )));
    }
    if collected.unsendable.is_empty() || !collected.lanes.is_empty() || collected.done > 0 {
        return Ok(());
    }
    let mut text = String::from("nothing was sent, because no call can be sent:");
    for (why, keys) in &collected.unsendable {
        text.push_str(&format!("\n  {}: {why}", names(keys)));
    }
    Err(CommandFailure::usage(text))
}

/// Reports which calls are left out, and why.
fn report_left_out(collected: &CollectedCalls, output: &Output) {
    for (why, keys) in &collected.unsendable {
        output.warning(&format!("left out: {}: {why}", names(keys)));
    }
    if !collected.stale.is_empty() {
        output.warning(&format!(
            "left out: {}: the recording has changed since that replay, which may not miss them \
             any more; replay again with --pending",
            names(&collected.stale)
        ));
    }
}

/// Formats the first of some keys, and how many more there are.
fn names(keys: &[String]) -> String {
    let first: Vec<_> = keys.iter().take(NAMED).map(|key| terminal::line(key)).collect();
    match keys.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Prints the result and returns the exit code.
fn finish(
    args: &RerecordArgs,
    report: &RerecordReport<'_>,
    output: &Output,
) -> Result<u8, CommandFailure> {
    if args.json {
        let text = format!("{:#}\n", report.to_json());
        print(&terminal::json(&text))?;
    } else if report.is_ok() {
        output.report(&report.text());
    } else {
        output.failed_report(&report.text());
    }
    Ok(match (report.is_unkept(), report.is_ok()) {
        (true, _) => NOT_KEPT,
        (false, true) => 0,
        (false, false) => NO,
    })
}

/// Removes a file of new answers that contains none.
fn remove_empty(path: &RecordingLocation) {
    let empty = loomrec_store::Recording::open(path).is_ok_and(|new| new.names().next().is_none());
    if empty {
        // An empty file that cannot be removed does no harm.
        let _ = std::fs::remove_file(path.as_path());
    }
}

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
        _ = signals.first() => {}
    }
    stop.send_replace(true);
    output.info("stopping: the answers under way are waited for (Ctrl-C to give them up)");
    tokio::select! {
        () = &mut sending => return,
        _ = signals.first() => {}
        () = tokio::time::sleep(GRACE) => {}
    }
    recorder.give_up();
    sending.await;
}

/// The requests to send, and the settings for them.
struct RerecordWork {
    sources: RequestSources,
    maker: RequestMaker,
}

impl RerecordWork {
    fn open(
        args: &RerecordArgs,
        origin: &OriginFiles,
        output: &Output,
    ) -> Result<Self, CommandFailure> {
        let sets =
            args.set.iter().map(|text| RequestOverride::parse(text)).collect::<Result<_, _>>()?;
        let gateways = RerecordUpstreams::of(args)?;
        let sources = origin.open(output)?;
        let recorded = sources.file.meta().rules().redactions();
        let redactor = serve_setup::redactor(&[&args.redact, recorded].concat())?;
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
    async fn send(
        self: &Arc<Self>,
        args: &RerecordArgs,
        path: &RecordingLocation,
        lanes: Vec<loomrec_engine::record::rerecord::RequestLane<CallToSend>>,
        progress: &Arc<RerecordProgress>,
        counters: &Arc<RunCounters>,
    ) -> Result<u64, CommandFailure> {
        let output = progress.output();
        let printer = output.clone();
        let notify: OnNotice = Arc::new(move |notice: UserNotice<'_>| printer.notice(&notice));
        // These metrics are never scraped.
        let metrics = Arc::new(Metrics::new(RunInfo::default()));
        let (recorder, place) = self.recorder(args, path, (counters, &metrics), &notify)?;
        let clock = ArrivalClock::default();
        let stamp = Arc::new(move || timestamp_of(clock.arrival(), place));
        let limits = RerecordLimits {
            at_once: args.concurrency,
            tries: args.tries,
            patience: LONGEST_RETRY_WAIT,
            timeout: Duration::from_secs(args.timeout),
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
        let prepare = Arc::new(move |item: &CallToSend| work.sources.order(item, &work.maker));
        let done = Arc::new(move |item: &CallToSend, outcome| following.done(&item.label, outcome));
        let sending = sender.run(lanes, prepare, done);
        until_stopped(sending, &mut signals, &stop, &recorder, &output).await;
        if let Err(reason) = recorder.finish(GRACE).await {
            counters.unfolded(&reason);
        }
        Ok(recorder.connections())
    }

    /// Creates the engine that records the new answers, as it records any live call.
    fn recorder(
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
        recording.watch(&self.maker.all_secrets());
        let place = recording.place();
        let counts = (Arc::clone(counters), Arc::clone(metrics));
        let on_event = super::record::on_appender_event(counts, Arc::clone(notify));
        let writer = RecordWriter::start(recording, KeepPolicy::All, on_event)
            .map_err(|error| unexpected(format!("failed to start the writer: {error}")))?;
        let client =
            UpstreamClient::new().map_err(|error| unexpected(format!("failed to {error}")))?;
        let config = RecordConfig {
            max_copy: args.max_copy,
            drain: Duration::ZERO,
            rules,
            prices: prices::load(args.prices.as_deref())?,
            run_values: Arc::default(),
            place,
        };
        let redactor = Arc::clone(&self.maker.redactor);
        Ok((Arc::new(RecordEngine::new(config, client, writer, redactor)), place))
    }
}
