//! What is known of a call once it is over: the facts that the journal writes down and
//! the metrics count.
//!
//! Nothing in it is a secret: it is made of what may be stored. It holds no body, no
//! header's value and no query string, and no text of a caller's is longer in it than
//! [`LONGEST`].

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde_json::Value;

use super::span::parent::ParentSpan;
use crate::identity::{IdentityRules, RequestKey};
use crate::provider::{Operation, Provider};
use crate::record::UpstreamTimes;
use crate::recording::normalized_request::NormalizedRequest;

/// The most bytes of one text of the caller's.
pub const LONGEST: usize = 1024;

/// What is said of the request.
#[derive(Clone, Debug)]
pub struct RequestSummary {
    /// Its method.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// Where it was meant for; empty where it has no place.
    pub upstream: String,
    /// Whose API it speaks.
    pub provider: Provider,
    /// What it asks for.
    pub operation: Operation,
    /// The model it asks for.
    pub model: Option<String>,
    /// Whether it asks for a stream.
    pub streamed: bool,
    /// The step it names.
    pub step: Option<String>,
    /// The session it names.
    pub session: Option<String>,
    /// Its key, under the first rules of the run.
    pub key: Option<RequestKey>,
}

impl RequestSummary {
    /// Those of a request.
    pub fn of(observed: &NormalizedRequest, rules: Option<&IdentityRules>) -> Self {
        let (request, call) = (&observed.request, &observed.call);
        Self {
            method: clip(&request.method),
            path: clip(&request.path),
            upstream: clip(&observed.upstream),
            provider: call.provider,
            operation: call.operation,
            model: call.model.as_deref().map(clip),
            streamed: call.streamed,
            step: observed.step.as_deref().map(clip),
            session: observed.session.as_deref().map(clip),
            key: rules.map(|rules| observed.key(rules)),
        }
    }

    /// Those of a request that was refused before it was looked at.
    pub fn refused(method: &str, path: &str, provider: Provider) -> Self {
        Self {
            method: clip(method),
            path: clip(path),
            upstream: String::new(),
            provider,
            operation: Operation::Other,
            model: None,
            streamed: false,
            step: None,
            session: None,
            key: None,
        }
    }
}

impl RequestSummary {
    /// The bytes they take in memory, about.
    fn weight(&self) -> usize {
        let texts = [&self.method, &self.path, &self.upstream].map(String::len);
        let more = [&self.model, &self.step, &self.session].map(|text| {
            // What is not there takes nothing.
            text.as_ref().map_or(0, String::len)
        });
        size_of::<Self>() + texts.iter().chain(&more).sum::<usize>()
    }
}

/// A text that is kept, cut where it is too long.
pub fn clip(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let mut end = LONGEST - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerSource {
    /// A take of a recording.
    Recording,
    /// The live upstream, its errors included.
    Upstream,
    /// A script, its errors included.
    Script,
    /// The placeholder.
    Default,
    /// A fault in place of any answer.
    Fault,
    /// Nowhere: the call was missed or refused, or its client left before.
    Nowhere,
}

impl AnswerSource {
    /// The word for it; `None` for nowhere.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Recording => Some("recording"),
            Self::Upstream => Some("upstream"),
            Self::Script => Some("script"),
            Self::Default => Some("default"),
            Self::Fault => Some("fault"),
            Self::Nowhere => None,
        }
    }

    /// Where the answer of a call with this outcome came from.
    pub fn of(outcome: &str) -> Self {
        match outcome {
            "served" => Self::Recording,
            "recorded" | "forwarded" | "unreachable" => Self::Upstream,
            "scripted" | "unscripted" => Self::Script,
            "default" => Self::Default,
            "faulted" => Self::Fault,
            _ => Self::Nowhere,
        }
    }
}

/// How the sending of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// All of it was sent.
    Complete,
    /// Its client left before.
    ClientLeft,
    /// It was cut: by the upstream, as it was recorded, by a fault, or by the end of the
    /// run.
    Aborted,
}

impl SendEnd {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientLeft => "client_left",
            Self::Aborted => "aborted",
        }
    }
}

/// What else there is to say of a call.
#[derive(Clone, Debug, Default)]
pub enum OutcomeDetail {
    /// Nothing.
    #[default]
    Nothing,
    /// The entry it was answered from.
    Entry(Option<HeaderValue>),
    /// It was missed: the mismatch as JSON.
    Mismatch(Arc<Value>),
    /// Anything else.
    Value(Box<Value>),
}

impl OutcomeDetail {
    /// This.
    pub fn value(value: Value) -> Self {
        Self::Value(Box::new(value))
    }

    fn weight(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Entry(entry) => entry.as_ref().map_or(0, HeaderValue::len),
            Self::Mismatch(value) => held(value),
            Self::Value(value) => held(value),
        }
    }
}

/// The bytes that a value takes in memory, about.
fn held(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(held).sum(),
        Value::Object(fields) => {
            // A name, its hash, and the place that the hash leads to.
            let name = |name: &String| size_of::<String>() + name.len() + 2 * size_of::<usize>();
            fields.iter().map(|(own, value)| name(own) + held(value)).sum()
        }
    };
    size_of::<Value>() + inside
}

/// Tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCounts {
    /// Those of the prompt.
    pub input: u64,
    /// Those of the answer.
    pub output: u64,
}

