//! The answer of a take: made from its entry, ready to be sent.

use std::sync::Arc;

use http::HeaderValue;

use super::ready_response::ReadyResponse;
use loomrec_provider::{Answer, RpcIds};
use loomrec_recording::EntryName;
use loomrec_recording::entry::Entry;
use loomrec_script::ResponseDraft;

/// Why an entry that holds a fault and no answer does not answer a call.
pub(super) const NO_ANSWER: &str = "its entry holds a fault and no answer, and this fault needs \
                                    an answer: give the entry a response, or content";

/// Why an answer that was not kept to its end does not answer a call.
const NOT_WHOLE: &str = "the answer was not recorded whole";

/// The answer of a take.
#[derive(Debug)]
pub(super) enum TakeAnswer {
    /// The recorded response.
    Wire(Arc<ReadyResponse>),
    /// What was said. Its form is made for each call.
    Words(Box<PlainAnswer>),
    /// Nothing that can be served, for this reason.
    Nothing(&'static str),
    /// An invalid response, for this reason.
    Unusable(Box<str>),
}

/// What was said, without the way it was sent.
#[derive(Debug)]
pub(super) struct PlainAnswer {
    pub(super) answer: Answer,
    pub(super) label: Option<HeaderValue>,
}

impl TakeAnswer {
    /// Returns the answer of `entry`, whose name is `name`.
    pub(super) fn from_entry(name: &EntryName, entry: Entry) -> Self {
        let label = entry_label(name, &entry);
        if entry.fault.is_some() && !entry.has_answer() {
            return Self::Nothing(NO_ANSWER);
        }
        if !entry.has_response() {
            let answer = Answer {
                content: entry.content.unwrap_or_default(),
                model: entry.model,
                usage: entry.usage,
                finish_reason: entry.finish_reason,
                tool_calls: entry.tool_calls,
                embeddings: entry.embeddings,
                cost_usd: None,
            };
            return Self::Words(Box::new(PlainAnswer { answer, label }));
        }
        if !entry.has_answer() {
            return Self::Nothing(NOT_WHOLE);
        }
        let ids = entry.request_body().and_then(|body| RpcIds::from_body(body));
        match ResponseDraft::from_entry(entry) {
            Ok(delivery) => {
                let answer = ReadyResponse::from_draft(delivery, label.as_ref());
                Self::Wire(Arc::new(answer.with_own_ids(ids)))
            }
            Err(why) => Self::Unusable(why.into()),
        }
    }
}

/// Returns the name as a header, or else the request's hash.
fn entry_label(name: &EntryName, entry: &Entry) -> Option<HeaderValue> {
    let hash = || entry.request_hash.as_ref().map(|hash| hash.as_str().to_owned());
    let name = HeaderValue::from_str(&name.to_string()).ok();
    name.or_else(|| HeaderValue::from_str(&hash()?).ok())
}
