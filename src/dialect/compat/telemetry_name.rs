//! The names and words of the metrics of AgentLoom and of aimock, and AgentLoom's attributes of spans.

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

/// The action that only delays an answer. The metrics do not count it.
pub const NO_ACTION: &str = "latency";

/// The provider, the model and the latency of what was recorded, for spans: the names of AgentLoom's
/// development version, and those of its version 0.4.
pub const SPAN_RECORDING: [[&str; 3]; 2] = [
    ["agentloom.recording.provider", "agentloom.recording.model", "agentloom.recording.latency_s"],
    ["recording.provider", "recording.model", "recording.latency_s"],
];

/// How an answer was found, and the step of its call, for spans: as above.
pub const SPAN_REPLAY: [[&str; 2]; 2] =
    [["agentloom.mock.matched_by", "agentloom.mock.step_id"], ["mock.matched_by", "mock.step_id"]];

/// The type of a fault, for spans.
pub const SPAN_FAULT: &str = "mock.fault_type";

/// Returns the word for how an answer was found. There is one for several of ours.
pub fn matched_by(ours: &'static str) -> &'static str {
    match ours {
        "request_hash" | "bound" | BY_HASH | BY_MESSAGES => "prompt_hash",
        other => other,
    }
}
