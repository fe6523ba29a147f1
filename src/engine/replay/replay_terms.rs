//! How recordings are replayed, beside what they say themselves.

use std::sync::Arc;

use super::pool::Repeat;
use loomrec_identity::{IdentityRules, RepositoryStates, RunValues};

/// How recordings are replayed, beside what they say themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayTerms<'a> {
    /// Rules that are added to those of each recording.
    pub rules: Option<&'a IdentityRules>,
    /// What a further identical call gets. `None` for the default: an error, or, for plain
    /// files, the last take again.
    pub repeat: Option<Repeat>,
    /// The values of this run. Recorded requests that hold others are bound to them.
    pub run_values: Option<&'a RunValues>,
    /// The states of the repository after the start of this run.
    pub repository: Option<&'a Arc<RepositoryStates>>,
    /// Whether the requests of known clients are compared as any others.
    pub ignores_presets: bool,
    /// Whether entries that cannot be checked are refused.
    pub refuse_unchecked: bool,
    /// Whether the messages of a call alone may find an entry.
    pub allow_messages: bool,
    /// Whether a fault of an entry that does not end its call with an error uses up the take.
    pub faults_use_takes: bool,
    /// Whether answers that overlapped in the recorded run end in the order in which they ended there.
    pub keeps_end_order: bool,
    /// Whether the recording is that of a session. Its misses then advise to record the session
    /// again, because the commands that advice would otherwise name take one recording.
    pub is_of_session: bool,
    /// Whether a take answers only calls of exactly its own step, session and form. That is so where
    /// other calls are recorded into the same recording: a later replay prefers the takes of a call's
    /// own scope, and would give its answers in another order.
    pub exact_scope: bool,
}
