//! Reads a fault as it is declared: `{"type": …}` with the fields of that type, or the
//! form of text where a string stands in its place.

use serde_json::Value;

use super::error::{FaultError, token, told, unknown};
use super::field::{FaultFields, MOST_BYTES, whole};
use super::form::FaultForm;
use super::kind::{
    Fault, FaultPoint, GarbleKind, HANG_MS, HttpError, ToolFault, Truncation, TruncationEnd,
};

/// How an answer ends early: our word first, then those of others.
const RAISES: [(&str, TruncationEnd); 7] = [
    ("reset", TruncationEnd::Reset),
    ("close", TruncationEnd::Close),
    ("clean_eof", TruncationEnd::CleanEof),
    ("error_event", TruncationEnd::ErrorEvent),
    ("stall", TruncationEnd::Stall),
    ("ConnectionError", TruncationEnd::Reset),
    ("ConnectionResetError", TruncationEnd::Reset),
];
const MODES: [(&str, ToolFault); 4] = [
    ("invalid_json", ToolFault::InvalidJson),
    ("missing_argument", ToolFault::MissingArgument),
    ("unknown_tool", ToolFault::UnknownTool),
    ("wrong_type", ToolFault::WrongType),
];
const GARBLES: [(&str, GarbleKind); 6] = [
    ("broken_data", GarbleKind::BrokenData),
    ("duplicated", GarbleKind::Duplicated),
    ("reordered", GarbleKind::Reordered),
    ("dropped", GarbleKind::Dropped),
    ("missing_terminator", GarbleKind::MissingTerminator),
    ("checksum", GarbleKind::Checksum),
];
const PLACES: [&str; 3] = ["after_chunks", "after_events", "after_bytes"];

impl Fault {
    /// The fault that `value` declares: an object with a `type` and the fields of that
    /// type, or a string in the form of text ([`Fault::parse`]).
    ///
    /// # Errors
    /// An unknown type or field; a value of the wrong type or out of range; a field that
    /// is missing.
    pub fn read(value: &Value) -> Result<Self, FaultError> {
        match value {
            Value::String(text) => Self::parse(text),
            value => read(value),
        }
    }
}

fn read(value: &Value) -> Result<Fault, FaultError> {
    let fields = FaultFields::of(value, "a fault: an object with a type, or its form of text")?;
    let form = match fields.get("type") {
        Some(Value::String(name)) => FaultForm::find(name)
            .ok_or_else(|| FaultError::at("/type", unknown("fault", name, &FaultForm::all())))?,
        Some(_) => return Err(fields.wrong("type", "the name of a fault")),
        None => {
            let why = format!("a fault needs a type: {}", FaultForm::all().join(", "));
            return Err(FaultError::at("/type", why));
        }
    };
    let mut known = form.names();
    known.push("type");
    fields.only(form.name, &known)?;
    typed(form, fields)
}

fn typed(form: &FaultForm, fields: FaultFields<'_>) -> Result<Fault, FaultError> {
    let need = |name: &str, what: &str| {
        FaultError::at(token(name), format!("{} needs it: {what}", form.name))
    };
    let wait =
        |name: &str| fields.wait(name)?.ok_or_else(|| need(name, "milliseconds, such as 5000"));
    let bytes =
        |name: &str| fields.bytes(name, 1)?.ok_or_else(|| need(name, "a number of bytes, from 1"));
    Ok(match form.name {
        "timeout" => Fault::Timeout { after_ms: wait("after_ms")? },
        "hang" => Fault::Hang { max_ms: fields.wait("max_ms")?.unwrap_or(HANG_MS) },
        "wedged" => Fault::Wedged { max_ms: fields.wait("max_ms")?.unwrap_or(HANG_MS) },
        "slow" => Fault::Slow { delay_ms: wait("delay_ms")? },
        "recover_after" => Fault::RecoverAfter {
            failures: fields
                .count("failures", 0)?
                .ok_or_else(|| need("failures", "how many calls fail, such as 2"))?,
            fault: Box::new(inner(fields)?),
        },
        "http_error" => Fault::HttpError(http_error(fields)?),
        "malformed_response" => Fault::MalformedResponse { raw: fields.text("raw")? },
        "stream_truncate" => Fault::StreamTruncate(Truncation {
            after: after(fields)?,
            raise: fields.word("raise", &RAISES)?.unwrap_or_default(),
            status_code: status(fields)?,
            message: fields.text("message")?,
        }),
        "connection_reset" => Fault::ConnectionReset,
        "connection_drop" => Fault::ConnectionDrop,
        "partial_response" => partial_response(fields)?,
        "tool_call_fault" => {
            Fault::ToolCallFault { mode: fields.word("mode", &MODES)?.unwrap_or_default() }
        }
        "stream_stall" => {
            Fault::StreamStall { after: after(fields)?, for_ms: fields.wait("for_ms")? }
        }
        "throttle" => Fault::Throttle { bytes_per_second: bytes("bytes_per_second")? },
        "slice" => Fault::Slice {
            bytes: size(bytes("bytes")?),
            delay_ms: fields.wait("delay_ms")?.unwrap_or(0),
        },
        "stream_garble" => Fault::StreamGarble {
            chunk: fields.count("chunk", 0)?.map_or(0, |count| size(u64::from(count))),
            how: fields.word("how", &GARBLES)?.unwrap_or_default(),
        },
        "wrong_length" => Fault::WrongLength { by: difference(fields)? },
        "bad_encoding" => Fault::BadEncoding,
        "drop" => Fault::Drop,
        "malformed" => Fault::Malformed,
        _ => Fault::Disconnect,
    })
}

