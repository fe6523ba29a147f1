//! `_loomrec`: a member of exported entries with data that HAR cannot hold.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::super::carried_fields::CarriedFields;
use super::super::exchange::OwnDetails;
use super::super::lenient::decode_base64;
use loomrec_identity::RunValues;
use loomrec_recording::{
    Chunk, Entry, HeaderNames, MessagePayload, MessageSender, RecordedCut, RecordedMessage,
    ResponseEnd,
};

/// The member's name.
pub(super) const NAME: &str = "_loomrec";

/// The content of the member, including [`OwnDetails`].
#[derive(Debug, Default)]
pub(super) struct OwnMember {
    pub(super) own: OwnDetails,
    pub(super) recorded_at: Option<String>,
    pub(super) latency_ms: Option<f64>,
    /// The request's body, if HAR cannot hold it.
    pub(super) request_body: Option<Bytes>,
    /// The response's body as it was sent, if HAR holds another form.
    pub(super) body: Option<Bytes>,
    /// The time and the length of each chunk, if the member lists them.
    chunks: Option<Vec<(f64, usize)>>,
    pub(super) end: Option<ResponseEnd>,
    /// The close of a WebSocket.
    pub(super) close: Option<RecordedMessage>,
}

/// Returns the member for an entry, which is kept under this step.
pub(super) fn write(entry: &Entry, step: Option<&str>, request: bool, body: bool) -> Value {
    let mut out = CarriedFields::from_entry(entry).into_fields();
    let mut text = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value.into());
        }
    };
    text("upstream", entry.upstream.as_deref());
    text("upstream_origin", entry.upstream_origin.as_deref());
    text("path", entry.request_path());
    let headers = entry.unstored_headers().filter(|headers| !headers.is_empty());
    text("other_headers", headers.map(HeaderNames::as_str));
    text("session", entry.session.as_deref());
    text("step", step);
    text("recorded_at", entry.recorded_at.as_deref());
    if !entry.run_values.is_empty() {
        let values = entry.run_values.iter().map(|(name, text)| (name.to_owned(), text.into()));
        out.insert("run_values".to_owned(), Value::Object(values.collect()));
    }
    if let Some(latency) = entry.latency_ms {
        out.insert("latency_ms".to_owned(), json!(latency));
    }
    if let Some(asked) = entry.request_body().filter(|_| request) {
        out.insert("request_base64".to_owned(), STANDARD.encode(asked).into());
    }
    if let Some(close) = entry.messages.last().filter(|last| is_close(last)) {
        out.insert("close".to_owned(), close.to_json());
    }
    let (Some(chunks), Some(end)) = (entry.answer_chunks(), entry.answer_end()) else {
        return Value::Object(out);
    };
    if let Some(bytes) = entry.answer_bytes().filter(|_| body) {
        out.insert("response_base64".to_owned(), STANDARD.encode(bytes).into());
    }
    let rows = chunks.iter().map(|chunk| json!([chunk.at_ms, chunk.data.len()]));
    out.insert("chunks".to_owned(), rows.collect());
    let end = match end {
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => "upstream_abort:close",
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => "upstream_abort:reset",
        ResponseEnd::Complete | ResponseEnd::ClientAbort | ResponseEnd::Truncated => "complete",
    };
    out.insert("end".to_owned(), end.into());
    Value::Object(out)
}

/// Reads a member. Values of the wrong shape are ignored.
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
            upstream_origin: text("upstream_origin"),
            run_values: run_values(value),
            path: text("path").filter(|path| path.starts_with('/')),
            session: text("session"),
            step: text("step"),
            other_headers: HeaderNames::parse(&text("other_headers").unwrap_or_default()),
            carried: value.as_object().map(CarriedFields::from_fields).unwrap_or_default(),
        },
        recorded_at: text("recorded_at"),
        latency_ms: value.get("latency_ms").and_then(Value::as_f64),
        request_body: bytes("request_base64"),
        body: bytes("response_base64"),
        chunks,
        end: match text("end").as_deref() {
            Some("upstream_abort:close") => Some(ResponseEnd::UpstreamAbort(RecordedCut::Close)),
            Some("upstream_abort:reset") => Some(ResponseEnd::UpstreamAbort(RecordedCut::Reset)),
            _ => None,
        },
        close: value.get("close").and_then(close),
    }
}

/// Whether a message is a close.
fn is_close(message: &RecordedMessage) -> bool {
    matches!(message.payload, MessagePayload::Close { .. })
}

/// Reads the close of a WebSocket.
fn close(value: &Value) -> Option<RecordedMessage> {
    let sender = match value.get("from")?.as_str()? {
        "client" => MessageSender::Client,
        "server" => MessageSender::Server,
        _ => return None,
    };
    let at_ms = value.get("ms")?.as_f64().filter(|ms| ms.is_finite())?;
    let code = u16::try_from(value.get("close")?.as_u64()?).ok();
    let code = code.filter(|code| (1000..=4999).contains(code))?;
    let reason = value.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(RecordedMessage::new(sender, at_ms, MessagePayload::Close { code, reason }))
}

fn run_values(value: &Value) -> RunValues {
    let values = value.get("run_values").and_then(Value::as_object).into_iter().flatten();
    values.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
}

impl OwnMember {
    /// Splits a body into its chunks, if their lengths add up to it.
    pub(super) fn split_chunks(&self, body: &Bytes) -> Option<Vec<Chunk>> {
        let stated = self.chunks.as_ref()?;
        let mut rest = body.clone();
        let mut chunks = Vec::with_capacity(stated.len());
        for &(at_ms, length) in stated {
            if length > rest.len() {
                return None;
            }
            chunks.push(Chunk { at_ms, data: rest.split_to(length) });
        }
        rest.is_empty().then_some(chunks)
    }
}
