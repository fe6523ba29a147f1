//! Where everything stands in a recording's text, in few bytes.

use std::ops::Range;

use super::place::PackedMember;
use crate::meta::RecordingMeta;
use crate::name_set::NameSet;

/// Where everything stands in a recording's text.
#[derive(Clone, Debug, Default)]
pub struct RecordingOutline {
    pub(super) meta: RecordingMeta,
    /// The keys that are metadata, in the text's order.
    pub(super) meta_keys: Vec<String>,
    pub(super) members: Vec<PackedMember>,
    /// The objects in lists of takes, in the text's order.
    pub(super) items: Vec<Range<u64>>,
    pub(super) names: NameSet,
    /// The numbers of the members that hold takes, name by name, those of a name in the
    /// order of their takes.
    pub(super) order: Vec<u32>,
    /// Where the members of each name begin in `order`.
    pub(super) starts: Vec<u32>,
}