/// What the first calls get. It does not recover in its turn.
fn inner(fields: FaultFields<'_>) -> Result<Fault, FaultError> {
    let Some(value) = fields.get("fault") else { return Ok(Fault::Hang { max_ms: HANG_MS }) };
    let nested = || FaultError::at("/fault", "a recover_after cannot stand in another");
    // Found out before it is read, which would go as deep as there are any.
    let is_nested = match value {
        Value::String(text) => {
            text.trim_start().strip_prefix("recover_after").is_some_and(|rest| {
                rest.trim_start().starts_with([':', ';']) || rest.trim().is_empty()
            })
        }
        value => value.get("type").and_then(Value::as_str) == Some("recover_after"),
    };
    if is_nested {
        return Err(nested());
    }
    match Fault::read(value).map_err(|error| error.under("/fault"))? {
        Fault::RecoverAfter { .. } => Err(nested()),
        fault => Ok(fault),
    }
}

fn http_error(fields: FaultFields<'_>) -> Result<HttpError, FaultError> {
    Ok(HttpError {
        status_code: status(fields)?.unwrap_or(500),
        headers: fields.headers("headers")?,
        body: fields.get("body").cloned(),
        message: fields.text("message")?,
        code: fields.text("code")?,
        retry_after: fields.number(
            "retry_after",
            0.0..=86_400.0,
            "seconds, from 0 to 86400 (a day)",
        )?,
        retry_after_ms: fields.wait("retry_after_ms")?,
        x_should_retry: fields.flag("x_should_retry")?,
    })
}

/// The status of an error.
fn status(fields: FaultFields<'_>) -> Result<Option<u16>, FaultError> {
    let found = fields.whole("status_code", 400..=599, "an error's status, 400 to 599")?;
    Ok(found.and_then(|status| u16::try_from(status).ok()))
}

/// Where in the body; at most one of three ways to say it.
fn after(fields: FaultFields<'_>) -> Result<FaultPoint, FaultError> {
    Ok(match fields.one_of(&PLACES)? {
        Some("after_bytes") => FaultPoint::Bytes(fields.bytes("after_bytes", 0)?.unwrap_or(0)),
        Some(name) => {
            let count = size(u64::from(fields.count(name, 0)?.unwrap_or(0)));
            if name == "after_chunks" {
                FaultPoint::Chunks(count)
            } else {
                FaultPoint::Events(count)
            }
        }
        None => FaultPoint::Unsaid,
    })
}

/// AgentLoom says of it what it always is: no tokens, and cut off by its length.
fn partial_response(fields: FaultFields<'_>) -> Result<Fault, FaultError> {
    fields.whole("completion_tokens", 0..=0, "0, which it always is")?;
    let reasons = [("length", ()), ("max_tokens", ()), ("MAX_TOKENS", ())];
    fields.word("finish_reason", &reasons)?;
    Ok(Fault::PartialResponse { content: fields.text("content")? })
}

/// By how many bytes a length is wrong.
fn difference(fields: FaultFields<'_>) -> Result<i64, FaultError> {
    let what = "a whole number of bytes, less or more than 0, such as 10 or -5";
    let Some(value) = fields.get("by") else {
        return Err(FaultError::at("/by", format!("wrong_length needs it: {what}")));
    };
    let digits = told(value);
    let (negative, amount) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest.parse().ok()),
        None => (false, value.as_number().cloned()),
    };
    let amount = amount.filter(|_| value.is_number()).as_ref().and_then(whole);
    match amount.filter(|amount| (1..=MOST_BYTES).contains(amount)).map(i64::try_from) {
        Some(Ok(amount)) => Ok(if negative { -amount } else { amount }),
        _ => Err(fields.wrong("by", what)),
    }
}

/// A count as memory is counted.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The word that is written for a meaning.
pub(super) fn raise_word(raise: TruncationEnd) -> &'static str {
    word(&RAISES, raise)
}

/// The word that is written for a meaning.
pub(super) fn mode_word(mode: ToolFault) -> &'static str {
    word(&MODES, mode)
}

/// The word that is written for a meaning.
pub(super) fn garble_word(how: GarbleKind) -> &'static str {
    word(&GARBLES, how)
}

fn word<T: PartialEq>(known: &[(&'static str, T)], meant: T) -> &'static str {
    known.iter().find(|(_, meaning)| *meaning == meant).map_or("", |(word, _)| word)
}

#[cfg(test)]
#[path = "read_tests.rs"]
pub(super) mod tests;
