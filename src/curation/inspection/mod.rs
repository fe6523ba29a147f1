//! A recorded call for display: its messages, its settings, its bodies laid out, the times of its
//! chunks. The result is data of bounded size, for any renderer.
//!
//! [`InspectedCall::to_json`] returns everything that is known of one call. [`line::from_take`]
//! returns a recorded take in the fields of the journal. All text is as in the recording: without
//! secrets, and otherwise unchanged. A renderer must escape it.

mod answer;
mod block;
mod call;
mod chunk_words;
mod curl;
pub mod event;
pub mod line;
mod new_parts;
pub mod pretty;
mod question;
mod request;
mod search;
mod sent;
mod setting;
mod stream;
mod talk;
mod text;

pub use call::{EarlierCall, InspectedCall};
pub use curl::curl_command;
pub use new_parts::CarriedWords;
pub use question::{MOST as LONGEST_QUESTION, last_question};
pub use search::SearchedWords;
