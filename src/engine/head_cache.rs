//! The head of an earlier request, kept for comparison: every part of it that decides where a
//! request goes, how it is identified, or what is stored of it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use super::parsed_request::looks_at;

/// The most bytes of a head that is cached.
const LONGEST: usize = 16 << 10;

/// The parts of a request that are compared.
#[derive(Clone, Copy)]
pub struct RequestRef<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target, as it arrived.
    pub uri: &'a Uri,
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The whole body.
    pub body: &'a Bytes,
    /// The headers that rules make part of keys.
    pub named: &'a [String],
}

impl RequestRef<'_> {
    /// Returns the path and query, unless the request's first line names a host.
    pub(crate) fn origin_form_target(&self) -> Option<&str> {
        let here = self.uri.scheme().is_none() && self.uri.authority().is_none();
        self.uri.path_and_query().filter(|_| here).map(|target| target.as_str())
    }
}

/// The method, the target and the headers of an earlier request.
pub(crate) struct EarlierHead {
    method: Method,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl EarlierHead {
    /// Copies the head of `raw`, whose target is `target`.
    pub(crate) fn from_request(raw: &RequestRef<'_>, target: &str) -> Self {
        // Copied, because a value shares the buffer that its request was read into.
        let copy = |value: &HeaderValue| {
            HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone())
        };
        let headers = raw.headers.iter().map(|(name, value)| (name.clone(), copy(value)));
        Self { method: raw.method.clone(), target: target.to_owned(), headers: headers.collect() }
    }

    /// Whether `raw` has the same head, in all parts that matter.
    pub(crate) fn is_head_of(&self, raw: &RequestRef<'_>, target: &str) -> bool {
        self.method == *raw.method
            && self.target == target
            && self.headers.len() == raw.headers.len()
            && self.headers.iter().zip(raw.headers).all(|((name, value), (other, given))| {
                name == other && (value == given || !looks_at(name.as_str(), raw.named))
            })
    }

    /// Returns its size in bytes.
    pub(crate) fn byte_size(&self) -> usize {
        let headers = self.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
        self.target.len() + headers.sum::<usize>()
    }
}

/// A value derived from the last head of a connection. The next head is mostly the same.
pub struct HeadCache<T>(Mutex<Option<(EarlierHead, Arc<T>)>>);

impl<T> Default for HeadCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> HeadCache<T> {
    /// Removes the cached value.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the value derived from the head of `raw`: the cached one if the last head was the
    /// same, else that of `made`.
    ///
    /// # Errors
    /// The error of `made`.
    pub fn get_or_derive<E>(
        &self,
        raw: &RequestRef<'_>,
        made: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let Some(target) = raw.origin_form_target() else { return made().map(Arc::new) };
        let last = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last().as_ref().filter(|(head, _)| head.is_head_of(raw, target)) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(made()?);
        let head = EarlierHead::from_request(raw, target);
        if head.byte_size() <= LONGEST {
            *last() = Some((head, Arc::clone(&made)));
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks `last` for the value of a head; `made` is the value that would be derived now.
    fn ask(last: &HeadCache<u8>, target: &str, headers: &[(&'static str, &str)], made: u8) -> u8 {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        let headers: HeaderMap = headers.iter().map(pair).collect();
        let (method, uri) = (Method::POST, target.parse::<Uri>().unwrap());
        let raw = RequestRef {
            method: &method,
            uri: &uri,
            headers: &headers,
            body: &Bytes::new(),
            named: &[],
        };
        *last.get_or_derive(&raw, || Ok::<_, ()>(made)).unwrap()
    }

    const CALL: [(&str, &str); 2] = [("authorization", "Bearer one"), ("content-length", "1")];

    #[test]
    fn head_is_not_looked_at_again_when_only_what_has_no_part_in_it_differs() {
        let last = HeadCache::default();
        assert_eq!(ask(&last, "/v1/x?a", &CALL, 1), 1);
        assert_eq!(ask(&last, "/v1/x?a", &CALL, 2), 1);
        assert_eq!(ask(&last, "/v1/x?a", &[CALL[0], ("content-length", "2")], 3), 1);
    }

    #[test]
    fn head_is_looked_at_again_when_any_part_of_it_differs_or_it_is_long() {
        let long = "a".repeat(LONGEST);
        let others: [(&str, &[(&'static str, &str)]); 7] = [
            ("/v1/x?b", &CALL),
            ("/v1/y?a", &CALL),
            ("http://127.0.0.1/v1/x?a", &CALL),
            ("/v1/x?a", &[("authorization", "Bearer two"), CALL[1]]),
            ("/v1/x?a", &[CALL[1], CALL[0]]),
            ("/v1/x?a", &[CALL[0], CALL[1], ("x-loomrec-step-id", "s")]),
            ("/v1/x?a", &[CALL[0], CALL[1], ("accept", &long)]),
        ];
        for (target, headers) in others {
            let last = HeadCache::default();
            assert_eq!(ask(&last, "/v1/x?a", &CALL, 1), 1);
            assert_eq!(ask(&last, target, headers, 2), 2);
        }
        let last = HeadCache::default();
        let headers = [CALL[0], ("accept", long.as_str())];
        assert_eq!((ask(&last, "/x", &headers, 1), ask(&last, "/x", &headers, 2)), (1, 2));
    }

    #[test]
    fn nothing_is_kept_of_a_head_that_nothing_could_be_made_of() {
        let last = HeadCache::<u8>::default();
        let (method, uri) = (Method::POST, Uri::from_static("/x"));
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        let raw =
            RequestRef { method: &method, uri: &uri, headers: &headers, body: &body, named: &[] };
        assert!(last.get_or_derive(&raw, || Err(())).is_err());
        assert_eq!(*last.get_or_derive(&raw, || Ok::<_, ()>(1)).unwrap(), 1);
    }
}
