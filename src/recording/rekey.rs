//! Recomputing the keys of recorded requests.

use super::entry::Entry;
use super::entry_name::EntryName;
use loomrec_identity::IdentityRules;

/// An entry whose key cannot be recomputed. Reads after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("recompute the key of {name}: its request is not recorded; record that call again")]
pub struct NoRequest {
    /// The name of the entry.
    pub name: EntryName,
}

impl Entry {
    /// Sets the entry's key to that of its request under `rules`, and returns the name that the
    /// entry must have then. An entry under a step id that has neither request nor key stays
    /// unchanged.
    ///
    /// # Errors
    /// If the entry has no request and is under a hash or has a key.
    pub fn rekey(
        &mut self,
        name: &EntryName,
        rules: &IdentityRules,
    ) -> Result<EntryName, NoRequest> {
        let Some(key) = self.read_request().map(|request| request.compute_key(rules)) else {
            return match (name, &self.request_hash) {
                (EntryName::Step(_), None) => Ok(name.clone()),
                _ => Err(NoRequest { name: name.clone() }),
            };
        };
        self.request_hash = Some(key.clone());
        Ok(match name {
            EntryName::Step(_) => name.clone(),
            EntryName::Hash(_) => EntryName::Hash(key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedRequest;
    use loomrec_identity::{JsonPointer, RequestKey};

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn entry(body: &'static str) -> Entry {
        let request = RecordedRequest {
            method: "POST".into(),
            path: "/v1/chat/completions".into(),
            query: String::new(),
            headers: vec![("content-type".into(), "application/json".into())],
            other_headers: Default::default(),
            packed: None,
            body: body.into(),
        };
        Entry { request: Some(request), ..Entry::default() }
    }

    #[test]
    fn key_follows_the_request_and_the_rules() {
        let old = EntryName::Hash(RequestKey::parse(HASH).unwrap());
        let rules = IdentityRules::new(vec![JsonPointer::parse("/user").unwrap()]);
        let (mut one, mut other) =
            (entry(r#"{"model":"m","user":"a"}"#), entry(r#"{"model":"m","user":"b"}"#));
        let (plain, ignoring) = (IdentityRules::default(), &rules);
        assert_ne!(one.rekey(&old, &plain), other.rekey(&old, &plain));
        assert_eq!(one.rekey(&old, ignoring), other.rekey(&old, ignoring));
        let name = EntryName::Hash(one.request_hash.clone().unwrap());
        assert_eq!(one.rekey(&old, ignoring), Ok(name));
        let step = EntryName::from_step_id("plan").unwrap();
        assert_eq!(one.rekey(&step, &plain), Ok(step.clone()));
        assert_ne!(one.request_hash, other.request_hash);
    }

    #[test]
    fn entry_is_refused_when_it_has_a_key_and_no_request() {
        let name = EntryName::Hash(RequestKey::parse(HASH).unwrap());
        let rules = IdentityRules::default();
        assert_eq!(Entry::default().rekey(&name, &rules), Err(NoRequest { name }));
        let step = EntryName::from_step_id("plan").unwrap();
        assert_eq!(Entry::default().rekey(&step, &rules), Ok(step));
    }
}
