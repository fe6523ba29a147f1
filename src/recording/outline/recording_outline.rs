//! The offsets of all members in a recording's text, in a compact form.

use std::ops::Range;

use super::place::PackedMember;
use crate::meta::RecordingMeta;
use crate::name_set::NameSet;

/// The offsets of all members in a recording's text.
#[derive(Clone, Debug, Default)]
pub struct RecordingOutline {
    pub(super) meta: RecordingMeta,
    /// The metadata keys, in the text's order.
    pub(super) meta_keys: Vec<String>,
    pub(super) members: Vec<PackedMember>,
    /// The objects in lists of takes, in the text's order.
    pub(super) items: Vec<Range<u64>>,
    pub(super) names: NameSet,
    /// The numbers of the members that hold takes, grouped by name. Those of a name are in the
    /// order of their takes.
    pub(super) order: Vec<u32>,
    /// The start of each name's members in `order`.
    pub(super) starts: Vec<u32>,
}
