//! The reader of declared faults: `{"type": …}` with the fields of that type, or a string in the
//! text form.

use serde_json::Value;

use super::field::{
    MOST_BYTES, byte_count, fields_of, one_of, read_count, read_headers, read_milliseconds,
};
use super::form::FaultForm;
use super::kind::{CountPer, Fault, GarbleKind, HANG_MS, HttpError};
use super::tool_fault::{ToolCallChange, ToolFault, ToolReplacement, ToolResultMode};
use super::truncation::{FaultPoint, SocketClose, Truncation, TruncationEnd};
use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldResult, shown_value, whole_number,
};

/// The words for how an answer ends early: ours first, then exceptions of Python's clients, for what
/// raises them.
const RAISES: [(&str, TruncationEnd); 14] = [
    ("reset", TruncationEnd::Reset),
    ("close", TruncationEnd::Close),
    ("clean_eof", TruncationEnd::CleanEof),
    ("error_event", TruncationEnd::ErrorEvent),
    ("stall", TruncationEnd::Stall),
    ("ConnectionError", TruncationEnd::Reset),
    ("ConnectionResetError", TruncationEnd::Reset),
    ("ConnectError", TruncationEnd::Reset),
    ("ReadError", TruncationEnd::Reset),
    ("RemoteProtocolError", TruncationEnd::Close),
    ("ReadTimeout", TruncationEnd::Stall),
    ("TimeoutError", TruncationEnd::Stall),
    ("ProviderError", TruncationEnd::ErrorEvent),
    ("RuntimeError", TruncationEnd::ErrorEvent),
];
/// How many of them are ours.
const OWN_RAISES: usize = 5;
const MODES: [(&str, ToolFault); 4] = [
    ("invalid_json", ToolFault::InvalidJson),
    ("missing_argument", ToolFault::MissingArgument),
    ("unknown_tool", ToolFault::UnknownTool),
    ("wrong_type", ToolFault::WrongType),
];
const RESULT_MODES: [(&str, ToolResultMode); 5] = [
    ("tool_error", ToolResultMode::ToolError),
    ("malformed_result", ToolResultMode::MalformedResult),
    ("schema_violation", ToolResultMode::SchemaViolation),
    ("wrong_content", ToolResultMode::WrongContent),
    ("server_dies", ToolResultMode::ServerDies),
];
const GARBLES: [(&str, GarbleKind); 6] = [
    ("broken_data", GarbleKind::BrokenData),
    ("duplicated", GarbleKind::Duplicated),
    ("reordered", GarbleKind::Reordered),
    ("dropped", GarbleKind::Dropped),
    ("missing_terminator", GarbleKind::MissingTerminator),
    ("checksum", GarbleKind::Checksum),
];
/// The most bytes of the reason in a close frame (RFC 6455, section 5.5).
const LONGEST_REASON: usize = 123;
const PLACES: [&str; 4] = ["after_chunks", "after_events", "after_text_events", "after_bytes"];

impl Fault {
    /// Reads the fault that `value` declares: an object with a `type` and the fields of that type,
    /// or a string in the text form ([`Fault::parse`]).
    ///
    /// # Errors
    /// If the type or a field is unknown, a value has the wrong type or is out of range, or a field
    /// is missing.
    pub fn from_value(value: &Value) -> Result<Self, FieldError> {
        match value {
            Value::String(text) => Self::parse(text),
            value => read_object(value),
        }
    }
}

fn read_object(value: &Value) -> Result<Fault, FieldError> {
    let fields = fields_of(value, "a fault: an object with a type, or its form of text")?;
    let form = match fields.get("type") {
        Some(Value::String(name)) => FaultForm::find(name).ok_or_else(|| {
            FieldError::unknown_word("/type", "fault", name, &FaultForm::all_names())
        })?,
        Some(_) => return Err(fields.wrong_value("type", "the name of a fault")),
        None => {
            let why = format!("a fault needs a type: {}", FaultForm::all_names().join(", "));
            return Err(FieldError::from_reason("/type", why));
        }
    };
    let mut known = form.field_names();
    known.push("type");
    fields.refuse_unknown(form.name, &known)?;
    read_typed_fault(form, fields)
}

