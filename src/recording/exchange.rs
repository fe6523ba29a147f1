//! From an exchange that is over to an entry: secrets taken out, the answer read, its
//! cost worked out.
//!
//! Whoever has seen a request and its response makes an entry of them here, and
//! nowhere else: the recorder as they pass, an import of what another tool kept.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::body::{Chunk, Layout, Payload};
use super::cost::PriceTable;
use super::encoding;
use super::entry::{End, Entry, RecordedResponse};
use super::observed::Observed;
use super::redact::{Redactor, Secrets};
use crate::identity::RequestKey;
use crate::provider::{self, Answer, Framing};

/// An exchange that is over.
#[derive(Debug)]
pub struct Exchange {
    /// The request, as it is stored.
    pub observed: Observed,
    /// Its key.
    pub key: RequestKey,
    /// The credentials it carried: none of them may be stored.
    pub secrets: Arc<Secrets>,
    /// When it arrived: RFC 3339, UTC.
    pub recorded_at: Option<String>,
    /// Milliseconds from there to the end of the answer.
    pub latency_ms: Option<f64>,
    /// What came back.
    pub reply: Reply,
}

/// A response as it came.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// What arrived, and when.
    pub chunks: Vec<Chunk>,
    /// Whether it was too large to be held: there are no chunks then.
    pub over: bool,
    /// How it ended.
    pub end: End,
}

/// What is needed to make entries.
#[derive(Clone, Copy, Debug)]
pub struct Maker<'a> {
    /// Finds secrets.
    pub redactor: &'a Redactor,
    /// What models cost.
    pub prices: &'a PriceTable,
    /// The most bytes that a compressed answer may unfold to.
    pub max: usize,
}

impl Maker<'_> {
    /// The entry, and what it cost where the price is known: the entry alone does not
    /// tell an unknown price from none.
    pub fn entry(&self, exchange: Exchange) -> (Entry, Option<f64>) {
        let Exchange { observed, key, secrets, recorded_at, latency_ms, mut reply } = exchange;
        let answer = self.read_and_redact(&mut reply, &observed, &secrets);
        let end = if reply.over { End::Truncated } else { reply.end };
        let layout = Layout::choose(
            header(&reply.headers, "content-type").unwrap_or_default(),
            header(&reply.headers, "content-length").is_some(),
            reply.chunks.len(),
        );
        let cost = answer.usage.as_ref().and_then(|usage| {
            let model = answer.model.as_deref().or(observed.call.model.as_deref())?;
            self.prices.cost(Some(&observed.upstream), model, usage)
        });
        let response = RecordedResponse {
            status: reply.status,
            headers: self.redactor.stored_response_headers(&reply.headers, &secrets),
            payload: Payload { layout, chunks: reply.chunks },
            end,
        };
        let entry = Entry {
            content: Some(answer.content),
            model: answer.model.or(observed.call.model),
            usage: answer.usage,
            cost_usd: Some(cost.unwrap_or(0.0)),
            latency_ms,
            finish_reason: answer.finish_reason,
            tool_calls: answer.tool_calls,
            embeddings: Vec::new(),
            request_hash: Some(key),
            provider: Some(observed.call.provider.name().to_owned()),
            upstream: Some(observed.upstream),
            session: observed.session,
            recorded_at,
            request: Some(observed.request),
            response: Some(response),
            fault: None,
            extra: serde_json::Map::new(),
        };
        (entry, cost)
    }

    /// Removes secrets from the chunks, and reads the answer out of what is left.
    fn read_and_redact(&self, reply: &mut Reply, observed: &Observed, secrets: &Secrets) -> Answer {
        self.decode_if_unclean(reply, secrets);
        let mut chunks = std::mem::take(&mut reply.chunks);
        let joined = self.redact(&reply.headers, &mut chunks, secrets);
        reply.chunks = chunks;
        if !(200..300).contains(&reply.status) {
            return Answer::default();
        }
        let encoding = header(&reply.headers, "content-encoding").unwrap_or_default();
        let plain = match encoding {
            "" | "identity" => None,
            coded => encoding::decode(coded, &joined, self.max),
        };
        let plain = plain.as_deref().unwrap_or(&joined);
        let operation = observed.call.operation;
        let media = media_type(&reply.headers).unwrap_or_default();
        let framing = Framing::answered(operation, media, plain);
        let answer = match framing {
            None => provider::read_complete(operation, media, plain),
            framing => provider::read(operation, framing, plain),
        };
        let mut answer = answer.unwrap_or_default();
        // A secret spread over several events, or written with escapes, is whole
        // again in the assembled text.
        if let Cow::Owned(clean) = self.redactor.redact(answer.content.as_bytes(), secrets) {
            answer.content = String::from_utf8_lossy(&clean).into_owned();
        }
        for call in &mut answer.tool_calls {
            let text = call.arguments.to_string();
            if let Cow::Owned(clean) = self.redactor.redact(text.as_bytes(), secrets) {
                let clean = String::from_utf8_lossy(&clean);
                call.arguments = serde_json::from_str(&clean)
                    .unwrap_or_else(|_| serde_json::json!({ "_raw": clean }));
            }
        }
        answer
    }

    /// Removes secrets from chunks of an answer, and gives what is left in one piece.
    fn redact(
        &self,
        headers: &[(String, String)],
        chunks: &mut [Chunk],
        secrets: &Secrets,
    ) -> Bytes {
        let media = media_type(headers).unwrap_or_default().to_ascii_lowercase();
        match Framing::of_media(&media) {
            Some(Framing::EventStream) => self.redactor.redact_messages(chunks, secrets),
            _ => self.redactor.redact_chunks(chunks, secrets),
        }
    }

    /// A compressed body that holds a secret is kept decoded: it could not be
    /// cleaned otherwise.
    fn decode_if_unclean(&self, reply: &mut Reply, secrets: &Secrets) {
        let Some(encoding) = header(&reply.headers, "content-encoding") else { return };
        let joined = join(&reply.chunks);
        let is_clean = |plain: &[u8]| {
            let data = Bytes::copy_from_slice(plain);
            self.redact(&reply.headers, &mut [Chunk { at_ms: 0.0, data }], secrets) == plain
        };
        let Some(plain) = encoding::decode(encoding, &joined, self.max) else {
            // Cut or damaged, or not to be decoded at all: what cannot be seen to be
            // free of secrets is not kept.
            let start = encoding::decode_start(encoding, &joined, self.max);
            if !start.is_some_and(|start| is_clean(&start)) {
                reply.over = true;
                reply.chunks = Vec::new();
            }
            return;
        };
        if is_clean(&plain) {
            return;
        }
        let at_ms = reply.chunks.last().map_or(0.0, |chunk| chunk.at_ms);
        reply.chunks = vec![Chunk { at_ms, data: plain.into() }];
        reply.headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
    }
}

/// The chunks' bytes in one piece.
fn join(chunks: &[Chunk]) -> Vec<u8> {
    let mut all = Vec::with_capacity(chunks.iter().map(|chunk| chunk.data.len()).sum());
    for chunk in chunks {
        all.extend_from_slice(&chunk.data);
    }
    all
}

/// The first value of a header.
fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The media type, without parameters.
fn media_type(headers: &[(String, String)]) -> Option<&str> {
    header(headers, "content-type").map(|value| value.split(';').next().unwrap_or("").trim())
}
