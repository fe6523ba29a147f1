//! The reader of entries from JSON values. It reads the summary fields as tolerantly as the
//! tool that defined them, and loomrec's fields strictly.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::super::body::{LONGEST_MS, ResponsePayload, decode_bytes};
use super::super::entry_field::{EntryError, STYLE, entry_fields};
use super::super::header_names::HeaderNames;
use super::super::message::RecordedMessage;
use super::field::{KNOWN_FIELDS, USAGE_FIELDS, usage_counts};
use super::{ClientLeft, Entry, RecordedCut, RecordedRequest, RecordedResponse, ResponseEnd};
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult, value_kind};
use loomrec_identity::{RequestKey, RunValues};
use loomrec_provider::{TokenUsage, ToolCall};

impl Entry {
    /// Reads one entry. A summary field that is `null` counts as absent.
    ///
    /// # Errors
    /// If a field has the wrong type. The error gives the place of the first such field, what was
    /// expected and what was found.
    pub fn parse(value: &Value) -> Result<Self, EntryError> {
        let Value::Object(map) = value else {
            let error = FieldError::unexpected("the entry", "an object", value_kind(value));
            return Err(EntryError(error));
        };
        Self::from_fields(map).map_err(EntryError)
    }

    fn from_fields(map: &Map<String, Value>) -> Result<Self, FieldError> {
        let fields = FieldReader::new(map, "", STYLE);
        let latency_ms = read_number(fields, "latency_ms")?;
        let response = match fields.get("response") {
            Some(value) => Some(read_response(value, latency_ms.unwrap_or(0.0))?),
            None => None,
        };
        Ok(Self {
            content: fields.get("content").map(plain_text),
            model: fields.read_text("model")?,
            usage: read_usage(fields)?,
            cost_usd: read_cost(fields)?,
            latency_ms,
            finish_reason: fields.read_text("finish_reason")?,
            tool_calls: tool_calls(fields)?,
            embeddings: read_embeddings(fields)?,
            request_hash: request_hash(fields)?,
            provider: fields.read_text("provider")?,
            upstream: fields.read_text("upstream")?,
            upstream_origin: fields.read_text("upstream_origin")?,
            preset: fields.read_text("preset")?,
            run_values: run_values(fields)?,
            session: fields.read_text("session")?,
            recorded_at: fields.read_text("recorded_at")?,
            ended_at: fields.read_text("ended_at")?,
            edited_at: fields.read_text("edited_at")?,
            request: fields.get("request").map(read_request).transpose()?,
            client_left: fields.get("client_left").map(client_left).transpose()?,
            response,
            messages: RecordedMessage::decode_list(fields)?,
            fault: fields.read_object("fault", "an object")?.cloned().map(Value::Object),
            extra: unknown_fields(map),
            is_ambiguous: false,
        })
    }
}

fn unknown_fields(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter()
        .filter(|(key, _)| !KNOWN_FIELDS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Returns a content as text. As Python's `str(…)` makes it of any content.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Reads a number that JSON can hold.
fn read_number(fields: FieldReader<'_>, name: &str) -> FieldResult<f64> {
    fields.read_number(name, f64::MIN..=f64::MAX, "a number")
}

fn read_usage(fields: FieldReader<'_>) -> FieldResult<TokenUsage> {
    let Some(value) = fields.get("usage") else {
        return Ok(None);
    };
    let usage = entry_fields(value, "/usage")?;
    let mut counts = TokenUsage::default();
    for (name, place) in USAGE_FIELDS.into_iter().zip(usage_counts(&mut counts)) {
        *place = read_count(usage, name)?;
    }
    Ok(Some(counts))
}

/// Reads a count as Python's `int(…)` does: whole numbers, truncated floats, and digits in a
/// string.
fn read_count(fields: FieldReader<'_>, name: &str) -> Result<u64, FieldError> {
    /// Above this a float is not exact. No count of tokens is that large.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    let number = |value: &Value| match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?.trunc();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and within the range just checked"
            )]
            (0.0..LIMIT).contains(&float).then_some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    Ok(fields.read_with(name, "a count of tokens, 0 or more", number)?.unwrap_or(0))
}

/// Reads a cost as Python's `float(…)` does: numbers, and numbers in a string.
fn read_cost(fields: FieldReader<'_>) -> FieldResult<f64> {
    let number = |value: &Value| match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    };
    fields.read_with("cost_usd", "a number", |value| number(value).filter(|cost| cost.is_finite()))
}

fn tool_calls(fields: FieldReader<'_>) -> Result<Vec<ToolCall>, FieldError> {
    let call = |(index, value): (usize, &Value)| {
        let at = format!("/tool_calls/{index}");
        let call = entry_fields(value, &at)?;
        let name = call.read_text("name")?;
        let arguments = call.read_object("arguments", "an object")?.cloned().unwrap_or_default();
        Ok(ToolCall {
            id: call.read_text("id")?.unwrap_or_default(),
            name: name.ok_or_else(|| call.wrong_value("name", "the tool's name"))?,
            arguments: Value::Object(arguments),
        })
    };
    fields
        .read_list("tool_calls", "a list")?
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(call)
        .collect()
}

