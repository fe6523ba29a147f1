//! Makes an entry of a completed exchange: removes secrets, reads the answer, computes its cost.
//!
//! Recorders and imports from other tools both make their entries here and nowhere else.

use std::sync::Arc;

use super::body::{Chunk, ChunkLayout, ResponsePayload};
use super::call_scope::CallForm;
use super::cost::{PriceTable, is_possible_cost, priced_model};
use super::entry::{Entry, RecordedResponse, ResponseEnd};
use super::gateway_cost::gateway_cost;
use super::normalized_request::NormalizedRequest;
use super::redact::{
    CallCredentials, RawResponse, RedactedAnswer, Redactor, UnkeptReason, stated_media,
};
use loomrec_identity::{ClientPreset, RequestKey, RunValueFinder, RunValues};
use loomrec_provider::{
    Answer, GrpcStatus, JudgedAnswer, ReceivedAnswer, ReceivedBody, TransportEnd, directory,
    judge_answer,
};

/// A completed exchange.
#[derive(Debug)]
pub struct CompletedExchange {
    /// The request, as it will be stored.
    pub observed: NormalizedRequest,
    /// Its key.
    pub key: RequestKey,
    /// The credentials that the request carried. None of them may be stored.
    pub secrets: Arc<CallCredentials>,
    /// When it arrived: RFC 3339, UTC.
    pub recorded_at: Option<String>,
    /// Milliseconds from its arrival to the end of the answer.
    pub latency_ms: Option<f64>,
    /// The scheme, host and port that it was sent to, unless that is the upstream's public address.
    pub upstream_origin: Option<String>,
    /// The values of its run. Those that are in the request are stored with it.
    pub run_values: Arc<RunValueFinder>,
    /// The upstream's response.
    pub reply: UpstreamReply,
}

/// A response as the upstream sent it.
#[derive(Clone, Debug)]
pub struct UpstreamReply {
    /// The HTTP status.
    pub status: u16,
    /// Its reason phrase, if it is not the usual one.
    pub reason: Option<String>,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The fields that follow its body, names in lower case.
    pub trailers: Vec<(String, String)>,
    /// The chunks that arrived, with their times.
    pub chunks: Vec<Chunk>,
    /// Whether the body was too large to be held. There are no chunks then.
    pub over: bool,
    /// How it ended.
    pub end: ResponseEnd,
}

/// Makes entries with a redactor and a price table.
#[derive(Clone, Copy, Debug)]
pub struct EntryMaker<'a> {
    /// Finds and removes secrets.
    pub redactor: &'a Redactor,
    /// The prices of models.
    pub prices: &'a PriceTable,
    /// The most bytes that a compressed answer may decode to.
    pub max: usize,
}

/// The entry of an exchange, and what is known of it beside.
#[derive(Debug)]
pub struct MadeEntry {
    /// The entry.
    pub entry: Entry,
    /// The outcome of its answer.
    pub judged: JudgedAnswer,
    /// The form of its call.
    pub form: CallForm,
}

