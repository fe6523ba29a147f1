//! Replay: answers from recordings, strictly, with no way to the network.
//!
//! [`Replayer::answer`] finds the take that a request is owed and turns it into
//! a response of the recorded bytes, boundaries and (if asked) times; or it
//! returns a [`RecordingMismatchError`] that says why there is none.

pub mod delivery;
pub mod latency;
pub mod matcher;
pub mod mismatch;
mod plain;
pub mod prepared;
pub mod reason;
pub mod responder;

pub use latency::Latency;
pub use matcher::{Hit, MatchedBy, Matcher, Repeat, Source};
pub use mismatch::RecordingMismatchError;
pub use reason::Reason;
pub use responder::{Answered, ReplayBody, Replayer};
