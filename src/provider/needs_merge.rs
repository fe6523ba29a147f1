//! What a fast reader of a stream says of an event that it does not read.

/// An event that can only be understood by merging it with the others.
pub(crate) struct NeedsMerge;
