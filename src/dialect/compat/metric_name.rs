//! The names and words of the metrics of AgentLoom and of aimock.

use crate::plain_entry::{BY_HASH, BY_MESSAGES};

/// Calls that were not answered live, by what matched them.
pub const REPLAYS: &str = "agentloom_mock_replays";
/// Exchanges kept.
pub const CAPTURES: &str = "agentloom_recording_captures";
/// The latency of what was recorded.
pub const LATENCIES: &str = "agentloom_recording_latency_seconds";
/// Faults that happened.
pub const FAULTS: &str = "agentloom_mock_faults";
/// Actions of chaos that happened.
pub const TRIGGERED: &str = "aimock_chaos_triggered";
/// Actions of chaos that could not happen.
pub const BYPASSED: &str = "aimock_chaos_bypassed";
/// Takes and rules that calls are answered from.
pub const LOADED: &str = "aimock_fixtures_loaded";
/// Calls, by what they were for.
pub const REQUESTS: &str = "aimock_requests";
/// The times of calls.
pub const DURATIONS: &str = "aimock_request_duration_seconds";

/// The action of chaos that only waits, which is none here.
pub const NO_ACTION: &str = "latency";

/// Returns the word for how an answer was found. There is one for several of ours.
pub fn matched_by(ours: &'static str) -> &'static str {
    match ours {
        "request_hash" | "bound" | BY_HASH | BY_MESSAGES => "prompt_hash",
        other => other,
    }
}
