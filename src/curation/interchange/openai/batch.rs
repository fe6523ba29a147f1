//! Batches: a file of requests and a file of answers, joined by an id.

use std::io::Read;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::body_presence::holds_body;
use super::super::companion::{BatchRequests, CompanionFiles, LIMIT, NotHeld};
use super::super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, ResponseContent, SkippedItem,
};
use super::super::format::ForeignFormat;
use super::super::line::{FileLine, FileLines};
use super::super::read_context::{ReadContext, ReadError, ReadProblem};
use super::super::write::{EntryToWrite, WrittenEntry};
use super::body;
use loomrec_provider::{Framing, Operation};
use loomrec_recording::{Entry, RecordedRequest, RecordedResponse, ResponseEnd, encoding};

/// The server of batches.
const BASE: &str = "https://api.openai.com";

/// The most bytes to which a compressed answer may decode.
const UNPACKED: usize = 64 << 20;

/// A line of a request file.
#[derive(Deserialize)]
struct RequestLine {
    #[serde(default)]
    method: Option<String>,
    url: String,
    #[serde(default)]
    body: Value,
}

/// The id of a request.
#[derive(Deserialize)]
struct Id {
    custom_id: String,
}

/// A line of either file.
#[derive(Deserialize)]
struct AnswerLine {
    custom_id: String,
    #[serde(default)]
    response: Option<BatchAnswer>,
    #[serde(default)]
    error: Option<Value>,
    /// Only in requests.
    #[serde(default)]
    url: Option<Value>,
}

#[derive(Deserialize)]
struct BatchAnswer {
    status_code: u16,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(default)]
    body: Value,
}

impl RequestLine {
    fn into_request(self, body: Bytes) -> ForeignRequest {
        let url = match self.url.starts_with('/') {
            true => format!("{BASE}{}", self.url),
            false => self.url,
        };
        ForeignRequest {
            method: self.method.unwrap_or_else(|| "POST".to_owned()),
            url,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body,
            size: None,
        }
    }
}

/// Reads the request file of a batch.
///
/// # Errors
/// If the file is not a request file, names an id twice, or is too large to be held.
pub fn read_requests(input: &mut dyn Read) -> Result<BatchRequests, ReadError> {
    let mut requests = BatchRequests::default();
    FileLines::each(ForeignFormat::OpenAiBatch, input, |line| {
        let Id { custom_id } = line.parse()?;
        match requests.hold(custom_id, line.text()?) {
            Ok(()) => Ok(true),
            Err(NotHeld::Twice) => Err(line.problem("its `custom_id` occurs twice")),
            Err(NotHeld::Full) => Err(line.problem(&format!(
                "the requests are more than {} MiB; import the batch in parts",
                LIMIT >> 20
            ))),
        }
    })?;
    Ok(requests)
}

/// Reads a file of answers.
pub(in super::super) fn read(
    input: impl Read,
    beside: &CompanionFiles,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    FileLines::visit(input, |line| Ok(finder.report(item(line, beside)?)))
}

fn item(line: &FileLine<'_>, beside: &CompanionFiles) -> Result<FoundItem, ReadProblem> {
    let place = line.place();
    let answer: AnswerLine = line.parse()?;
    let left = |reason: String| Ok(FoundItem::Left(SkippedItem::no_call(place.clone(), reason)));
    let lost = |reason: &str| Ok(FoundItem::Left(SkippedItem::damaged(place.clone(), reason)));
    let Some(answered) = answer.response else {
        if answer.url.is_some() {
            return left(
                "it is a request: name the file of answers, and this one with --requests"
                    .to_owned(),
            );
        }
        let Some(error) = answer.error.as_ref().filter(|error| !error.is_null()) else {
            return lost("it holds neither a response nor an error");
        };
        let code = error.get("code").and_then(Value::as_str);
        let code: String = code.unwrap_or("no response").chars().take(40).collect();
        return left(format!("it was never answered ({code})"));
    };
    let Some(requests) = &beside.requests else {
        return left("its request is in another file: name that with --requests".to_owned());
    };
    let Some(request) = requests.line(&answer.custom_id) else {
        return lost("no request has its `custom_id`");
    };
    let request = match serde_json::from_str::<RequestLine>(request) {
        Ok(request) => request,
        Err(error) => return lost(&format!("its request cannot be read: {error}")),
    };
    let Some(asked) = held_body(&request.body) else {
        return lost("the file does not hold its request's body");
    };
    let Some(said) = held_body(&answered.body) else {
        return lost("the file does not hold its response's body");
    };
    let request = request.into_request(asked);
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    headers.extend(answered.request_id.map(|id| ("x-request-id".to_owned(), id)));
    let response = ForeignResponse {
        status: answered.status_code,
        headers,
        content: ResponseContent::Plain(said),
        size: None,
        end: ResponseEnd::Complete,
    };
    let (started, first_ms, duration_ms, own) = (None, None, None, None);
    let exchange = ForeignExchange {
        place,
        request,
        response,
        started,
        first_ms,
        duration_ms,
        own,
        lost: Vec::new(),
    };
    Ok(FoundItem::Exchange(Box::new(exchange)))
}

