//! Why a text is not split into members.

/// A text that is no JSON object, or not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSplit;
