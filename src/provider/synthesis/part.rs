//! The parts of an answer.

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPart<'a> {
    /// Text that follows the text before it.
    Text(&'a str),
    /// A tool call.
    Call {
        /// Its id; `""` to have one made.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// The JSON text of the arguments, or its beginning.
        arguments: &'a str,
    },
    /// More of a call's arguments.
    Arguments {
        /// The index of the call's part.
        call: usize,
        /// The text that follows.
        text: &'a str,
    },
}

/// All arguments of the call in part `call`.
pub(super) fn whole_arguments(parts: &[AnswerPart<'_>], call: usize) -> String {
    argument_pieces(parts, call).map(|(_, text)| text).collect()
}

/// The pieces of a call's arguments, each with the index of its part.
pub(super) fn argument_pieces<'a>(
    parts: &'a [AnswerPart<'a>],
    call: usize,
) -> impl Iterator<Item = (usize, &'a str)> {
    parts.iter().enumerate().filter_map(move |(index, part)| match part {
        AnswerPart::Call { arguments, .. } if index == call => Some((index, *arguments)),
        AnswerPart::Arguments { call: of, text } if *of == call => Some((index, *text)),
        _ => None,
    })
}
