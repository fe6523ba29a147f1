//! A recorded answer for display.

use bytes::Bytes;
use serde_json::{Value, json};

use super::block::{BlockKind, MessageBlock};
use super::request::READ;
use super::stream::{self, StreamForm};
use super::talk::{self, ChatMessage};
use super::text::BodyText;
use loomrec_provider::{Framing, Operation, RecognisedCall, ResponseFormat, stated_error};
use loomrec_recording::{Entry, RecordedCut, RecordedResponse, ResponseEnd, encoding};

/// An answer without its content encoding, and with its stream merged.
pub(super) struct DecodedAnswer<'e> {
    entry: &'e Entry,
    response: &'e RecordedResponse,
    operation: Operation,
    coding: Option<String>,
    framing: Option<Framing>,
    bytes: Bytes,
    plain: Option<Vec<u8>>,
    /// The complete answer, if it is JSON.
    pub(super) whole: Option<Value>,
}

impl<'e> DecodedAnswer<'e> {
    pub(super) fn from_response(
        entry: &'e Entry,
        response: &'e RecordedResponse,
        call: Option<&RecognisedCall>,
    ) -> Self {
        let coding = encoding::coding_in(&response.headers);
        let bytes = response.payload.joined_bytes();
        let decode = |coding: &String| encoding::decode_body(coding, &bytes, READ);
        let plain = coding.as_ref().and_then(decode);
        let operation = call.map_or(Operation::OTHER, |call| call.operation);
        let body = plain.as_deref().unwrap_or(&bytes);
        let framing = Framing::from_answer(operation, &media_type(response), body);
        let is_plain = coding.is_none() || plain.is_some();
        let whole = match framing.filter(|_| is_plain) {
            Some(framing) => merge_stream(entry, call, framing, body),
            None if body.len() > READ => None,
            None => serde_json::from_slice(body).ok(),
        };
        Self { entry, response, operation, coding, framing, bytes, plain, whole }
    }

    /// Returns the body without its content encoding, if that is known.
    pub(super) fn plain_body(&self) -> &[u8] {
        self.plain.as_deref().unwrap_or(&self.bytes)
    }

    /// Returns why it is no success.
    pub(super) fn failure_message(&self) -> Option<String> {
        response_failure(self.entry, self.response, self.plain_body())
    }

    fn shown_text(&self) -> BodyText {
        match self.coding.is_none() || self.plain.is_some() {
            true => BodyText::from_bytes(self.plain_body()),
            false => {
                let text = format!("({} compressed bytes)", self.bytes.len());
                BodyText { text, cut: false }
            }
        }
    }
}

/// Returns the answer of an entry as JSON; `None` if it holds none.
pub(super) fn to_json(entry: &Entry, call: Option<&RecognisedCall>) -> Option<Value> {
    let Some(response) = &entry.response else { return said_only(entry) };
    let answer = DecodedAnswer::from_response(entry, response, call);
    let BodyText { text, cut } = answer.shown_text();
    let chunks = response.payload.chunks();
    let is_stream = chunks.len() > 1 || (answer.framing.is_some() && !chunks.is_empty());
    let form = StreamForm {
        operation: answer.operation,
        framing: answer.framing,
        coding: answer.coding.as_deref(),
    };
    let messages =
        answer.whole.as_ref().and_then(talk::answer_messages).or_else(|| summary_messages(entry));
    Some(json!({
        "status": response.status,
        "headers": response.headers,
        "trailers": response.trailers,
        "text": text,
        "cut": cut,
        "bytes": answer.bytes.len(),
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
    let request = entry.request.as_ref().filter(|request| request.body.len() <= READ)?;
    let upstream = entry.upstream.as_deref().unwrap_or_default();
    let asked = ResponseFormat::from_call(call?, upstream, &request.query, &request.body);
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
fn response_failure(entry: &Entry, response: &RecordedResponse, body: &[u8]) -> Option<String> {
    let cut = match response.end {
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
    cut.map(str::to_owned).or_else(|| error_body_message(response.status, body)).or_else(|| {
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

/// Returns the media type without parameters, in lower case.
pub(super) fn media_type(response: &RecordedResponse) -> String {
    response.media_type().to_ascii_lowercase()
}