fn read_typed_fault(form: &FaultForm, fields: FieldReader<'_>) -> Result<Fault, FieldError> {
    let need = |name: &str, what: &str| {
        FieldError::from_reason(fields.field_place(name), format!("{} needs it: {what}", form.name))
    };
    let wait = |name| {
        read_milliseconds(fields, name)?.ok_or_else(|| need(name, "milliseconds, such as 5000"))
    };
    let bytes =
        |name| byte_count(fields, name, 1)?.ok_or_else(|| need(name, "a number of bytes, from 1"));
    Ok(match form.name {
        "timeout" => Fault::Timeout { after_ms: wait("after_ms")? },
        "hang" => Fault::Hang { max_ms: read_milliseconds(fields, "max_ms")?.unwrap_or(HANG_MS) },
        "wedged" => {
            Fault::Wedged { max_ms: read_milliseconds(fields, "max_ms")?.unwrap_or(HANG_MS) }
        }
        "slow" => Fault::Slow { delay_ms: wait("delay_ms")? },
        "recover_after" => Fault::RecoverAfter {
            failures: read_count(fields, "failures", 0)?
                .ok_or_else(|| need("failures", "how many calls fail, such as 2"))?,
            per: fields.read_word("per", &CountPer::WORDS)?.unwrap_or_default(),
            fault: Box::new(read_inner_fault(fields)?),
        },
        "http_error" => Fault::HttpError(http_error(fields)?),
        "malformed_response" => Fault::MalformedResponse { raw: fields.read_text("raw")? },
        "stream_truncate" => Fault::StreamTruncate(read_truncation(fields)?),
        "connection_reset" => Fault::ConnectionReset,
        "connection_drop" => Fault::ConnectionDrop,
        "partial_response" => partial_response(fields)?,
        "tool_call_fault" => Fault::ToolCallFault { change: tool_change(fields)? },
        "tool_result_fault" => tool_result(fields)?,
        "stream_stall" => Fault::StreamStall {
            after: read_place(fields)?,
            for_ms: read_milliseconds(fields, "for_ms")?,
        },
        "throttle" => Fault::Throttle { bytes_per_second: bytes("bytes_per_second")? },
        "slice" => Fault::Slice {
            bytes: saturating_size(bytes("bytes")?),
            delay_ms: read_milliseconds(fields, "delay_ms")?.unwrap_or(0),
        },
        "stream_garble" => Fault::StreamGarble {
            chunk: read_count(fields, "chunk", 0)?
                .map_or(0, |count| saturating_size(u64::from(count))),
            how: fields.read_word("how", &GARBLES)?.unwrap_or_default(),
        },
        "wrong_length" => Fault::WrongLength { by: read_difference(fields)? },
        "bad_encoding" => Fault::BadEncoding,
        "drop" => Fault::Drop,
        "rate_limit" => Fault::RateLimit,
        "malformed" => Fault::Malformed { whole: fields.read_flag("whole")?.unwrap_or(false) },
        _ => Fault::Disconnect,
    })
}

/// Reads the fault within a `recover_after`, which cannot be another `recover_after`.
fn read_inner_fault(fields: FieldReader<'_>) -> Result<Fault, FieldError> {
    let Some(value) = fields.get("fault") else { return Ok(Fault::Hang { max_ms: HANG_MS }) };
    let nested = || FieldError::from_reason("/fault", "a recover_after cannot contain another");
    // Checked before the fault is read, because reading would recurse as deep as they are nested.
    let is_nested = match value {
        Value::String(text) => is_recover_after(text.split([':', ';']).next().unwrap_or_default()),
        value => value.get("type").and_then(Value::as_str).is_some_and(is_recover_after),
    };
    if is_nested {
        return Err(nested());
    }
    match Fault::from_value(value).map_err(|error| error.under("/fault"))? {
        Fault::RecoverAfter { .. } => Err(nested()),
        fault => Ok(fault),
    }
}

