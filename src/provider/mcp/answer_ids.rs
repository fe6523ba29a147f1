//! The ids by which a client knows the messages of an answer: those of its requests, and those that
//! it gave for progress.
//!
//! A client numbers its requests anew in each run. A recorded answer is sent with the ids of the
//! client that it answers; every other byte stays.

use std::borrow::Cow;
use std::ops::Range;

use super::method::RpcMethod;
use crate::framing::{Framing, sse_lines};
use crate::lone_half::readable_json;
use loomrec_identity::{Json, parse};
use serde_json::{Value, json};

/// The member of `_meta` that names the request that a message belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The ids in a request, by the place of the request in its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcIds {
    requests: Vec<RequestIds>,
    /// Whether there are several requests in a list.
    is_batch: bool,
}

/// The ids of one request, as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RequestIds {
    id: Option<String>,
    progress: Option<String>,
}

/// What an id in a message of a server names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RpcIdKind {
    /// The request that the message answers.
    Response,
    /// The request that opened the subscription of the message.
    Subscription,
    /// The request whose progress the message reports.
    Progress,
}

/// A change in the bytes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcEdit {
    /// What is replaced.
    pub place: Range<usize>,
    /// What replaces it.
    pub text: String,
}

/// The text of one message, and where its lines are in the body.
struct MessageText<'a> {
    text: Cow<'a, [u8]>,
    /// Where each line begins: in the text, and in the body.
    lines: Vec<(usize, usize)>,
}

impl RpcIds {
    /// Reads the ids in the body of a request. Returns `None` if it has none.
    pub fn from_body(body: &[u8]) -> Option<Self> {
        // Most bodies are not in JSON-RPC, and are not parsed.
        memchr::memmem::find(body, b"\"jsonrpc\"")?;
        let text = readable_json(body);
        let json = parse(&text).ok()?;
        RpcMethod::from_body(&json)?;
        let (items, is_batch) = match json.as_array() {
            Some(items) => (items, true),
            None => (std::slice::from_ref(&json), false),
        };
        let requests =
            items.iter().map(|item| RequestIds::from_request(item, &text, body)).collect();
        let ids = Self { requests, is_batch };
        Some(ids).filter(|ids| ids.requests.iter().any(RequestIds::has_any))
    }

    /// Returns the changes that an answer to a request with these ids needs to be an answer to one
    /// with the ids `here`, in the order of their places. `media` is the media type of its body.
    pub fn answer_edits(&self, here: &Self, media: &str, body: &[u8]) -> Vec<RpcEdit> {
        let mut edits = Vec::new();
        if self == here {
            return edits;
        }
        for_each_id(media, body, |kind, found, place| {
            let live = self.live_id(here, kind, found);
            edits.extend(live.map(|text| RpcEdit { place, text: text.to_owned() }));
        });
        edits
    }

