//! The request of a call, as journals, spans and logs report it.
//!
//! Nothing in it is a secret: it is made of what may be stored. It holds no body, no
//! header's value and no query string, and no text of a caller's is longer in it than
//! [`LONGEST`].

use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_provider::{Operation, Provider};
use loomrec_recording::normalized_request::NormalizedRequest;

/// The most bytes of one text of the caller's.
pub const LONGEST: usize = 1024;

/// What is said of the request.
#[derive(Clone, Debug)]
pub struct RequestSummary {
    /// Its method.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// Where it was meant for; empty where it has no place.
    pub upstream: String,
    /// Whose API it speaks.
    pub provider: Provider,
    /// What it asks for.
    pub operation: Operation,
    /// The model it asks for.
    pub model: Option<String>,
    /// Whether it asks for a stream.
    pub streamed: bool,
    /// The step it names.
    pub step: Option<String>,
    /// The session it names.
    pub session: Option<String>,
    /// Its key, under the first rules of the run.
    pub key: Option<RequestKey>,
}

impl RequestSummary {
    /// Those of a request.
    pub fn of(observed: &NormalizedRequest, rules: Option<&IdentityRules>) -> Self {
        let (request, call) = (&observed.request, &observed.call);
        Self {
            method: clip(&request.method),
            path: clip(&request.path),
            upstream: clip(&observed.upstream),
            provider: call.provider,
            operation: call.operation,
            model: call.model.as_deref().map(clip),
            streamed: call.streamed,
            step: observed.step.as_deref().map(clip),
            session: observed.session.as_deref().map(clip),
            key: rules.map(|rules| observed.key(rules)),
        }
    }

    /// Those of a request that was refused before it was looked at.
    pub fn refused(method: &str, path: &str, provider: Provider) -> Self {
        Self {
            method: clip(method),
            path: clip(path),
            upstream: String::new(),
            provider,
            operation: Operation::OTHER,
            model: None,
            streamed: false,
            step: None,
            session: None,
            key: None,
        }
    }
}

impl RequestSummary {
    /// The bytes they take in memory, about.
    pub fn weight(&self) -> usize {
        let texts = [&self.method, &self.path, &self.upstream].map(String::len);
        let more = [&self.model, &self.step, &self.session].map(|text| {
            // What is not there takes nothing.
            text.as_ref().map_or(0, String::len)
        });
        size_of::<Self>() + texts.iter().chain(&more).sum::<usize>()
    }
}

/// A text that is kept, cut where it is too long.
pub fn clip(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let mut end = LONGEST - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_a_character_when_they_are_too_long() {
        assert_eq!(clip("gpt-4o"), "gpt-4o");
        let long = clip(&"é".repeat(LONGEST));
        assert!(long.len() <= LONGEST && long.ends_with("é…"), "{}", long.len());
        assert_eq!(clip(&"x".repeat(LONGEST)).len(), LONGEST);
    }
}
