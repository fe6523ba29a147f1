//! The writer of HAR files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::super::response_body::usual_reason;
use super::super::write::{EntryToWrite, TRAILERS, WrittenEntry};
use super::{own, socket};
use loomrec_recording::{CodedBody, Entry};

/// The most bytes to which a compressed body may decode to be shown.
const UNPACKED: usize = 64 << 20;

/// Shown if the time of a call is not known.
const LONG_AGO: &str = "1970-01-01T00:00:00.000Z";

/// Returns one entry of a file, of a call with its request and its response.
pub(in super::super) fn write_entry(sent: &EntryToWrite<'_>, url: &str) -> WrittenEntry {
    let entry = sent.entry;
    let chunks = entry.answer_chunks().unwrap_or_default();
    let last = chunks.last().map_or(0.0, |chunk| chunk.at_ms);
    let whole = entry.latency_ms.unwrap_or(last).max(0.0);
    let first = chunks.first().map_or(whole, |chunk| chunk.at_ms).clamp(0.0, whole);
    let body = entry.request_body().map_or(&[][..], |body| body);
    let text = std::str::from_utf8(body).ok();
    let (content, packed) = content_value(entry);
    let began = entry.recorded_at.as_deref().unwrap_or(LONG_AGO);
    let mut asked = json!({
        "method": entry.request_method(),
        "url": socket::entry_address(entry, url),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": header_list(entry.request_headers()),
        "queryString": query_list(entry.request_query().unwrap_or_default()),
        "headersSize": -1,
        "bodySize": body.len(),
    });
    if !body.is_empty() {
        let kind = entry.request_type().unwrap_or_default();
        let shown = text.unwrap_or_default();
        asked["postData"] = json!({ "mimeType": kind, "text": shown, "params": [] });
    }
    let status = entry.answer_status().unwrap_or_default();
    let reason = entry.answer_reason().unwrap_or(usual_reason(status));
    let mut out = socket::entry_members(entry, began);
    let mut set = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    set("startedDateTime", began.into());
    set("time", json!(whole));
    set("request", asked);
    set(
        "response",
        json!({
            "status": status,
            "statusText": reason,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": header_list(entry.answer_headers()),
            "content": content,
            "redirectURL": header_value(entry.answer_headers(), "location"),
            "headersSize": -1,
            "bodySize": entry.answer_length(),
        }),
    );
    set("cache", json!({}));
    set("timings", json!({ "send": 0, "wait": first, "receive": whole - first }));
    set("comment", sent.key.into());
    set(own::NAME, own::write(entry, sent.step, text.is_none(), packed));
    let mut lost = Vec::new();
    if !entry.answer_trailers().is_empty() {
        lost.push(TRAILERS);
    }
    WrittenEntry { text: Value::Object(out).to_string(), lost }
}

/// Returns a body for viewers, and whether it was sent in another form.
fn content_value(entry: &Entry) -> (Value, bool) {
    let body = entry.coded_body(UNPACKED);
    let packed = body.as_ref().is_some_and(|body| body.coding.is_some());
    let shown = body.as_ref().map_or(&[][..], CodedBody::readable_bytes);
    let kind = header_value(entry.answer_headers(), "content-type");
    let mut content = json!({ "size": shown.len(), "mimeType": kind });
    match std::str::from_utf8(shown) {
        Ok(text) => content["text"] = text.into(),
        Err(_) => {
            content["text"] = STANDARD.encode(shown).into();
            content["encoding"] = "base64".into();
        }
    }
    (content, packed)
}

fn header_list(headers: &[(String, String)]) -> Value {
    headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

fn query_list(query: &str) -> Value {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    let pairs = parameters.map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        json!({ "name": decoded(name), "value": decoded(value) })
    });
    pairs.collect()
}

fn header_value<'a>(headers: &'a [(String, String)], name: &str) -> &'a str {
    headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
}
