//! The search by the hashes of adapters.
//!
//! A plain entry has the hash of what a provider's adapter was given, so its hash of a call to
//! Anthropic or Google is not the key of the request. A call whose own key finds nothing is looked up by the
//! hashes that an adapter can have for it, among entries with a hash and no request. Recordings
//! without such entries are never searched like this.

use super::matched_by::MatchedBy;
use super::matcher::{CallQuery, Matcher, TakeMatch};
use super::reason::MissReason;
use loomrec_identity::RequestKey;
use loomrec_recording::normalized_request::NormalizedRequest;

impl Matcher {
    /// Finds the take of a call whose own key finds nothing.
    ///
    /// # Errors
    /// The reason why there is no take for it.
    pub(super) fn find_by_adapter(
        &self,
        query: &CallQuery<'_>,
    ) -> Result<TakeMatch<'_>, MissReason> {
        let observed = query.observed;
        let hashes = observed.adapter_hashes(&self.rules);
        let groups = self.adapter_groups(&hashes);
        if !groups.is_empty() {
            return self.find_in(&groups, query, MatchedBy::AdapterHash);
        }
        let groups = match self.adapter.allows_messages {
            true => self.messages_groups(observed),
            false => Vec::new(),
        };
        self.find_in(&groups, query, MatchedBy::MessagesHash)
    }

    /// Returns the name of an entry that is known by the messages of `observed` alone, if such
    /// entries may not answer.
    pub(super) fn refused_by_messages(&self, observed: &NormalizedRequest) -> Option<String> {
        if self.adapter.bare == 0 || self.adapter.allows_messages {
            return None;
        }
        let group = *self.messages_groups(observed).first()?;
        let take = *self.groups.get(group as usize)?.takes().first()?;
        Some(self.name_of(self.takes.get(take as usize)?).to_string())
    }

    /// Returns how many entries may answer calls that have only their messages in common.
    pub fn known_by_messages(&self) -> usize {
        if self.adapter.allows_messages { self.adapter.bare } else { 0 }
    }

    fn messages_groups(&self, observed: &NormalizedRequest) -> Vec<u32> {
        self.adapter_groups(&observed.messages_hashes(&self.rules))
    }

    /// Returns the groups of these hashes whose entries hold no request.
    fn adapter_groups(&self, hashes: &[RequestKey]) -> Vec<u32> {
        let has_request = |take: &u32| self.takes[*take as usize].sketch().is_some();
        let is_adapters =
            |group: &u32| !self.groups[*group as usize].takes().iter().any(has_request);
        let mut groups = Vec::new();
        for hash in hashes {
            let find = |rules| self.groups_by_key.find(rules, hash);
            groups.extend((0..self.rules.len()).filter_map(find).filter(is_adapters));
        }
        groups
    }
}
