//! The answers of a run, as lines for a client over stdio.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::line_reader::LONGEST_LINE;
use super::tool_server::one_line;
use loomrec_engine::upstream::UpstreamBody;
use loomrec_fault::FAULT_HEADER;
use loomrec_identity::media_type;
use loomrec_provider::framing::{EventSplitter, events};
use loomrec_provider::{Framing, RpcFacts, rpc_closed_error, rpc_error_responses};
use serde_json::{Value, json};

/// The code of an error that HTTP reports and JSON-RPC has no word for.
const INTERNAL_ERROR: i64 = -32603;
/// The most bytes of an answer that is an error of HTTP.
const LARGEST_ERROR: usize = 1 << 20;
/// The most characters of a message that is shown.
const SHOWN: usize = 2000;

/// The least time between a message within an answer and its response. The SDK for Node drops progress
/// that it reads together with the response.
const RESPONSE_PAUSE: Duration = Duration::from_millis(20);

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    /// As a server ends one.
    Whole,
    /// The server, or the run, is gone: a client over stdio has read all that it will.
    ServerGone,
    /// A fault broke the connection: the same, and the client is not told why.
    Broken,
}

/// Writes the messages of an answer to a request.
pub(super) async fn write_answer(
    request: &Bytes,
    response: Response<UpstreamBody>,
    lines: &mpsc::Sender<Bytes>,
) -> AnswerEnd {
    let status = response.status();
    if !status.is_success() {
        return write_error(request, response, lines).await;
    }
    let is_stream = Framing::of_media(media_of(&response)) == Some(Framing::Sse);
    let has_fault = response.headers().contains_key(FAULT_HEADER);
    let body = response.into_body();
    let written = match is_stream {
        true => write_events(body, lines).await,
        false => write_whole(body, lines).await,
    };
    match written {
        Ok(()) => AnswerEnd::Whole,
        Err(_) if has_fault => AnswerEnd::Broken,
        Err(why) => {
            write_gone(request, why, lines).await;
            AnswerEnd::ServerGone
        }
    }
}

/// Writes to the client that the server is gone.
pub(super) async fn write_gone(request: &Bytes, why: &str, lines: &mpsc::Sender<Bytes>) {
    if let Some(error) = rpc_closed_error(request, why) {
        write_line(error.into(), lines).await;
    }
}

/// Returns the media type of an answer; empty if it has none.
fn media_of(response: &Response<UpstreamBody>) -> &str {
    let media = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media.map_or("", media_type)
}

/// Writes an answer whose status is an error. A server that is gone has the status 502.
async fn write_error(
    request: &Bytes,
    response: Response<UpstreamBody>,
    lines: &mpsc::Sender<Bytes>,
) -> AnswerEnd {
    let status = response.status();
    let has_fault = response.headers().contains_key(FAULT_HEADER);
    let is_page = media_of(&response) == "text/html";
    let body = Limited::new(response.into_body(), LARGEST_ERROR).collect().await;
    let body = match body {
        Err(_) if has_fault => return AnswerEnd::Broken,
        body => body.map(|body| body.to_bytes()).unwrap_or_default(),
    };
    let error = error_of(if is_page { b"" } else { &body }, status);
    if let Some(error) = rpc_error_responses(request, &error) {
        write_line(error.into(), lines).await;
    }
    match status == StatusCode::BAD_GATEWAY && !has_fault {
        true => AnswerEnd::ServerGone,
        false => AnswerEnd::Whole,
    }
}

/// Returns the error object of an answer whose status is an error: that of its body, if this is
/// JSON-RPC, else one that names the status.
fn error_of(body: &[u8], status: StatusCode) -> Value {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = json.get("error").or_else(|| json.get(0)?.get("error"));
    let is_own = |error: &&Value| {
        error.get("code").is_some_and(Value::is_i64)
            && error.get("message").is_some_and(Value::is_string)
    };
    error.filter(is_own).cloned().unwrap_or_else(|| {
        let text: String = String::from_utf8_lossy(body).chars().take(SHOWN).collect();
        let text = match text.is_empty() {
            true => status.canonical_reason().unwrap_or("an error").to_owned(),
            false => text,
        };
        json!({ "code": INTERNAL_ERROR, "message": format!("HTTP {}: {text}", status.as_u16()) })
    })
}

/// Writes a body as one line.
///
/// # Errors
/// A body that is cut, or too long.
async fn write_whole(body: UpstreamBody, lines: &mpsc::Sender<Bytes>) -> Result<(), &'static str> {
    let body = Limited::new(body, LONGEST_LINE).collect().await;
    let body = body.map_err(|_| "the MCP server ended before its answer was complete")?;
    write_line(body.to_bytes(), lines).await;
    Ok(())
}

/// Writes each event of a stream as one line.
///
/// # Errors
/// A stream that is cut, or an event that is too long.
async fn write_events(
    mut body: UpstreamBody,
    lines: &mpsc::Sender<Bytes>,
) -> Result<(), &'static str> {
    let mut splitter = EventSplitter::new(Framing::Sse);
    let (mut event, mut written) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| "the MCP server ended before its answer was complete")?;
        let Ok(chunk) = frame.into_data() else { continue };
        let mut from = 0;
        let mut ends = Vec::new();
        splitter.split(&chunk, |end| ends.push(end.at));
        for end in ends {
            event.extend_from_slice(&chunk[from..end]);
            from = end;
            write_event(&event.split(), &mut written, lines).await;
        }
        event.extend_from_slice(&chunk[from..]);
        if event.len() > LONGEST_LINE {
            return Err("the MCP server sent an event that is too long");
        }
    }
    write_event(&event, &mut written, lines).await;
    Ok(())
}

/// Writes the data of an event, if it has any. `written` is when the one before was written.
async fn write_event(event: &[u8], written: &mut Option<Instant>, lines: &mpsc::Sender<Bytes>) {
    for event in events(Framing::Sse, event) {
        let Some(data) = event.data.filter(|_| event.finished) else { continue };
        let is_response =
            || RpcFacts::from_line(&data).is_some_and(|facts| !facts.responses.is_empty());
        if let Some(before) = written.filter(|_| is_response()) {
            tokio::time::sleep_until(before + RESPONSE_PAUSE).await;
        }
        write_line(data.into_owned().into(), lines).await;
        *written = Some(Instant::now());
    }
}

async fn write_line(text: Bytes, lines: &mpsc::Sender<Bytes>) {
    let line = one_line(text);
    if !line.trim_ascii().is_empty() {
        // A client that left reads nothing.
        let _ = lines.send(line).await;
    }
}
