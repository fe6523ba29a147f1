//! aimock's fixtures. A fixture has an answer and a rule. The rules are applied once during the
//! import, and never at replay.
//!
//! A fixture that aimock recorded keeps the last message of the request and the text of the answer.
//! It does not keep the request itself.

mod fixture;
mod read;
mod rule;
mod write;

pub(super) use read::read;
pub use rule::FixtureList;
pub(super) use write::MatchCounter;
