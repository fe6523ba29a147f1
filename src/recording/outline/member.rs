//! A member of a recording's text: its position and its role.

use std::ops::Range;

/// One member of the top-level object.
#[derive(Clone, Debug)]
pub struct OutlineMember {
    /// The offset of its key.
    pub at: u64,
    /// The line of its key, counted from 1.
    pub(crate) line: usize,
    /// The range of its value.
    pub value: Range<u64>,
    /// The kind of its value.
    pub(super) kind: MemberKind,
    /// Whether everything before the value is written as loomrec writes it.
    pub tidy: bool,
    /// Its role.
    pub role: MemberRole,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberKind {
    Object,
    /// A list of objects.
    List,
    Other,
}

/// The role of a member.
#[derive(Clone, Copy, Debug)]
pub enum MemberRole {
    /// Metadata, by the number of its key: see [`meta_key`](super::RecordingOutline::meta_key).
    Meta(usize),
    /// Takes of a name.
    Takes {
        /// The number of the name: see [`name`](super::RecordingOutline::name_at).
        name: usize,
        /// The take number in the key, counted from 1.
        take: usize,
    },
}
