//! aimock's fixtures. A fixture has an answer and a rule. An import applies the rules once, to
//! requests that were made. A script applies them to each call.
//!
//! A fixture that aimock recorded keeps the last message of the request and the text of the answer.
//! It does not keep the request itself.

mod content;
mod fixture;
mod play;
mod played;
mod read;
mod rule;
mod write;

pub use content::{RequestContent, TurnRule};
pub use fixture::{FixtureBlock, FixtureMatch, ForeignFixture};
pub use play::FixturePace;
pub(super) use read::read;
pub use rule::FixtureList;
pub(super) use write::MatchCounter;
