//! A fast reader of streams that does not merge chunks, for streams in which all chunks are of the
//! usual kind: one choice, text, and calls of functions.
//!
//! It leaves all other streams to [`super::merge`], which reads everything. Both return the same
//! answer for a stream that both can read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::framing::{Framing, events};
use crate::json_view::JsonView;
use crate::needs_merge::NeedsMerge;
use crate::{Answer, ToolCall};
use loomrec_identity::Json;

/// The answer so far.
#[derive(Default)]
struct CompletionBuilder<'a> {
    /// Whether there was a chunk with choices.
    seen: bool,
    content: String,
    model: Option<Cow<'a, str>>,
    finish_reason: Option<Cow<'a, str>>,
    /// The last value of this member that is not null.
    usage: Option<Json<'a>>,
    groq: Option<Json<'a>>,
    calls: BTreeMap<u64, Call<'a>>,
}

#[derive(Default)]
struct Call<'a> {
    id: Cow<'a, str>,
    /// Its name and its arguments, if it is a function's.
    function: Option<(Cow<'a, str>, Option<String>)>,
}

/// Returns the answer of a stream. The outer `None` means that the chunks must be merged, the inner
/// one that no chunk has `choices`.
pub(super) fn read_stream(bytes: &[u8]) -> Option<Option<Answer>> {
    let mut builder = CompletionBuilder::default();
    for event in events(Framing::Sse, bytes) {
        if event.data.is_none() || event.is_done() {
            continue;
        }
        // The data of an event in several lines is not borrowed from `bytes`.
        let Some(Cow::Borrowed(data)) = event.data else { return None };
        let Ok(Json::Object(chunk)) = loomrec_identity::parse(data) else { return None };
        builder.take_chunk(chunk).ok()?;
    }
    Some(builder.seen.then(|| builder.into_answer()))
}

type ChunkMembers<'a> = Vec<(loomrec_identity::JsonStr<'a>, Json<'a>)>;

impl<'a> CompletionBuilder<'a> {
    fn take_chunk(&mut self, chunk: ChunkMembers<'a>) -> Result<(), NeedsMerge> {
        for (name, value) in chunk {
            match (name.as_str().as_ref(), value) {
                ("choices", Json::Array(choices)) => {
                    self.seen = true;
                    for choice in choices {
                        self.take_choice(choice)?;
                    }
                }
                ("choices", _) => return Err(NeedsMerge),
                (_, Json::Null) => {}
                ("model", value) => self.model = Some(text_of(value)?),
                ("usage", value) => self.usage = Some(value),
                ("x_groq", value) => self.groq = Some(value),
                _ => {}
            }
        }
        Ok(())
    }

    fn take_choice(&mut self, choice: Json<'a>) -> Result<(), NeedsMerge> {
        let Json::Object(fields) = choice else { return Err(NeedsMerge) };
        for (name, value) in fields {
            match (name.as_str().as_ref(), value) {
                ("index", index) if index.as_whole_number() != Some(0) => return Err(NeedsMerge),
                ("delta", Json::Object(delta)) => self.take_delta(delta)?,
                ("delta" | "message" | "text", _) => return Err(NeedsMerge),
                ("finish_reason", Json::Null) => {}
                ("finish_reason", value) => self.finish_reason = Some(text_of(value)?),
                _ => {}
            }
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: ChunkMembers<'a>) -> Result<(), NeedsMerge> {
        for (name, value) in delta {
            match (name.as_str().as_ref(), value) {
                ("content" | "tool_calls", Json::Null) => {}
                ("content", Json::String(piece)) => self.content.push_str(&piece.as_str()),
                ("tool_calls", Json::Array(calls)) => {
                    for call in &calls {
                        self.take_call(call)?;
                    }
                }
                ("content" | "tool_calls" | "function_call", _) => return Err(NeedsMerge),
                _ => {}
            }
        }
        Ok(())
    }

    fn take_call(&mut self, call: &Json<'a>) -> Result<(), NeedsMerge> {
        let index = call.get("index").and_then(JsonView::as_whole_number).ok_or(NeedsMerge)?;
        let slot = self.calls.entry(index).or_default();
        if call.get("custom").is_some() {
            return Err(NeedsMerge);
        }
        let known = std::mem::take(&mut slot.id);
        name_into(&mut slot.id, call.get("id"))?;
        match (known.is_empty(), slot.id.is_empty()) {
            (_, true) => slot.id = known,
            // Two calls under one index.
            (false, false) if known != slot.id => return Err(NeedsMerge),
            _ => {}
        }
        let Some(function) = call.get("function") else { return Ok(()) };
        if !function.is_object() || function.get("input").is_some() {
            return Err(NeedsMerge);
        }
        let (name, arguments) = slot.function.get_or_insert_default();
        name_into(name, function.get("name"))?;
        match function.get("arguments") {
            None | Some(Json::Null) => {}
            Some(Json::String(piece)) => {
                arguments.get_or_insert_default().push_str(&piece.as_str());
            }
            Some(_) => return Err(NeedsMerge),
        }
        Ok(())
    }

    fn into_answer(self) -> Answer {
        let body = [("usage", self.usage), ("x_groq", self.groq)];
        let body = body.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
        let body = Json::Object(body.collect());
        let tool_calls = self.calls.into_values().filter_map(|call| {
            let (name, arguments) = call.function?;
            Some(ToolCall::from_text(&call.id, &name, arguments.as_deref().unwrap_or_default()))
        });
        Answer {
            content: self.content,
            model: self.model.map(Cow::into_owned),
            usage: super::read_usage(&body),
            cost_usd: super::stated_cost(&body),
            finish_reason: self.finish_reason.map(Cow::into_owned),
            tool_calls: tool_calls.collect(),
            embeddings: Vec::new(),
        }
    }
}

fn text_of<'a>(value: Json<'a>) -> Result<Cow<'a, str>, NeedsMerge> {
    value.as_str().ok_or(NeedsMerge)
}

/// A name comes whole, and an empty one is ignored.
fn name_into<'a>(slot: &mut Cow<'a, str>, value: Option<&Json<'a>>) -> Result<(), NeedsMerge> {
    match value {
        None | Some(Json::Null) => Ok(()),
        Some(Json::String(name)) => {
            if !name.is_empty() {
                *slot = name.as_str();
            }
            Ok(())
        }
        Some(_) => Err(NeedsMerge),
    }
}

#[cfg(test)]
#[path = "fast_reader_tests.rs"]
mod tests;
