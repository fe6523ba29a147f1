//! The credentials that requests carry, computed once for all requests that carry the same.
//!
//! Preparing the search for a credential in every encoding costs far more than the search itself.
//! Whether a request carries the same credentials is decided by comparing every header and
//! parameter that could hold one, never by a hash.

use std::sync::{Arc, PoisonError, RwLock};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::record::capture::header_list;
use loomrec_identity::QueryRules;
use loomrec_recording::redact::CallCredentials;

/// How many different sets are kept for later connections.
const KEPT: usize = 32;
/// The most bytes of headers and query that are cached; longer ones are prepared each time.
const LONGEST: usize = 16 << 10;

/// The credentials of requests with these headers and this query. They are never printed.
pub struct RequestCredentials {
    /// The names of all headers in their order, with the values of those that can hold a
    /// credential.
    headers: Vec<(HeaderName, Option<HeaderValue>)>,
    query: String,
    /// Whether the request goes to a known provider.
    is_known: bool,
    secrets: Arc<CallCredentials>,
}

impl RequestCredentials {
    fn new(
        headers: &HeaderMap,
        query: &str,
        rules: QueryRules<'_>,
        more: &CallCredentials,
    ) -> Self {
        let mut secrets = CallCredentials::of_request(&header_list(headers), query, rules);
        secrets.extend(more);
        let secrets = Arc::new(secrets);
        // Copied, because a value shares the buffer that its request was read into.
        let copy = |value: &HeaderValue| {
            HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone())
        };
        let headers = headers.iter().map(|(name, value)| {
            (name.clone(), CallCredentials::may_be_in(name.as_str()).then(|| copy(value)))
        });
        let (headers, query) = (headers.collect(), query.to_owned());
        Self { headers, query, is_known: rules.is_known, secrets }
    }

    /// Whether a request with these headers and this query carries the same credentials.
    pub fn is_of(&self, headers: &HeaderMap, query: &str, is_known: bool) -> bool {
        self.query == query
            && self.is_known == is_known
            && self.headers.len() == headers.len()
            && self.headers.iter().zip(headers).all(|((name, value), (other, given))| {
                name == other && value.as_ref().is_none_or(|value| value == given)
            })
    }

    /// Returns the credentials, ready to be searched for.
    pub fn searchable_credentials(&self) -> Arc<CallCredentials> {
        Arc::clone(&self.secrets)
    }

    fn is_small(&self) -> bool {
        let values = self.headers.iter().filter_map(|(_, value)| value.as_ref());
        self.query.len() + values.map(HeaderValue::len).sum::<usize>() <= LONGEST
    }
}

/// A cache of recently seen credentials, for new connections.
#[derive(Default)]
pub(crate) struct CredentialCache {
    recent: RwLock<Vec<Arc<RequestCredentials>>>,
    /// The credentials that are sent to upstreams with every request.
    pub(crate) of_upstreams: CallCredentials,
}

impl CredentialCache {
    /// Returns the credentials that a request carries.
    pub(crate) fn find_or_prepare(
        &self,
        headers: &HeaderMap,
        query: &str,
        rules: QueryRules<'_>,
    ) -> Arc<RequestCredentials> {
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = recent.iter().find(|known| known.is_of(headers, query, rules.is_known))
        {
            return Arc::clone(known);
        }
        drop(recent);
        let found = Arc::new(RequestCredentials::new(headers, query, rules, &self.of_upstreams));
        if found.is_small() {
            let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
            if recent.len() == KEPT {
                recent.remove(0);
            }
            recent.push(Arc::clone(&found));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        list.iter().map(pair).collect()
    }

    #[test]
    fn credentials_are_shared_when_only_other_headers_differ() {
        let credentials = CredentialCache::default();
        let call = |length: &str, key: &str| {
            let headers = headers(&[("content-length", length), ("authorization", key)]);
            credentials.find_or_prepare(&headers, "a=b", QueryRules::KNOWN)
        };
        let first = call("17", "Bearer one-long-secret");
        assert!(Arc::ptr_eq(&first, &call("18", "Bearer one-long-secret")));
        assert!(!Arc::ptr_eq(&first, &call("17", "Bearer two-long-secret")));
    }

    #[test]
    fn credentials_are_not_shared_when_the_query_or_the_names_differ() {
        let carried = RequestCredentials::new(
            &headers(&[("x-api-key", "one-long-secret")]),
            "a=b",
            QueryRules::KNOWN,
            &CallCredentials::default(),
        );
        assert!(carried.is_of(&headers(&[("x-api-key", "one-long-secret")]), "a=b", true));
        assert!(!carried.is_of(&headers(&[("x-api-key", "one-long-secret")]), "a=c", true));
        let more = [("x-api-key", "one-long-secret"), ("cookie", "a=another-secret")];
        assert!(!carried.is_of(&headers(&more), "a=b", true));
        assert!(!carried.is_of(&headers(&[("api-key", "one-long-secret")]), "a=b", true));
    }

    #[test]
    fn no_more_are_kept_than_the_limit_when_every_request_carries_another() {
        let credentials = CredentialCache::default();
        for number in 0..KEPT * 2 {
            credentials.find_or_prepare(
                &headers(&[("x-api-key", &format!("secret-{number:08}"))]),
                "",
                QueryRules::KNOWN,
            );
        }
        assert_eq!(credentials.recent.read().unwrap().len(), KEPT);
        credentials.find_or_prepare(
            &headers(&[("x-api-key", &"k".repeat(LONGEST + 1))]),
            "",
            QueryRules::KNOWN,
        );
        let recent = credentials.recent.read().unwrap();
        assert!(recent.iter().all(|known| known.is_small()));
    }
}
