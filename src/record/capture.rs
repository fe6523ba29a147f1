//! The copy of one exchange: collects chunks with their times and turns them
//! into an entry, freed of secrets, when the exchange is over.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use http::response::Parts;

use super::{Job, Shared};
use crate::provider::{self, Answer, Framing};
use crate::recording::EntryName;
use crate::recording::body::{Chunk, Layout, Payload};
use crate::recording::encoding;
use crate::recording::entry::{End, Entry, RecordedResponse};
use crate::recording::redact::Secrets;

/// The copy of one exchange, still being made.
pub struct Capture {
    job: Job,
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Chunk>,
    size: usize,
    max: usize,
    over: bool,
}

impl Capture {
    /// Starts the copy of the response whose head is `parts`.
    pub fn new(job: Job, parts: &Parts, max: usize) -> Self {
        let headers = header_list(&parts.headers);
        let status = parts.status.as_u16();
        Self { job, status, headers, chunks: Vec::new(), size: 0, max, over: false }
    }

    /// Adds a chunk that arrived just now. Past the limit the whole copy is dropped.
    pub fn add(&mut self, data: Bytes) {
        self.size += data.len();
        if self.over || self.size > self.max {
            self.over = true;
            self.chunks = Vec::new();
            return;
        }
        self.chunks.push(Chunk { at_ms: millis_since(self.job.arrived), data });
    }

    /// The credentials that the request carried.
    pub(super) fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.job.secrets)
    }

    /// Whether every chunk so far is still held by the copy.
    pub fn is_whole(&self) -> bool {
        !self.over
    }

    /// The name to keep the exchange under, the entry, and what it cost, where the
    /// price is known: the entry alone does not tell an unknown price from none.
    pub(super) fn finish(mut self, end: End, shared: &Shared) -> (EntryName, Entry, Option<f64>) {
        let latency = millis_since(self.job.arrived);
        let answer = self.read_and_redact(shared);
        let end = if self.over { End::Truncated } else { end };
        let observed = self.job.observed;
        let layout = Layout::choose(
            header(&self.headers, "content-type").unwrap_or_default(),
            header(&self.headers, "content-length").is_some(),
            self.chunks.len(),
        );
        let cost = answer.usage.as_ref().and_then(|usage| {
            let model = answer.model.as_deref().or(observed.call.model.as_deref())?;
            shared.config.prices.cost(Some(&observed.upstream), model, usage)
        });
        let response = RecordedResponse {
            status: self.status,
            headers: shared.redactor.stored_response_headers(&self.headers, &self.job.secrets),
            payload: Payload { layout, chunks: self.chunks },
            end,
        };
        let entry = Entry {
            content: Some(answer.content),
            model: answer.model.or(observed.call.model),
            usage: answer.usage,
            cost_usd: Some(cost.unwrap_or(0.0)),
            latency_ms: Some(latency),
            finish_reason: answer.finish_reason,
            tool_calls: answer.tool_calls,
            embeddings: Vec::new(),
            request_hash: Some(self.job.key),
            provider: Some(observed.call.provider.name().to_owned()),
            upstream: Some(observed.upstream),
            session: observed.session,
            recorded_at: Some(self.job.recorded_at),
            request: Some(observed.request),
            response: Some(response),
            fault: None,
            extra: serde_json::Map::new(),
        };
        (self.job.name, entry, cost)
    }

    /// Removes secrets from the chunks, and reads the answer out of what is left.
    fn read_and_redact(&mut self, shared: &Shared) -> Answer {
        self.decode_if_unclean(shared);
        let mut chunks = std::mem::take(&mut self.chunks);
        let joined = self.redact(&mut chunks, shared);
        self.chunks = chunks;
        let secrets = &self.job.secrets;
        if !(200..300).contains(&self.status) {
            return Answer::default();
        }
        let encoding = header(&self.headers, "content-encoding").unwrap_or_default();
        let plain = match encoding {
            "" | "identity" => None,
            coded => encoding::decode(coded, &joined, self.max),
        };
        let plain = plain.as_deref().unwrap_or(&joined);
        let operation = self.job.observed.call.operation;
        let media = media_type(&self.headers).unwrap_or_default();
        let framing = Framing::answered(operation, media, plain);
        let answer = match framing {
            None => provider::read_complete(operation, media, plain),
            framing => provider::read(operation, framing, plain),
        };
        let mut answer = answer.unwrap_or_default();
        // A secret spread over several events, or written with escapes, is whole
        // again in the assembled text.
        if let Cow::Owned(clean) = shared.redactor.redact(answer.content.as_bytes(), secrets) {
            answer.content = String::from_utf8_lossy(&clean).into_owned();
        }
        for call in &mut answer.tool_calls {
            let text = call.arguments.to_string();
            if let Cow::Owned(clean) = shared.redactor.redact(text.as_bytes(), secrets) {
                let clean = String::from_utf8_lossy(&clean);
                call.arguments = serde_json::from_str(&clean)
                    .unwrap_or_else(|_| serde_json::json!({ "_raw": clean }));
            }
        }
        answer
    }

    /// Removes secrets from chunks of this answer, and gives what is left in one piece.
    fn redact(&self, chunks: &mut [Chunk], shared: &Shared) -> Bytes {
        let media = media_type(&self.headers).unwrap_or_default().to_ascii_lowercase();
        let secrets = &self.job.secrets;
        match Framing::of_media(&media) {
            Some(Framing::EventStream) => shared.redactor.redact_messages(chunks, secrets),
            _ => shared.redactor.redact_chunks(chunks, secrets),
        }
    }

    /// A compressed body that holds a secret is kept decoded: it could not be
    /// cleaned otherwise.
    fn decode_if_unclean(&mut self, shared: &Shared) {
        let Some(encoding) = header(&self.headers, "content-encoding") else { return };
        let joined = join(&self.chunks);
        let is_clean = |plain: &[u8]| {
            let data = Bytes::copy_from_slice(plain);
            self.redact(&mut [Chunk { at_ms: 0.0, data }], shared) == plain
        };
        let Some(plain) = encoding::decode(encoding, &joined, self.max) else {
            // Cut or damaged, or not to be decoded at all: what cannot be seen to be
            // free of secrets is not kept.
            let start = encoding::decode_start(encoding, &joined, self.max);
            if !start.is_some_and(|start| is_clean(&start)) {
                self.over = true;
                self.chunks = Vec::new();
            }
            return;
        };
        if is_clean(&plain) {
            return;
        }
        let at_ms = self.chunks.last().map_or(0.0, |chunk| chunk.at_ms);
        self.chunks = vec![Chunk { at_ms, data: plain.into() }];
        self.headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
    }
}

/// Milliseconds from `start` to now.
fn millis_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

/// The chunks' bytes in one piece.
fn join(chunks: &[Chunk]) -> Vec<u8> {
    let mut all = Vec::with_capacity(chunks.iter().map(|chunk| chunk.data.len()).sum());
    for chunk in chunks {
        all.extend_from_slice(&chunk.data);
    }
    all
}

/// Headers as a list, names in lower case; a value that is not UTF-8 keeps what is.
pub fn header_list(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

/// The first value of a header.
fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The media type, without parameters.
fn media_type(headers: &[(String, String)]) -> Option<&str> {
    header(headers, "content-type").map(|value| value.split(';').next().unwrap_or("").trim())
}
