//! What the sessions of a replay share: the takes of its recordings, until SIGHUP reads them again.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::latency::latency_model;
use super::loading::{TakesInForce, load_takes};
use crate::args::ReplayArgs;
use crate::expiry::ExpiredTakes;
use crate::in_force::InForce;
use crate::receipt::{HashedRecording, Receipt};
use crate::remote::RecordingNames;
use crate::server_run::{ReadAgain, RunContext, RunEngines, SessionTerms};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::settings::Settings;
use loomrec_engine::blocking::run_blocking;
use loomrec_engine::replay::ReplayEngine;
use loomrec_engine::{Engine, MissPolicy};
use loomrec_fault::FaultCounters;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::RunCounters;

/// What the sessions of a replay share with its run.
pub(crate) struct SharedReplay {
    /// The flags of the run.
    pub(crate) args: ReplayArgs,
    /// What a missed call gets.
    pub(crate) on_miss: MissPolicy,
    /// The counters that the sessions add up in.
    pub(crate) counters: Arc<RunCounters>,
    /// What became of the faults of the run.
    pub(crate) fault_counters: Arc<FaultCounters>,
    names: RecordingNames,
    takes: RwLock<Arc<SharedTakes>>,
}

/// The takes of a replay's recordings as they were last read.
pub(crate) struct SharedTakes {
    /// The engine whose takes the sessions share.
    pub(crate) engine: Arc<ReplayEngine>,
    /// The context that those of sessions are made from.
    pub(crate) context: RunContext,
    /// What is in force.
    pub(crate) in_force: InForce,
    /// The takes that are too old.
    pub(crate) expired: Option<ExpiredTakes>,
    /// The recordings.
    pub(crate) recordings: Vec<RecordingLocation>,
    hashed: OnceLock<Vec<HashedRecording>>,
}

impl SharedTakes {
    /// Returns the first recording.
    pub(crate) fn first_recording(&self) -> RecordingLocation {
        let first = self.recordings.first().cloned();
        first.unwrap_or_else(|| RecordingLocation::from(std::path::PathBuf::new()))
    }

    /// Returns the recordings with their hashes, which are read for the first receipt.
    pub(crate) fn hashed_recordings(&self) -> Vec<HashedRecording> {
        self.hashed.get_or_init(|| Receipt::hash_recordings(&self.recordings)).clone()
    }
}

impl SharedReplay {
    /// Returns what sessions share with a run. `None` if it has no recording, or a script, which has
    /// one place for all calls, or forwards misses, whose connections are counted for the run.
    ///
    /// # Errors
    /// Only sessions are to be answered, and there can be none.
    pub(super) fn new(
        args: &ReplayArgs,
        settings: &Settings,
        ground: &RunContext,
        engines: &RunEngines,
        (in_force, expired): (&InForce, &Option<ExpiredTakes>),
    ) -> Result<Option<Self>, CommandFailure> {
        let Engine::Replay { replay, on_miss, .. } = &engines.engine else { return Ok(None) };
        let first = args.recordings.first().filter(|_| replay.script().is_none());
        let Some(first) = first.filter(|_| !matches!(on_miss, MissPolicy::Forward { .. })) else {
            return match args.serve.sessions.sessions_by_control {
                false => Ok(None),
                true => Err(CommandFailure::usage(
                    "--sessions-by-control takes a recording, without --script and --on-miss forward",
                )),
            };
        };
        let takes = SharedTakes {
            engine: Arc::clone(replay),
            context: ground.for_session(&args.serve, first, SessionTerms::default())?,
            in_force: in_force.clone(),
            expired: expired.clone(),
            recordings: args.recordings.clone(),
            hashed: OnceLock::new(),
        };
        if args.serve.sessions.sessions_by_control {
            // They can be other files when a session ends.
            takes.hashed_recordings();
        }
        Ok(Some(Self {
            args: args.clone(),
            on_miss: on_miss.clone(),
            counters: Arc::default(),
            fault_counters: Arc::clone(engines.decider.counters()),
            names: RecordingNames::new(&args.recordings, settings),
            takes: RwLock::new(Arc::new(takes)),
        }))
    }

    /// Returns the takes for a session that begins now.
    pub(crate) fn current_takes(&self) -> Arc<SharedTakes> {
        Arc::clone(&self.takes.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what reads the recordings again. `None` if the run itself answers calls: it keeps its
    /// takes.
    pub(super) fn recording_reader(self: Arc<Self>) -> Option<ReadAgain> {
        if !self.args.serve.sessions.sessions_by_control {
            return None;
        }
        Some(Box::new(move || {
            let shared = Arc::clone(&self);
            Box::pin(async move { shared.read_again().await })
        }))
    }

    /// Reads the recordings again, for the sessions that begin from now on. Returns the number of
    /// takes.
    ///
    /// # Errors
    /// As at the start of a replay. The sessions then keep what they had.
    async fn read_again(&self) -> Result<usize, CommandFailure> {
        let before = self.current_takes();
        let mut args = self.args.clone();
        args.recordings = self.names.locate(&before.context.output).await?;
        before.context.count_loads(&args.recordings);
        let terms = SessionTerms::default();
        let mut context =
            before.context.for_session(&args.serve, &before.first_recording(), terms)?;
        context.run_values = context.run_values.with_repository(&args.serve);
        let read = run_blocking(move || read_takes(args, context)).await?;
        let count = read.engine.matcher().len();
        *self.takes.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
        Ok(count)
    }
}

fn read_takes(args: ReplayArgs, mut context: RunContext) -> Result<SharedTakes, CommandFailure> {
    let TakesInForce { matcher, expired, in_force } = load_takes(&args, &mut context)?;
    // Each session has a latency of its own.
    let engine = ReplayEngine::new(matcher, latency_model(&args, 0))
        .with_default_response(args.default_response());
    let takes = SharedTakes {
        engine: Arc::new(engine),
        context,
        in_force,
        expired,
        recordings: args.recordings,
        hashed: OnceLock::new(),
    };
    takes.hashed_recordings();
    Ok(takes)
}
