//! An index of recorded requests by all of their bytes. A request that arrives exactly as one is
//! stored has the same key, and need not be parsed.
//!
//! The operation and the key of a request follow from what is stored of it, so both are found under
//! the SHA-256 of all of that. They are computed from the stored request when it is loaded, never
//! taken from its entry.

use foldhash::HashMap;
use sha2::{Digest as _, Sha256};

use loomrec_identity::RequestKey;
use loomrec_provider::RecognisedCall;
use loomrec_recording::RecordedRequest;

/// The largest body in the index. A larger one is hashed once, for its key alone.
const LARGEST: usize = 64 << 10;
/// The most requests in the index.
const MOST: usize = 100_000;

/// The SHA-256 of all that is stored of a request.
type RequestPrint = [u8; 32];

/// What recorded requests ask for, and their keys under one set of rules.
#[derive(Debug, Default)]
pub(super) struct ExactRequests {
    requests: HashMap<RequestPrint, (u32, RequestKey)>,
    /// What they ask for, each different value once.
    calls: Vec<RecognisedCall>,
    ids: HashMap<RecognisedCall, u32>,
}

impl ExactRequests {
    /// Whether a request may be in the index.
    pub(super) fn can_hold(request: &RecordedRequest) -> bool {
        request.body.len() <= LARGEST
    }

    /// Whether the index takes no more requests.
    pub(super) fn is_full(&self) -> bool {
        self.requests.len() >= MOST
    }

    /// Adds a request with its call and key.
    pub(super) fn insert_request(
        &mut self,
        request: &RecordedRequest,
        call: &RecognisedCall,
        key: RequestKey,
    ) {
        let id = match self.ids.get(call) {
            Some(id) => *id,
            None => {
                let id = self.calls.len() as u32;
                self.calls.push(call.clone());
                self.ids.insert(call.clone(), id);
                id
            }
        };
        self.requests.insert(hash_request(request), (id, key));
    }

    /// Returns the call and key of `request`, if it is in the index.
    pub(super) fn find(&self, request: &RecordedRequest) -> Option<(&RecognisedCall, &RequestKey)> {
        if self.requests.is_empty() || !Self::can_hold(request) {
            return None;
        }
        let (id, key) = self.requests.get(&hash_request(request))?;
        Some((self.calls.get(*id as usize)?, key))
    }
}

/// Returns the hash of a request. Two requests have the same one only if all that is stored of them
/// is the same: each part follows its length, except the body, which comes last.
fn hash_request(request: &RecordedRequest) -> RequestPrint {
    let RecordedRequest { method, path, query, headers, body, .. } = request;
    let mut head = Vec::with_capacity(512);
    let mut add = |part: &str| {
        head.extend_from_slice(&(part.len() as u64).to_le_bytes());
        head.extend_from_slice(part.as_bytes());
    };
    [method, path, query].into_iter().for_each(|part| add(part));
    for (name, value) in headers {
        add(name);
        add(value);
    }
    // The number of headers shows where they end.
    head.extend_from_slice(&(headers.len() as u64).to_le_bytes());
    let mut hash = Sha256::new();
    hash.update((head.len() as u64).to_le_bytes());
    hash.update(&head);
    hash.update(body);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::IdentityRules;

    fn request(headers: &[(&str, &str)], body: &str) -> RecordedRequest {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        RecordedRequest {
            method: "POST".to_owned(),
            path: "/v1/chat/completions".to_owned(),
            query: String::new(),
            headers: headers.iter().map(owned).collect(),
            other_headers: Default::default(),
            packed: None,
            body: body.to_owned().into(),
        }
    }

    fn kept(
        recalled: &mut ExactRequests,
        request: &RecordedRequest,
    ) -> (RecognisedCall, RequestKey) {
        let (call, key) = request.recognise_with_key(&IdentityRules::default());
        recalled.insert_request(request, &call, key.clone());
        (call, key)
    }

    const JSON: (&str, &str) = ("content-type", "application/json");

    #[test]
    fn request_is_known_again_with_its_call_and_key_when_all_of_it_is_the_same() {
        let mut recalled = ExactRequests::default();
        let one = request(&[JSON], r#"{"model":"a","messages":[]}"#);
        let other = request(&[JSON], r#"{"model":"b","stream":true,"messages":[]}"#);
        let known = [kept(&mut recalled, &one), kept(&mut recalled, &other)];
        for (request, (call, key)) in [one, other].iter().zip(&known) {
            assert_eq!(recalled.find(request), Some((call, key)));
            assert_eq!(*key, request.compute_key(call, &IdentityRules::default()));
        }
        assert_eq!(known[1].0.model.as_deref(), Some("b"));
    }

    #[test]
    fn request_is_not_known_again_when_any_part_of_it_differs() {
        let mut recalled = ExactRequests::default();
        let whole = request(&[JSON, ("accept", "*/*")], "{}");
        kept(&mut recalled, &whole);
        let mut others = vec![
            request(&[("accept", "*/*"), JSON], "{}"),
            request(&[JSON], "{}"),
            request(&[JSON, ("accept", "*/")], "*{}"),
            request(&[JSON, ("accep", "t*/*")], "{}"),
            request(&[JSON, ("accept", "*/*")], "{} "),
        ];
        others.extend([
            RecordedRequest { method: "PUT".to_owned(), ..whole.clone() },
            RecordedRequest { path: "/v1/chat/completion".to_owned(), ..whole.clone() },
            RecordedRequest { query: "a".to_owned(), ..whole.clone() },
        ]);
        assert!(others.iter().all(|other| recalled.find(other).is_none()));
        assert!(recalled.find(&whole).is_some());
    }

    #[test]
    fn large_request_is_never_looked_up() {
        let large = request(&[JSON], &format!("\"{}\"", "a".repeat(LARGEST)));
        assert!(!ExactRequests::can_hold(&large));
        let mut recalled = ExactRequests::default();
        kept(&mut recalled, &large);
        assert!(recalled.find(&large).is_none());
    }
}
