//! Ends of events, and events that have no end yet.

/// The end of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventEnd {
    /// Its place in the bytes that were given. It is 0 if only the byte after an event shows that
    /// the event has ended.
    pub at: usize,
    /// Whether the event carries data.
    pub carries: bool,
}

/// The event at the end of a stream, after the last event that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenEvent {
    /// Whether it carries data.
    pub carries: bool,
    /// Whether it is complete: more bytes could only have belonged to another event.
    pub finished: bool,
    /// Whether its length is wrong, so that no later event can be found.
    pub lost: bool,
}
