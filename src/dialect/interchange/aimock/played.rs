//! A fixture in the words of a script: why it cannot be played, and the entries of its answer.

use serde_json::{Value, json};

use super::fixture::{FixtureBlock, ForeignFixture};
use loomrec_identity::typed_field::quoted_text;
use loomrec_provider::{Answer, ToolCall, conversation};

impl ForeignFixture {
    /// Returns why the fixture, which was read from `value`, answers no call of a script.
    pub fn unplayable_reason(&self, value: &Value) -> Option<String> {
        if let Err(why) = &self.said {
            return Some(why.clone());
        }
        if self.rule.context.is_some() {
            return Some("its context is in a header, which rules do not look at".to_owned());
        }
        if value.get("response").is_some_and(|said| said.get("transcription").is_some()) {
            return Some("requests for transcriptions hold no text to match".to_owned());
        }
        match self.rule.endpoint.as_deref() {
            None | Some("chat" | "embedding") => None,
            Some(other) => Some(format!("its endpoint is {}", quoted_text(other))),
        }
    }

    /// Returns the fixture's answer as entries of a script, its texts in pieces of the fixture's size.
    pub fn script_entries(&self, answer: &Answer) -> Vec<Value> {
        let mut entries = Vec::new();
        let size = self.pace.chunk_size;
        if self.blocks.is_empty() {
            entries.extend(text_pieces(&answer.content, size));
            entries.extend(answer.tool_calls.iter().map(call));
        }
        for block in &self.blocks {
            match block {
                FixtureBlock::Text(text) => entries.extend(text_pieces(text, size)),
                FixtureBlock::Call(tool) => entries.push(call(tool)),
            }
        }
        if let Some(usage) = &answer.usage {
            entries.push(json!({ "usage": {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "total_tokens": usage.total_tokens,
                "reasoning_tokens": usage.reasoning_tokens,
                "cached_tokens": usage.cached_tokens,
            } }));
        }
        let finish = answer.finish_reason.as_ref().map(|reason| json!({ "finish": reason }));
        entries.extend(finish);
        entries
    }
}

/// Cuts a text into pieces of this many UTF-16 code units, but never within a character.
fn text_pieces(text: &str, size: usize) -> impl Iterator<Item = Value> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut units = 0;
        let end = rest.char_indices().find(|(_, next)| {
            let is_full = units >= size;
            units += next.len_utf16();
            is_full
        });
        let end = end.map_or(rest.len(), |(at, _)| at);
        let (piece, left) = rest.split_at(end);
        rest = left;
        (!piece.is_empty()).then(|| json!({ "text": piece }))
    })
}

fn call(call: &ToolCall) -> Value {
    let arguments = conversation::argument_text(call);
    json!({ "tool_call": { "id": call.id, "name": call.name, "arguments": arguments } })
}
