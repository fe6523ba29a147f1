//! The request of a call, as journals, spans and logs report it.
//!
//! It holds no secrets, because it is made of the request as it may be stored. It holds no body, no
//! header values and no query string, and each text of the client in it is at most [`LONGEST`]
//! bytes long.

use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_provider::{Operation, Provider};
use loomrec_recording::normalized_request::NormalizedRequest;

/// The most bytes of one text of the client.
pub const LONGEST: usize = 1024;

/// The summary of a request.
#[derive(Clone, Debug)]
pub struct RequestSummary {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The upstream that it goes to; empty if the request was not routed.
    pub upstream: String,
    /// The provider whose API it uses.
    pub provider: Provider,
    /// The operation that it asks for.
    pub operation: Operation,
    /// The method and the tool that it asks for in JSON-RPC.
    pub rpc: Option<String>,
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
    /// Summarizes a request.
    pub fn from_request(observed: &NormalizedRequest, rules: Option<&IdentityRules>) -> Self {
        let call = &observed.call;
        Self {
            method: clip_text(observed.method()),
            path: clip_text(observed.path()),
            upstream: clip_text(&observed.upstream),
            provider: call.provider,
            operation: call.operation,
            rpc: call.rpc.as_ref().map(|method| clip_text(&method.to_string())),
            model: call.model.as_deref().map(clip_text),
            streamed: call.streamed,
            step: observed.step.as_deref().map(clip_text),
            session: observed.session.as_deref().map(clip_text),
            key: rules.map(|rules| observed.key_under(rules)),
        }
    }

    /// Summarizes a request that was refused before it was parsed.
    pub fn from_refused(method: &str, path: &str, provider: Provider) -> Self {
        Self {
            method: clip_text(method),
            path: clip_text(path),
            upstream: String::new(),
            provider,
            operation: Operation::OTHER,
            rpc: None,
            model: None,
            streamed: false,
            step: None,
            session: None,
            key: None,
        }
    }
}

impl RequestSummary {
    /// Returns the approximate number of bytes it takes in memory.
    pub fn memory_size(&self) -> usize {
        let texts = [&self.method, &self.path, &self.upstream].map(String::len);
        let more = [&self.rpc, &self.model, &self.step, &self.session].map(|text| {
            // An absent text takes nothing.
            text.as_ref().map_or(0, String::len)
        });
        size_of::<Self>() + texts.iter().chain(&more).sum::<usize>()
    }
}

/// Returns the text, cut to [`LONGEST`] bytes if it is longer.
pub fn clip_text(text: &str) -> String {
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
        assert_eq!(clip_text("gpt-4o"), "gpt-4o");
        let long = clip_text(&"é".repeat(LONGEST));
        assert!(long.len() <= LONGEST && long.ends_with("é…"), "{}", long.len());
        assert_eq!(clip_text(&"x".repeat(LONGEST)).len(), LONGEST);
    }
}
