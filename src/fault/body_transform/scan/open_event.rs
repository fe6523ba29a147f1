//! An event of a stream that has not ended.

/// What stands at the end of a stream, behind its last event that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::body_transform) struct OpenEvent {
    /// Whether it is an event that carries something.
    pub(in crate::body_transform) carries: bool,
    /// Whether its end was there.
    pub(in crate::body_transform) finished: bool,
}
