//! The answers of a run, as lines for a client over stdio.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::line_reader::LONGEST_LINE;
use super::message_facts::{MessageFacts, closed_error, error_responses};
use super::tool_server::one_line;
use loomrec_engine::upstream::UpstreamBody;
use loomrec_provider::Framing;
use loomrec_provider::framing::{EventSplitter, events};
use serde_json::Value;

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
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    /// As a server ends one.
    Whole,
    /// The server, or the run, is gone: a client over stdio has read all that it will.
    ServerGone,
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
    let media = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_stream = Framing::of_media(media) == Some(Framing::Sse);
    let body = response.into_body();
    let written = match is_stream {
        true => write_events(body, lines).await,
        false => write_whole(body, lines).await,
    };
    match written {
        Ok(()) => AnswerEnd::Whole,
        Err(why) => {
            write_gone(request, why, lines).await;
            AnswerEnd::ServerGone
        }
    }
}

/// Writes to the client that the server is gone.
pub(super) async fn write_gone(request: &Bytes, why: &str, lines: &mpsc::Sender<Bytes>) {
    if let Some(error) = closed_error(request, why) {
        write_line(error.into(), lines).await;
    }
}

/// Writes an answer whose status is an error. A server that is gone has the status 502.
async fn write_error(
    request: &Bytes,
    response: Response<UpstreamBody>,
    lines: &mpsc::Sender<Bytes>,
) -> AnswerEnd {
    let status = response.status();
    let body = Limited::new(response.into_body(), LARGEST_ERROR).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let (code, message) = error_of(&body, status);
    if let Some(error) = error_responses(request, code, &message) {
        write_line(error.into(), lines).await;
    }
    match status == StatusCode::BAD_GATEWAY {
        true => AnswerEnd::ServerGone,
        false => AnswerEnd::Whole,
    }
}

/// Returns the code and the message of an error: those of its body, if that is JSON-RPC.
fn error_of(body: &[u8], status: StatusCode) -> (i64, String) {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = json.get("error").or_else(|| json.get(0)?.get("error"));
    let own = error.and_then(|error| {
        Some((error.get("code")?.as_i64()?, error.get("message")?.as_str()?.to_owned()))
    });
    own.unwrap_or_else(|| {
        let text: String = String::from_utf8_lossy(body).chars().take(SHOWN).collect();
        (INTERNAL_ERROR, format!("HTTP {}: {text}", status.as_u16()))
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
            || MessageFacts::read(&data).is_some_and(|facts| !facts.responses.is_empty());
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
