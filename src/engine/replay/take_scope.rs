//! The scope of a take: the upstream and the mount of its call.

use super::name_ids::NameId;
use super::take::ReplayTake;

/// Where a call goes: its upstream and, for chat calls, whose hash does not cover it, its mount. A
/// take is compared only in what it states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TakeScope {
    /// `None` for an upstream that no take names.
    pub(super) upstream: Option<NameId>,
    pub(super) mount: CallMount,
}

/// The mount of a call's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallMount {
    /// It does not matter: the key holds the path.
    Any,
    /// A mount that no take has.
    Unknown,
    /// A mount that takes have.
    Known(NameId),
}

impl TakeScope {
    /// Whether `take` was recorded there.
    pub(super) fn contains_take(self, take: &ReplayTake) -> bool {
        let upstream = take.under.upstream.is_none() || take.under.upstream == self.upstream;
        let mount = match self.mount {
            CallMount::Any => true,
            CallMount::Unknown => take.under.mount.is_none(),
            CallMount::Known(mount) => take.under.mount.is_none_or(|known| known == mount),
        };
        upstream && mount
    }
}