impl EntryMaker<'_> {
    /// Returns the entry of an exchange. That of a call that cannot have cost anything (an error, no
    /// model asked) has a cost of 0. If the cost is not known, the entry has none.
    ///
    /// # Errors
    /// [`UnkeptReason`] if credentials cannot be removed from the answer.
    pub fn make_entry(&self, exchange: CompletedExchange) -> Result<MadeEntry, UnkeptReason> {
        let CompletedExchange { mut observed, key, secrets, recorded_at, latency_ms, .. } =
            exchange;
        let (mut reply, origin) = (exchange.reply, exchange.upstream_origin);
        let run_values = self.stored_run_values(&exchange.run_values, &observed, &secrets);
        let (answer, judged) = self.read_and_redact(&mut reply, &mut observed, &secrets)?;
        let end = if reply.over { ResponseEnd::Truncated } else { reply.end };
        let layout = ChunkLayout::for_response(
            header_value(&reply.headers, "content-type").unwrap_or_default(),
            header_value(&reply.headers, "content-length").is_some(),
            reply.chunks.len(),
        );
        let upstream = Some(observed.upstream.as_str());
        let model = priced_model(upstream, observed.call.model.as_deref(), answer.model.as_deref());
        let cost = self.call_cost(&observed, (&reply, &answer), model);
        let is_free = observed.is_free() || is_refused(&answer, &judged);
        let placeholders = &mut observed.placeholders;
        let mut stored =
            |fields: &_| self.redactor.stored_response_headers(fields, &secrets, placeholders);
        let (headers, trailers) = (stored(&reply.headers), stored(&reply.trailers));
        let response = RecordedResponse {
            status: reply.status,
            reason: reply
                .reason
                .map(|text| self.redactor.redact_text(&text, &secrets).into_owned()),
            headers,
            trailers,
            payload: ResponsePayload::new(layout, reply.chunks),
            end,
        };
        let form = observed.call_form();
        let preset = observed.client_preset().map(ClientPreset::name_and_version);
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
            upstream_origin: origin.map(|origin| self.redactor.redact_name(&origin, &secrets)),
            preset,
            run_values,
            session: observed.session,
            recorded_at,
            ended_at: None,
            edited_at: None,
            request: Some(observed.request),
            response: Some(response),
            client_left: None,
            messages: Vec::new(),
            fault: None,
            extra: serde_json::Map::new(),
            is_ambiguous: false,
        };
        Ok(MadeEntry { entry, judged, form })
    }

    /// Returns the cost of a call in US dollars: nothing, what the answer or its gateway states, or by
    /// the price of the model. `None` if it is unknown.
    fn call_cost(
        &self,
        observed: &NormalizedRequest,
        (reply, answer): (&UpstreamReply, &Answer),
        model: Option<&str>,
    ) -> Option<f64> {
        let free = observed.call.operation.is_free().then_some(0.0);
        let is_stated =
            |cost: &f64| is_possible_cost(*cost) && directory::states_cost(&observed.upstream);
        let stated = answer.cost_usd.filter(is_stated);
        let priced =
            || self.prices.call_cost(Some(&observed.upstream), model?, answer.usage.as_ref()?);
        free.or(stated).or_else(|| gateway_cost(&reply.headers)).or_else(priced)
    }

    /// Returns the values of a run that are in a request, without those that hold a secret.
    fn stored_run_values(
        &self,
        all: &RunValueFinder,
        observed: &NormalizedRequest,
        secrets: &CallCredentials,
    ) -> RunValues {
        let mut found = observed.run_values(all);
        found.retain(|_, text| self.redactor.is_clean_name(text, secrets));
        found
    }

    /// Removes secrets from the chunks, and reads and judges the answer that is left. A body that is
    /// too large to be searched is not kept.
    fn read_and_redact(
        &self,
        reply: &mut UpstreamReply,
        observed: &mut NormalizedRequest,
        secrets: &CallCredentials,
    ) -> Result<(Answer, JudgedAnswer), UnkeptReason> {
        let media = stated_media(&reply.headers).to_owned();
        let came = RawResponse {
            operation: observed.call.operation,
            status: reply.status,
            headers: &mut reply.headers,
            chunks: &mut reply.chunks,
            placeholders: &mut observed.placeholders,
        };
        let read = self.redactor.redact_answer(came, secrets, self.max);
        if matches!(read, Err(UnkeptReason::TooLarge)) {
            reply.over = true;
        }
        let grpc_status = GrpcStatus::find(&reply.headers, &reply.trailers);
        let judge = |body, is_read| {
            judge_answer(&ReceivedAnswer {
                operation: observed.call.operation,
                method: observed.method(),
                status: reply.status,
                media: &media,
                body,
                is_read,
                end: if reply.over { TransportEnd::TooLarge } else { reply.end.into() },
                grpc_status: grpc_status.as_ref(),
            })
        };
        match read {
            Err(UnkeptReason::TooLarge) => {
                Ok((Answer::default(), judge(ReceivedBody::Unread, false)))
            }
            Err(unkept) => Err(unkept),
            Ok(RedactedAnswer { answer, text, is_document, is_cut_coding }) => {
                let body = match is_cut_coding {
                    true => ReceivedBody::CutCoding,
                    false => ReceivedBody::Plain(&text),
                };
                Ok((answer, judge(body, is_document)))
            }
        }
    }
}

/// Whether there is an error, or something else, in the place of an answer, and nothing was said.
fn is_refused(answer: &Answer, judged: &JudgedAnswer) -> bool {
    let said_nothing = answer.content.is_empty() && answer.tool_calls.is_empty();
    said_nothing && judged.outcome.is_refusal()
}

/// Returns the first value of a header.
fn header_value<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
