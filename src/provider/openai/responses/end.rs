//! The events that end a stream of the Responses API.

/// The events that end a stream.
pub(super) const TERMINAL: [&str; 3] =
    ["response.completed", "response.incomplete", "response.failed"];

pub(super) fn is_terminal(kind: &str) -> bool {
    TERMINAL.contains(&kind)
}
