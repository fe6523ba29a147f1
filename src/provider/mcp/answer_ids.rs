//! The ids by which a client knows the messages of an answer: those of its requests, and those that
//! it gave for progress.
//!
//! A client numbers its requests anew in each run. A recorded answer is sent with the ids of the
//! client that it answers; every other byte stays.

use std::borrow::Cow;
use std::ops::Range;

use super::method::RpcMethod;
use crate::framing::{Framing, sse_lines};
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
        let json = parse(body).ok()?;
        RpcMethod::from_body(&json)?;
        let (items, is_batch) = match json.as_array() {
            Some(items) => (items, true),
            None => (std::slice::from_ref(&json), false),
        };
        let requests = items.iter().map(|item| RequestIds::from_request(item, body)).collect();
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
        for message in answer_messages(media, body) {
            let Ok(json) = parse(&message.text) else { continue };
            let items = json.as_array().unwrap_or(std::slice::from_ref(&json));
            for item in items {
                self.edit_message(here, item, &mut |value, text| {
                    let Some(place) = source_place(value, &message.text) else { return };
                    let place = message.place_in_body(place);
                    edits.push(RpcEdit { place, text: text.to_owned() });
                });
            }
        }
        edits.sort_by_key(|edit| edit.place.start);
        edits
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
            let Ok(json) = parse(&message.text) else { continue };
            let items = json.as_array().unwrap_or(std::slice::from_ref(&json));
            for place in items.iter().filter_map(|item| response_id_place(item, &message.text)) {
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

    fn edit_message(
        &self,
        here: &Self,
        message: &Json<'_>,
        edit: &mut impl FnMut(&Json<'_>, &str),
    ) {
        let id = |ids: &RequestIds| ids.id.clone();
        let progress = |ids: &RequestIds| ids.progress.clone();
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        let params = message.get("params");
        let about = params.or_else(|| message.get("result"));
        let subscription = about.and_then(|about| about.get("_meta")?.get(SUBSCRIPTION));
        let token = params.and_then(|params| params.get("progressToken"));
        if let Some(found) = message.get("id").filter(|_| is_response) {
            self.replace_id(here, found, id, edit);
            subscription.into_iter().for_each(|found| self.replace_id(here, found, id, edit));
        } else if message.get("method").is_some() && message.get("id").is_none() {
            token.into_iter().for_each(|found| self.replace_id(here, found, progress, edit));
            subscription.into_iter().for_each(|found| self.replace_id(here, found, id, edit));
        }
    }

    /// Replaces an id of a request by the one that the request in its place has here.
    fn replace_id(
        &self,
        here: &Self,
        found: &Json<'_>,
        which: impl Fn(&RequestIds) -> Option<String>,
        edit: &mut impl FnMut(&Json<'_>, &str),
    ) {
        let is_it = |(recorded, _): &(&RequestIds, &RequestIds)| {
            which(recorded).is_some_and(|recorded| is_same_id(&recorded, found))
        };
        let pair = self.requests.iter().zip(&here.requests).find(is_it);
        if let Some(text) = pair.and_then(|(_, here)| which(here)) {
            edit(found, &text);
        }
    }
}

impl RequestIds {
    fn from_request(request: &Json<'_>, body: &[u8]) -> Self {
        let source = |value: &Json<'_>| {
            let text = body.get(source_place(value, body)?)?;
            String::from_utf8(text.to_vec()).ok()
        };
        let token = || request.get("params")?.get("_meta")?.get("progressToken");
        Self { id: request.get("id").and_then(source), progress: token().and_then(source) }
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

/// Whether a value is the id with this text.
fn is_same_id(id: &str, value: &Json<'_>) -> bool {
    match (parse(id.as_bytes()), value) {
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
mod tests {
    use super::*;

    const RECORDED: &str =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}"#;

    /// The answer with the ids of another request.
    fn answered(recorded: &str, here: &str, media: &str, body: &str) -> String {
        let ids = |body: &str| RpcIds::from_body(body.as_bytes()).unwrap();
        let mut text = body.to_owned();
        let edits = ids(recorded).answer_edits(&ids(here), media, body.as_bytes());
        for edit in edits.iter().rev() {
            text.replace_range(edit.place.clone(), &edit.text);
        }
        text
    }

    fn request(id: &str, token: &str) -> String {
        let meta = format!(r#"{{"progressToken":{token}}}"#);
        format!(
            r#"{{"id" : {id}, "jsonrpc":"2.0","method":"tools/call","params":{{"_meta":{meta}}}}}"#
        )
    }

    #[test]
    fn only_the_ids_of_the_request_change() {
        let here = request(r#""\u0061 long id""#, "77");
        let body =
            "{ \"id\" :1 , \"result\":{\"id\":1,\"content\":[{\"id\": 1}]},\n\"jsonrpc\":\"2.0\" }";
        let expected = body.replacen(":1 ", r#":"\u0061 long id" "#, 1);
        assert_eq!(answered(RECORDED, &here, "application/json", body), expected);
        for kept in [
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}"#,
            "no json",
            "",
        ] {
            assert_eq!(answered(RECORDED, &here, "application/json", kept), kept);
        }
    }

    #[test]
    fn each_event_of_a_stream_has_the_ids_of_its_client() {
        let stream = "\u{feff}id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
                      \"params\":{\"progressToken\":1,\"progress\":1}}\r\n\r\n: 1\n\nevent: message\n\
                      data:{\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\ndata: \"result\":{\"a\":1}}\n\n";
        let here = request("4711", r#""t""#);
        let expected = stream
            .replacen("\"progressToken\":1", "\"progressToken\":\"t\"", 1)
            .replacen("\"id\":1", "\"id\":4711", 1);
        assert_eq!(answered(RECORDED, &here, "text/event-stream", stream), expected);
    }

    #[test]
    fn answers_of_a_batch_have_the_ids_of_the_requests_in_their_places() {
        let batch = |ids: [&str; 2]| {
            let one = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            format!("[{},{}]", one(ids[0]), one(ids[1]))
        };
        let body = r#"[{"id":2,"result":"b"},{"id":1,"result":"a"}]"#;
        let answer = answered(&batch(["1", "2"]), &batch(["2", "\"x\""]), "application/json", body);
        assert_eq!(answer, r#"[{"id":"x","result":"b"},{"id":2,"result":"a"}]"#);
    }

    #[test]
    fn own_answers_have_the_ids_of_their_requests() {
        let ids = |body: &str| RpcIds::from_body(body.as_bytes()).unwrap();
        let one = ids(r#"{"jsonrpc":"2.0","id":"\u0061","method":"ping"}"#);
        let text = |body: Option<Vec<u8>>| String::from_utf8(body.unwrap()).unwrap();
        assert_eq!(text(one.empty_result()), r#"{"jsonrpc":"2.0","id":"\u0061","result":{}}"#);
        let batch =
            ids(r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#);
        let error = r#"[{"jsonrpc":"2.0","id":1,"error":{"code":4,"message":"\"no\""}}]"#;
        assert_eq!(text(batch.error_answers(4, "\"no\"")), error);
    }

    #[test]
    fn made_up_answer_has_the_ids_of_its_requests() {
        let addressed = |request: &str, media: &str, body: &str| {
            let ids = RpcIds::from_body(request.as_bytes()).unwrap();
            String::from_utf8(ids.address_answer(media, body.as_bytes())).unwrap()
        };
        let here = request(r#""a b""#, "1");
        for id in ["1", "null", "true", "false", r#""x""#, "-1.5e3", r#""null""#] {
            let body = |id: &str| {
                format!(
                    r#"{{ "null":[null], "jsonrpc": "2.0", "id"  :  {id} ,"result":{{"id":1}}}}"#
                )
            };
            assert_eq!(addressed(&here, "application/json", &body(id)), body(r#""a b""#), "{id}");
        }
        for kept in [
            r#"{"jsonrpc":"2.0","result":{"id":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#,
            r#"{"jsonrpc":"2.0","id":{"a":1},"result":{}}"#,
            r#"{"error":{"message":"busy"},"id":"req_1"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2}"#,
            "[5]",
            "{\"malformed\": ",
        ] {
            assert_eq!(addressed(&here, "application/json", kept), kept);
        }
        let stream = "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\": null,\"result\":{}}\n\n";
        let expected = stream.replacen("null", "\"a b\"", 1);
        assert_eq!(addressed(&here, "text/event-stream", stream), expected);
        let batch =
            r#"[{"jsonrpc":"2.0","id":8,"method":"a"},{"jsonrpc":"2.0","id":"9","method":"b"}]"#;
        let answer = |ids: [&str; 3]| {
            let one = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{}}}}"#);
            format!("[{}]", ids.map(one).join(","))
        };
        let answered = addressed(batch, "application/json", &answer(["1", "null", "3"]));
        assert_eq!(answered, answer(["8", r#""9""#, "3"]));
    }

    #[test]
    fn subscription_is_named_by_the_request_that_opened_it() {
        let body = r#"{"jsonrpc":"2.0","method":"notifications/a","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
        let answer = answered(RECORDED, &request("5", "6"), "application/json", body);
        assert_eq!(answer, body.replace("Id\":1", "Id\":5"));
    }

    #[test]
    fn notification_has_no_ids() {
        assert_eq!(
            RpcIds::from_body(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            None
        );
    }
}
