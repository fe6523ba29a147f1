//! AgentLoom's names for attributes of spans: those of its development version, and those of its
//! version 0.4.

/// The provider, the model and the latency of what was recorded.
pub const RECORDING: [[&str; 3]; 2] = [
    ["agentloom.recording.provider", "agentloom.recording.model", "agentloom.recording.latency_s"],
    ["recording.provider", "recording.model", "recording.latency_s"],
];

/// How an answer was found, and the step of its call.
pub const REPLAY: [[&str; 2]; 2] =
    [["agentloom.mock.matched_by", "agentloom.mock.step_id"], ["mock.matched_by", "mock.step_id"]];

/// The type of a fault.
pub const FAULT: &str = "mock.fault_type";
