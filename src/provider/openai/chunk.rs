//! The chunks of a stream with choices: which members each repeats, which only one carries, and
//! where the usage is.

use serde_json::{Value, json};

use super::dialect::{UsagePlace, usage_place};
use crate::framing::EventFrame;
use crate::operation::ObjectView;
use crate::operation::ResponseFormat;

/// A stream's chunks while they are built.
pub(super) struct ChunkStream {
    /// The members that every chunk repeats.
    head: ObjectView,
    /// The members that only the first chunk has.
    extra: ObjectView,
    usage: Option<Value>,
    /// Groq's own field, which is sent again with the usage.
    groq: Option<ObjectView>,
    place: UsagePlace,
    /// Whether the caller asked for the usage.
    usage_requested: bool,
    chunks: Vec<ObjectView>,
}

impl ChunkStream {
    /// Starts the chunks of a complete body, from which the choices were removed.
    pub(super) fn from_body(
        format: &ResponseFormat<'_>,
        mut body: ObjectView,
        object: &str,
    ) -> Self {
        body.insert("object".to_owned(), object.into());
        let usage = body.shift_remove("usage").filter(|usage| !usage.is_null());
        let filtered = body.shift_remove("prompt_filter_results");
        let (head, extra): (ObjectView, ObjectView) = body.into_iter().partition(|(name, _)| {
            matches!(
                name.as_str(),
                "id" | "object" | "created" | "model" | "system_fingerprint" | "service_tier"
            )
        });
        let place = usage_place(format.upstream);
        let groq = extra.get("x_groq").and_then(Value::as_object).cloned();
        let mut chunks =
            Self { head, extra, usage, groq, place, usage_requested: format.usage, chunks: vec![] };
        if let Some(filtered) = filtered {
            chunks.push_filter_results(filtered);
        }
        chunks
    }

    /// Azure sends its filter results first, in a chunk without other content.
    fn push_filter_results(&mut self, results: Value) {
        let unknown = |value: &Value| if value.is_number() { json!(0) } else { json!("") };
        let known = |name: &str| matches!(name, "id" | "object" | "created" | "model");
        let head = self.head.iter().filter(|(name, _)| known(name));
        let mut chunk: ObjectView =
            head.map(|(name, value)| (name.clone(), unknown(value))).collect();
        chunk.insert("choices".to_owned(), json!([]));
        chunk.insert("prompt_filter_results".to_owned(), results);
        self.chunks.push(chunk);
    }

    /// Adds a chunk of one choice.
    pub(super) fn push(&mut self, choice: ObjectView) {
        self.push_chunk(Value::Array(vec![Value::Object(choice)]));
    }

    fn push_chunk(&mut self, choices: Value) {
        let mut chunk = self.head.clone();
        chunk.append(&mut self.extra);
        chunk.insert("choices".to_owned(), choices);
        self.chunks.push(chunk);
    }

    /// Returns the events of the stream, with its end marker.
    pub(super) fn into_events(mut self) -> Vec<EventFrame> {
        if !self.chunks.iter().any(has_choices) {
            self.push_chunk(json!([]));
        }
        if let Some(usage) = self.usage.take() {
            self.add_usage(usage);
        }
        let chunks = self.chunks.into_iter();
        let frames = chunks.map(|chunk| EventFrame::unnamed(Value::Object(chunk)));
        frames.chain([EventFrame::done_marker()]).collect()
    }

    /// Adds the usage at its place.
    fn add_usage(&mut self, usage: Value) {
        let own = match self.place {
            UsagePlace::OwnChunk => true,
            UsagePlace::Asked | UsagePlace::Groq => self.usage_requested,
            UsagePlace::LastChoice => false,
        };
        if let Some(last) = self.chunks.last_mut() {
            match self.place {
                UsagePlace::LastChoice => {
                    last.insert("usage".to_owned(), usage.clone());
                }
                UsagePlace::Groq => {
                    let mut groq = self.groq.take().unwrap_or_default();
                    groq.insert("usage".to_owned(), usage.clone());
                    last.insert("x_groq".to_owned(), Value::Object(groq));
                }
                UsagePlace::Asked | UsagePlace::OwnChunk => {}
            }
        }
        if !own {
            return;
        }
        if self.place == UsagePlace::Asked {
            for chunk in &mut self.chunks {
                chunk.insert("usage".to_owned(), Value::Null);
            }
        }
        self.push_chunk(json!([]));
        if let Some(last) = self.chunks.last_mut() {
            last.insert("usage".to_owned(), usage);
        }
    }
}

fn has_choices(chunk: &ObjectView) -> bool {
    chunk.get("choices").and_then(Value::as_array).is_some_and(|choices| !choices.is_empty())
}
