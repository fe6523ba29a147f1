//! The copy of one exchange: collects chunks with their times, and turns them into a redacted entry
//! when the exchange is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use http::response::Parts;
use hyper::ext::ReasonPhrase;

use super::active_exchange::RecordContext;
use super::delivery_gauge::DeliveryGauge;
use super::message_log::{KeptMessages, MessageLog};
use super::record_job::{KeepFilter, OnRecorded, RecordJob};
use super::record_outcome::{CallFailure, RecordOutcome, UpstreamTimes};
use crate::websocket::turn_link::UpstreamClose;
use loomrec_provider::{JudgedAnswer, Operation, is_stream_finished};
use loomrec_recording::body::Chunk;
use loomrec_recording::cost::PriceTable;
use loomrec_recording::entry::{ClientLeft, Entry, ResponseEnd};
use loomrec_recording::entry_maker::{CompletedExchange, EntryMaker, MadeEntry, UpstreamReply};
use loomrec_recording::header_text::header_text;
use loomrec_recording::message::CUT_CLOSE_CODE;
use loomrec_recording::redact::{CallCredentials, redact_messages};
use loomrec_recording::{
    CallForm, EntryName, MessagePayload, MessageSender, RecordedMessage, encoding, without_audio,
};

/// The copy of one exchange while it is being made.
pub struct ExchangeCapture {
    job: Box<RecordJob>,
    status: u16,
    reason: Option<String>,
    headers: Vec<(String, String)>,
    trailers: Vec<(String, String)>,
    chunks: Vec<Chunk>,
    size: usize,
    max: usize,
    over: bool,
    /// What both sides said after the head.
    messages: Vec<RecordedMessage>,
    /// How the upstream of a turn over a WebSocket closed that, once it has.
    upstream_close: Option<UpstreamClose>,
    times: UpstreamTimes,
}

impl ExchangeCapture {
    /// Starts the copy of the response whose head is `parts`.
    pub fn new((job, sent): (Box<RecordJob>, Duration), parts: &Parts, max: usize) -> Self {
        let headers = header_list(&parts.headers);
        let status = parts.status.as_u16();
        // The parser keeps a phrase only if it is not the usual one.
        let reason = parts.extensions.get::<ReasonPhrase>();
        let reason = reason.map(|reason| String::from_utf8_lossy(reason.as_bytes()).into_owned());
        let head = job.arrived.elapsed();
        let times = UpstreamTimes { sent, head, first: None, last: head };
        let (trailers, chunks, messages) = (Vec::new(), Vec::new(), Vec::new());
        let (size, over) = (0, false);
        let upstream_close = parts.extensions.get().cloned();
        Self {
            job,
            status,
            reason,
            headers,
            trailers,
            chunks,
            size,
            max,
            over,
            messages,
            upstream_close,
            times,
        }
    }

    /// Adds a chunk that has just arrived. Past the limit, the whole copy is dropped.
    pub fn add_chunk(&mut self, data: Bytes) {
        self.size += data.len();
        let at = self.job.arrived.elapsed();
        self.times.last = at;
        if !data.is_empty() {
            self.times.first.get_or_insert(at);
        }
        if self.over || self.size > self.max {
            self.over = true;
            self.chunks = Vec::new();
            return;
        }
        self.chunks.push(Chunk { at_ms: at.as_secs_f64() * 1000.0, data });
    }

    /// Adds the fields that followed the body.
    pub(super) fn add_trailers(&mut self, trailers: &HeaderMap) {
        self.trailers = header_list(trailers);
    }

    /// Returns an empty copy of the messages that follow the head.
    pub(super) fn message_log(&self) -> MessageLog {
        MessageLog::new(self.job.arrived, self.max)
    }

    /// Adds the messages that followed the head.
    pub(super) fn add_messages(&mut self, kept: KeptMessages) {
        self.size += kept.messages.iter().map(|one| one.payload.as_bytes().len()).sum::<usize>();
        self.over |= kept.is_over;
        self.messages = kept.messages;
    }

    /// Adds the close frame with which the upstream of a turn cut its answer.
    fn add_upstream_close(&mut self) {
        let close = self.upstream_close.as_ref().and_then(UpstreamClose::known_close);
        let Some(close) = close.filter(|close| close.code != CUT_CLOSE_CODE) else { return };
        let payload = MessagePayload::Close { code: close.code, reason: close.reason.clone() };
        let at_ms = self.times.last.as_secs_f64() * 1000.0;
        self.messages.push(RecordedMessage::new(MessageSender::Server, at_ms, payload));
    }

    /// The size of both bodies, in bytes.
    pub(super) fn byte_size(&self) -> usize {
        self.job.observed.body().len() + self.size
    }

    /// Returns the credentials that the request carried.
    pub(super) fn secrets(&self) -> Arc<CallCredentials> {
        Arc::clone(&self.job.secrets)
    }

    /// Takes the filter that decides whether the exchange is stored.
    pub(super) fn take_keeps(&mut self) -> Option<KeepFilter> {
        self.job.keeps.take()
    }

    /// Whether the copy still holds every chunk so far.
    pub fn is_whole(&self) -> bool {
        !self.over
    }

