//! The command that has a recording for each session, and the flags that it does not take.

use crate::args::{RecordArgs, RecordMode, ReplayArgs, ServeArgs};
use crate::in_force::InForce;
use crate::replay;
use loomrec_cli::exit::CommandFailure;
use loomrec_engine::Strictness;
use loomrec_engine::replay::Matcher;
use loomrec_proxy::guard::EscapePolicy;

/// The command that has a recording for each session.
#[derive(Clone, Debug)]
pub enum SessionCommand {
    /// `loomrec record`.
    Record(RecordArgs),
    /// `loomrec replay`.
    Replay(ReplayArgs),
}

impl SessionCommand {
    /// Returns the flags that both commands have.
    pub(super) fn serve_args(&self) -> &ServeArgs {
        match self {
            Self::Record(args) => &args.serve,
            Self::Replay(args) => &args.serve,
        }
    }

    /// Returns what all sessions together may spend, in dollars.
    pub(super) fn max_cost(&self) -> Option<f64> {
        match self {
            Self::Record(args) => args.max_cost,
            Self::Replay(_) => None,
        }
    }

    /// Returns its name.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Record(_) => "record",
            Self::Replay(_) => "replay",
        }
    }

    /// Returns what happens to connections of CMD that go around loomrec. `None` without a guard.
    pub(super) fn escape_policy(&self) -> Option<EscapePolicy> {
        match self {
            Self::Record(args) => (!args.no_guard).then_some(EscapePolicy::Count),
            Self::Replay(args) => (!args.no_guard).then_some(EscapePolicy::Refuse),
        }
    }

    /// Returns whether what clients ask for may weaken the replay.
    pub(super) fn strictness(&self) -> Strictness {
        match self {
            Self::Record(_) => Strictness::Lenient,
            Self::Replay(args) => replay::strictness(args),
        }
    }

    /// Returns what flags and settings put in force for every session.
    pub(super) fn in_force(&self, empty: &Matcher) -> Option<InForce> {
        match self {
            Self::Record(args) => InForce::of_settings(&args.serve),
            Self::Replay(args) => Some(InForce::of_replay(args, empty)),
        }
    }

    /// Whether a run without a call is a success.
    pub(super) fn allows_no_call(&self) -> bool {
        match self {
            Self::Record(args) => args.allow_empty,
            Self::Replay(args) => args.allow_empty,
        }
    }

    /// Refuses flags that are for one recording.
    pub(super) fn refuse_flags(&self) -> Result<(), CommandFailure> {
        let trouble = &self.serve_args().trouble;
        let mut given =
            vec![("--junit", trouble.junit.is_some()), ("--recovery", trouble.recovery.is_some())];
        match self {
            Self::Record(args) => {
                given.push(("--run", args.run.is_some()));
                given.push(("--mode none", args.mode == RecordMode::None));
            }
            Self::Replay(args) => {
                given.push(("--script", !args.script.is_empty()));
                // Without a file, each session keeps its own beside its recording.
                given.push(("--pending FILE", args.pending.as_ref().is_some_and(Option::is_some)));
            }
        }
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(CommandFailure::usage(format!(
                "{flag} is for one recording: leave it out, or name one recording without \
                 {{session}}"
            ))),
        }
    }
}
