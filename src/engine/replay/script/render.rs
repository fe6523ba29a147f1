//! The renderer of scripted calls: in the shape of the client's provider, complete or streamed as
//! the call asks for it, each entry at its time.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::entry::{ScriptEntry, ScriptFailure};
use crate::replay::response_draft::{ResponseDraft, response_format_of};
use loomrec_provider::{
    Answer, AnswerPart, ErrorRequest, EventFrame, Provider, ResponseFormat, StreamError, TokenUsage,
};
use loomrec_recording::body::Chunk;
use loomrec_recording::entry::ResponseEnd;
use loomrec_recording::normalized_request::NormalizedRequest;

/// The response to a scripted call.
#[derive(Debug)]
pub(crate) struct RenderedResponse {
    pub(crate) delivery: ResponseDraft,
    /// Whether it is a stream.
    pub(crate) streamed: bool,
}

/// The entries of a scripted call, sorted by how they are used.
#[derive(Default)]
struct Call<'a> {
    parts: Vec<AnswerPart<'a>>,
    /// When each part is due, in milliseconds.
    due: Vec<f64>,
    raw: Vec<Raw<'a>>,
    usage: Option<TokenUsage>,
    finish: Option<&'a str>,
    failure: Option<&'a ScriptFailure>,
    /// When everything has been said.
    end: f64,
}

/// Bytes of a stream, unchanged.
struct Raw<'a> {
    /// The number of parts before them.
    parts_before: usize,
    due: f64,
    bytes: &'a Bytes,
}

impl<'a> Call<'a> {
    fn of(entries: &'a [ScriptEntry]) -> Self {
        let mut call = Self::default();
        let mut places = vec![0; entries.len()];
        for (index, entry) in entries.iter().enumerate() {
            places[index] = call.parts.len();
            let part = match entry {
                ScriptEntry::Text(text) => AnswerPart::Text(text),
                ScriptEntry::ToolCall { id, name, arguments } => {
                    AnswerPart::Call { id, name, arguments }
                }
                ScriptEntry::ToolCallDelta { call, text } => {
                    AnswerPart::Arguments { call: places[*call], text }
                }
                other => {
                    call.take(other);
                    continue;
                }
            };
            call.parts.push(part);
            call.due.push(call.end);
        }
        call
    }

    /// Takes an entry that is not a part of what is said.
    fn take(&mut self, entry: &'a ScriptEntry) {
        match entry {
            ScriptEntry::Usage(usage) => self.usage = Some(*usage),
            ScriptEntry::RawChunk(bytes) => {
                self.raw.push(Raw { parts_before: self.parts.len(), due: self.end, bytes });
            }
            ScriptEntry::Finish(reason) => self.finish = Some(reason),
            ScriptEntry::Error(failure) => self.failure = Some(failure),
            ScriptEntry::Delay(ms) => self.end += ms,
            ScriptEntry::Text(_)
            | ScriptEntry::ToolCall { .. }
            | ScriptEntry::ToolCallDelta { .. } => {}
        }
    }

    /// Whether there are only raw bytes. They are the whole answer then.
    fn is_raw(&self) -> bool {
        let words = !self.parts.is_empty() || self.usage.is_some() || self.finish.is_some();
        !words && !self.raw.is_empty()
    }

    /// Returns what is said beside the parts.
    fn rest(&self) -> Answer {
        Answer {
            usage: self.usage,
            finish_reason: self.finish.map(str::to_owned),
            ..Answer::default()
        }
    }
}

impl RenderedResponse {
    /// Returns the answer of a scripted call to `observed`. Ids are made from `seed`. The answer
    /// names `model`, or else the one that was asked for.
    ///
    /// # Errors
    /// The reason why the scripted call cannot answer this request.
    pub(super) fn of(
        entries: &[ScriptEntry],
        model: Option<&str>,
        observed: &NormalizedRequest,
        shape: Provider,
        seed: &str,
    ) -> Result<Self, String> {
        let call = Call::of(entries);
        let streamed = observed.call.streamed;
        let nothing_said = call.parts.is_empty() && call.raw.is_empty();
        if let Some(failure) = call.failure.filter(|_| nothing_said || !streamed) {
            return Ok(Self::failed(failure, observed, shape, call.end));
        }
        let mut format = response_format_of(observed);
        format.model = model.or(format.model);
        let chunks = match (streamed, call.is_raw()) {
            (true, false) => stream(&call, &format, seed)?,
            (false, false) => {
                let answer = loomrec_provider::whole(&call.parts, &call.rest());
                let body = loomrec_provider::write(&format, &answer, seed)
                    .map_err(|why| why.to_string())?;
                vec![Chunk { at_ms: call.end, data: body.into() }]
            }
            (_, true) => raw(&call, &format),
        };
        let media = if streamed { format.framing.media() } else { format.media() };
        Ok(Self { delivery: delivery(StatusCode::OK, media, chunks, !streamed), streamed })
    }

