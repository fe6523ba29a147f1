//! A difference between two calls.

use serde_json::Value;

/// The most differences of one call that are reported.
pub const MOST: usize = 1000;

/// The half of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallHalf {
    /// The request.
    Request,
    /// The answer.
    Answer,
}

/// A difference between two calls.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDifference {
    /// The half of the call.
    pub part: CallHalf,
    /// The place: a JSON pointer into the request's body, or a name and a pointer below it
    /// (`answer/tool_calls/0/arguments/city`).
    pub place: String,
    /// The first call's value there; `None` if it has none.
    pub old: Option<Value>,
    /// The second call's value there; `None` if it has none.
    pub new: Option<Value>,
    /// Whether the calls count as different because of it.
    pub counts: bool,
}
