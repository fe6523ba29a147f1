//! A recorded answer for display.

use serde_json::{Value, json};

use super::block::{BlockKind, MessageBlock};
use super::request::READ;
use super::stream::{self, StreamForm};
use super::talk::{self, ChatMessage};
use super::text::BodyText;
use loomrec_provider::{Framing, Operation, RecognisedCall, stated_error};
use loomrec_recording::{CodedBody, Entry, RecordedCut, ResponseEnd};

/// An answer without its content encoding, and with its stream merged.
pub(super) struct DecodedAnswer<'e> {
    entry: &'e Entry,
    operation: Operation,
    framing: Option<Framing>,
    body: CodedBody,
    /// The complete answer, if it is JSON.
    pub(super) whole: Option<Value>,
}

impl<'e> DecodedAnswer<'e> {
    /// Decodes the answer of an entry; `None` if it has no response.
    pub(super) fn from_entry(entry: &'e Entry, call: Option<&RecognisedCall>) -> Option<Self> {
        let body = entry.coded_body(READ)?;
        let operation = call.map_or(Operation::OTHER, |call| call.operation);
        let framing = body.stream_framing(operation);
        let readable = body.readable_bytes();
        let whole = match framing.filter(|_| body.plain_bytes().is_some()) {
            Some(framing) => merge_stream(entry, call, framing, readable),
            None if readable.len() > READ => None,
            None => serde_json::from_slice(readable).ok(),
        };
        Some(Self { entry, operation, framing, body, whole })
    }

    /// Returns the body without its content encoding, if that is known.
    pub(super) fn plain_body(&self) -> &[u8] {
        self.body.readable_bytes()
    }

    /// Returns why it is no success.
    pub(super) fn failure_message(&self) -> Option<String> {
        answer_failure(self.entry, self.plain_body())
    }

    fn shown_text(&self) -> BodyText {
        match self.body.plain_bytes() {
            Some(plain) => BodyText::from_bytes(plain),
            None => {
                let text = format!("({} compressed bytes)", self.body.bytes.len());
                BodyText { text, cut: false }
            }
        }
    }
}

/// Returns the answer of an entry as JSON; `None` if it holds none.
pub(super) fn to_json(entry: &Entry, call: Option<&RecognisedCall>) -> Option<Value> {
    let Some(answer) = DecodedAnswer::from_entry(entry, call) else { return said_only(entry) };
    let BodyText { text, cut } = answer.shown_text();
    let chunks = entry.answer_chunks().unwrap_or_default();
    let is_stream = chunks.len() > 1 || (answer.framing.is_some() && !chunks.is_empty());
    let form = StreamForm {
        operation: answer.operation,
        framing: answer.framing,
        coding: answer.body.coding.as_deref(),
    };
    let messages =
        answer.whole.as_ref().and_then(talk::answer_messages).or_else(|| summary_messages(entry));
    Some(json!({
        "status": entry.answer_status(),
        "headers": entry.answer_headers(),
        "trailers": entry.answer_trailers(),
        "text": text,
        "cut": cut,
        "bytes": answer.body.bytes.len(),
        "messages": messages.map(|said| talk::to_json(&said)),
        "finish": entry.finish_reason,
        "chunks": is_stream.then(|| stream::to_json(chunks, form)),
        "error": answer.failure_message(),
    }))
}

/// Returns the answer of an entry without a response.
fn said_only(entry: &Entry) -> Option<Value> {
    let said = summary_messages(entry)?;
    let content = entry.content.as_deref().unwrap_or_default();
    let BodyText { text, cut } = BodyText::from_bytes(content.as_bytes());
    Some(json!({
        "status": null,
        "headers": [],
        "trailers": [],
        "text": text,
        "cut": cut,
        "bytes": content.len(),
        "messages": talk::to_json(&said),
        "finish": entry.finish_reason,
        "chunks": null,
        "error": null,
    }))
}

/// Merges a stream to a complete answer, if that is possible.
fn merge_stream(
    entry: &Entry,
    call: Option<&RecognisedCall>,
    framing: Framing,
    stream: &[u8],
) -> Option<Value> {
    entry.request_body().filter(|body| body.len() <= READ)?;
    let asked = entry.asked_format(call?)?;
    let whole = loomrec_provider::to_complete(&asked, framing, stream).ok()?;
    serde_json::from_slice(&whole).ok()
}

/// Returns the messages in the entry's summary.
fn summary_messages(entry: &Entry) -> Option<Vec<ChatMessage>> {
    let text = entry.content.as_deref().filter(|text| !text.is_empty());
    let mut parts: Vec<MessageBlock> =
        text.map(|text| MessageBlock::new(BlockKind::Text, text)).into_iter().collect();
    let calls = entry.tool_calls.iter();
    parts
        .extend(calls.map(|call| MessageBlock::tool_call(Some(&call.name), Some(&call.arguments))));
    if let Some(first) = entry.embeddings.first() {
        let told = format!("{} vectors of {} numbers", entry.embeddings.len(), first.len());
        parts.push(MessageBlock::new(BlockKind::Other, told));
    }
    (!parts.is_empty()).then(|| vec![ChatMessage { role: "assistant".to_owned(), parts }])
}

/// Returns the error of a response: how it was cut, the message in an error body, or why it is no
/// success.
fn answer_failure(entry: &Entry, body: &[u8]) -> Option<String> {
    let cut = match entry.answer_end()? {
        ResponseEnd::Complete => None,
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => {
            Some("the upstream closed the connection before the end; replay does the same")
        }
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => {
            Some("the upstream reset the connection; replay does the same")
        }
        ResponseEnd::ClientAbort => Some("the client left and the rest did not come; never served"),
        ResponseEnd::Truncated => Some("larger than the limit of --max-body; never served"),
    };
    let stated = || error_body_message(entry.answer_status()?, body);
    cut.map(str::to_owned).or_else(stated).or_else(|| {
        let judged = entry.judge_answer();
        judged.is_failure().then(|| judged.description().into_owned())
    })
}

/// Returns the message of an error response.
fn error_body_message(status: u16, body: &[u8]) -> Option<String> {
    if status < 400 || body.len() > READ {
        return None;
    }
    stated_error(body)
}