fn is_recover_after(name: &str) -> bool {
    FaultForm::find(name.trim()).is_some_and(|form| form.name == "recover_after")
}

fn http_error(fields: FieldReader<'_>) -> Result<HttpError, FieldError> {
    Ok(HttpError {
        status_code: read_status(fields)?.unwrap_or(500),
        headers: read_headers(fields, "headers")?,
        body: fields.get("body").cloned(),
        message: fields.read_text("message")?,
        code: fields.read_text("code")?,
        retry_after: fields
            .read_number("retry_after", 0.0..=86_400.0, "seconds, from 0 to 86400 (a day)")?
            .map(|seconds| seconds + 0.0),
        retry_after_ms: read_milliseconds(fields, "retry_after_ms")?,
        x_should_retry: fields.read_flag("x_should_retry")?,
    })
}

/// The status of an error.
fn read_status(fields: FieldReader<'_>) -> FieldResult<u16> {
    let found =
        fields.read_whole_number("status_code", 400..=599, "an error's status, 400 to 599")?;
    Ok(found.and_then(|status| u16::try_from(status).ok()))
}

/// Reads what happens to a tool call: a mode, or what it asks for instead.
fn tool_change(fields: FieldReader<'_>) -> Result<ToolCallChange, FieldError> {
    let replaced = ["name", "arguments"].into_iter().any(|name| fields.get(name).is_some());
    if !replaced {
        return Ok(ToolCallChange::Broken(fields.read_word("mode", &MODES)?.unwrap_or_default()));
    }
    if fields.get("mode").is_some() {
        let why = "it cannot be combined with name and arguments, which leave the call well formed";
        return Err(FieldError::from_reason(fields.field_place("mode"), why));
    }
    let name = fields.read_text("name")?;
    if name.as_deref() == Some("") {
        return Err(fields.wrong_value("name", "the name of a tool"));
    }
    let arguments = fields.read_object("arguments", "an object of arguments")?.cloned();
    Ok(ToolCallChange::Replaced(ToolReplacement { name, arguments }))
}

/// Reads how the result of a tool is broken.
fn tool_result(fields: FieldReader<'_>) -> Result<Fault, FieldError> {
    let mode = fields.read_word("mode", &RESULT_MODES)?.unwrap_or_default();
    let message = fields.read_text("message")?;
    if message.is_some() && mode != ToolResultMode::ToolError {
        let why = "only the mode tool_error has a message";
        return Err(FieldError::from_reason(fields.field_place("message"), why));
    }
    Ok(Fault::ToolResultFault { mode, message })
}

/// Reads the place in the body from one of four fields; at most one may be given.
fn read_place(fields: FieldReader<'_>) -> Result<FaultPoint, FieldError> {
    Ok(match one_of(fields, &PLACES)? {
        Some("after_bytes") => {
            FaultPoint::Bytes(byte_count(fields, "after_bytes", 0)?.unwrap_or(0))
        }
        Some(name) => {
            let count = saturating_size(u64::from(read_count(fields, name, 0)?.unwrap_or(0)));
            match name {
                "after_chunks" => FaultPoint::Chunks(count),
                "after_text_events" => FaultPoint::TextEvents(count),
                _ => FaultPoint::Events(count),
            }
        }
        None => FaultPoint::Default,
    })
}

/// Two fields that other programs write always have the same value: no tokens, and cut off by its
/// length.
fn partial_response(fields: FieldReader<'_>) -> Result<Fault, FieldError> {
    fields.read_whole_number("completion_tokens", 0..=0, "0 (no other value is possible)")?;
    let reasons = [("length", ()), ("max_tokens", ()), ("MAX_TOKENS", ())];
    fields.read_word("finish_reason", &reasons)?;
    Ok(Fault::PartialResponse { content: fields.read_text("content")? })
}

