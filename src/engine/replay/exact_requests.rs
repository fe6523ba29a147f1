//! An index of recorded requests by all of their bytes. A request that arrives exactly as one is
//! stored has the same key, and need not be parsed.
//!
//! The operation and the key of a request follow from what is stored of it, so both are found under
//! the SHA-256 of all of that. They are computed from the stored request when it is loaded, never
//! taken from its entry.

use foldhash::HashMap;

use loomrec_identity::RequestKey;
use loomrec_provider::RecognisedCall;
use loomrec_recording::request_print::RequestPrint;

/// The most requests in the index.
const MOST: usize = 100_000;

/// What recorded requests ask for, and their keys under one set of rules.
#[derive(Debug, Default)]
pub(super) struct ExactRequests {
    requests: HashMap<RequestPrint, (u32, RequestKey)>,
    /// What they ask for, each different value once.
    calls: Vec<RecognisedCall>,
    ids: HashMap<RecognisedCall, u32>,
}

impl ExactRequests {
    /// Whether the index takes no more requests.
    pub(super) fn is_full(&self) -> bool {
        self.requests.len() >= MOST
    }

    /// Adds the request of this print with its call and key.
    pub(super) fn insert_request(
        &mut self,
        print: RequestPrint,
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
        self.requests.insert(print, (id, key));
    }

    /// Returns the call and key of the request with this print, if it is in the index. The print is
    /// made only if there are requests.
    pub(super) fn find(
        &self,
        print: impl FnOnce() -> Option<RequestPrint>,
    ) -> Option<(&RecognisedCall, &RequestKey)> {
        if self.requests.is_empty() {
            return None;
        }
        let (id, key) = self.requests.get(&print()?)?;
        Some((self.calls.get(*id as usize)?, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::IdentityRules;
    use loomrec_recording::RecordedRequest;

    fn request(body: &str) -> RecordedRequest {
        RecordedRequest {
            method: "POST".to_owned(),
            path: "/v1/chat/completions".to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.to_owned().into(),
            ..RecordedRequest::default()
        }
    }

    #[test]
    fn request_is_known_again_with_its_call_and_key_when_its_print_is_the_same() {
        let mut recalled = ExactRequests::default();
        let find = |recalled: &ExactRequests, request: &RecordedRequest| {
            let found = recalled.find(|| request.to_print());
            found.map(|(call, key)| (call.clone(), key.clone()))
        };
        let requests = [
            request(r#"{"model":"a","messages":[]}"#),
            request(r#"{"model":"b","stream":true,"messages":[]}"#),
        ];
        for request in &requests {
            assert_eq!(find(&recalled, request), None);
            let (call, key) = request.recognise_with_key(&IdentityRules::default());
            let print = request.to_print().unwrap();
            recalled.insert_request(print, &call, key.clone());
            assert_eq!(find(&recalled, request), Some((call, key)));
        }
        let (call, _) = find(&recalled, &requests[1]).unwrap();
        assert_eq!(call.model.as_deref(), Some("b"));
    }
}
