//! Writes an entry as JSON, fields in their fixed order.

use serde_json::{Map, Value};

use super::super::body::encode_bytes;
use super::super::entry_field::{decimal, milliseconds};
use super::super::object_writer::ObjectWriter;
use super::{Entry, RecordedCut, RecordedRequest, RecordedResponse, ResponseEnd};
use loomrec_provider::{TokenUsage, ToolCall};

impl Entry {
    /// The entry's text in the file, as the value of a top-level key: that of
    /// [`Entry::to_json`], without a value built of what the bodies hold.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut out = ObjectWriter::open(&mut text, 1);
        let summary = self.summary();
        out.values(&summary);
        if let Some(request) = &self.request {
            let mut inner = out.object("request");
            inner.values(&request_head(request));
            inner.bytes(&request.body);
            inner.close();
        }
        if let Some(fault) = &self.fault {
            out.value("fault", fault);
        }
        if let Some(response) = &self.response {
            let mut inner = out.object("response");
            inner.values(&response_head(response));
            inner.payload(&response.payload);
            inner.close();
        }
        out.values(self.extra.iter().filter(|(name, _)| !self.holds(&summary, name)));
        out.close();
        text
    }

    /// The entry as it stands in the file. `null` is never written: AgentLoom
    /// reads a null content as the text `None`, and a null count stops it.
    pub fn to_json(&self) -> Value {
        let mut out = self.summary();
        let extra = self.extra.iter().filter(|(name, _)| !self.holds(&out, name));
        let extra: Map<String, Value> =
            extra.map(|(name, value)| (name.clone(), value.clone())).collect();
        if let Some(request) = &self.request {
            let mut inner = request_head(request);
            encode_bytes(&request.body, &mut inner);
            out.insert("request".into(), Value::Object(inner));
        }
        if let Some(fault) = &self.fault {
            out.insert("fault".into(), fault.clone());
        }
        if let Some(response) = &self.response {
            let mut inner = response_head(response);
            response.payload.encode(&mut inner);
            out.insert("response".into(), Value::Object(inner));
        }
        out.extend(extra);
        Value::Object(out)
    }

    /// Whether a field we know stands above a stray of the same name.
    fn holds(&self, summary: &Map<String, Value>, name: &str) -> bool {
        match name {
            "request" => self.request.is_some(),
            "fault" => self.fault.is_some(),
            "response" => self.response.is_some(),
            _ => summary.contains_key(name),
        }
    }

    /// The fields in front of the request.
    fn summary(&self) -> Map<String, Value> {
        let mut out = Map::new();
        if let Some(content) = &self.content {
            out.insert("content".into(), content.as_str().into());
        } else if self.response.is_some() {
            out.insert("content".into(), "".into());
        }
        put_text(&mut out, "model", self.model.as_deref());
        if let Some(usage) = self.usage {
            out.insert("usage".into(), usage_json(usage));
        }
        if let Some(cost) = self.cost_usd {
            out.insert("cost_usd".into(), decimal(cost));
        }
        if let Some(latency) = self.latency_ms {
            out.insert("latency_ms".into(), milliseconds(latency));
        }
        put_text(&mut out, "finish_reason", self.finish_reason.as_deref());
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().map(tool_call_json).collect();
            out.insert("tool_calls".into(), Value::Array(calls));
        }
        if !self.embeddings.is_empty() {
            let rows = self
                .embeddings
                .iter()
                .map(|row| Value::Array(row.iter().map(|&number| decimal(number)).collect()));
            out.insert("embeddings".into(), Value::Array(rows.collect()));
        }
        let hash = self.request_hash.as_ref().map(|key| key.as_str());
        put_text(&mut out, "request_hash", hash);
        put_text(&mut out, "provider", self.provider.as_deref());
        put_text(&mut out, "upstream", self.upstream.as_deref());
        put_text(&mut out, "session", self.session.as_deref());
        put_text(&mut out, "recorded_at", self.recorded_at.as_deref());
        out
    }
}

fn put_text(out: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.insert(key.into(), text.into());
    }
}

fn usage_json(usage: TokenUsage) -> Value {
    let mut out = Map::new();
    out.insert("prompt_tokens".into(), usage.prompt_tokens.into());
    out.insert("completion_tokens".into(), usage.completion_tokens.into());
    out.insert("total_tokens".into(), usage.total_tokens.into());
    out.insert("reasoning_tokens".into(), usage.reasoning_tokens.into());
    for (key, count) in
        [("cached_tokens", usage.cached_tokens), ("cache_write_tokens", usage.cache_write_tokens)]
    {
        if count > 0 {
            out.insert(key.into(), count.into());
        }
    }
    Value::Object(out)
}

fn tool_call_json(call: &ToolCall) -> Value {
    let mut out = Map::new();
    out.insert("id".into(), call.id.as_str().into());
    out.insert("name".into(), call.name.as_str().into());
    out.insert("arguments".into(), call.arguments.clone());
    Value::Object(out)
}

/// A request but for its body.
fn request_head(request: &RecordedRequest) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("method".into(), request.method.as_str().into());
    out.insert("path".into(), request.path.as_str().into());
    if !request.query.is_empty() {
        out.insert("query".into(), request.query.as_str().into());
    }
    out.insert("headers".into(), headers_json(&request.headers));
    if !request.other_headers.is_empty() {
        out.insert("other_headers".into(), request.other_headers.as_str().into());
    }
    out
}

/// A response but for its body.
fn response_head(response: &RecordedResponse) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("status".into(), response.status.into());
    out.insert("headers".into(), headers_json(&response.headers));
    let (end, cut) = match response.end {
        ResponseEnd::Complete => ("complete", None),
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => ("upstream_abort", Some("close")),
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => ("upstream_abort", Some("reset")),
        ResponseEnd::ClientAbort => ("client_abort", None),
        ResponseEnd::Truncated => ("truncated", None),
    };
    out.insert("end".into(), end.into());
    put_text(&mut out, "cut", cut);
    out
}

/// An object, or, where a name repeats, a list of pairs: the order is kept
/// either way.
fn headers_json(headers: &[(String, String)]) -> Value {
    let mut object = Map::new();
    for (name, value) in headers {
        object.insert(name.clone(), value.as_str().into());
    }
    if object.len() == headers.len() {
        return Value::Object(object);
    }
    let pair = |(name, value): &(String, String)| {
        Value::Array(vec![name.as_str().into(), value.as_str().into()])
    };
    Value::Array(headers.iter().map(pair).collect())
}
