//! An event of a stream that has not ended.

/// What is left at the end of a stream, after its last complete event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::body_transform) struct OpenEvent {
    /// Whether it is an event that carries data.
    pub(in crate::body_transform) carries: bool,
    /// Whether its end has come.
    pub(in crate::body_transform) finished: bool,
}
