//! The scope of a take: the upstream and the mount of its call.

use super::name_ids::{NameId, NameIds};
use super::take::ReplayTake;
use loomrec_provider::{begins_with_version, chat_mount};
use loomrec_recording::normalized_request::NormalizedRequest;

/// Where a call goes: its upstream and, for chat calls, whose hash does not cover it, its mount. A
/// take is compared only in what it states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TakeScope {
    /// `None` for an upstream that no take names.
    pub(super) upstream: Option<NameId>,
    pub(super) mount: CallMount,
    /// Whether its path begins with `/v1`; `None` if that does not matter. Keys do not hold it, as one
    /// endpoint may be called in both ways. They may also be two endpoints.
    pub(super) has_version: Option<bool>,
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
                .find(chat_mount(&observed.request.path))
                .map_or(CallMount::Unknown, CallMount::Known),
        };
        Self { upstream: names.find(&observed.upstream), mount, has_version: None }
    }

    /// Returns the scope of the takes that have exactly the path of this call.
    pub(super) fn with_exact_path(self, call: &NormalizedRequest) -> Self {
        Self { has_version: Some(begins_with_version(&call.request.path)), ..self }
    }

    /// Whether `take` was recorded there.
    pub(super) fn contains_take(self, take: &ReplayTake) -> bool {
        let path = match (self.has_version, take.has_version) {
            (Some(asked), Some(recorded)) => asked == recorded,
            _ => true,
        };
        self.has_upstream_of(take) && self.mount.contains_take(take) && path
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
