//! The scope of a take: the upstream and the mount of its call.

use super::name_ids::{NameId, NameIds};
use super::take::ReplayTake;
use loomrec_recording::normalized_request::NormalizedRequest;

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
    /// Returns where a call goes. `names` has the upstreams and the mounts of the takes.
    pub(super) fn from_request(observed: &NormalizedRequest, names: &NameIds) -> Self {
        let mount = match &observed.call.target {
            Some(_) => CallMount::Any,
            None => names
                .find(loomrec_provider::chat_mount(&observed.request.path))
                .map_or(CallMount::Unknown, CallMount::Known),
        };
        Self { upstream: names.find(&observed.upstream), mount }
    }

    /// Whether `take` was recorded there.
    pub(super) fn contains_take(self, take: &ReplayTake) -> bool {
        self.has_upstream_of(take) && self.mount.contains_take(take)
    }

    /// Whether `take` was recorded at its upstream, or names none.
    pub(super) fn has_upstream_of(self, take: &ReplayTake) -> bool {
        take.under.upstream.is_none() || take.under.upstream == self.upstream
    }
}

impl CallMount {
    /// Whether `take` was recorded there, or names no path.
    pub(super) fn contains_take(self, take: &ReplayTake) -> bool {
        match self {
            Self::Any => true,
            Self::Unknown => take.under.mount.is_none(),
            Self::Known(mount) => take.under.mount.is_none_or(|known| known == mount),
        }
    }
}
