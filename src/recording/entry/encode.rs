//! The writer of entries as JSON, with fields in a fixed order.

use serde_json::{Map, Value};

use super::super::body::{ChunkLayout, ResponsePayload};
use super::super::entry_field::{finite, milliseconds, rounded};
use super::super::message::RecordedMessage;
use super::super::object_writer::{ObjectSink, ObjectWriter};
use super::field::{ALWAYS_WRITTEN, EntryField, FieldSet, USAGE_FIELDS, usage_counts};
use super::{ClientLeft, Entry, RecordedCut, RecordedRequest, RecordedResponse, ResponseEnd};
use loomrec_provider::{TokenUsage, ToolCall};

impl Entry {
    /// Returns the entry's text in the file, as the value of a top-level key. It equals the text of
    /// [`Entry::to_json`], but no value is built for the content of bodies.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write_file(&mut text, 1);
        text
    }

    /// Writes the entry's text for the file, with its lines indented for `level`.
    pub(crate) fn write_file(&self, out: &mut Vec<u8>, level: usize) {
        ObjectWriter::write_file(out, level, |out| self.write(out));
    }

    /// Writes the entry's text for the log, without its bodies.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>) {
        ObjectWriter::write_head(out, |out| self.write(out));
    }

    /// Returns the entry as it is in the file. `null` is never written: other readers take a null
    /// content for the text `None`, and fail on a null count.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        self.write(&mut out);
        Value::Object(out)
    }

    /// Writes the fields that it has. A known field hides an unknown one with the same name.
    fn write(&self, out: &mut impl ObjectSink) {
        let mut written = FieldSet::default();
        for field in EntryField::ALL {
            if self.write_field(field, out).is_some() {
                written.insert(field);
            }
        }
        for (name, value) in &self.extra {
            if !EntryField::parse(name).is_some_and(|field| written.contains(field)) {
                out.value(name, value);
            }
        }
    }

    /// Writes one field. Returns `None` if the entry does not have it.
    fn write_field(&self, field: EntryField, out: &mut impl ObjectSink) -> Option<()> {
        let name = field.name();
        match field {
            EntryField::Content => {
                let none = self.response.as_ref().map(|_| "");
                out.text(name, self.content.as_deref().or(none)?);
            }
            EntryField::Model => out.text(name, self.model.as_deref()?),
            EntryField::Usage => {
                let usage = self.usage?;
                out.object(name, |out| write_usage(out, usage));
            }
            EntryField::CostUsd => out.number(name, finite(self.cost_usd?)),
            EntryField::LatencyMs => out.number(name, rounded(self.latency_ms?)),
            EntryField::FinishReason => out.text(name, self.finish_reason.as_deref()?),
            EntryField::ToolCalls => {
                self.tool_calls.first()?;
                out.objects(name, &self.tool_calls, write_tool_call);
            }
            EntryField::Embeddings => {
                self.embeddings.first()?;
                out.rows(name, &self.embeddings);
            }
            EntryField::RequestHash => out.text(name, self.request_hash.as_ref()?.as_str()),
            EntryField::Provider => out.text(name, self.provider.as_deref()?),
            EntryField::Upstream => out.text(name, self.upstream.as_deref()?),
            EntryField::UpstreamOrigin => out.text(name, self.upstream_origin.as_deref()?),
            EntryField::Preset => out.text(name, self.preset.as_deref()?),
            EntryField::RunValues => {
                self.run_values.iter().next()?;
                out.object(name, |out| {
                    self.run_values.iter().for_each(|(name, text)| out.text(name, text));
                });
            }
            EntryField::Session => out.text(name, self.session.as_deref()?),
            EntryField::RecordedAt => out.text(name, self.recorded_at.as_deref()?),
            EntryField::EndedAt => out.text(name, self.ended_at.as_deref()?),
            EntryField::EditedAt => out.text(name, self.edited_at.as_deref()?),
            EntryField::Request => {
                let request = self.request.as_ref()?;
                out.object(name, |out| write_request(out, request));
            }
            EntryField::ClientLeft => {
                let left = self.client_left?;
                out.object(name, |out| write_client_left(out, left));
            }
            EntryField::Fault => out.value(name, self.fault.as_ref()?),
            EntryField::Response => {
                let response = self.response.as_ref()?;
                out.object(name, |out| write_response(out, response));
            }
            EntryField::Messages => {
                self.messages.first()?;
                out.value(name, &self.messages.iter().map(RecordedMessage::to_json).collect());
            }
        }
        Some(())
    }
}

fn write_usage(out: &mut impl ObjectSink, mut usage: TokenUsage) {
    for (index, (name, count)) in USAGE_FIELDS.into_iter().zip(usage_counts(&mut usage)).enumerate()
    {
        if index < ALWAYS_WRITTEN || *count > 0 {
            out.count(name, *count);
        }
    }
}

fn write_tool_call(out: &mut impl ObjectSink, call: &ToolCall) {
    out.text("id", &call.id);
    out.text("name", &call.name);
    out.value("arguments", &call.arguments);
}

fn write_request(out: &mut impl ObjectSink, request: &RecordedRequest) {
    out.text("method", &request.method);
    out.text("path", &request.path);
    if !request.query.is_empty() {
        out.text("query", &request.query);
    }
    out.headers("headers", &request.headers);
    if !request.other_headers.is_empty() {
        out.text("other_headers", request.other_headers.as_str());
    }
    out.body(request.stored_body());
}

fn write_client_left(out: &mut impl ObjectSink, left: ClientLeft) {
    out.value("ms", &milliseconds(left.at_ms));
    if let Some(bytes) = left.bytes {
        out.count("bytes", bytes);
    }
}

fn write_response(out: &mut impl ObjectSink, response: &RecordedResponse) {
    out.count("status", response.status.into());
    if let Some(reason) = &response.reason {
        out.text("reason", reason);
    }
    out.headers("headers", &response.headers);
    if !response.trailers.is_empty() {
        out.headers("trailers", &response.trailers);
    }
    let (end, cut) = match response.end {
        ResponseEnd::Complete => ("complete", None),
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => ("upstream_abort", Some("close")),
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => ("upstream_abort", Some("reset")),
        ResponseEnd::ClientAbort => ("client_abort", None),
        ResponseEnd::Truncated => ("truncated", None),
    };
    out.text("end", end);
    if let Some(cut) = cut {
        out.text("cut", cut);
    }
    if out.has_bodies() {
        response.payload.write(out);
    }
}

impl ResponsePayload {
    /// Writes the fields that hold this payload into a response's object.
    pub(in super::super) fn write(&self, out: &mut impl ObjectSink) {
        match self.layout() {
            _ if self.is_empty() => {}
            ChunkLayout::Whole => out.body(&self.bytes()),
            ChunkLayout::Chunks => out.chunks("chunks", self.chunks()),
            ChunkLayout::Frames => {
                out.body(&self.bytes());
                let rows = self.chunks().iter().map(|chunk| {
                    Value::Array(vec![milliseconds(chunk.at_ms), chunk.data.len().into()])
                });
                out.value("frames", &rows.collect());
            }
        }
    }
}
