//! The identity of takes: what a take answers.
//!
//! Takes of a name with the same identity are served in order: the Nth call gets the Nth take. So
//! only the last take can be removed, and none before it.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::call_scope::{CallForm, CallScope};
use super::entry::Entry;

/// What a take answers: the request in its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TakeIdentity([u8; 32]);

impl TakeIdentity {
    /// Returns the identity of an entry.
    pub fn from_entry(entry: &Entry) -> Self {
        let mut hash = Sha256::new();
        let mut part = |text: Option<&str>| {
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            hash.update(length.to_le_bytes());
            hash.update(text.unwrap_or_default());
        };
        let CallScope { session, upstream, form } = CallScope::from_entry(entry);
        part(entry.request_hash.as_ref().map(|key| key.as_str()));
        part(session.as_deref());
        part(upstream.as_deref());
        part(form.as_ref().map(CallForm::to_text).as_deref());
        Self(hash.finalize().into())
    }
}

/// Returns which of the `unwanted` takes of a name can be removed: those that are not followed by a
/// take with the same identity that stays.
pub fn can_go(takes: &[(TakeIdentity, bool)]) -> Vec<bool> {
    let mut stays = HashSet::new();
    let mut go: Vec<bool> = takes
        .iter()
        .rev()
        .map(|(question, unwanted)| {
            let goes = *unwanted && !stays.contains(question);
            if !goes {
                stays.insert(*question);
            }
            goes
        })
        .collect();
    go.reverse();
    go
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedRequest;
    use loomrec_identity::RequestKey;

    fn request(path: &str, body: &'static str) -> Option<RecordedRequest> {
        let (query, headers, other_headers, packed) = Default::default();
        let (method, path, body) = ("POST".into(), path.into(), body.into());
        Some(RecordedRequest { method, path, query, headers, other_headers, body, packed })
    }

    #[test]
    fn question_is_another_when_any_part_of_it_is() {
        let chat = "/v1/chat/completions";
        let plain = Entry {
            request: request(chat, "{}"),
            upstream: Some("openai".into()),
            ..Entry::default()
        };
        let others = [
            Entry { request_hash: RequestKey::parse(&"0".repeat(64)), ..plain.clone() },
            Entry { session: Some("openai".into()), upstream: None, ..plain.clone() },
            Entry { upstream: Some("groq".into()), ..plain.clone() },
            Entry { request: request("/eu/v1/chat/completions", "{}"), ..plain.clone() },
            Entry { request: request(chat, "{\"stream\":true}"), ..plain.clone() },
        ];
        for other in &others {
            assert_ne!(
                TakeIdentity::from_entry(other),
                TakeIdentity::from_entry(&plain),
                "{other:?}"
            );
        }
        let said = Entry { content: Some("other".into()), ..plain.clone() };
        assert_eq!(TakeIdentity::from_entry(&said), TakeIdentity::from_entry(&plain));
    }

    #[test]
    fn take_stays_when_a_later_one_of_its_question_does() {
        let [a, b] = [1, 2].map(|byte| TakeIdentity([byte; 32]));
        let go = |takes: &[(TakeIdentity, bool)]| can_go(takes);
        assert_eq!(go(&[(a, true), (a, false)]), [false, false]);
        assert_eq!(go(&[(a, false), (a, true), (a, true)]), [false, true, true]);
        assert_eq!(go(&[(a, true), (a, false), (a, true)]), [false, false, true]);
        assert_eq!(go(&[(a, true), (b, false), (a, true)]), [true, false, true]);
        assert_eq!(go(&[]), [false; 0]);
    }
}
