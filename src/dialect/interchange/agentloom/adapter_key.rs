//! The hashes that AgentLoom looks an exported entry up by.

use std::collections::HashSet;

use super::super::write::EntryToWrite;
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;

/// The most hashes of a whole request that an entry is written under.
const MOST: usize = 20;

/// The hashes of an entry's request.
#[derive(Debug, Default)]
pub(super) struct AdapterKeys {
    /// The hashes of the whole request, the likeliest first.
    pub(super) whole_request: Vec<RequestKey>,
    /// The hashes of its messages alone.
    messages: Vec<RequestKey>,
}

/// The names that an entry is written under.
#[derive(Debug)]
pub(super) struct WrittenNames {
    /// Its step id or its first hash.
    pub(super) first: String,
    /// Further hashes of its request.
    pub(super) whole_request: Vec<RequestKey>,
    /// Hashes of its messages alone.
    pub(super) messages: Vec<RequestKey>,
}

impl AdapterKeys {
    /// Returns the hashes of an entry; none if its request is not recorded, or if AgentLoom does
    /// not make such requests.
    pub(super) fn from_entry(entry: &Entry) -> Self {
        let call = entry.recognise_call();
        let observed = call.and_then(|call| NormalizedRequest::with_unknown_key(entry, call));
        let Some(observed) = observed else { return Self::default() };
        let rules = [IdentityRules::default()];
        let mut hashes = observed.adapter_hashes(&rules);
        if observed.call.target.is_none() && observed.key_parts().is_bare(&[], &rules[0]) {
            // A chat completion's key is AgentLoom's hash of what is given as it is sent.
            let key = observed.key_under(&rules[0]);
            if !hashes.contains(&key) {
                hashes.insert(0, key);
            }
        }
        hashes.truncate(MOST);
        Self { whole_request: hashes, messages: observed.messages_hashes(&rules) }
    }

    /// Returns the names to write an entry under, and adds their hashes to `used`.
    ///
    /// # Errors
    /// If another entry is written under each hash that this one has.
    pub(super) fn written_names(
        &self,
        sent: &EntryToWrite<'_>,
        used: &mut HashSet<RequestKey>,
    ) -> Result<WrittenNames, String> {
        let mut unused = |keys: &[RequestKey]| -> Vec<RequestKey> {
            keys.iter().filter(|key| used.insert((*key).clone())).cloned().collect()
        };
        let own = RequestKey::parse(sent.key).filter(|_| sent.step.is_none());
        let own = own.filter(|_| self.whole_request.is_empty());
        let whole = own.as_ref().map_or(&*self.whole_request, std::slice::from_ref);
        let mut whole_request = unused(whole);
        let first = match sent.step {
            Some(step) => step.to_owned(),
            None if whole_request.is_empty() => {
                let reason = "AgentLoom has one answer for a request: another entry has it";
                return Err(reason.to_owned());
            }
            None => whole_request.remove(0).to_string(),
        };
        Ok(WrittenNames { first, whole_request, messages: unused(&self.messages) })
    }
}