/// What became of an exchange with an upstream that was to be kept.
#[derive(Clone, Debug)]
pub struct ExchangeOutcome {
    /// Whether it was.
    pub kept: bool,
    /// When what happened at the upstream.
    pub times: UpstreamTimes,
    /// The model that answered, where the answer tells it.
    pub answered_by: Option<String>,
}

/// A call that is over. All times count from its arrival.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// When it arrived, in microseconds since 1970, unique in the run.
    pub at: i64,
    /// The request.
    pub facts: Arc<RequestSummary>,
    /// What the run does: `record`, `new_episodes` or `replay`.
    pub mode: &'static str,
    /// What became of it, in a word; `left`, where its client left before anything had.
    pub outcome: &'static str,
    /// The status it was answered with, where it was answered.
    pub status: Option<StatusCode>,
    /// By what its answer was found: `step_id`, `request_hash`, `script` or `default`.
    pub matched_by: Option<&'static str>,
    /// Which take of its entry answered it, from 1.
    pub take: Option<usize>,
    /// The same take, as an index of the matcher's.
    pub hit: Option<usize>,
    /// Until its answer's head.
    pub head: Duration,
    /// How much of that was waiting: for an upstream, or until the answer was due.
    pub waited: Duration,
    /// Until the first byte of its answer's body; `None` where none was sent.
    pub first_byte: Option<Duration>,
    /// Until its answer was over.
    pub total: Duration,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    /// The pieces they were sent in.
    pub chunks: u64,
    /// How the sending ended.
    pub end: SendEnd,
    /// Tokens, where the answer tells them.
    pub tokens: Option<TokenCounts>,
    /// What it cost in US dollars, or had when it was recorded, where that is known.
    pub cost_usd: Option<f64>,
    /// The exchange with the upstream, where it was to be kept.
    pub exchange: Option<Box<ExchangeOutcome>>,
    /// The fault it got.
    pub fault: Option<Arc<Value>>,
    /// Which try of the call it is, from 1, where its client tells.
    pub attempt: Option<u64>,
    /// The caller's own span, where it names one and spans are made.
    pub parent: Option<Box<ParentSpan>>,
    /// Anything else.
    pub more: OutcomeDetail,
}

impl CallRecord {
    /// A call that has just arrived.
    pub fn new(at: i64, facts: Arc<RequestSummary>, mode: &'static str) -> Self {
        Self {
            at,
            facts,
            mode,
            outcome: "left",
            status: None,
            matched_by: None,
            take: None,
            hit: None,
            head: Duration::ZERO,
            waited: Duration::ZERO,
            first_byte: None,
            total: Duration::ZERO,
            bytes: 0,
            chunks: 0,
            end: SendEnd::ClientLeft,
            tokens: None,
            cost_usd: None,
            exchange: None,
            fault: None,
            attempt: None,
            parent: None,
            more: OutcomeDetail::Nothing,
        }
    }

    /// The bytes it takes in memory, about; those that it shares with others too.
    pub fn weight(&self) -> usize {
        let fault = self.fault.as_deref().map_or(0, held);
        let exchange = self.exchange.as_ref().map_or(0, |exchange| {
            size_of_val(&**exchange) + exchange.answered_by.as_ref().map_or(0, String::len)
        });
        let parent =
            self.parent.as_ref().map_or(0, |parent| size_of_val(&**parent) + parent.state.len());
        size_of::<Self>() + self.facts.weight() + fault + exchange + parent + self.more.weight()
    }

    /// Says what tokens its answer tells.
    pub fn set_tokens(&mut self, input: u64, output: u64) {
        self.tokens = Some(TokenCounts { input, output });
    }

    /// The model that answered, where the answer tells it.
    pub fn answered_by(&self) -> Option<&str> {
        self.exchange.as_ref()?.answered_by.as_deref()
    }

    /// Whether the exchange was kept, where it was to be.
    pub fn is_kept(&self) -> Option<bool> {
        self.exchange.as_ref().map(|exchange| exchange.kept)
    }

    /// Where its answer came from.
    pub fn source(&self) -> AnswerSource {
        AnswerSource::of(self.outcome)
    }

    /// Which try of the call it is, from 1: as its client tells, else as its fault was
    /// decided.
    pub fn attempt(&self) -> Option<u64> {
        let decided = || self.fault.as_deref()?.get("attempt")?.as_u64();
        self.attempt.or_else(decided)
    }

    /// The reason of its mismatch, where it was missed.
    pub fn mismatch_reason(&self) -> Option<&str> {
        match &self.more {
            OutcomeDetail::Mismatch(mismatch) => mismatch.get("reason")?.as_str(),
            _ => None,
        }
    }

    /// The type and the source of its fault, where it got one.
    pub fn fault_words(&self) -> Option<(&str, &str)> {
        let fault = self.fault.as_deref()?;
        Some((fault.get("type")?.as_str()?, fault.get("source")?.as_str()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_a_character_when_they_are_too_long() {
        assert_eq!(clip("gpt-4o"), "gpt-4o");
        let long = clip(&"é".repeat(LONGEST));
        assert!(long.len() <= LONGEST && long.ends_with("é…"), "{}", long.len());
        assert_eq!(clip(&"x".repeat(LONGEST)).len(), LONGEST);
    }
}
