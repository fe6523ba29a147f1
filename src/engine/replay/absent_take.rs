//! The reason why no take answers a request.

use super::matcher::{CallQuery, Matcher};
use super::reason::MissReason;
use loomrec_identity::IdentityRules;

impl Matcher {
    /// Returns why a request that no pool has a take for is not answered. `groups` are those of its
    /// key.
    pub(super) fn why_none(&self, groups: &[u32], query: &CallQuery<'_>) -> MissReason {
        let takes = groups.iter().flat_map(|&group| self.groups[group as usize].takes());
        let mut takes = takes.map(|&take| &self.takes[take as usize]).peekable();
        if takes.peek().is_none() {
            return self.why_unknown(query);
        }
        let mut reason = MissReason::OtherUpstream;
        for take in takes.filter(|take| query.spot.has_upstream_of(take)) {
            if query.spot.contains_take(take) {
                return MissReason::OtherSession;
            }
            reason = MissReason::OtherPath;
        }
        reason
    }

    /// Returns why a request is not known by its key.
    fn why_unknown(&self, query: &CallQuery<'_>) -> MissReason {
        let plain = IdentityRules::default();
        let strict = query.observed.key_under(&plain);
        let index = self.rules.iter().position(|rules| *rules == plain);
        let known = self.hashes.find_number(&strict.to_bytes()).is_some()
            || index.is_some_and(|index| self.groups_by_key.find(index, &strict).is_some());
        if known { MissReason::OtherRules } else { MissReason::Unknown }
    }
}