    /// Returns the exchange as it is to be stored.
    pub(super) fn into_finished_exchange(
        mut self,
        end: ResponseEnd,
        shared: &RecordContext,
        delivery: &DeliveryGauge,
    ) -> FinishedExchange {
        self.times.last = self.job.arrived.elapsed();
        if matches!(end, ResponseEnd::UpstreamAbort(_)) {
            self.add_upstream_close();
        }
        let Self { job, status, reason, headers, trailers, chunks, max, over, .. } = self;
        let (mut messages, times) = (self.messages, self.times);
        let job = *job;
        let arrived = job.arrived;
        let label = job.observed.request_line();
        let operation = job.observed.call.operation;
        let is_free = job.observed.is_free();
        let mut placeholders = job.observed.placeholders.clone();
        let secrets = Arc::clone(&job.secrets);
        redact_messages(&mut messages, &shared.redactor, &secrets, &mut placeholders);
        if !shared.config.keep_audio {
            messages = without_audio(messages, &job.observed.socket_audio());
        }
        let exchange = CompletedExchange {
            observed: job.observed,
            key: job.key,
            secrets: job.secrets,
            recorded_at: Some(job.recorded_at),
            latency_ms: Some(millis_since(job.arrived)),
            upstream_origin: job.upstream_origin,
            run_values: job.run_values,
            reply: UpstreamReply { status, reason, headers, trailers, chunks, over, end },
        };
        let (redactor, prices) = (&*shared.redactor, &shared.config.prices);
        let (entry, kept) = match (EntryMaker { redactor, prices, max }).make_entry(exchange) {
            Ok(MadeEntry { mut entry, judged, form }) => {
                let left = delivery.client_left(arrived, &entry);
                entry.client_left = left.filter(|left| !has_answer(operation, &entry, *left));
                entry.messages = messages;
                let judged = entry.judge_messages().unwrap_or(judged);
                let kept = stored_outcome(&entry, prices, Some(judged), times);
                let rules = &shared.config.rules;
                let unchecked =
                    entry.unchecked_reason(&job.name, entry.request_hash.as_ref(), rules);
                (Some((job.name, entry, form)), RecordOutcome { unchecked, ..kept })
            }
            Err(why) => {
                let unkept_entry = Entry { cost_usd: is_free.then_some(0.0), ..Entry::default() };
                let mut kept = stored_outcome(&unkept_entry, prices, None, times);
                kept.outcome = Err(format!("{label} is not kept: {why}"));
                (None, kept)
            }
        };
        FinishedExchange { entry, kept, arrived, on_recorded: job.on_recorded }
    }
}

/// An exchange that is over.
pub(super) struct FinishedExchange {
    /// The name and the entry to store, and the form of its call; `None` if the exchange cannot be
    /// stored.
    pub(super) entry: Option<(EntryName, Entry, CallForm)>,
    /// What is reported about it.
    pub(super) kept: RecordOutcome,
    /// When its request arrived.
    pub(super) arrived: Instant,
    /// The callback for its outcome.
    pub(super) on_recorded: OnRecorded,
}

/// Whether a client that left then had its whole answer, by the end mark of its stream.
fn has_answer(operation: Operation, entry: &Entry, left: ClientLeft) -> bool {
    let is_readable = entry.answer_end() == Some(ResponseEnd::Complete)
        && encoding::coding_in(entry.answer_headers()).is_none();
    let Some(sent) = left.bytes.filter(|_| is_readable) else { return false };
    let Some((media, body)) = entry.answer_media().zip(entry.answer_bytes()) else { return false };
    let sent = body.get(..usize::try_from(sent).unwrap_or(usize::MAX)).unwrap_or(&body);
    is_stream_finished(operation, media, sent)
}

/// Returns the report on an exchange that is to be stored.
fn stored_outcome(
    entry: &Entry,
    prices: &PriceTable,
    judged: Option<JudgedAnswer>,
    times: UpstreamTimes,
) -> RecordOutcome {
    let usage = entry.usage.unwrap_or_default();
    let incomplete = entry.answer_end().filter(|_| !entry.is_servable());
    let label = incomplete.and_then(|_| entry.request_line());
    let ending = entry.answer_status().zip(entry.answer_end());
    RecordOutcome {
        outcome: Ok(()),
        incomplete,
        label: label.unwrap_or_default(),
        model: entry.model.clone(),
        tokens: (usage.prompt_tokens, usage.completion_tokens),
        cost_usd: entry.cost_usd,
        is_unpriced: entry.cost_usd.is_none()
            && !prices.has_call_price(entry, entry.model.as_deref()),
        is_given_up: entry.is_undelivered(),
        failure: ending
            .and_then(|(status, end)| CallFailure::new(judged.as_ref()?.outcome, status, end)),
        unchecked: None,
        judged,
        times,
        append: Duration::ZERO,
    }
}

/// Returns the milliseconds from `start` to now.
fn millis_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

/// Returns headers as a list, with names in lower case.
pub fn header_list(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), header_text(value.as_bytes()).into_owned()))
        .collect()
}
