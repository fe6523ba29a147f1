//! The error of a text that cannot be split into members.

/// A text that is not a JSON object, or not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitError;
