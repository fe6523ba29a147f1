//! `loomrec rerecord`: sends recorded requests again, or those that a replay missed,
//! and keeps the new answers apart until they are reviewed.
//!
//! Requests are read once, to see what there is to do and what keeps it from being
//! done, before anything is sent; each is read again when its turn comes.

mod choice;
mod collect;
mod gateway;
mod make;
mod origin;
mod plan;
mod progress;
mod report;
mod set;
mod waiting;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use super::args::RerecordArgs;
use super::exit::{Failure, NO, NOT_KEPT, UNEXPECTED};
use super::ls::print;
use super::output::Output;
use super::session::Stop;
use super::{prices, terminal};
use crate::record::again::{Limits, Sender};
use crate::record::writer::{Keeping, Writer};
use crate::record::{Config, Recorder};
use crate::recording::redact::Redactor;
use crate::server::clock::{arrival, timestamp_of};
use crate::server::metric::{About, Metrics};
use crate::server::tally::Tally;
use crate::server::{Notice, OnNotice};
use crate::store;
use crate::upstream::Client;
use choice::Choice;
use collect::{Collected, Item, Sources};
use gateway::Gateways;
use make::Maker;
use origin::Origin;
use plan::Plan;
use progress::{Counts, Progress};
use report::Report;
use set::Set;
use waiting::NewFile;

/// How long answers under way are awaited once nothing more is sent.
const GRACE: Duration = Duration::from_secs(30);
/// How many calls a message names.
const NAMED: usize = 5;

