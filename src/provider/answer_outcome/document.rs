//! The outcome of a body that is no stream.

use serde_json::Value;

use super::form::trimmed_body;
use super::judged::{AnswerOutcome, JudgedAnswer};
use super::received::ReceivedAnswer;
use super::rules::ExpectedBody;
use crate::error_text::{object_text, with_json};
use crate::framing::Framing;
use crate::read::read_answer;
use loomrec_identity::Json;

/// Returns the outcome of a body that arrived completely.
pub(super) fn judge_body(answer: &ReceivedAnswer<'_>, bytes: &[u8]) -> JudgedAnswer {
    let rules = &answer.operation.row().outcome;
    let text = trimmed_body(bytes);
    if text.is_empty() {
        return match rules.body == ExpectedBody::TextOrJson && is_text(answer.media) {
            // A transcription of silence.
            true => JudgedAnswer::COMPLETE,
            false => AnswerOutcome::NotAnAnswer.with_reason("it has no bytes"),
        };
    }
    if text.first() == Some(&b'<') && is_page(rules.body, answer.media, text) {
        return AnswerOutcome::NotAnAnswer.with_reason("it is a web page");
    }
    let is_free = match rules.body {
        ExpectedBody::Bytes => text.first() != Some(&b'{'),
        ExpectedBody::TextOrJson => text.first() != Some(&b'{') && !names_json(answer.media),
        ExpectedBody::Json | ExpectedBody::Anything => false,
    };
    if is_free || answer.is_read && may_be_json(answer.media) && !rules.may_report_failure(text) {
        return JudgedAnswer::COMPLETE;
    }
    match with_json(text, |json| of_json(answer, text, json)) {
        Some(judged) => judged,
        None if rules.body != ExpectedBody::Json && !names_json(answer.media) => {
            JudgedAnswer::COMPLETE
        }
        None => of_other(answer.media, text),
    }
}

/// Returns the outcome of a body that is JSON.
fn of_json(answer: &ReceivedAnswer<'_>, bytes: &[u8], json: &Json<'_>) -> JudgedAnswer {
    let row = answer.operation.row();
    // Google's error may be in a list.
    let first = json.as_array().and_then(<[Json<'_>]>::first).unwrap_or(json);
    if let Some(judged) = (row.outcome.document)(first) {
        return judged;
    }
    let must_be_json = row.outcome.body == ExpectedBody::Json || names_json(answer.media);
    if must_be_json && !json.is_object() && json.as_array().is_none() {
        let reason = "its JSON is neither an object nor a list";
        return AnswerOutcome::NotAnAnswer.with_reason(reason);
    }
    let is_answer = answer.is_read || read_answer(answer.operation, None, bytes).is_some();
    match object_text(first) {
        _ if is_answer => JudgedAnswer::COMPLETE,
        Some(text) => JudgedAnswer::failed(&text),
        None if must_be_json && row.read.is_some() && !may_be_json(answer.media) => {
            of_media(answer.media)
        }
        // What else gateways send as JSON is not known.
        None => JudgedAnswer::COMPLETE,
    }
}

/// Returns the outcome of a body that cannot be read as JSON.
fn of_other(media: &str, text: &[u8]) -> JudgedAnswer {
    match serde_json::from_slice::<Value>(text) {
        // Too many values to be read.
        Ok(_) => JudgedAnswer::COMPLETE,
        Err(error) if error.is_eof() && matches!(text.first(), Some(b'{' | b'[')) => {
            AnswerOutcome::Unfinished.with_reason("its JSON ends early")
        }
        Err(_) if may_be_json(media) => AnswerOutcome::NotAnAnswer.with_reason("it is not JSON"),
        Err(_) => of_media(media),
    }
}

/// An answer of a media type that the operation does not answer with.
fn of_media(media: &str) -> JudgedAnswer {
    AnswerOutcome::NotAnAnswer.with_reason("it has another media type").with_quote(media)
}

/// Whether a text that begins as markup is a web page, and no sound or text that begins so.
fn is_page(body: ExpectedBody, media: &str, text: &[u8]) -> bool {
    let begins = |word: &str| {
        text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    let is_named = media.eq_ignore_ascii_case("text/html");
    is_named || body == ExpectedBody::Json || begins("<!doctype") || begins("<html")
}

fn names_json(media: &str) -> bool {
    media.to_ascii_lowercase().ends_with("json")
}

/// Whether a body of this media type may be JSON: the type names JSON or a stream of it, or says
/// nothing.
fn may_be_json(media: &str) -> bool {
    let says_nothing = media.is_empty() || media.to_ascii_lowercase().ends_with("/octet-stream");
    says_nothing || names_json(media) || Framing::of_media(media).is_some()
}

/// Whether a media type is one of texts without markup.
fn is_text(media: &str) -> bool {
    let media = media.to_ascii_lowercase();
    media.starts_with("text/") && media != "text/html" || media == "application/x-subrip"
}
