//! Changes how an answer is delivered: a stream into the complete answer, and the
//! complete answer into a stream.
//!
//! Works on the provider's own JSON, not on [`super::Answer`], so that fields
//! nobody here knows come through. Chat Completions and Messages can be changed;
//! for any other operation [`ModeError::NotYet`] says so.

mod chat;
mod messages;

use serde_json::{Map, Value};

use super::{Merged, Operation, anthropic, openai_chat};

/// Why an answer cannot be delivered in the other mode, or not be built at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// The operation's streams cannot be changed.
    #[error(
        "a {recorded} recording of {operation} cannot answer a {wanted} request yet; record this call in both modes"
    )]
    NotYet {
        /// The operation's name.
        operation: &'static str,
        /// The mode it was recorded in.
        recorded: &'static str,
        /// The mode it was asked for in.
        wanted: &'static str,
    },
    /// The stream lacks its end, or holds an error.
    #[error("the recorded stream did not end well, so no complete answer can be made of it")]
    Unended,
    /// The bytes are not an answer of this operation.
    #[error(
        "the recorded answer is not one of {operation}, so it cannot be served in the other mode"
    )]
    Unreadable {
        /// The operation's name.
        operation: &'static str,
    },
    /// The operation's answers are more than words.
    #[error(
        "an answer of {operation} cannot be built from words alone; record this call through loomrec"
    )]
    NotFromWords {
        /// The operation's name.
        operation: &'static str,
    },
    /// What was said has no place in an answer of this operation.
    #[error(
        "an answer of {operation} has no place for the entry's {what}; record this call through loomrec"
    )]
    NoPlace {
        /// The operation's name.
        operation: &'static str,
        /// What has no place, in the plural.
        what: &'static str,
    },
    /// Vectors are asked for, and none were kept.
    #[error(
        "an answer of {operation} needs vectors, and the entry has none that are all numbers; record this call through loomrec"
    )]
    NoVectors {
        /// The operation's name.
        operation: &'static str,
    },
}

/// The complete answer that a recorded stream stands for.
///
/// # Errors
/// Where the operation cannot be changed, or the stream is cut, holds an error, or
/// is no answer.
pub fn to_complete(operation: Operation, sse: &[u8]) -> Result<Vec<u8>, ModeError> {
    let (merge, finish): (Merge, Finish) = match operation {
        Operation::ChatCompletions => (openai_chat::merge, chat::complete),
        Operation::Messages => (anthropic::merge, |body| body),
        _ => {
            return Err(ModeError::NotYet {
                operation: operation.name(),
                recorded: "streamed",
                wanted: "complete",
            });
        }
    };
    let merged = merge(sse).ok_or(ModeError::Unreadable { operation: operation.name() })?;
    if merged.failed || !merged.ended {
        return Err(ModeError::Unended);
    }
    Ok(Value::Object(finish(merged.body)).to_string().into_bytes())
}

type Merge = fn(&[u8]) -> Option<Merged>;
type Finish = fn(Map<String, Value>) -> Map<String, Value>;

/// The stream that a recorded complete answer stands for: one item per event.
/// `include_usage` is the request's `stream_options.include_usage`; Anthropic's
/// streams always carry their usage.
///
/// # Errors
/// Where the operation cannot be changed, or the body is no answer.
pub fn to_stream(
    operation: Operation,
    body: &[u8],
    include_usage: bool,
) -> Result<Vec<Vec<u8>>, ModeError> {
    let unreadable = || ModeError::Unreadable { operation: operation.name() };
    let parse = || match super::value(body) {
        Some(Value::Object(body)) => Ok(body),
        _ => Err(unreadable()),
    };
    match operation {
        Operation::ChatCompletions => chat::stream(parse()?, include_usage).ok_or_else(unreadable),
        Operation::Messages => messages::stream(parse()?).ok_or_else(unreadable),
        _ => Err(ModeError::NotYet {
            operation: operation.name(),
            recorded: "complete",
            wanted: "streamed",
        }),
    }
}

/// The most characters of a piece: text without blanks is cut here.
const LONGEST_PIECE: usize = 24;

/// Cuts text into word-sized pieces, each with the blanks that follow it; their
/// concatenation is the text.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut blank = false;
        let end = rest.char_indices().enumerate().find(|(place, (_, next))| {
            let word_ends = blank && !next.is_whitespace();
            blank = next.is_whitespace();
            word_ends || *place >= LONGEST_PIECE
        });
        let end = end.map_or(rest.len(), |(_, (at, _))| at);
        let (piece, left) = rest.split_at(end);
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests;
