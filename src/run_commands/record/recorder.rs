//! The recorder of a run: the recording that it adds to, the rules of that recording, and the
//! messages about its events.

use std::sync::Arc;

use crate::args::{RecordArgs, RecordMode};
use crate::remote::RemoteRecording;
use crate::server_run::RunContext;
use crate::store_secrets::store_secrets;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::store_note::store_note;
use loomrec_cli::{prices, serve_setup};
use loomrec_engine::record::writer::{KeepPolicy, RecordWriter};
use loomrec_engine::record::{RecordConfig, RecordEngine};
use loomrec_identity::IdentityRules;
use loomrec_proxy::server::{OnNotice, UserNotice};
use loomrec_recording::EntryName;
use loomrec_store::{AppenderEvent, OnAppenderEvent, RecordingLocation, StoreError, StoreEvent};
use loomrec_telemetry::metric::Metrics;
use loomrec_telemetry::run_counters::{EarlierTakes, RunCounters};

/// Opens the recording, if there is one. It may be only a log, of a recorder that was killed or has
/// not compacted yet.
pub(super) fn open_existing(
    path: &RecordingLocation,
    ground: &RunContext,
) -> Result<Option<loomrec_store::Recording>, CommandFailure> {
    match loomrec_store::Recording::open_merged(path) {
        Ok(recording) => {
            let notify = ground.notice_callback();
            recording
                .opening_events()
                .iter()
                .for_each(|note| report_event(note, &ground.counters, &notify));
            serve_setup::refuse_waiting(path, &recording)?;
            Ok(Some(recording))
        }
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the recording and builds the engine that adds to it.
pub(super) fn open_recorder(
    args: &RecordArgs,
    ground: &RunContext,
    asked: IdentityRules,
    remote: Option<&RemoteRecording>,
) -> Result<Arc<RecordEngine>, CommandFailure> {
    let path = &args.recording;
    let earlier = match &ground.session.rules_of {
        Some(other) => open_existing(other, ground)?,
        None => open_existing(path, ground)?,
    };
    let earlier = earlier.map(|recording| recording.meta().rules().clone());
    let earlier = earlier.or_else(|| remote?.rules.clone());
    let rules = rules_to_record(earlier, asked, args, remote)?;
    let run = match &args.run {
        Some(id) => loomrec_store::RunChoice::Named(id.clone()),
        None => loomrec_store::RunChoice::New,
    };
    let is_session = ground.session.client.is_some();
    if remote.is_none() && !is_session && !args.serve.cmd.is_empty() {
        // The program sees the same files in this run and in a replay.
        loomrec_store::create_empty(path, &rules)?;
    }
    let mut recording = loomrec_store::RecordingAppender::open(path, &run, &rules)?;
    if remote.is_some() {
        recording.leave_log();
    }
    recording.watch_for(&store_secrets());
    recording.state_key_variables(&ground.key_variables)?;
    let unexpected = |text: String| CommandFailure::new(UNEXPECTED, text);
    let place = recording.place_in_run();
    let counts = (Arc::clone(&ground.counters), Arc::clone(&ground.metrics));
    let on_event = on_appender_event(counts, ground.notice_callback());
    let keeping = match (args.mode, args.keep_failures) {
        (RecordMode::All, true) => KeepPolicy::LastRun,
        (RecordMode::All, false) => KeepPolicy::Successes,
        _ => KeepPolicy::All,
    };
    let writer = RecordWriter::start(recording, keeping, on_event)
        .map_err(|error| unexpected(format!("failed to start the writer: {error}")))?;
    let client = match &ground.session.client {
        Some(shared) => shared.with_own_connections(),
        None => serve_setup::upstream_client()?,
    };
    let redactor = ground.redactor_under(&args.serve, [&rules])?;
    let config = RecordConfig {
        max_copy: args.serve.max_body,
        drain: args.serve.recording_drain(),
        keep_audio: args.keep_audio,
        run_values: Arc::new(
            ground.run_values.with_repository(&args.serve).value_finder(rules.normalize_rules()),
        ),
        rules,
        prices: prices::load_table(args.prices.as_deref())?,
        cost_limit: ground.cost_limit.clone(),
        place,
    };
    Ok(Arc::new(RecordEngine::new(config, client, writer, redactor)))
}

/// Returns the rules to record under. A recording keeps the rules it was made with, unless others
/// are given.
///
/// # Errors
/// Others are given, and the recording is in an object store. For a recording on this machine, that
/// is found out when it is opened.
fn rules_to_record(
    earlier: Option<IdentityRules>,
    asked: IdentityRules,
    args: &RecordArgs,
    remote: Option<&RemoteRecording>,
) -> Result<IdentityRules, CommandFailure> {
    match earlier {
        Some(rules) if asked.without_normalize() == IdentityRules::default() => {
            Ok(rules.with_keyless_rules_of(&asked))
        }
        Some(rules) if remote.is_some() && !rules.makes_keys_of(&asked) => {
            let text = format!(
                "{} was recorded under other rules ({}): leave out --ignore and the like, or \
                 record into another name",
                args.recording.display(),
                rules.rule_descriptions().join(" ")
            );
            Err(CommandFailure::usage(text))
        }
        Some(rules) => Ok(asked.with_redactions(rules.redactions().iter().cloned())),
        None => Ok(asked),
    }
}

/// The counters of a run.
type RunCounts = (Arc<RunCounters>, Arc<Metrics>);

/// Returns the callback that passes events of the recording on to people, counters and metrics.
pub(crate) fn on_appender_event(
    (counters, metrics): RunCounts,
    notify: OnNotice,
) -> OnAppenderEvent {
    Arc::new(move |event: AppenderEvent<'_>| match event {
        AppenderEvent::Note(note) => report_event(note, &counters, &notify),
        AppenderEvent::CompactionFailed(reason) => notify(UserNotice::Warning(&format!(
            "recorded calls stay in the log beside the recording for now: failed to {reason}; \
             traffic and recording go on, and loomrec tries again"
        ))),
        AppenderEvent::Replaced(done) => {
            let name = match &done.name {
                EntryName::Hash(key) => key.short_form().to_owned(),
                EntryName::Step(step) => step.clone(),
            };
            let (replaced, faults) = (done.replaced as u64, done.faults as u64);
            let takes = EarlierTakes { replaced, faults, kept: done.kept as u64 };
            counters.add_replaced_takes(name, takes);
        }
        AppenderEvent::Compacted(took) => metrics.add_compaction_time(took),
        AppenderEvent::Lost(reason, names) => {
            counters.add_lost_exchanges(reason, names as u64);
            notify(UserNotice::Unkept(reason));
        }
    })
}

/// Reports a note, and counts the calls that are not in the recording according to it.
fn report_event(note: &StoreEvent, counters: &RunCounters, notify: &OnNotice) {
    let text = store_note(note);
    if note.entries_set_aside() > 0 {
        counters.add_lost_exchanges(&text, note.entries_set_aside() as u64);
    }
    notify(UserNotice::Warning(&text));
}