    /// Returns the failure of a call, due at once.
    pub(super) fn failure(
        failure: &ScriptFailure,
        observed: &NormalizedRequest,
        shape: Provider,
    ) -> Self {
        Self::failed(failure, observed, shape, 0.0)
    }

    fn failed(
        failure: &ScriptFailure,
        observed: &NormalizedRequest,
        shape: Provider,
        at_ms: f64,
    ) -> Self {
        let framing = observed.call.streamed.then(|| response_format_of(observed).framing);
        let error = ErrorRequest {
            kind: failure.kind.as_deref(),
            message: Some(&failure.message),
            framing,
            ..ErrorRequest::new(shape, &observed.upstream, failure.status)
        };
        let error = error.write();
        let chunks = vec![Chunk { at_ms, data: error.body.into() }];
        let status = StatusCode::from_u16(failure.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut delivery = delivery(status, "application/json", chunks, true);
        for (name, value) in error.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                delivery.headers.insert(HeaderName::from_static(name), value);
            }
        }
        Self { delivery, streamed: false }
    }
}

fn delivery(
    status: StatusCode,
    media: &'static str,
    chunks: Vec<Chunk>,
    announced: bool,
) -> ResponseDraft {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    if announced {
        let length: usize = chunks.iter().map(|chunk| chunk.data.len()).sum();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    ResponseDraft { status, headers, chunks, end: ResponseEnd::Complete }
}

/// Returns the raw bytes alone, and the error that ends them.
fn raw(call: &Call<'_>, format: &ResponseFormat<'_>) -> Vec<Chunk> {
    let bytes = call.raw.iter().map(|raw| Chunk { at_ms: raw.due, data: raw.bytes.clone() });
    let error = call.failure.map(|failure| error(failure, format, 0));
    let events = error.iter().flat_map(|frame| format.framing.write(std::slice::from_ref(frame)));
    let error = events.map(|event| Chunk { at_ms: call.end, data: event.into() });
    bytes.chain(error).collect()
}

/// Returns the events of a stream, each at its time, with raw bytes between them.
fn stream(call: &Call<'_>, format: &ResponseFormat<'_>, seed: &str) -> Result<Vec<Chunk>, String> {
    let spoken = loomrec_provider::synthesize(format, &call.parts, &call.rest(), seed);
    let spoken = spoken.map_err(|why| why.to_string())?;
    let (parts, mut frames): (Vec<_>, Vec<_>) = spoken.content.into_iter().unzip();
    match call.failure {
        // A stream that fails has no regular end, whatever its entries say.
        Some(failure) => {
            frames = frames.into_iter().map(loomrec_provider::unended).collect();
            frames.push(error(failure, format, frames.len() as u64));
        }
        None => frames.extend(spoken.ending),
    }
    // The opening of the stream is sent with the first part.
    let first = parts.iter().flatten().next().map_or(call.end, |part| call.due[*part]);
    let mut now = 0.0_f64;
    let mut chunks = Vec::new();
    let mut raw = call.raw.iter().peekable();
    for (index, event) in format.framing.write(&frames).into_iter().enumerate() {
        let part = parts.get(index).copied();
        let opening = part == Some(None);
        let due = match part {
            Some(Some(part)) => call.due[part],
            Some(None) => first,
            None => call.end,
        };
        // Raw bytes come before the first event of a later part.
        let reached = match part {
            Some(Some(part)) => part,
            Some(None) => 0,
            None => usize::MAX,
        };
        while let Some(bytes) = raw.next_if(|raw| !opening && raw.parts_before <= reached) {
            now = now.max(bytes.due);
            chunks.push(Chunk { at_ms: now, data: bytes.bytes.clone() });
        }
        now = now.max(due);
        chunks.push(Chunk { at_ms: now, data: event.into() });
    }
    Ok(chunks)
}

fn error(failure: &ScriptFailure, format: &ResponseFormat<'_>, place: u64) -> EventFrame {
    let ScriptFailure { status, kind, message, .. } = failure;
    let (status, kind) = (*status, kind.as_deref());
    loomrec_provider::stream_error(&StreamError { format, status, kind, message, place })
}
