//! The hashes that AgentLoom looks an exported entry up by.

use std::collections::HashSet;

use super::super::write::EntryToWrite;
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::Entry;

/// The most hashes of a whole request that an entry is written under.
const MOST: usize = 20;

/// The hashes of an entry's request.
#[derive(Debug, Default)]
pub(super) struct AdapterKeys {
    /// The hashes of the whole request, the likeliest first.
    pub(super) request: Vec<RequestKey>,
    /// The hashes of its messages alone.
    messages: Vec<RequestKey>,
}

/// The names that an entry is written under.
#[derive(Debug)]
pub(super) struct WrittenNames {
    /// Its step id or its first hash.
    pub(super) first: String,
    /// Further hashes of its request.
    pub(super) request: Vec<RequestKey>,
    /// Hashes of its messages alone.
    pub(super) messages: Vec<RequestKey>,
}

impl AdapterKeys {
    /// Returns the hashes of an entry; none if its request is not recorded, or if AgentLoom does
    /// not make such requests.
    pub(super) fn from_entry(entry: &Entry) -> Self {
        let Some(request) = &entry.request else { return Self::default() };
        let (call, rules) = (request.recognise_call(), [IdentityRules::default()]);
        let mut hashes = request.adapter_hashes(&call, &rules);
        if call.target.is_none() && request.key_parts(&call).is_bare(&[], &rules[0]) {
            // A chat completion's key is AgentLoom's hash of what is given as it is sent.
            let key = request.compute_key(&call, &rules[0]);
            if !hashes.contains(&key) {
                hashes.insert(0, key);
            }
        }
        hashes.truncate(MOST);
        Self { request: hashes, messages: request.messages_hashes(&call, &rules) }
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
        let own = own.filter(|_| self.request.is_empty());
        let mut request = unused(own.as_ref().map_or(&self.request, std::slice::from_ref));
        let first = match sent.step {
            Some(step) => step.to_owned(),
            None if request.is_empty() => {
                let reason = "AgentLoom has one answer for a request: another entry has it";
                return Err(reason.to_owned());
            }
            None => request.remove(0).to_string(),
        };
        Ok(WrittenNames { first, request, messages: unused(&self.messages) })
    }
}
