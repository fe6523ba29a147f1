//! The engine: answers a call from a recording, from a script, or from its upstream.
//!
//! A call comes in as an [`IncomingCall`]: a request that was read, routed and redacted.
//! [`Engine::find_answer`] finds what answers it, and [`FoundCall::answer`] makes a [`CallResult`]
//! of that: the response, and the [`CallOutcome`] that journals, counters and receipts report. An
//! engine waits only for its upstream: the caller holds a response back until it is due. It knows
//! nothing about faults: they wrap the engine (`server::fault`), and decide what becomes of a
//! [`FoundCall`].

mod answer_body;
pub mod blocking;
mod call_outcome;
mod call_result;
pub mod clock;
mod credential;
pub mod error_response;
mod forwarding;
mod found_call;
mod head_cache;
mod incoming_call;
mod known_clients;
mod live_call;
mod local_address;
mod miss;
pub mod observe;
mod parsed_request;
mod prescribed_answer;
pub mod record;
pub mod replay;
mod replay_call;
mod repository_watch;
mod request_cache;
pub mod request_summary;
pub mod route;
mod strictness;
mod take_lease;
pub mod tool_bridge;
mod trailer;
pub mod upstream;
pub mod websocket;

use std::sync::Arc;

pub use answer_body::{AnswerBody, ChunkEdit, EditedBody, PrefixedBody};
pub use call_outcome::{AnswerOrigin, AnswerSource, CallOutcome, ServedTake};
pub use call_result::{CallResult, RecordedUsage};
pub use credential::RequestCredentials;
pub use forwarding::Forwarding;
pub use found_call::{AnswerDeclarer, FoundCall, UnrecordedCall};
pub use head_cache::{HeadCache, RequestRef};
pub use incoming_call::IncomingCall;
pub use known_clients::KnownClients;
pub use local_address::LocalAddresses;
pub use miss::{ExplainedMiss, MissPolicy, OnExplainedMiss};
pub use parsed_request::ParsedRequest;
pub use parsed_request::RedactedRequest;
pub use repository_watch::RepositoryWatch;
pub use request_cache::CachedRequest;
pub use request_summary::{LONGEST, RequestSummary, clip_text};
pub use strictness::{ClientEffect, RunStrictness, StrictAdmission, StrictRefusal, Strictness};
pub use take_lease::{KeptLease, TakeLease};

use crate::record::RecordEngine;
use crate::replay::ReplayEngine;
use loomrec_identity::{IdentityRules, RequestKey};

/// The engine that answers the calls of a run.
#[derive(Clone)]
pub enum Engine {
    /// Every call goes to its upstream and is recorded.
    Record {
        /// Records.
        record: Arc<RecordEngine>,
        /// Makes the requests that go upstream.
        forwarding: Forwarding,
    },
    /// Every call is answered from the recording.
    Replay {
        /// Replays, and answers from a script if there is one.
        replay: Arc<ReplayEngine>,
        /// What a call gets if the recording does not answer it.
        on_miss: MissPolicy,
        /// Callback for each explained miss.
        on_explained: OnExplainedMiss,
    },
    /// A call that the recording answers is replayed; any other is recorded.
    NewEpisodes {
        /// Replays.
        replay: Arc<ReplayEngine>,
        /// Records.
        record: Arc<RecordEngine>,
        /// Makes the requests that go upstream.
        forwarding: Forwarding,
    },
}

impl Engine {
    /// Returns the name of the run's mode in journals, spans and metrics.
    pub fn mode_name(&self) -> &'static str {
        match self {
            Self::Record { .. } => "record",
            Self::Replay { .. } => "replay",
            Self::NewEpisodes { .. } => "new_episodes",
        }
    }

    /// Returns the replay engine, if this run replays.
    pub fn replay_engine(&self) -> Option<&Arc<ReplayEngine>> {
        match self {
            Self::Record { .. } => None,
            Self::Replay { replay, .. } | Self::NewEpisodes { replay, .. } => Some(replay),
        }
    }

    /// Returns the recording engine, if this run records.
    pub fn record_engine(&self) -> Option<&Arc<RecordEngine>> {
        match self {
            Self::Replay { .. } => None,
            Self::Record { record, .. } | Self::NewEpisodes { record, .. } => Some(record),
        }
    }

    /// Returns the rules that its engines make keys under, those of the replay engine first.
    pub fn identity_rules(&self) -> impl Iterator<Item = &IdentityRules> {
        let replayed =
            self.replay_engine().into_iter().flat_map(|replay| replay.matcher().identity_rules());
        replayed.chain(self.record_engine().map(|record| record.identity_rules()))
    }

    /// Returns the rules under which two calls that nothing recorded answers are the same.
    pub fn rules_of_misses(&self) -> Option<&IdentityRules> {
        let replayed = self.replay_engine().and_then(|replay| replay.matcher().rules_of_misses());
        replayed.or_else(|| self.record_engine().map(|record| record.identity_rules()))
    }

    /// Returns how many connections to upstreams were opened so far.
    pub fn upstream_connections(&self) -> u64 {
        match self {
            Self::Record { record, .. } | Self::NewEpisodes { record, .. } => {
                record.opened_connections()
            }
            Self::Replay { on_miss: MissPolicy::Forward { client, .. }, .. } => {
                client.opened_connections()
            }
            Self::Replay { .. } => 0,
        }
    }

    /// Whether a call may go to an upstream.
    pub fn goes_upstream(&self) -> bool {
        match self {
            Self::Record { .. } | Self::NewEpisodes { .. } => true,
            Self::Replay { on_miss, .. } => matches!(on_miss, MissPolicy::Forward { .. }),
        }
    }

    /// Returns the key of the recorded request that a call repeats, whatever the rules ignore in
    /// it. Nothing is used up. `None` if no recorded request is the same, or the run does not
    /// replay.
    pub fn recorded_key(&self, parsed: &ParsedRequest) -> Option<RequestKey> {
        let (matcher, redacted) = (self.replay_engine()?.matcher(), &parsed.redacted);
        let scrubbed = || matcher.recorded_key(redacted.scrubbed.as_ref()?);
        matcher.recorded_key(&redacted.observed).or_else(scrubbed)
    }
}
