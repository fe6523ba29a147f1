//! The formats in which an answer can be requested, and why one cannot be produced.

/// The types of vectors that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorTypes {
    /// The request does not say.
    Unspecified,
    /// Only numbers with a fraction.
    Float,
    /// Other types, alone or besides these.
    Other,
}

/// The format that a transcription request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// JSON, which is the default.
    Json,
    /// The plain text.
    Text,
    /// Subtitles, with a time for each line.
    Subtitles,
}

/// Why an answer cannot be delivered in the other mode, or cannot be built at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// The operation's streams cannot be changed.
    #[error(
        "a {recorded} recording of {operation} cannot answer a {wanted} request yet; record this call in both modes"
    )]
    NotYet {
        /// The operation's name.
        operation: &'static str,
        /// The mode in which it was recorded.
        recorded: &'static str,
        /// The mode in which it is requested.
        wanted: &'static str,
    },
    /// The stream has no end, or holds an error.
    #[error(
        "the recorded stream is incomplete or ended with an error, so it cannot be converted to a \
         complete answer"
    )]
    Unended,
    /// The bytes are not an answer of this operation.
    #[error(
        "the recorded answer is not one of {operation}, so it cannot be served in the other mode"
    )]
    Unreadable {
        /// The operation's name.
        operation: &'static str,
    },
    /// The answer holds half of a character.
    #[error(
        "the recorded answer of {operation} holds half of a character (a UTF-16 surrogate without its other half), which cannot be written in the other mode; record this call in both modes"
    )]
    HalfCharacter {
        /// The operation's name.
        operation: &'static str,
    },
    /// The operation's answers hold more than words.
    #[error(
        "an answer of {operation} cannot be built from text alone; record this call through loomrec"
    )]
    NotFromWords {
        /// The operation's name.
        operation: &'static str,
    },
    /// An answer of this operation has no place for some content.
    #[error(
        "an answer of {operation} has no place for the entry's {what}; record this call through loomrec"
    )]
    NoPlace {
        /// The operation's name.
        operation: &'static str,
        /// The content without a place, in the plural.
        what: &'static str,
    },
    /// The request asks for vectors of another number of texts than were recorded.
    #[error(
        "{requested} vectors are asked for and the entry has {kept}, so the vectors cannot be matched \
         to the texts; record this call through loomrec"
    )]
    OtherCount {
        /// How many vectors the request asks for.
        requested: usize,
        /// How many were recorded.
        kept: usize,
    },
    /// The request asks for vectors, and none were recorded.
    #[error(
        "an answer of {operation} needs vectors, and the entry has none that are all numbers; record this call through loomrec"
    )]
    NoVectors {
        /// The operation's name.
        operation: &'static str,
    },
}
