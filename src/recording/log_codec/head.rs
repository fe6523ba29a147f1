//! Writes an entry's JSON without its bodies, straight from its fields.

use serde_json::Value;

use super::super::entry::{Entry, RecordedCut, RecordedRequest, RecordedResponse, ResponseEnd};
use super::super::entry_field::{finite, rounded};
use super::super::json_style::{JsonStyle, write_file_string};
use loomrec_provider::{TokenUsage, ToolCall};

/// The entry as it would stand in the file, the bodies left out.
pub(super) fn write(out: &mut Vec<u8>, entry: &Entry) {
    let plain = entry.extra.is_empty()
        && entry.fault.is_none()
        && entry.tool_calls.iter().all(|call| call.arguments.is_object());
    if !plain {
        return write_any(out, entry);
    }
    let mut members = Members::open(out);
    match (&entry.content, &entry.response) {
        (Some(content), _) => members.text("content", content),
        (None, Some(_)) => members.text("content", ""),
        (None, None) => {}
    }
    members.maybe("model", entry.model.as_deref());
    if let Some(usage) = entry.usage {
        write_usage(members.value("usage"), usage);
    }
    if let Some(cost) = entry.cost_usd {
        members.number("cost_usd", finite(cost));
    }
    if let Some(latency) = entry.latency_ms {
        members.number("latency_ms", rounded(latency));
    }
    members.maybe("finish_reason", entry.finish_reason.as_deref());
    if !entry.tool_calls.is_empty() {
        write_list(members.value("tool_calls"), &entry.tool_calls, write_call);
    }
    if !entry.embeddings.is_empty() {
        write_list(members.value("embeddings"), &entry.embeddings, |out, row| {
            write_list(out, row, |out, number| write_number(out, finite(*number)));
        });
    }
    members.maybe("request_hash", entry.request_hash.as_ref().map(|key| key.as_str()));
    members.maybe("provider", entry.provider.as_deref());
    members.maybe("upstream", entry.upstream.as_deref());
    members.maybe("session", entry.session.as_deref());
    members.maybe("recorded_at", entry.recorded_at.as_deref());
    if let Some(request) = &entry.request {
        write_request(members.value("request"), request);
    }
    if let Some(response) = &entry.response {
        write_response(members.value("response"), response);
    }
    members.close();
}

/// The long way, for an entry that holds more than recorders write.
fn write_any(out: &mut Vec<u8>, entry: &Entry) {
    let mut value = entry.to_json();
    for name in ["request", "response"] {
        let known = match name {
            "request" => entry.request.is_some(),
            _ => entry.response.is_some(),
        };
        if let Some(Value::Object(map)) = value.get_mut(name).filter(|_| known) {
            map.retain(|key, _| {
                !matches!(key.as_str(), "body" | "style" | "text" | "base64" | "chunks" | "frames")
            });
        }
    }
    out.extend_from_slice(&JsonStyle::PLAIN.write(&value));
}

fn write_usage(out: &mut Vec<u8>, usage: TokenUsage) {
    let mut members = Members::open(out);
    members.count("prompt_tokens", usage.prompt_tokens);
    members.count("completion_tokens", usage.completion_tokens);
    members.count("total_tokens", usage.total_tokens);
    members.count("reasoning_tokens", usage.reasoning_tokens);
    members.count("cached_tokens", usage.cached_tokens);
    members.count("cache_write_tokens", usage.cache_write_tokens);
    members.close();
}

fn write_call(out: &mut Vec<u8>, call: &ToolCall) {
    let mut members = Members::open(out);
    members.text("id", &call.id);
    members.text("name", &call.name);
    members.value("arguments").extend_from_slice(&JsonStyle::PLAIN.write(&call.arguments));
    members.close();
}

fn write_request(out: &mut Vec<u8>, request: &RecordedRequest) {
    let mut members = Members::open(out);
    members.text("method", &request.method);
    members.text("path", &request.path);
    members.text("query", &request.query);
    write_list(members.value("headers"), &request.headers, write_pair);
    if !request.other_headers.is_empty() {
        members.text("other_headers", request.other_headers.as_str());
    }
    members.close();
}

fn write_response(out: &mut Vec<u8>, response: &RecordedResponse) {
    let mut members = Members::open(out);
    members.count("status", response.status.into());
    write_list(members.value("headers"), &response.headers, write_pair);
    let (end, cut) = match response.end {
        ResponseEnd::Complete => ("complete", None),
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => ("upstream_abort", Some("close")),
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => ("upstream_abort", Some("reset")),
        ResponseEnd::ClientAbort => ("client_abort", None),
        ResponseEnd::Truncated => ("truncated", None),
    };
    members.text("end", end);
    members.maybe("cut", cut);
    members.close();
}

fn write_pair(out: &mut Vec<u8>, (name, value): &(String, String)) {
    out.push(b'[');
    write_file_string(out, name);
    out.push(b',');
    write_file_string(out, value);
    out.push(b']');
}

fn write_list<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn write_number(out: &mut Vec<u8>, number: f64) {
    // A finite number into a vector: nothing there that could fail.
    let _ = serde_json::to_writer(out, &number);
}

/// An object that is being written.
struct Members<'a> {
    out: &'a mut Vec<u8>,
    begun: bool,
}

impl<'a> Members<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, begun: false }
    }

    /// Writes a key, which needs no escapes; gives the place for its value.
    fn value(&mut self, key: &str) -> &mut Vec<u8> {
        if self.begun {
            self.out.push(b',');
        }
        self.begun = true;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn text(&mut self, key: &str, text: &str) {
        write_file_string(self.value(key), text);
    }

    fn maybe(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    fn number(&mut self, key: &str, number: f64) {
        write_number(self.value(key), number);
    }

    fn count(&mut self, key: &str, count: u64) {
        // A number into a vector: nothing there that could fail.
        let _ = serde_json::to_writer(self.value(key), &count);
    }

    fn close(self) {
        self.out.push(b'}');
    }
}
