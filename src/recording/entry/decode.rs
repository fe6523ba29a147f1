//! Reads an entry from JSON: AgentLoom's fields as tolerantly as it does, ours
//! strictly.

use serde_json::{Map, Value};

use super::super::body::{ResponsePayload, decode_bytes};
use super::super::entry_field::{EntryError, EntryFields, describe, wrong};
use super::super::header_names::HeaderNames;
use super::field::{KNOWN, USAGE, usage_counts};
use super::{Entry, RecordedCut, RecordedRequest, RecordedResponse, ResponseEnd};
use loomrec_identity::RequestKey;
use loomrec_provider::{TokenUsage, ToolCall};

impl Entry {
    /// Reads one entry. A field of AgentLoom's that is `null` counts as absent.
    ///
    /// # Errors
    /// The place of the first field that has the wrong type, what was expected
    /// and what was found.
    pub fn parse(value: &Value) -> Result<Self, EntryError> {
        let Value::Object(map) = value else {
            return Err(EntryError {
                pointer: "the entry".to_owned(),
                expected: "an object",
                found: describe(value),
            });
        };
        let fields = EntryFields::new(map, "");
        let latency_ms = fields.number("latency_ms")?;
        let response = match fields.get("response") {
            Some(value) => Some(response(value, latency_ms.unwrap_or(0.0))?),
            None => None,
        };
        Ok(Self {
            content: fields.get("content").map(plain_text),
            model: fields.text("model")?,
            usage: usage(fields)?,
            cost_usd: cost(fields)?,
            latency_ms,
            finish_reason: fields.text("finish_reason")?,
            tool_calls: tool_calls(fields)?,
            embeddings: embeddings(fields)?,
            request_hash: request_hash(fields)?,
            provider: fields.text("provider")?,
            upstream: fields.text("upstream")?,
            session: fields.text("session")?,
            recorded_at: fields.text("recorded_at")?,
            request: fields.get("request").map(request).transpose()?,
            response,
            fault: fault(fields)?,
            extra: unknown(map),
            is_ambiguous: false,
        })
    }
}

fn unknown(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter()
        .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// AgentLoom takes `str(…)` of a content, whatever it is.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn usage(fields: EntryFields<'_>) -> Result<Option<TokenUsage>, EntryError> {
    let Some(value) = fields.get("usage") else {
        return Ok(None);
    };
    let usage = EntryFields::of(value, "/usage")?;
    let mut counts = TokenUsage::default();
    for (name, place) in USAGE.into_iter().zip(usage_counts(&mut counts)) {
        *place = count(usage, name)?;
    }
    Ok(Some(counts))
}

/// AgentLoom takes `int(…)`: whole numbers, floats cut off, and digits in a string.
fn count(fields: EntryFields<'_>, name: &str) -> Result<u64, EntryError> {
    /// Above this a float is no longer exact, and no count of tokens.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    let number = match fields.get(name) {
        None => return Ok(0),
        Some(Value::Number(number)) => number.as_u64().or_else(|| {
            let float = number.as_f64()?.trunc();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and within the range just checked"
            )]
            (0.0..LIMIT).contains(&float).then_some(float as u64)
        }),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    number.ok_or_else(|| fields.fail(name, "a count of tokens, 0 or more"))
}

/// AgentLoom takes `float(…)`: numbers, and numbers in a string.
fn cost(fields: EntryFields<'_>) -> Result<Option<f64>, EntryError> {
    let cost = match fields.get("cost_usd") {
        None => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_f64(),
    };
    match cost.filter(|cost: &f64| cost.is_finite()) {
        Some(cost) => Ok(Some(cost)),
        None => Err(fields.fail("cost_usd", "a number")),
    }
}

fn tool_calls(fields: EntryFields<'_>) -> Result<Vec<ToolCall>, EntryError> {
    let call = |(index, value): (usize, &Value)| {
        let at = format!("/tool_calls/{index}");
        let call = EntryFields::of(value, &at)?;
        let name = call.text("name")?;
        let arguments = match call.get("arguments") {
            None => Value::Object(Map::new()),
            Some(arguments @ Value::Object(_)) => arguments.clone(),
            Some(_) => return Err(call.fail("arguments", "an object")),
        };
        Ok(ToolCall {
            id: call.text("id")?.unwrap_or_default(),
            name: name.ok_or_else(|| call.fail("name", "the tool's name"))?,
            arguments,
        })
    };
    fields.list("tool_calls")?.iter().enumerate().map(call).collect()
}

