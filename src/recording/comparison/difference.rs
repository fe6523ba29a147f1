//! One place where two calls differ.

use serde_json::Value;

/// How many differences of one call are told.
pub const MOST: usize = 1000;

/// Which half of a call differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallHalf {
    /// What was asked.
    Request,
    /// What came back.
    Answer,
}

/// One place where two calls differ.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDifference {
    /// Which half of the call.
    pub part: CallHalf,
    /// Where: a JSON pointer into the request's body; else a name, and a pointer
    /// below it (`answer/tool_calls/0/arguments/city`).
    pub place: String,
    /// What the first has there; `None` where it has nothing.
    pub old: Option<Value>,
    /// What the second has there; `None` where it has nothing.
    pub new: Option<Value>,
    /// Whether it makes the calls different ones.
    pub counts: bool,
}
