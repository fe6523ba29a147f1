//! Replay: answers from recordings, strictly, with no way to the network.
//!
//! [`Replayer::answer`] finds the take that a request is owed and turns it into
//! a response of the recorded bytes, boundaries and (if asked) times; or it
//! returns a [`Miss`], of which [`Replayer::explain`] makes a
//! [`RecordingMismatchError`] that says why there is none.
//!
//! With a [`Script`], [`Replayer::scripted`] answers what the recordings do not.
//!
//! Of each entry only what matching and serving need is kept, its answer ready to
//! be sent; the rest is read again from the recording where a miss is explained. Of
//! small entries of a large recording the text is kept, which is less.

mod answer;
mod answering;
pub mod body;
mod decode_room;
mod delivery;
mod entry_texts;
mod explain;
mod form;
mod group;
mod in_force;
pub mod latency;
mod load;
pub mod matcher;
pub mod mismatch;
pub mod missed;
mod name_ids;
mod nearest;
mod plain;
mod pool;
pub mod reason;
mod recalled;
pub mod responder;
pub mod script;
mod spot;
mod steps;
pub mod take;
mod take_name;
mod trouble;

pub use answer::ENTRY;
pub use body::ReplayBody;
pub use explain::Miss;
pub use in_force::{FaultyTake, SourceTerms};
pub use latency::Latency;
pub use load::{LoadError, Terms};
pub use matcher::{Hit, MatchedBy, Matcher, Source};
pub use mismatch::RecordingMismatchError;
pub use missed::Missed;
pub use pool::Repeat;
pub use reason::Reason;
pub use responder::{Answered, Replayer, Scripted};
pub use script::{NoScriptedResponse, Notation, Script, ScriptError};
pub use take::Take;
pub use trouble::Trouble;
