//! A recorded call as people look at it: who said what, with which settings, the bodies
//! laid out, what came when. It is data, bounded in size, for whoever renders it.
//!
//! [`InspectedCall::to_json`] gives all that is known of one call, [`line::of`] a recorded take in
//! the fields of the journal. All text is what a recording holds: freed of secrets, and
//! otherwise as it came. Whoever shows it sees to it that it stays text.

mod answer;
mod block;
mod call;
pub mod event;
pub mod line;
pub mod pretty;
mod request;
mod setting;
mod stream;
mod talk;
mod text;

pub use call::InspectedCall;
