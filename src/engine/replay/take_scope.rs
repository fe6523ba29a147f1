//! The scope of a take: the upstream and the mount of its call.

use super::name_ids::NameId;
use super::take::ReplayTake;

/// Whether two calls stand at one place: the same upstream and, for the chat form
/// whose hash has no room for it, the same mount. What a take does not say is not
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TakeScope {
    /// `None` for an upstream that no take names.
    pub(super) upstream: Option<NameId>,
    pub(super) mount: CallMount,
}

/// Where the path of a call is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallMount {
    /// It does not matter: the key holds the path.
    Any,
    /// Where no take is.
    Unknown,
    /// Where takes are.
    Known(NameId),
}

impl TakeScope {
    /// Whether `take` stands there.
    pub(super) fn holds(self, take: &ReplayTake) -> bool {
        let upstream = take.under.upstream.is_none() || take.under.upstream == self.upstream;
        let mount = match self.mount {
            CallMount::Any => true,
            CallMount::Unknown => take.under.mount.is_none(),
            CallMount::Known(mount) => take.under.mount.is_none_or(|known| known == mount),
        };
        upstream && mount
    }
}