fn embeddings(fields: EntryFields<'_>) -> Result<Vec<Vec<f64>>, EntryError> {
    let row = |(index, row): (usize, &Value)| {
        let numbers = row.as_array().and_then(|row| row.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| wrong(format!("/embeddings/{index}"), "a list of numbers", row))
    };
    fields.list("embeddings")?.iter().enumerate().map(row).collect()
}

fn request_hash(fields: EntryFields<'_>) -> Result<Option<RequestKey>, EntryError> {
    let Some(text) = fields.text("request_hash")? else {
        return Ok(None);
    };
    match RequestKey::parse(&text) {
        Some(key) => Ok(Some(key)),
        None => Err(fields.other_word("request_hash", "64 lower-case hex digits")),
    }
}

fn fault(fields: EntryFields<'_>) -> Result<Option<Value>, EntryError> {
    match fields.get("fault") {
        Some(Value::Object(_)) | None => Ok(fields.get("fault").cloned()),
        Some(_) => Err(fields.fail("fault", "an object")),
    }
}

fn request(value: &Value) -> Result<RecordedRequest, EntryError> {
    let fields = EntryFields::of(value, "/request")?;
    let must = |name, expected| match fields.text(name) {
        Ok(None) => Err(fields.fail(name, expected)),
        other => other.map(Option::unwrap_or_default),
    };
    Ok(RecordedRequest {
        method: must("method", "an HTTP method")?,
        path: must("path", "a path")?,
        query: fields.text("query")?.unwrap_or_default(),
        headers: headers(fields)?,
        other_headers: HeaderNames::parse(&fields.text("other_headers")?.unwrap_or_default()),
        body: decode_bytes(fields)?.unwrap_or_default(),
    })
}

fn response(value: &Value, whole_at_ms: f64) -> Result<RecordedResponse, EntryError> {
    let fields = EntryFields::of(value, "/response")?;
    let status = fields
        .present("status")
        .and_then(Value::as_u64)
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (100..=999).contains(status))
        .ok_or_else(|| fields.fail("status", "an HTTP status from 100 to 999"))?;
    Ok(RecordedResponse {
        status,
        headers: headers(fields)?,
        payload: ResponsePayload::decode(fields, whole_at_ms)?,
        end: end(fields)?,
    })
}

fn end(fields: EntryFields<'_>) -> Result<ResponseEnd, EntryError> {
    let cut = match fields.text("cut")?.as_deref() {
        None | Some("close") => RecordedCut::Close,
        Some("reset") => RecordedCut::Reset,
        Some(_) => return Err(fields.other_word("cut", "`close` or `reset`")),
    };
    match fields.text("end")?.as_deref() {
        None | Some("complete") => Ok(ResponseEnd::Complete),
        Some("upstream_abort") => Ok(ResponseEnd::UpstreamAbort(cut)),
        Some("client_abort") => Ok(ResponseEnd::ClientAbort),
        Some("truncated") => Ok(ResponseEnd::Truncated),
        Some(_) => {
            let expected = "`complete`, `upstream_abort`, `client_abort` or `truncated`";
            Err(fields.other_word("end", expected))
        }
    }
}

fn headers(fields: EntryFields<'_>) -> Result<Vec<(String, String)>, EntryError> {
    let expected = "an object of strings, or a list of `[name, value]`";
    let pairs: Option<Vec<_>> = match fields.get("headers") {
        None => Some(Vec::new()),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, value)| Some((name.to_ascii_lowercase(), value.as_str()?.to_owned())))
            .collect(),
        Some(Value::Array(pairs)) => pairs.iter().map(pair).collect(),
        Some(_) => None,
    };
    pairs.ok_or_else(|| fields.fail("headers", expected))
}

fn pair(value: &Value) -> Option<(String, String)> {
    let [name, value] = value.as_array()?.as_slice() else {
        return None;
    };
    Some((name.as_str()?.to_ascii_lowercase(), value.as_str()?.to_owned()))
}
