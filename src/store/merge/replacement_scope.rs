//! Which takes of a name a call may replace.

use loomrec_recording::log_codec::PackedHead;
use loomrec_recording::{Entry, EntryName};

/// Which takes of a name a call may replace: those of its session and, unless the name is that of a step,
/// of its upstream. A replay keeps equal requests to two upstreams apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ReplacementScope {
    session: Option<String>,
    /// `None` for a step, and for a take that names no upstream: that is of each.
    upstream: Option<String>,
}

impl ReplacementScope {
    /// Returns the scope of an entry of a log.
    pub(super) fn of_head(head: &PackedHead) -> Self {
        let is_step = matches!(head.name, EntryName::Step(_));
        let upstream = head.upstream.clone().filter(|_| !is_step);
        Self { session: head.session.clone(), upstream }
    }

    /// Returns the scope of an entry that is named by its request.
    pub(super) fn of_entry(entry: &Entry) -> Self {
        let stated = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Self { session: stated(&entry.session), upstream: stated(&entry.upstream) }
    }

    /// Returns the scope of takes that name no upstream.
    pub(super) fn without_upstream(&self) -> Self {
        Self { session: self.session.clone(), upstream: None }
    }
}
