//! The reader of a script's errors.

use serde_json::Value;

use super::super::failure::{FailureForm, FailureReason, ScriptFailure};
use super::field::{STYLE, no_text, optional_text, request_id};
use loomrec_identity::typed_field::{FieldError, FieldReader};

const ERROR: [&str; 6] = ["reason", "status", "message", "type", "retry_after_ms", "request_id"];

/// The longest time after which to retry, in milliseconds: a day.
const LONGEST_RETRY: u64 = 86_400_000;

/// Words for reasons, each with what it means.
type ReasonWords = [(&'static str, FailureReason)];

/// Reads an error at `place`: an object, a reason, or its message alone. Without a reason it is
/// `otherwise`.
pub(super) fn read_failure(
    value: &Value,
    place: &str,
    otherwise: FailureReason,
) -> Result<ScriptFailure, FieldError> {
    if let Value::String(word) = value {
        return Ok(match find_reason(word, &FailureReason::WORDS) {
            Some(reason) => ScriptFailure::new(reason),
            None => ScriptFailure { message: Some(word.clone()), ..ScriptFailure::new(otherwise) },
        });
    }
    let expected = "an object with reason, status or message; a reason; or a message";
    let fields = FieldReader::from_value(value, place, expected, STYLE)?;
    read_object(fields, &FailureReason::WORDS, otherwise)
}

/// Reads an error that is named by its reason. `tag` is the entry that it stands in.
pub(super) fn read_named(value: &Value, tag: &str) -> Result<ScriptFailure, FieldError> {
    let words: &ReasonWords = match tag {
        "stream_error" => &FailureReason::STREAM_WORDS,
        _ => &FailureReason::WORDS,
    };
    let failure = match value {
        Value::String(word) => ScriptFailure::new(read_reason(word, tag, words)?),
        value => {
            let expected = "a reason, or an object with reason";
            let fields = FieldReader::from_value(value, tag, expected, STYLE)?;
            read_object(fields, words, FailureReason::UNKNOWN)?
        }
    };
    Ok(ScriptFailure { is_event: tag != "preflight_error", ..failure })
}

fn read_object(
    fields: FieldReader<'_>,
    words: &ReasonWords,
    otherwise: FailureReason,
) -> Result<ScriptFailure, FieldError> {
    fields.refuse_unknown("an error", &ERROR)?;
    let named = match fields.get("reason") {
        None => None,
        Some(Value::String(word)) => Some(read_reason(word, &fields.field_place("reason"), words)?),
        Some(other) => return Err(no_text(&fields.field_place("reason"), "a reason", other)),
    };
    let status = fields.read_integer("status", 400..=599, "one of an error, 400 to 599")?;
    let retry = "milliseconds, from 0 to a day";
    let mut failure = ScriptFailure {
        status: status.and_then(|status| u16::try_from(status).ok()),
        kind: optional_text(fields, "type")?,
        message: optional_text(fields, "message")?,
        retry_after_ms: fields.read_integer("retry_after_ms", 0..=LONGEST_RETRY, retry)?,
        request_id: request_id(fields)?,
        ..ScriptFailure::new(named.unwrap_or(otherwise))
    };
    if named.is_none() && failure.message.is_none() {
        failure.message = Some("scripted error".to_owned());
    }
    sends_what_it_says(fields, &failure)?;
    Ok(failure)
}

/// Refuses what a failure without a status has no place for.
fn sends_what_it_says(fields: FieldReader<'_>, failure: &ScriptFailure) -> Result<(), FieldError> {
    if failure.reason.form() == FailureForm::Told {
        return Ok(());
    }
    match ERROR.iter().find(|name| **name != "reason" && fields.get(name).is_some()) {
        None => Ok(()),
        Some(name) => {
            let why = "this reason ends in no answer, or in one that does not parse, and has no \
                       place for it";
            Err(FieldError::from_reason(fields.field_place(name), why))
        }
    }
}

fn find_reason(word: &str, words: &ReasonWords) -> Option<FailureReason> {
    words.iter().find(|(known, _)| *known == word).map(|(_, reason)| *reason)
}

fn read_reason(word: &str, place: &str, words: &ReasonWords) -> Result<FailureReason, FieldError> {
    let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
    find_reason(word, words).ok_or_else(|| FieldError::unknown_word(place, "reason", word, &known))
}

/// Returns the fields of an error with its reason added, for the form `{:error, reason, fields}`.
/// Returns `None` if `fields` is not an object.
pub(super) fn beside_reason(reason: &Value, fields: &Value) -> Option<Value> {
    let mut object = match fields {
        Value::Object(object) => object.clone(),
        Value::Array(none) if none.is_empty() => serde_json::Map::new(),
        _ => return None,
    };
    object.insert("reason".to_owned(), reason.clone());
    Some(Value::Object(object))
}
