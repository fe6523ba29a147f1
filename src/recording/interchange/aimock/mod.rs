//! aimock's fixtures: an answer behind a rule, which is applied once, here, and never
//! at replay.
//!
//! A fixture that aimock recorded keeps the last thing that was asked and the words of
//! the answer; the request itself it does not keep.

mod fixture;
mod read;
mod rule;
mod write;

pub(super) use read::read;
pub use rule::FixtureList;
pub(super) use write::MatchCounter;