    /// Returns the id `here` of the request whose id is `found` in these; `None` if it is no id of
    /// these, or that request has none here.
    pub(super) fn live_id<'h>(
        &self,
        here: &'h Self,
        kind: RpcIdKind,
        found: &Json<'_>,
    ) -> Option<&'h str> {
        let mut pairs = self.requests.iter().zip(&here.requests);
        let is_found = |recorded: &RequestIds| {
            recorded.id_of_kind(kind).is_some_and(|recorded| is_same_id(recorded, found))
        };
        let (_, here) = pairs.find(|(recorded, _)| is_found(recorded))?;
        here.id_of_kind(kind)
    }

    /// Returns an answer without content to each of these requests; `None` if none asks for one.
    pub fn empty_result(&self) -> Option<Vec<u8>> {
        self.write_answers("\"result\":{}")
    }

    /// Returns an answer to each of these requests that is this error; `None` if none asks for one.
    pub fn error_answers(&self, code: i64, message: &str) -> Option<Vec<u8>> {
        self.error_object(&json!({ "code": code, "message": message }))
    }

    /// Returns an answer to each of these requests with this error object; `None` if none asks for one.
    pub fn error_object(&self, error: &Value) -> Option<Vec<u8>> {
        self.write_answers(&format!("\"error\":{error}"))
    }

    /// Returns a made-up answer with the ids of these requests. Each response in it that has an `id`,
    /// whatever that is, gets the id of the request in its place. No other byte changes.
    pub fn address_answer(&self, media: &str, body: &[u8]) -> Vec<u8> {
        let mut ids = self.requests.iter().filter_map(|request| request.id.as_deref());
        let only = ids.clone().next().filter(|_| !self.is_batch);
        let mut edits = Vec::new();
        for message in answer_messages(media, body) {
            let text = readable_json(&message.text);
            let Ok(json) = parse(&text) else { continue };
            let items = json.as_array().unwrap_or(std::slice::from_ref(&json));
            for place in items.iter().filter_map(|item| response_id_place(item, &text)) {
                let Some(id) = only.or_else(|| ids.next()) else { break };
                edits.push(RpcEdit { place: message.place_in_body(place), text: id.to_owned() });
            }
        }
        edits.sort_by_key(|edit| edit.place.start);
        let mut addressed = body.to_vec();
        for RpcEdit { place, text } in edits.into_iter().rev() {
            addressed.splice(place, text.into_bytes());
        }
        addressed
    }

    fn write_answers(&self, member: &str) -> Option<Vec<u8>> {
        let ids = self.requests.iter().filter_map(|request| request.id.as_ref());
        let answers: Vec<String> =
            ids.map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{member}}}")).collect();
        let text =
            if self.is_batch { format!("[{}]", answers.join(",")) } else { answers.join("") };
        (!answers.is_empty()).then(|| text.into_bytes())
    }
}

impl RequestIds {
    /// Reads the ids of a request that was read from `text`, which has every id where `body` has it.
    fn from_request(request: &Json<'_>, text: &[u8], body: &[u8]) -> Self {
        let source = |value: &Json<'_>| {
            let id = body.get(source_place(value, text)?)?;
            String::from_utf8(id.to_vec()).ok()
        };
        let token = || request.get("params")?.get("_meta")?.get("progressToken");
        Self { id: request.get("id").and_then(source), progress: token().and_then(source) }
    }

    fn id_of_kind(&self, kind: RpcIdKind) -> Option<&str> {
        match kind {
            RpcIdKind::Response | RpcIdKind::Subscription => self.id.as_deref(),
            RpcIdKind::Progress => self.progress.as_deref(),
        }
    }

    fn has_any(&self) -> bool {
        self.id.is_some() || self.progress.is_some()
    }
}

impl MessageText<'_> {
    /// Returns the place in the body of a place in the text, which is within one line.
    fn place_in_body(&self, place: Range<usize>) -> Range<usize> {
        let line = self.lines.iter().rev().find(|(in_text, _)| *in_text <= place.start);
        let (in_text, in_body) = line.copied().unwrap_or_default();
        let start = in_body + (place.start - in_text);
        start..start + place.len()
    }
}