/// Returns a body as it was sent: an object, or the text of one. `None` for anything else, which is
/// no body of a batch.
fn held_body(value: &Value) -> Option<Bytes> {
    let is_object = |value: &Value| value.is_object() && holds_body(value);
    match value {
        Value::String(text) => {
            let held = serde_json::from_str(text).is_ok_and(|value| is_object(&value));
            held.then(|| text.clone().into())
        }
        value => is_object(value).then(|| body(value)),
    }
}

/// Returns a line of a request file.
///
/// # Errors
/// If a batch cannot make the request. The error says why.
pub(in super::super) fn request(
    sent: &EntryToWrite<'_>,
    request: &RecordedRequest,
) -> Result<WrittenEntry, String> {
    let mut body = asked(request)?;
    let mut lost = vec!["answers: --answers writes the file of them"];
    if let Some(body) = body.as_object_mut() {
        let streamed = body.shift_remove("stream").and_then(|stream| stream.as_bool());
        body.shift_remove("stream_options");
        if streamed == Some(true) {
            lost.push("that answers were streamed: a batch has complete ones");
        }
    }
    let (method, url) = (&request.method, &request.path);
    let line = json!({ "custom_id": sent.key, "method": method, "url": url, "body": body });
    Ok(WrittenEntry { text: format!("{line}\n"), lost })
}

/// Returns a line of an answer file.
///
/// # Errors
/// If a batch cannot have the answer. The error says why.
pub(in super::super) fn answer(
    sent: &EntryToWrite<'_>,
    request: &RecordedRequest,
    response: &RecordedResponse,
) -> Result<WrittenEntry, String> {
    asked(request)?;
    let mut lost = vec!["headers"];
    if response.payload.chunks().len() > 1 {
        lost.push("the chunks of streamed answers, and their times");
    }
    let bytes = complete(sent.entry, request, response)?;
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|_| "its answer is not JSON, as a batch's must be".to_owned())?;
    let id = response.headers.iter().find(|(name, _)| name == "x-request-id");
    let line = json!({
        "id": format!("batch_req_{}", sent.key),
        "custom_id": sent.key,
        "response": {
            "status_code": response.status,
            "request_id": id.map(|(_, id)| id.as_str()).unwrap_or_default(),
            "body": body,
        },
        "error": null,
    });
    Ok(WrittenEntry { text: format!("{line}\n"), lost })
}

/// Returns the body of a request that a batch can make.
fn asked(request: &RecordedRequest) -> Result<Value, String> {
    let call = request.recognise();
    let known = [
        Operation::CHAT_COMPLETIONS,
        Operation::COMPLETIONS,
        Operation::RESPONSES,
        Operation::EMBEDDINGS,
    ];
    let known = known.contains(&call.operation);
    if !known || !request.path.starts_with("/v1/") || !request.query.is_empty() {
        return Err(format!("a batch has no {} {}", request.method, request.path));
    }
    serde_json::from_slice(&request.body).map_err(|_| "its request is not JSON".to_owned())
}

/// Returns a decoded, complete answer. A stream is merged into the equivalent complete answer.
pub(in super::super) fn complete(
    entry: &Entry,
    request: &RecordedRequest,
    response: &RecordedResponse,
) -> Result<Vec<u8>, String> {
    let header = |name: &str| {
        let found = response.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let bytes = response.payload.bytes();
    let bytes = match encoding::coding_in(&response.headers) {
        None => bytes.to_vec(),
        Some(coding) => encoding::decode(&coding, &bytes, UNPACKED)
            .ok_or_else(|| "its answer cannot be unpacked".to_owned())?,
    };
    let call = request.recognise();
    let media = header("content-type").split(';').next().unwrap_or_default().trim();
    let Some(framing) = Framing::answered(call.operation, media, &bytes) else {
        return Ok(bytes);
    };
    let upstream = entry.upstream.as_deref().unwrap_or_default();
    let asked =
        loomrec_provider::ResponseFormat::of(&call, upstream, &request.query, &request.body);
    loomrec_provider::to_complete(&asked, framing, &bytes).map_err(|error| error.to_string())
}
