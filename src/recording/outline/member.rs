//! One member of a recording's text: where it stands, and what it is for.

use std::ops::Range;

/// One member of the top-level object.
#[derive(Clone, Debug)]
pub struct OutlineMember {
    /// Where its key begins.
    pub at: u64,
    /// The line that is in, counted from 1.
    pub(crate) line: usize,
    /// Where its value stands.
    pub value: Range<u64>,
    /// What the value looks like.
    pub(super) kind: Kind,
    /// Whether all before the value is written as we write it.
    pub tidy: bool,
    /// What it is for.
    pub role: MemberRole,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    /// A list of objects.
    List,
    Other,
}

/// What a member is for.
#[derive(Clone, Copy, Debug)]
pub enum MemberRole {
    /// Metadata, by the number of its key: see [`meta_key`](super::RecordingOutline::meta_key).
    Meta(usize),
    /// Takes of a name.
    Takes {
        /// The number of the name: see [`name`](super::RecordingOutline::name).
        name: usize,
        /// Its number in the key, counted from 1.
        take: usize,
    },
}
