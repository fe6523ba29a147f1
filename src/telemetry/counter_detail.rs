//! The counts of a run that are more than single numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use loomrec_engine::record::CallFailure;
use loomrec_engine::replay::RecordingMismatchError;
use loomrec_recording::UncheckedReason;

/// The part of the counts that is more than single numbers.
#[derive(Clone, Debug, Default)]
pub struct CounterDetail {
    /// Mismatches by reason.
    pub missed: BTreeMap<&'static str, u64>,
    /// The mismatches in full, up to `MAX_MISMATCHES`.
    pub mismatches: Vec<Arc<RecordingMismatchError>>,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// The sum of the known costs in US dollars.
    pub cost_usd: f64,
    /// Calls whose cost is unknown.
    pub unknown_costs: u64,
    /// Calls that were recorded and failed, by kind of failure.
    pub failed_calls: BTreeMap<CallFailure, u64>,
    /// Served calls whose answers had failed when they were recorded, by kind of failure. One that
    /// was cut counts as unfinished.
    pub failed_takes: BTreeMap<CallFailure, u64>,
    /// Entries that were recorded and that a strict replay refuses, by the reason.
    pub unchecked_entries: BTreeMap<UncheckedReason, u64>,
    /// Models without a known price, with the number of calls they answered. At most
    /// `MAX_UNPRICED`, and one name for all others.
    pub unpriced: BTreeMap<String, u64>,
    /// Why kept exchanges are not in the recording's file yet at the end of the run.
    pub unfolded: Option<String>,
    /// The failures of upstreams that gave no answer, by their message without its digits. At most
    /// `MAX_FAILURES`.
    pub upstream_failures: BTreeMap<String, UpstreamFailure>,
    /// The reasons why exchanges were not kept, each with their number.
    pub keep_errors: BTreeMap<String, u64>,
    /// By the names of requests that this run recorded, what became of the takes of earlier runs.
    /// There are at most as many as the recording has names.
    pub earlier_takes: BTreeMap<String, EarlierTakes>,
    /// Upstreams whose answers ended in a cut because their framing was ambiguous, each with the
    /// number of answers.
    pub ambiguous: BTreeMap<String, u64>,
    /// Calls that got the answer which their protocol prescribes, by method. At most
    /// `MAX_PRESCRIBED`, and one name for all others.
    pub prescribed: BTreeMap<String, u64>,
    /// Addresses in answers that lead around loomrec, each with the number of answers. At most
    /// `MAX_ADDRESSES`, and one name for all others.
    pub addresses_away: BTreeMap<String, u64>,
}

impl CounterDetail {
    /// Whether calls used tokens, or may have cost something.
    pub fn has_usage(&self) -> bool {
        self.input_tokens > 0 || self.output_tokens > 0 || self.unknown_costs > 0
    }
}

/// A failure of an upstream, and how often it happened.
#[derive(Clone, Debug, Default)]
pub struct UpstreamFailure {
    /// The message of its first time.
    pub message: String,
    /// How many calls failed with it.
    pub calls: u64,
}

/// What became of the takes that earlier runs left of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierTakes {
    /// The number of takes that were replaced.
    pub replaced: u64,
    /// The number of faults that these declared.
    pub faults: u64,
    /// The number of takes that the run did not reach, so that they stay.
    pub kept: u64,
}
