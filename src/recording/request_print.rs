//! The print of a request: the SHA-256 of all that is stored of it.

use sha2::{Digest as _, Sha256};

/// The largest body of a request with a print. A larger one is hashed once, for its key alone.
const LARGEST: usize = 64 << 10;

/// The SHA-256 of all that is stored of a request. Two requests have the same one only if all of that
/// is the same: each part follows its length, except the body, which comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestPrint([u8; 32]);

impl RequestPrint {
    /// Returns the print of a request; `None` if its body is large. `target` has its method, its path
    /// and its query.
    pub(crate) fn from_parts(
        target: [&str; 3],
        headers: &[(String, String)],
        body: &[u8],
    ) -> Option<Self> {
        if body.len() > LARGEST {
            return None;
        }
        let mut head = Vec::with_capacity(512);
        let mut add = |part: &str| {
            head.extend_from_slice(&(part.len() as u64).to_le_bytes());
            head.extend_from_slice(part.as_bytes());
        };
        target.into_iter().for_each(&mut add);
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
        Some(Self(hash.finalize().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedRequest;

    fn request(headers: &[(&str, &str)], body: &str) -> RecordedRequest {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        RecordedRequest {
            method: "POST".to_owned(),
            path: "/v1/chat/completions".to_owned(),
            headers: headers.iter().map(owned).collect(),
            body: body.to_owned().into(),
            ..RecordedRequest::default()
        }
    }

    const JSON: (&str, &str) = ("content-type", "application/json");

    #[test]
    fn print_is_another_when_any_part_of_the_request_differs() {
        let whole = request(&[JSON, ("accept", "*/*")], "{}");
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
        let print = whole.to_print();
        assert!(print.is_some());
        assert!(others.iter().all(|other| other.to_print() != print));
        assert_eq!(whole.clone().to_print(), print);
    }

    #[test]
    fn large_request_has_no_print() {
        let large = request(&[JSON], &format!("\"{}\"", "a".repeat(LARGEST)));
        assert_eq!(large.to_print(), None);
    }
}
