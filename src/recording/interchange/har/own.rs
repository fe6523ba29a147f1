//! `_loomrec`: what HAR has no place for, beside an entry of our own export.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::exchange::OwnDetails;
use super::super::lenient::decode_base64;
use crate::{Chunk, Entry, RecordedCut, ResponseEnd};

/// The member's name.
pub(super) const NAME: &str = "_loomrec";

/// What the member holds beside [`OwnDetails`].
#[derive(Debug, Default)]
pub(super) struct OwnMember {
    pub(super) own: OwnDetails,
    pub(super) recorded_at: Option<String>,
    pub(super) latency_ms: Option<f64>,
    /// The request's body, where HAR cannot hold it.
    pub(super) request: Option<Bytes>,
    /// The response's body as it went over the wire, where HAR holds another.
    pub(super) body: Option<Bytes>,
    /// When each chunk came, and how many bytes it has.
    chunks: Vec<(f64, usize)>,
    pub(super) end: Option<ResponseEnd>,
}

/// The member for an entry, kept under this step.
pub(super) fn write(entry: &Entry, step: Option<&str>, request: bool, body: bool) -> Value {
    let mut out = Map::new();
    let mut text = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value.into());
        }
    };
    text("upstream", entry.upstream.as_deref());
    text("path", entry.request.as_ref().map(|request| request.path.as_str()));
    text("session", entry.session.as_deref());
    text("step", step);
    text("recorded_at", entry.recorded_at.as_deref());
    if let Some(latency) = entry.latency_ms {
        out.insert("latency_ms".to_owned(), json!(latency));
    }
    if let Some(asked) = entry.request.as_ref().filter(|_| request) {
        out.insert("request_base64".to_owned(), STANDARD.encode(&asked.body).into());
    }
    let Some(response) = &entry.response else { return Value::Object(out) };
    if body {
        let bytes = response.payload.bytes();
        out.insert("response_base64".to_owned(), STANDARD.encode(bytes).into());
    }
    let chunks = response.payload.chunks().iter();
    let rows = chunks.map(|chunk| json!([chunk.at_ms, chunk.data.len()]));
    out.insert("chunks".to_owned(), rows.collect());
    let end = match response.end {
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => "upstream_abort:close",
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => "upstream_abort:reset",
        ResponseEnd::Complete | ResponseEnd::ClientAbort | ResponseEnd::Truncated => "complete",
    };
    out.insert("end".to_owned(), end.into());
    Value::Object(out)
}

/// What a member holds; of what is of another shape, nothing.
pub(super) fn read(value: &Value) -> OwnMember {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let bytes = |name: &str| decode_base64(&text(name)?).map(Bytes::from);
    let row = |row: &Value| {
        let ms = row.get(0)?.as_f64().filter(|ms| ms.is_finite())?;
        Some((ms, usize::try_from(row.get(1)?.as_u64()?).ok()?))
    };
    let rows = value.get("chunks").and_then(Value::as_array);
    let chunks: Option<Vec<_>> = rows.and_then(|rows| rows.iter().map(row).collect());
    OwnMember {
        own: OwnDetails {
            upstream: text("upstream"),
            path: text("path").filter(|path| path.starts_with('/')),
            session: text("session"),
            step: text("step"),
        },
        recorded_at: text("recorded_at"),
        latency_ms: value.get("latency_ms").and_then(Value::as_f64),
        request: bytes("request_base64"),
        body: bytes("response_base64"),
        chunks: chunks.unwrap_or_default(),
        end: match text("end").as_deref() {
            Some("upstream_abort:close") => Some(ResponseEnd::UpstreamAbort(RecordedCut::Close)),
            Some("upstream_abort:reset") => Some(ResponseEnd::UpstreamAbort(RecordedCut::Reset)),
            _ => None,
        },
    }
}

impl OwnMember {
    /// A body in its chunks, where they add up to it.
    pub(super) fn cut(&self, body: &Bytes) -> Option<Vec<Chunk>> {
        let mut rest = body.clone();
        let mut chunks = Vec::with_capacity(self.chunks.len());
        for &(at_ms, length) in &self.chunks {
            if length > rest.len() {
                return None;
            }
            chunks.push(Chunk { at_ms, data: rest.split_to(length) });
        }
        (rest.is_empty() && !self.chunks.is_empty()).then_some(chunks)
    }
}
