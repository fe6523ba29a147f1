//! The parts that an answer is put together from.

/// A part of what an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPart<'a> {
    /// Text, after the text before it.
    Text(&'a str),
    /// A tool call.
    Call {
        /// Its id; `""` where one is to be made.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// The arguments' JSON text, or the beginning of it.
        arguments: &'a str,
    },
    /// More of the arguments of a call.
    Arguments {
        /// Which part the call is.
        call: usize,
        /// What follows.
        text: &'a str,
    },
}

/// All of the arguments of the call that is part `call`.
pub(super) fn arguments(parts: &[AnswerPart<'_>], call: usize) -> String {
    pieces(parts, call).map(|(_, text)| text).collect()
}

/// The pieces of a call's arguments, each with the part that says it.
pub(super) fn pieces<'a>(
    parts: &'a [AnswerPart<'a>],
    call: usize,
) -> impl Iterator<Item = (usize, &'a str)> {
    parts.iter().enumerate().filter_map(move |(index, part)| match part {
        AnswerPart::Call { arguments, .. } if index == call => Some((index, *arguments)),
        AnswerPart::Arguments { call: of, text } if *of == call => Some((index, *text)),
        _ => None,
    })
}
