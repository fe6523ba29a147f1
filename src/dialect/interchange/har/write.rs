//! The writer of HAR files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::super::response_body::usual_reason;
use super::super::write::{EntryToWrite, TRAILERS, WrittenEntry};
use super::{own, socket};
use loomrec_recording::{RecordedRequest, RecordedResponse, encoding};

/// The most bytes to which a compressed body may decode to be shown.
const UNPACKED: usize = 64 << 20;

/// Shown if the time of a call is not known.
const LONG_AGO: &str = "1970-01-01T00:00:00.000Z";

/// Returns one entry of a file.
pub(in super::super) fn write_entry(
    sent: &EntryToWrite<'_>,
    url: &str,
    request: &RecordedRequest,
    response: &RecordedResponse,
) -> WrittenEntry {
    let entry = sent.entry;
    let chunks = response.payload.chunks();
    let last = chunks.last().map_or(0.0, |chunk| chunk.at_ms);
    let whole = entry.latency_ms.unwrap_or(last).max(0.0);
    let first = chunks.first().map_or(whole, |chunk| chunk.at_ms).clamp(0.0, whole);
    let text = std::str::from_utf8(&request.body).ok();
    let (content, packed) = content_value(response);
    let began = entry.recorded_at.as_deref().unwrap_or(LONG_AGO);
    let mut asked = json!({
        "method": request.method,
        "url": socket::entry_address(entry, url),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": header_list(&request.headers),
        "queryString": query_list(&request.query),
        "headersSize": -1,
        "bodySize": request.body.len(),
    });
    if !request.body.is_empty() {
        let kind = header_value(&request.headers, "content-type");
        let shown = text.unwrap_or_default();
        asked["postData"] = json!({ "mimeType": kind, "text": shown, "params": [] });
    }
    let reason = response.reason.as_deref().unwrap_or(usual_reason(response.status));
    let mut out = socket::entry_members(entry, began);
    let mut set = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    set("startedDateTime", began.into());
    set("time", json!(whole));
    set("request", asked);
    set(
        "response",
        json!({
            "status": response.status,
            "statusText": reason,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": header_list(&response.headers),
            "content": content,
            "redirectURL": header_value(&response.headers, "location"),
            "headersSize": -1,
            "bodySize": response.payload.len(),
        }),
    );
    set("cache", json!({}));
    set("timings", json!({ "send": 0, "wait": first, "receive": whole - first }));
    set("comment", sent.key.into());
    set(own::NAME, own::write(entry, sent.step, text.is_none(), packed));
    let mut lost = Vec::new();
    if !response.trailers.is_empty() {
        lost.push(TRAILERS);
    }
    WrittenEntry { text: Value::Object(out).to_string(), lost }
}

/// Returns a body for viewers, and whether it was sent in another form.
fn content_value(response: &RecordedResponse) -> (Value, bool) {
    let bytes = response.payload.joined_bytes();
    let coding = encoding::coding_in(&response.headers);
    let plain =
        coding.as_deref().and_then(|coding| encoding::decode_body(coding, &bytes, UNPACKED));
    let packed = coding.is_some();
    let shown = plain.as_deref().unwrap_or(&bytes);
    let kind = header_value(&response.headers, "content-type");
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