/// Passes on each id of a client in the messages of an answer, with its place in the body, in the
/// order of the places.
pub(super) fn for_each_id(
    media: &str,
    body: &[u8],
    mut pass: impl FnMut(RpcIdKind, &Json<'_>, Range<usize>),
) {
    for message in answer_messages(media, body) {
        let text = readable_json(&message.text);
        let Ok(json) = parse(&text) else { continue };
        let items = json.as_array().unwrap_or(std::slice::from_ref(&json));
        let ids = items.iter().flat_map(ids_in_message);
        let placed = ids.filter_map(|(kind, id)| Some((kind, id, source_place(id, &text)?)));
        let mut placed: Vec<_> = placed.collect();
        placed.sort_by_key(|(_, _, place)| place.start);
        for (kind, id, place) in placed {
            pass(kind, id, message.place_in_body(place));
        }
    }
}

/// Returns the ids of a client in a message of a server.
fn ids_in_message<'m, 'j>(
    message: &'m Json<'j>,
) -> impl Iterator<Item = (RpcIdKind, &'m Json<'j>)> {
    let is_response = message.get("result").is_some() || message.get("error").is_some();
    let id = message.get("id");
    let params = message.get("params");
    let about = params.or_else(|| message.get("result"));
    let subscription = about.and_then(|about| about.get("_meta")?.get(SUBSCRIPTION));
    let token = params.and_then(|params| params.get("progressToken"));
    let is_notification = message.get("method").is_some() && id.is_none();
    let response = id.filter(|_| is_response);
    let token = token.filter(|_| response.is_none() && is_notification);
    let subscription = subscription.filter(|_| response.is_some() || is_notification);
    let found = [
        (RpcIdKind::Response, response),
        (RpcIdKind::Progress, token),
        (RpcIdKind::Subscription, subscription),
    ];
    found.into_iter().filter_map(|(kind, id)| Some((kind, id?)))
}

/// Whether a value is the id with this text.
fn is_same_id(id: &str, value: &Json<'_>) -> bool {
    match (parse(&readable_json(id.as_bytes())), value) {
        (Ok(Json::String(id)), Json::String(value)) => id == *value,
        (Ok(Json::Number(id)), Json::Number(value)) => id == *value,
        _ => false,
    }
}

/// Returns where a text, with its quotes, or a number is in the bytes that it was read from; `None`
/// for any other value.
fn source_place(value: &Json<'_>, bytes: &[u8]) -> Option<Range<usize>> {
    let base = bytes.as_ptr().addr();
    match value {
        Json::String(text) => {
            let start = text.source_address().checked_sub(base + 1)?;
            Some(start..start + text.source().0.len() + 2)
        }
        Json::Number(digits) => {
            let start = digits.as_ptr().addr().checked_sub(base)?;
            Some(start..start + digits.len())
        }
        _ => None,
    }
}

/// Returns where the `id` of a response is in the bytes that it was read from; `None` for any other
/// message, and for an `id` that is an object or an array.
fn response_id_place(message: &Json<'_>, bytes: &[u8]) -> Option<Range<usize>> {
    message.get("jsonrpc").filter(|_| message.get("method").is_none())?;
    let (name, id) = message.as_object()?.iter().find(|(name, _)| *name == "id")?;
    let word = match id {
        Json::Null => "null",
        Json::Bool(true) => "true",
        Json::Bool(false) => "false",
        _ => return source_place(id, bytes),
    };
    let after_name =
        (name.source_address() + name.source().0.len()).checked_sub(bytes.as_ptr().addr())?;
    let start = after_name + memchr::memmem::find(bytes.get(after_name..)?, word.as_bytes())?;
    Some(start..start + word.len())
}

/// Returns the messages of an answer.
fn answer_messages<'a>(media: &str, body: &'a [u8]) -> Vec<MessageText<'a>> {
    if Framing::of_media(media) != Some(Framing::Sse) {
        return vec![MessageText { text: Cow::Borrowed(body), lines: vec![(0, 0)] }];
    }
    let mut found: Vec<(usize, MessageText<'a>)> = Vec::new();
    for (line, event) in sse_lines(body) {
        let Some(value) = body[line.clone()].strip_prefix(b"data:") else { continue };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let begins = line.end - value.len();
        match found.last_mut().filter(|(last, _)| *last == event) {
            Some((_, message)) => {
                let text = message.text.to_mut();
                text.push(b'\n');
                message.lines.push((text.len(), begins));
                text.extend_from_slice(value);
            }
            None => {
                let text = Cow::Borrowed(value);
                found.push((event, MessageText { text, lines: vec![(0, begins)] }));
            }
        }
    }
    found.into_iter().map(|(_, message)| message).collect()
}

#[cfg(test)]
#[path = "answer_ids_tests.rs"]
mod tests;
