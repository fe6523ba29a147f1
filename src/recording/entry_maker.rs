//! From an exchange that is over to an entry: secrets taken out, the answer read, its
//! cost worked out.
//!
//! Whoever has seen a request and its response makes an entry of them here, and
//! nowhere else: the recorder as they pass, an import of what another tool kept.

use std::sync::Arc;

use super::body::{Chunk, ChunkLayout, ResponsePayload};
use super::cost::PriceTable;
use super::entry::{Entry, RecordedResponse, ResponseEnd};
use super::normalized_request::NormalizedRequest;
use super::redact::{CallCredentials, RawResponse, Redactor, UnkeptReason};
use loomrec_identity::RequestKey;
use loomrec_provider::Answer;

/// An exchange that is over.
#[derive(Debug)]
pub struct CompletedExchange {
    /// The request, as it is stored.
    pub observed: NormalizedRequest,
    /// Its key.
    pub key: RequestKey,
    /// The credentials it carried: none of them may be stored.
    pub secrets: Arc<CallCredentials>,
    /// When it arrived: RFC 3339, UTC.
    pub recorded_at: Option<String>,
    /// Milliseconds from there to the end of the answer.
    pub latency_ms: Option<f64>,
    /// What came back.
    pub reply: UpstreamReply,
}

/// A response as it came.
#[derive(Clone, Debug)]
pub struct UpstreamReply {
    /// The HTTP status.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// What arrived, and when.
    pub chunks: Vec<Chunk>,
    /// Whether it was too large to be held: there are no chunks then.
    pub over: bool,
    /// How it ended.
    pub end: ResponseEnd,
}

/// What is needed to make entries.
#[derive(Clone, Copy, Debug)]
pub struct EntryMaker<'a> {
    /// Finds secrets.
    pub redactor: &'a Redactor,
    /// What models cost.
    pub prices: &'a PriceTable,
    /// The most bytes that a compressed answer may unfold to.
    pub max: usize,
}

impl EntryMaker<'_> {
    /// The entry, and what it cost where a price is known. The entry of a call that cannot
    /// have cost anything (an error, no model) says 0; of one whose price is not known,
    /// nothing.
    ///
    /// # Errors
    /// [`UnkeptReason`] where the answer cannot be freed of credentials.
    pub fn entry(&self, exchange: CompletedExchange) -> Result<(Entry, Option<f64>), UnkeptReason> {
        let CompletedExchange { mut observed, key, secrets, recorded_at, latency_ms, mut reply } =
            exchange;
        let answer = self.read_and_redact(&mut reply, &mut observed, &secrets)?;
        let end = if reply.over { ResponseEnd::Truncated } else { reply.end };
        let layout = ChunkLayout::choose(
            header(&reply.headers, "content-type").unwrap_or_default(),
            header(&reply.headers, "content-length").is_some(),
            reply.chunks.len(),
        );
        let model = answer.model.as_deref().or(observed.call.model.as_deref());
        let cost = answer
            .usage
            .as_ref()
            .and_then(|usage| self.prices.cost(Some(&observed.upstream), model?, usage));
        let is_free = model.is_none() || reply.status >= 400 || observed.call.operation.is_free();
        let placeholders = &mut observed.placeholders;
        let headers = self.redactor.stored_response_headers(&reply.headers, &secrets, placeholders);
        let response = RecordedResponse {
            status: reply.status,
            headers,
            payload: ResponsePayload::new(layout, reply.chunks),
            end,
        };
        let entry = Entry {
            content: Some(answer.content),
            model: answer.model.or(observed.call.model),
            usage: answer.usage,
            cost_usd: cost.or_else(|| is_free.then_some(0.0)),
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
            is_ambiguous: false,
        };
        Ok((entry, cost))
    }

    /// Removes secrets from the chunks, and reads the answer out of what is left. A body
    /// that is too large to be looked into is not kept.
    fn read_and_redact(
        &self,
        reply: &mut UpstreamReply,
        observed: &mut NormalizedRequest,
        secrets: &CallCredentials,
    ) -> Result<Answer, UnkeptReason> {
        let came = RawResponse {
            operation: observed.call.operation,
            status: reply.status,
            headers: &mut reply.headers,
            chunks: &mut reply.chunks,
            placeholders: &mut observed.placeholders,
        };
        match self.redactor.redact_answer(came, secrets, self.max) {
            Err(UnkeptReason::TooLarge) => {
                reply.over = true;
                Ok(Answer::default())
            }
            read => read,
        }
    }
}

/// The first value of a header.
fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
