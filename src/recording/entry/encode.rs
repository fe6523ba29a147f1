//! The writer of entries as JSON, with fields in a fixed order.

use serde_json::{Map, Value};

use super::super::body::{ChunkLayout, ResponsePayload};
use super::super::entry_field::{milliseconds_json, normalize_float, round_milliseconds};
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
        ObjectWriter::write_file(out, level, |out| self.write_fields(out));
    }

    /// Writes the entry's text for the log, without its bodies.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>) {
        ObjectWriter::write_head(out, |out| self.write_fields(out));
    }

    /// Returns the entry as it is in the file. `null` is never written: other readers take a null
    /// content for the text `None`, and fail on a null count.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        self.write_fields(&mut out);
        Value::Object(out)
    }

    /// Writes the fields that it has. A known field hides an unknown one with the same name.
    fn write_fields(&self, out: &mut impl ObjectSink) {
        let mut written = FieldSet::default();
        for field in EntryField::ALL {
            if self.write_field(field, out).is_some() {
                written.insert(field);
            }
        }
        for (name, value) in &self.extra {
            if !EntryField::parse(name).is_some_and(|field| written.contains(field)) {
                out.write_value(name, value);
            }
        }
    }

    /// Writes one field. Returns `None` if the entry does not have it.
    fn write_field(&self, field: EntryField, out: &mut impl ObjectSink) -> Option<()> {
        let name = field.name();
        match field {
            EntryField::Content => {
                let none = self.response.as_ref().map(|_| "");
                out.write_text(name, self.content.as_deref().or(none)?);
            }
            EntryField::Model => out.write_text(name, self.model.as_deref()?),
            EntryField::Usage => {
                let usage = self.usage?;
                out.write_object(name, |out| write_usage(out, usage));
            }
            EntryField::CostUsd => out.write_number(name, normalize_float(self.cost_usd?)),
            EntryField::LatencyMs => out.write_number(name, round_milliseconds(self.latency_ms?)),
            EntryField::FinishReason => out.write_text(name, self.finish_reason.as_deref()?),
            EntryField::ToolCalls => {
                self.tool_calls.first()?;
                out.write_objects(name, &self.tool_calls, write_tool_call);
            }
            EntryField::Embeddings => {
                self.embeddings.first()?;
                out.write_rows(name, &self.embeddings);
            }
            EntryField::RequestHash => out.write_text(name, self.request_hash.as_ref()?.as_str()),
            EntryField::Provider => out.write_text(name, self.provider.as_deref()?),
            EntryField::Upstream => out.write_text(name, self.upstream.as_deref()?),
            EntryField::UpstreamOrigin => out.write_text(name, self.upstream_origin.as_deref()?),
            EntryField::Preset => out.write_text(name, self.preset.as_deref()?),
            EntryField::RunValues => {
                self.run_values.iter().next()?;
                out.write_object(name, |out| {
                    self.run_values.iter().for_each(|(name, text)| out.write_text(name, text));
                });
            }
            EntryField::Session => out.write_text(name, self.session.as_deref()?),
            EntryField::RecordedAt => out.write_text(name, self.recorded_at.as_deref()?),
            EntryField::EndedAt => out.write_text(name, self.ended_at.as_deref()?),
            EntryField::EditedAt => out.write_text(name, self.edited_at.as_deref()?),
            EntryField::Request => {
                let request = self.request.as_ref()?;
                out.write_object(name, |out| write_request(out, request));
            }
            EntryField::ClientLeft => {
                let left = self.client_left?;
                out.write_object(name, |out| write_client_left(out, left));
            }
            EntryField::Fault => out.write_value(name, self.fault.as_ref()?),
            EntryField::Response => {
                let response = self.response.as_ref()?;
                out.write_object(name, |out| write_response(out, response));
            }
            EntryField::Messages => {
                self.messages.first()?;
                out.write_value(
                    name,
                    &self.messages.iter().map(RecordedMessage::to_json).collect(),
                );
            }
        }
        Some(())
    }
}

fn write_usage(out: &mut impl ObjectSink, mut usage: TokenUsage) {
    for (index, (name, count)) in USAGE_FIELDS.into_iter().zip(usage_counts(&mut usage)).enumerate()
    {
        if index < ALWAYS_WRITTEN || *count > 0 {
            out.write_count(name, *count);
        }
    }
}

fn write_tool_call(out: &mut impl ObjectSink, call: &ToolCall) {
    out.write_text("id", &call.id);
    out.write_text("name", &call.name);
    out.write_value("arguments", &call.arguments);
}

fn write_request(out: &mut impl ObjectSink, request: &RecordedRequest) {
    out.write_text("method", &request.method);
    out.write_text("path", &request.path);
    if !request.query.is_empty() {
        out.write_text("query", &request.query);
    }
    out.write_headers("headers", &request.headers);
    if !request.other_headers.is_empty() {
        out.write_text("other_headers", request.other_headers.as_str());
    }
    out.write_body(request.stored_body());
}

fn write_client_left(out: &mut impl ObjectSink, left: ClientLeft) {
    out.write_value("ms", &milliseconds_json(left.at_ms));
    if let Some(bytes) = left.bytes {
        out.write_count("bytes", bytes);
    }
}

fn write_response(out: &mut impl ObjectSink, response: &RecordedResponse) {
    out.write_count("status", response.status.into());
    if let Some(reason) = &response.reason {
        out.write_text("reason", reason);
    }
    out.write_headers("headers", &response.headers);
    if !response.trailers.is_empty() {
        out.write_headers("trailers", &response.trailers);
    }
    let (end, cut) = match response.end {
        ResponseEnd::Complete => ("complete", None),
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => ("upstream_abort", Some("close")),
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => ("upstream_abort", Some("reset")),
        ResponseEnd::ClientAbort => ("client_abort", None),
        ResponseEnd::Truncated => ("truncated", None),
    };
    out.write_text("end", end);
    if let Some(cut) = cut {
        out.write_text("cut", cut);
    }
    if out.has_bodies() {
        response.payload.write_fields(out);
    }
}

impl ResponsePayload {
    /// Writes the fields that hold this payload into a response's object.
    pub(in super::super) fn write_fields(&self, out: &mut impl ObjectSink) {
        match self.layout() {
            _ if self.is_empty() => {}
            ChunkLayout::Whole => out.write_body(&self.joined_bytes()),
            ChunkLayout::Chunks => out.write_chunks("chunks", self.chunks()),
            ChunkLayout::Frames => {
                out.write_body(&self.joined_bytes());
                let rows = self.chunks().iter().map(|chunk| {
                    Value::Array(vec![milliseconds_json(chunk.at_ms), chunk.data.len().into()])
                });
                out.write_value("frames", &rows.collect());
            }
        }
    }
}
