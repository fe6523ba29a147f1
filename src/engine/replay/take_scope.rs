//! The scope of a take: the upstream, the host and the mount of its call.

use super::name_ids::{NameId, NameIds};
use super::take::ReplayTake;
use loomrec_provider::begins_with_version;
use loomrec_recording::normalized_request::NormalizedRequest;

/// Where a call goes: its upstream and, for chat calls, whose hash does not cover it, its mount. A
/// take is compared only in what it states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TakeScope {
    /// `None` for an upstream that no take names.
    pub(super) upstream: Option<NameId>,
    pub(super) mount: ScopeLabel,
    /// The host of the upstream's provider, if the call names one itself: two regions, or two
    /// customers' resources, are two servers.
    pub(super) host: ScopeLabel,
    /// Whether its path begins with `/v1`; `None` if that does not matter. Keys do not hold it, as one
    /// endpoint may be called in both ways. They may also be two endpoints.
    pub(super) has_version: Option<bool>,
}

/// A label of a call that takes may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ScopeLabel {
    /// It does not matter.
    Any,
    /// One that no take has.
    Unknown,
    /// One that takes have.
    Known(NameId),
}

impl TakeScope {
    /// Returns where a call goes. `names` has the upstreams and the mounts of the takes.
    pub(super) fn from_request(observed: &NormalizedRequest, names: &NameIds) -> Self {
        let label = |name: &str| names.find(name).map_or(ScopeLabel::Unknown, ScopeLabel::Known);
        let mount = match &observed.call.target {
            // The key holds the path.
            Some(_) => ScopeLabel::Any,
            None => label(observed.chat_mount()),
        };
        let host = observed.named_host.as_deref().map_or(ScopeLabel::Any, label);
        Self { upstream: names.find(&observed.upstream), mount, host, has_version: None }
    }

    /// Returns the scope of the takes that have exactly the path of this call.
    pub(super) fn with_exact_path(self, call: &NormalizedRequest) -> Self {
        Self { has_version: Some(begins_with_version(call.path())), ..self }
    }

    /// Whether `take` was recorded there.
    pub(super) fn contains_take(self, take: &ReplayTake) -> bool {
        let path = match (self.has_version, take.has_version) {
            (Some(asked), Some(recorded)) => asked == recorded,
            _ => true,
        };
        self.has_upstream_of(take) && self.has_mount_of(take) && path
    }

    /// Whether `take` was recorded at its upstream and its host, or names none.
    pub(super) fn has_upstream_of(self, take: &ReplayTake) -> bool {
        let at_upstream = take.under.upstream.is_none() || take.under.upstream == self.upstream;
        at_upstream && self.has_host_of(take)
    }

    /// Whether `take` was recorded at its host, or at none of the provider's.
    pub(super) fn has_host_of(self, take: &ReplayTake) -> bool {
        self.host.admits_label(take.provider_host())
    }

    /// Whether `take` was recorded at its mount, or names no path.
    pub(super) fn has_mount_of(self, take: &ReplayTake) -> bool {
        self.mount.admits_label(take.under.mount)
    }
}

impl ScopeLabel {
    /// Whether a take with this label, or with none, may answer the call.
    fn admits_label(self, label: Option<NameId>) -> bool {
        match self {
            Self::Any => true,
            Self::Unknown => label.is_none(),
            Self::Known(own) => label.is_none_or(|known| known == own),
        }
    }
}