/// Runs the command.
///
/// # Errors
/// What keeps a call from being sent, before any is.
pub(super) async fn run(args: &RerecordArgs) -> Result<u8, Failure> {
    check(args)?;
    let output = Output::new(args.log_format, args.quiet || args.json, false);
    let Some(origin) = Origin::of(args)? else {
        output.info("nothing drifted in that replay: there is nothing to send");
        return Ok(0);
    };
    let work = Arc::new(Work::open(args, &origin, &output)?);
    let new = NewFile::look(&origin.new, &output)?;
    let mut choice = Choice::of(args, SystemTime::now())?;
    let plan = Plan::at(Arc::new(prices::load(args.prices.as_deref())?));
    let mut collected = work.sources.collect(&work.maker, &mut choice, &new, plan, args.again)?;
    refuse(args, &collected, &origin)?;
    tell_left_out(&collected, &output);
    let lanes = std::mem::take(&mut collected.lanes);
    let total: usize = lanes.iter().map(|lane| lane.items.len()).sum();
    let mut report = |counts: &Counts, tally: &Tally, connections: u64| {
        let over = counts.kept() + counts.unkept + counts.failed.len() as u64;
        let left = total.saturating_sub(usize::try_from(over).unwrap_or(usize::MAX));
        let left = if args.dry_run { 0 } else { left };
        let (file, more) = (&*origin.file, tally.more());
        let report = Report {
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
    confirm(args, &collected.plan, total, &output)?;
    let fresh = new.prepare(&work.maker.rules, &collected.in_the_way)?;
    let tally = Arc::<Tally>::default();
    let progress = Arc::new(Progress::new(total, &output, Arc::clone(&tally)));
    let sent = work.send(args, &origin.new, lanes, &progress, &tally).await;
    let counts = progress.finish();
    if fresh && counts.kept() == 0 {
        remove_empty(&origin.new);
    }
    report(&counts, &tally, sent?)
}

/// Numbers that cannot be.
fn check(args: &RerecordArgs) -> Result<(), Failure> {
    match (args.concurrency, args.tries) {
        (0, _) => {
            Err(Failure::usage("--concurrency 0: nothing would ever be sent; give 1 or more"))
        }
        (_, 0) => Err(Failure::usage("--tries 0: nothing would ever be sent; give 1 or more")),
        _ => Ok(()),
    }
}

/// What is not sent: the plan alone, or nothing at all.
fn shown(
    args: &RerecordArgs,
    collected: &Collected,
    total: usize,
    output: &Output,
    report: &mut impl FnMut(&Counts, &Tally, u64) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    if args.json {
        return report(&Counts::default(), &Tally::default(), 0);
    }
    match (total, collected.done) {
        (0, 0) => output.info("there is nothing to send"),
        (0, done) => output.info(&format!(
            "there is nothing to send: the new answers ({done}) are there already; --again asks anew"
        )),
        _ => return print(&format!("{}\nnothing was sent (--dry-run)\n", collected.plan.text())),
    }
    if collected.done > 0 {
        return report(&Counts::default(), &Tally::default(), 0);
    }
    Ok(0)
}

/// Refuses a run in which a call could not be sent, or would take another's place.
fn refuse(args: &RerecordArgs, collected: &Collected, origin: &Origin) -> Result<(), Failure> {
    if !collected.taken.is_empty() {
        return Err(Failure::usage(format!(
            "{} holds answers to other requests in the place of {}: look at them with `loomrec \
             review {}` first, or drop them with --again",
            origin.new.display(),
            names(&collected.taken),
            origin.file.display()
        )));
    }
    if collected.unsendable.is_empty() || args.skip {
        return Ok(());
    }
    let mut text = String::from("nothing was sent, since not every call can be:");
    for (why, keys) in &collected.unsendable {
        text.push_str(&format!("\n  {}: {why}", names(keys)));
    }
    text.push_str("\nmend that, choose calls with --only, or leave these out with --skip");
    Err(Failure::usage(text))
}

/// Tells which calls are left out, and why.
fn tell_left_out(collected: &Collected, output: &Output) {
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

/// The first of some calls, and how many more there are.
fn names(keys: &[String]) -> String {
    let first: Vec<_> = keys.iter().take(NAMED).map(|key| terminal::line(key)).collect();
    match keys.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Asks whether to go on, unless that was said.
fn confirm(args: &RerecordArgs, plan: &Plan, total: usize, output: &Output) -> Result<(), Failure> {
    output.report(&plan.text());
    if args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(
            "nothing was sent: without a terminal to ask on, --yes is needed (--dry-run shows \
             what would be sent)",
        ));
    }
    let calls = if total == 1 { "this call".to_owned() } else { format!("these {total} calls") };
    let asked = write!(io::stderr(), "Send {calls} ({})? [y/N] ", plan.cost());
    let mut answer = String::new();
    let read = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
    let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    match read {
        Ok(_) if yes => Ok(()),
        Ok(_) => Err(Failure::new(NO, "nothing was sent")),
        Err(error) => Err(Failure::new(UNEXPECTED, format!("failed to read the answer: {error}"))),
    }
}

/// Prints what was done; gives the exit code.
fn finish(args: &RerecordArgs, report: &Report<'_>, output: &Output) -> Result<u8, Failure> {
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

/// Takes a file of new answers away that holds none.
fn remove_empty(path: &Path) {
    let empty = store::Recording::open(path).is_ok_and(|new| new.names().next().is_none());
    if empty {
        // What cannot be removed does no harm.
        let _ = std::fs::remove_file(path);
    }
}

/// Sends until all is sent. The first signal lets nothing new begin, the second gives
/// up what is under way.
async fn until_stopped(
    sending: impl Future<Output = ()>,
    signals: &mut Stop,
    stop: &watch::Sender<bool>,
    recorder: &Recorder,
    output: &Output,
) {
    let mut sending = std::pin::pin!(sending);
    tokio::select! {
        () = &mut sending => return,
        () = signals.first() => {}
    }
    stop.send_replace(true);
    output.info("stopping: the answers under way are waited for (Ctrl-C to give them up)");
    tokio::select! {
        () = &mut sending => return,
        () = signals.first() => {}
        () = tokio::time::sleep(GRACE) => {}
    }
    recorder.give_up();
    sending.await;
}

/// What a run works on.
struct Work {
    sources: Sources,
    maker: Maker,
}

impl Work {
    fn open(args: &RerecordArgs, origin: &Origin, output: &Output) -> Result<Self, Failure> {
        let sets = args.set.iter().map(|text| Set::parse(text)).collect::<Result<_, _>>()?;
        let gateways = Gateways::of(args)?;
        let redactor = Redactor::new(&args.redact)
            .map_err(|error| Failure::usage(format!("--redact: failed to {error}")))?;
        let sources = origin.open(output)?;
        let maker = Maker {
            rules: sources.file.meta().rules().clone(),
            redactor: Arc::new(redactor),
            sets,
            gateways,
            send_redacted: args.send_redacted,
            secrets: Default::default(),
        };
        Ok(Self { sources, maker })
    }

    /// Sends everything; gives the number of connections that took.
    async fn send(
        self: &Arc<Self>,
        args: &RerecordArgs,
        path: &Path,
        lanes: Vec<crate::record::again::Lane<Item>>,
        progress: &Arc<Progress>,
        tally: &Arc<Tally>,
    ) -> Result<u64, Failure> {
        let output = progress.output();
        let told = output.clone();
        let notify: OnNotice = Arc::new(move |notice: Notice<'_>| told.notice(&notice));
        let (recorder, place) = self.recorder(args, path, tally, &notify)?;
        let clock = AtomicI64::new(0);
        let stamp = Arc::new(move || timestamp_of(arrival(&clock), place));
        let limits = Limits {
            at_once: args.concurrency,
            tries: args.tries,
            patience: Duration::from_secs(args.max_wait),
            timeout: Duration::from_secs(args.timeout),
        };
        let unexpected = |error: io::Error| {
            Failure::new(UNEXPECTED, format!("failed to watch signals: {error}"))
        };
        let mut signals = Stop::watch().map_err(unexpected)?;
        let (stop, stopped) = watch::channel(false);
        let sender = Arc::new(Sender::new(Arc::clone(&recorder), limits, stamp, stopped));
        let (work, following) = (Arc::clone(self), Arc::clone(progress));
        let prepare = Arc::new(move |item: &Item| work.sources.order(item, &work.maker));
        let done = Arc::new(move |item: &Item, outcome| following.done(&item.label, outcome));
        let sending = sender.run(lanes, prepare, done);
        until_stopped(sending, &mut signals, &stop, &recorder, &output).await;
        if let Err(reason) = recorder.finish(GRACE).await {
            tally.unfolded(&reason);
        }
        Ok(recorder.connections())
    }

    /// The engine that keeps what comes back, as it keeps any live call.
    fn recorder(
        &self,
        args: &RerecordArgs,
        path: &Path,
        tally: &Arc<Tally>,
        notify: &OnNotice,
    ) -> Result<(Arc<Recorder>, usize), Failure> {
        let unexpected = |text: String| Failure::new(UNEXPECTED, text);
        let rules = self.maker.rules.clone();
        let recording = store::Recorder::open(path, &store::RunChoice::New, &rules)?;
        recording.watch(&self.maker.all_secrets());
        let place = recording.place();
        // Nobody scrapes it.
        let counts = (Arc::clone(tally), Arc::new(Metrics::new(About::default())));
        let told = super::record::on_told(counts.clone(), Arc::clone(notify));
        let writer = Writer::start(recording, Keeping::All, told)
            .map_err(|error| unexpected(format!("failed to start the writer: {error}")))?;
        let client = Client::new().map_err(|error| unexpected(format!("failed to {error}")))?;
        let config = Config {
            max_copy: args.max_copy,
            drain: Duration::ZERO,
            rules,
            prices: prices::load(args.prices.as_deref())?,
            place,
        };
        let on_kept = super::record::on_kept(counts, Arc::clone(notify));
        let redactor = Arc::clone(&self.maker.redactor);
        Ok((Arc::new(Recorder::new(config, client, writer, redactor, on_kept)), place))
    }
}