/// Reads by how many bytes a length is wrong.
fn read_difference(fields: FieldReader<'_>) -> Result<i64, FieldError> {
    let what = "a whole number of bytes, less or more than 0, such as 10 or -5";
    let Some(value) = fields.get("by") else {
        return Err(FieldError::from_reason("/by", format!("wrong_length needs it: {what}")));
    };
    let digits = shown_value(value);
    let (negative, amount) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest.parse().ok().map(Value::Number)),
        None => (false, Some(value.clone())),
    };
    let amount = amount.filter(|_| value.is_number()).as_ref().and_then(whole_number);
    match amount.filter(|amount| (1..=MOST_BYTES).contains(amount)).map(i64::try_from) {
        Some(Ok(amount)) => Ok(if negative { -amount } else { amount }),
        _ => Err(fields.wrong_value("by", what)),
    }
}

/// Converts a count; one that is too large saturates.
fn saturating_size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn read_truncation(fields: FieldReader<'_>) -> Result<Truncation, FieldError> {
    let exception = read_exception(fields);
    let raise = match exception {
        Some((_, raise)) => Some(raise),
        None => fields.read_word("raise", &RAISES)?,
    };
    let close = socket_close(fields)?;
    let usual = if close.is_some() { TruncationEnd::Close } else { TruncationEnd::default() };
    let raise = raise.unwrap_or(usual);
    if close.is_some() && raise != TruncationEnd::Close {
        return Err(FieldError::from_reason(
            fields.field_place("code"),
            "it needs raise=close, or no raise",
        ));
    }
    Ok(Truncation {
        after: read_place(fields)?,
        raise,
        exception: exception.map(|(name, _)| name),
        status_code: read_status(fields)?,
        message: fields.read_text("message")?,
        close,
    })
}

/// Reads with what a WebSocket is closed.
fn socket_close(fields: FieldReader<'_>) -> FieldResult<SocketClose> {
    let what = "a close code that may be sent: 1000 to 1003, 1007 to 1014, 3000 to 4999";
    let code = fields.read_whole_number("code", 1000..=4999, what)?;
    let reason = fields.read_text("reason")?;
    match (code.and_then(|code| u16::try_from(code).ok()), &reason) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(fields.wrong_value("reason", "a text beside a code")),
        (Some(1004..=1006 | 1015..=2999), _) => Err(fields.wrong_value("code", what)),
        (Some(_), Some(reason)) if reason.len() > LONGEST_REASON => {
            Err(fields.wrong_value("reason", "at most 123 bytes"))
        }
        (Some(code), _) => Ok(Some(SocketClose { code, reason: reason.unwrap_or_default() })),
    }
}

/// The exception that the field `raise` names, with its modules (`httpx.ReadError`) or without.
/// `None` if it is not one of them.
fn read_exception(fields: FieldReader<'_>) -> Option<(&'static str, TruncationEnd)> {
    let named = fields.get("raise").and_then(Value::as_str)?;
    let name = named.rsplit_once('.').map_or(named, |(_, name)| name);
    RAISES[OWN_RAISES..].iter().copied().find(|(word, _)| *word == name)
}

/// The word for how an answer ends early: the name of an exception, if it was given by that.
pub(super) fn raise_word(truncation: &Truncation) -> &'static str {
    truncation.exception.unwrap_or_else(|| word_for(&RAISES, truncation.raise))
}

/// The word for how a tool call is broken.
pub(super) fn mode_word(mode: ToolFault) -> &'static str {
    word_for(&MODES, mode)
}

/// The word for how the result of a tool is broken.
pub(super) fn result_mode_word(mode: ToolResultMode) -> &'static str {
    word_for(&RESULT_MODES, mode)
}

/// The word for how an event is broken.
pub(super) fn garble_word(how: GarbleKind) -> &'static str {
    word_for(&GARBLES, how)
}

fn word_for<T: PartialEq>(known: &[(&'static str, T)], meant: T) -> &'static str {
    known.iter().find(|(_, meaning)| *meaning == meant).map_or("", |(word, _)| word)
}

#[cfg(test)]
#[path = "read_tests.rs"]
pub(super) mod tests;

#[cfg(test)]
#[path = "read_words_tests.rs"]
mod word_tests;
