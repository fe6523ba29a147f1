//! OpenAI's resources that are no models: their rows, and how their paths are recognised.
//!
//! Of an object that a job returns, the model, the status and the tokens are read.

use std::borrow::Cow;

use super::stream_error::stream_error;
use super::{responses, run};
use crate::Answer;
use crate::answer_outcome::{ExpectedBody, JudgedAnswer, OutcomeRules};
use crate::error_text::error_in;
use crate::json_view::{self, JsonView, has_word, member_text, token_count};
use crate::operation::{Operation, OperationRow};
use crate::request_head::{RequestHead, has_header};
use loomrec_identity::Json;

impl Operation {
    /// `/responses/ID`, and what is below it
    pub const STORED_RESPONSES: Self = Self::new(&STORED_RESPONSES);
    /// `/responses/input_tokens`
    pub const RESPONSES_COUNT_TOKENS: Self = Self::new(&COUNT_TOKENS);
    /// `/responses/compact`
    pub const COMPACT: Self = Self::new(&COMPACT);
    /// `/threads/runs`, `/threads/ID/runs`, and what is below it
    pub const RUNS: Self = Self::new(&run::ROW);
    /// `/threads`, and what is below it apart from runs
    pub const THREADS: Self = Self::new(&THREADS);
    /// `/assistants`, and what is below it
    pub const ASSISTANTS: Self = Self::new(&ASSISTANTS);
    /// `/moderations`
    pub const MODERATIONS: Self = Self::new(&MODERATIONS);
    /// `/videos`, and what is below it
    pub const VIDEOS: Self = Self::new(&VIDEOS);
}

const UNREAD: OperationRow =
    OperationRow { stream_error, was_unknown: true, ..OperationRow::UNREAD };

static STORED_RESPONSES: OperationRow = OperationRow {
    name: "Stored Responses",
    word: "stored_responses",
    is_free_unnamed: true,
    read: responses::ROW.read,
    read_stream: responses::ROW.read_stream,
    usage_names: responses::ROW.usage_names,
    ..UNREAD
};

static COUNT_TOKENS: OperationRow = OperationRow {
    name: "Responses' Count Tokens",
    word: "responses_count_tokens",
    is_free: true,
    read: Some(|bytes| {
        json_view::read_json(bytes, |json| read_token_count(json), read_token_count)
    }),
    usage_names: responses::ROW.usage_names,
    outcome: OutcomeRules::JSON,
    ..UNREAD
};

static COMPACT: OperationRow = OperationRow {
    name: "Compact Responses",
    word: "compact_responses",
    semantic: Some("chat"),
    read: responses::ROW.read,
    usage_names: responses::ROW.usage_names,
    outcome: OutcomeRules::JSON,
    ..UNREAD
};

static THREADS: OperationRow =
    OperationRow { name: "Threads", word: "threads", is_free: true, ..UNREAD };

static ASSISTANTS: OperationRow =
    OperationRow { name: "Assistants", word: "assistants", is_free: true, ..UNREAD };

static MODERATIONS: OperationRow = OperationRow {
    name: "Moderations",
    word: "moderations",
    semantic: Some("moderations"),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_moderation(json), read_moderation)),
    outcome: OutcomeRules::JSON,
    ..UNREAD
};

static VIDEOS: OperationRow = OperationRow {
    name: "Videos",
    word: "videos",
    semantic: Some("videos"),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_video(json), read_video)),
    outcome: OutcomeRules {
        body: ExpectedBody::Bytes,
        document: judge_failure,
        ..OutcomeRules::JSON
    },
    ..UNREAD
};

/// Recognises resources by the path after the version, with any method. Other providers have such
/// paths, too.
pub(super) fn recognise_resource(seen: &RequestHead) -> Option<Operation> {
    let foreign = ["anthropic-version", "x-goog-api-key", "x-goog-api-client"];
    if foreign.iter().any(|name| has_header(seen.headers, name)) {
        return None;
    }
    let path = match seen.path.split_once("/v1/") {
        Some((_, rest)) => rest,
        None => seen.path.strip_prefix("/openai").unwrap_or(seen.path).strip_prefix('/')?,
    };
    let mut parts = path.split('/');
    let (first, second, third) = (parts.next()?, parts.next(), parts.next());
    Some(match (first, second, third) {
        ("responses", Some("input_tokens"), None) => Operation::RESPONSES_COUNT_TOKENS,
        ("responses", Some("compact"), None) => Operation::COMPACT,
        ("responses", Some(_), _) => Operation::STORED_RESPONSES,
        ("threads", Some("runs"), _) | ("threads", Some(_), Some("runs")) => Operation::RUNS,
        ("threads", ..) => Operation::THREADS,
        ("assistants", ..) => Operation::ASSISTANTS,
        ("moderations", None, _) => Operation::MODERATIONS,
        ("videos", ..) => Operation::VIDEOS,
        _ => return None,
    })
}

/// Reads a count of input tokens.
fn read_token_count<D: JsonView>(body: &D) -> Option<Answer> {
    token_count(body, "input_tokens").map(Answer::of_counted_prompt)
}

fn read_moderation<D: JsonView>(body: &D) -> Option<Answer> {
    body.member("results")?.as_list()?;
    let model = member_text(body, "model").map(Cow::into_owned);
    Some(Answer { model, usage: super::chat::read_usage(body), ..Answer::default() })
}

/// Reads the state of a video.
fn read_video<D: JsonView>(body: &D) -> Option<Answer> {
    has_word(body, "object", "video").then(|| Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        finish_reason: member_text(body, "status").map(Cow::into_owned),
        ..Answer::default()
    })
}

/// The failure that the state of a video reports.
fn judge_failure(json: &Json<'_>) -> Option<JudgedAnswer> {
    let failed = || has_word(json, "status", "failed").then(|| "status `failed`".to_owned());
    error_in(json).or_else(failed).map(|text| JudgedAnswer::failed(&text))
}

#[cfg(test)]
#[path = "resource_tests.rs"]
mod tests;