fn read_embeddings(fields: FieldReader<'_>) -> Result<Vec<Vec<f64>>, FieldError> {
    let row = |(index, row): (usize, &Value)| {
        let numbers = row.as_array().and_then(|row| row.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| {
            let place = format!("/embeddings/{index}");
            FieldError::unexpected(place, "a list of numbers", value_kind(row))
        })
    };
    fields
        .read_list("embeddings", "a list")?
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(row)
        .collect()
}

fn request_hash(fields: FieldReader<'_>) -> FieldResult<RequestKey> {
    let Some(text) = fields.read_text("request_hash")? else {
        return Ok(None);
    };
    match RequestKey::parse(&text) {
        Some(key) => Ok(Some(key)),
        None => Err(fields.other_string("request_hash", "64 lower-case hex digits")),
    }
}

fn run_values(fields: FieldReader<'_>) -> Result<RunValues, FieldError> {
    let expected = "an object of at most 64 values of a run: paths from the root, days, words";
    let wrong = || fields.wrong_value("run_values", expected);
    let mut values = RunValues::default();
    for (name, text) in fields.read_object("run_values", expected)?.into_iter().flatten() {
        if !values.set(name, text.as_str().ok_or_else(wrong)?) {
            return Err(wrong());
        }
    }
    Ok(values)
}

fn read_request(value: &Value) -> Result<RecordedRequest, FieldError> {
    let fields = entry_fields(value, "/request")?;
    let must =
        |name, expected| fields.read_text(name)?.ok_or_else(|| fields.wrong_value(name, expected));
    let mut request = RecordedRequest {
        method: must("method", "an HTTP method")?,
        path: must("path", "a path")?,
        query: fields.read_text("query")?.unwrap_or_default(),
        headers: read_headers(fields, "headers")?,
        other_headers: HeaderNames::parse(&fields.read_text("other_headers")?.unwrap_or_default()),
        body: Bytes::new(),
        packed: None,
    };
    request.set_stored_body(decode_bytes(fields)?.unwrap_or_default());
    Ok(request)
}

fn client_left(value: &Value) -> Result<ClientLeft, FieldError> {
    let fields = entry_fields(value, "/client_left")?;
    let expected = "milliseconds, from 0 to an hour";
    let at_ms = fields.read_number("ms", 0.0..=LONGEST_MS, expected)?;
    Ok(ClientLeft {
        at_ms: at_ms.ok_or_else(|| fields.wrong_value("ms", expected))?,
        bytes: fields.read_integer("bytes", 0..=u64::MAX, "a number of bytes")?,
    })
}

fn read_response(value: &Value, whole_at_ms: f64) -> Result<RecordedResponse, FieldError> {
    let fields = entry_fields(value, "/response")?;
    let expected = "an HTTP status from 100 to 999";
    let status = fields.read_integer("status", 100..=999, expected)?;
    let status = status.and_then(|status| u16::try_from(status).ok());
    let status = status.ok_or_else(|| fields.wrong_value("status", expected))?;
    Ok(RecordedResponse {
        status,
        reason: fields.read_text("reason")?,
        headers: read_headers(fields, "headers")?,
        trailers: read_headers(fields, "trailers")?,
        payload: ResponsePayload::from_fields(fields, whole_at_ms)?,
        end: read_end(fields)?,
    })
}

fn read_end(fields: FieldReader<'_>) -> Result<ResponseEnd, FieldError> {
    let cut = match fields.read_text("cut")?.as_deref() {
        None | Some("close") => RecordedCut::Close,
        Some("reset") => RecordedCut::Reset,
        Some(_) => return Err(fields.other_string("cut", "`close` or `reset`")),
    };
    match fields.read_text("end")?.as_deref() {
        None | Some("complete") => Ok(ResponseEnd::Complete),
        Some("upstream_abort") => Ok(ResponseEnd::UpstreamAbort(cut)),
        Some("client_abort") => Ok(ResponseEnd::ClientAbort),
        Some("truncated") => Ok(ResponseEnd::Truncated),
        Some(_) => {
            let expected = "`complete`, `upstream_abort`, `client_abort` or `truncated`";
            Err(fields.other_string("end", expected))
        }
    }
}

fn read_headers(fields: FieldReader<'_>, name: &str) -> Result<Vec<(String, String)>, FieldError> {
    let expected = "an object of strings, or a list of `[name, value]`";
    let pairs = |value: &Value| match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| Some((name.to_ascii_lowercase(), value.as_str()?.to_owned())))
            .collect(),
        Value::Array(pairs) => pairs.iter().map(read_pair).collect(),
        _ => None,
    };
    Ok(fields.read_with(name, expected, pairs)?.unwrap_or_default())
}

fn read_pair(value: &Value) -> Option<(String, String)> {
    let [name, value] = value.as_array()?.as_slice() else {
        return None;
    };
    Some((name.as_str()?.to_ascii_lowercase(), value.as_str()?.to_owned()))
}
