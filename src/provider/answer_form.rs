//! The forms that an answer can be asked for in, and why it cannot be had.

/// Of what types vectors are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorTypes {
    /// The request does not say.
    Unsaid,
    /// Numbers with a fraction, and no others.
    Float,
    /// Others too, or others alone.
    Other,
}

/// What form a transcription is asked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// JSON, which all are unless the request says otherwise.
    Json,
    /// The text and nothing else.
    Text,
    /// Subtitles, with a time for each line.
    Subtitles,
}

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
    /// Vectors of so many texts are asked for, and another number was kept.
    #[error(
        "{asked} vectors are asked for and the entry has {kept}, so it is not told which text each is of; record this call through loomrec"
    )]
    OtherCount {
        /// How many are asked for.
        asked: usize,
        /// How many were kept.
        kept: usize,
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
