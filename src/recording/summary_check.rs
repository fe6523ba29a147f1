//! Whether the summary of an entry, which a reviewer reads, says what its response says, which
//! replay serves.
//!
//! A summary was made by the version that recorded the entry, and versions read answers in slightly
//! different ways. So a summary that differs from the answer as it is read today is still accepted
//! if it is made of whole texts of the response, and one of the two holds the other. A model alone is
//! no summary. In any other, a text or tool calls that are missing say that the answer has none.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use super::encoding::{self, LARGEST};
use super::entry::Entry;
use super::redact::MARK;
use super::summary_scan::{is_only_text, may_call_tools};
use loomrec_provider::{Answer, Framing, Operation, ToolCall, framing};

/// The most places of a response whose texts are collected.
const MOST_PLACES: usize = 1024;

impl Entry {
    /// Returns the name of a summary field that says other than the response of the entry; `None`
    /// if there is none. Token counts are not compared.
    pub fn misstated_field(&self) -> Option<&'static str> {
        let content = self.content.as_deref().unwrap_or_default();
        let bytes = decoded_body(self)?;
        let quoted = |word: &str| {
            let quoted = Value::from(word).to_string();
            memchr::memmem::find(&bytes, quoted.as_bytes()).is_some()
        };
        let is_known = |word: &Option<String>| word.as_deref().is_none_or(quoted);
        let is_asked = |model: &str| self.asks_with(Value::from(model).to_string().as_bytes());
        let model = self.model.as_deref().is_none_or(|model| is_asked(model) || quoted(model));
        let is_plain = self.tool_calls.is_empty()
            && match content.is_empty() {
                true => self.finish_reason.is_none(),
                false => is_only_text(&bytes, content.as_bytes()) && !may_call_tools(&bytes),
            };
        if is_plain && model && is_known(&self.finish_reason) {
            return None;
        }
        SummaryCheck::new(self, &bytes).misstated_field(self)
    }
}

/// Returns the decoded bytes of an entry's response, as far as they can be decoded. Returns `None`
/// if it has no response.
pub(super) fn decoded_body(entry: &Entry) -> Option<bytes::Bytes> {
    let recorded = entry.answer_bytes()?;
    Some(match encoding::coding_in(entry.answer_headers()) {
        None => recorded,
        Some(coding) => match encoding::decode_available(&coding, &recorded, LARGEST) {
            // A plain text that was sent with the header of a coding by mistake.
            body if body.problem.is_some() && std::str::from_utf8(&recorded).is_ok() => recorded,
            body => body.plain.into(),
        },
    })
}

/// What a response says, to be compared with a summary.
pub(super) struct SummaryCheck<'a> {
    bytes: &'a [u8],
    /// The answer as it is read today; an empty one if it cannot be read.
    pub(super) answer: Answer,
    framing: Option<Framing>,
    /// The texts of the response, if they were needed.
    texts: OnceCell<Vec<String>>,
    /// The model that the request names.
    asked_model: Option<String>,
}

impl<'a> SummaryCheck<'a> {
    pub(super) fn new(entry: &Entry, bytes: &'a [u8]) -> Self {
        let call = entry.recognise_call();
        let operation = call.as_ref().map_or(Operation::OTHER, |call| call.operation);
        let media = entry.answer_media().unwrap_or_default();
        let framing = Framing::from_answer(operation, media, bytes);
        let answer = match framing {
            None => loomrec_provider::read_complete(operation, media, bytes),
            framing => loomrec_provider::read_answer(operation, framing, bytes),
        };
        Self {
            bytes,
            answer: answer.unwrap_or_default(),
            framing,
            texts: OnceCell::new(),
            asked_model: call.and_then(|call| call.model),
        }
    }

    /// Returns the texts of the response in order: one for each place, joined over the events of a
    /// stream.
    fn response_texts(&self) -> &[String] {
        self.texts.get_or_init(|| {
            let mut texts = ResponseTexts::default();
            match self.framing {
                None => {
                    texts.collect_texts(&serde_json::from_slice(self.bytes).unwrap_or_default())
                }
                Some(framing) => {
                    for event in framing::events(framing, self.bytes) {
                        texts.collect_texts(&event.json_data().unwrap_or_default());
                    }
                }
            }
            texts.found
        })
    }

    fn misstated_field(&self, entry: &Entry) -> Option<&'static str> {
        let content = entry.content.as_deref().unwrap_or_default();
        if !content.is_empty() && !self.has_content(content) {
            return Some("content");
        }
        if !entry.tool_calls.is_empty() && !self.has_tool_calls(&entry.tool_calls) {
            return Some("tool_calls");
        }
        let is_word = |word: &str, own: &Option<String>| {
            let own = own.as_deref().unwrap_or_default();
            own == word
                || word == MARK
                || matches_marked(word, own)
                || self.response_texts().iter().any(|text| text == word)
        };
        let finish = entry.finish_reason.as_deref();
        if finish.is_some_and(|finish| !is_word(finish, &self.answer.finish_reason)) {
            return Some("finish_reason");
        }
        let model = entry.model.as_deref();
        let is_asked = |model: &str| self.asked_model.as_deref() == Some(model);
        let is_other = |model: &str| !is_asked(model) && !is_word(model, &self.answer.model);
        if model.is_some_and(is_other) {
            return Some("model");
        }
        self.unshown_field(entry)
    }

    /// Returns the name of a field that the summary lacks although the answer has a value for it.
    fn unshown_field(&self, entry: &Entry) -> Option<&'static str> {
        let has_content = entry.content.as_ref().is_some_and(|content| !content.is_empty());
        let has_calls = !entry.tool_calls.is_empty();
        let has_summary = has_content || has_calls || entry.finish_reason.is_some();
        if !has_summary || !entry.has_good_status() {
            return None;
        }
        if !has_calls && !self.answer.tool_calls.is_empty() {
            return Some("tool_calls");
        }
        let is_hidden = !has_content && !self.answer.content.trim().is_empty();
        is_hidden.then_some("content")
    }

    /// Whether the response says this text.
    fn has_content(&self, content: &str) -> bool {
        let today = &self.answer.content;
        if today == content || matches_marked(content, today) {
            return true;
        }
        let (shown, today) = (without_white_space(content), without_white_space(today));
        if shown == today {
            return true;
        }
        let is_related = today.is_empty() || today.contains(&shown) || shown.contains(&today);
        is_related && (self.is_whole(&shown) || squeezed_bytes(self.bytes) == shown)
    }

    /// Whether a text without white space is made of all texts at some places of the response.
    fn is_whole(&self, shown: &str) -> bool {
        let squeezed: Vec<String> =
            self.response_texts().iter().map(|text| without_white_space(text)).collect();
        let mut parts = squeezed.iter().filter(|text| !text.is_empty() && shown.contains(*text));
        let mut rest = shown;
        squeezed.iter().any(|text| text == shown)
            || parts.all(|part| match rest.strip_prefix(part.as_str()) {
                Some(after) => {
                    rest = after;
                    true
                }
                None => false,
            }) && rest.is_empty()
    }

    /// Whether the response makes these tool calls.
    fn has_tool_calls(&self, shown: &[ToolCall]) -> bool {
        let today = &self.answer.tool_calls;
        let same = |(shown, today): (&ToolCall, &ToolCall)| {
            shown.name == today.name
                && (shown.arguments == today.arguments
                    || matches_marked(&shown.arguments.to_string(), &today.arguments.to_string()))
        };
        if shown.len() == today.len() && shown.iter().zip(today).all(same) {
            return true;
        }
        if today.len() > shown.len() {
            return false;
        }
        // The calls were read in another way: their words are in the calls as they are read today.
        let words = |call: &ToolCall| {
            let arguments = loomrec_provider::conversation::argument_text(call);
            [without_white_space(&call.name), without_white_space(&arguments)]
        };
        let mut said: Vec<String> = vec![today.iter().flat_map(words).collect()];
        if today.is_empty() {
            said.extend(self.response_texts().iter().map(|text| without_white_space(text)));
            said.push(squeezed_bytes(self.bytes));
        }
        // A secret that was removed says nothing, and neither do no arguments.
        let is_said = |word: &String| {
            word == MARK || word == "{}" || said.iter().any(|text| text.contains(word.as_str()))
        };
        shown.iter().flat_map(words).all(|word| is_said(&word))
    }
}

/// The texts of a response.
#[derive(Default)]
struct ResponseTexts {
    found: Vec<String>,
    places: HashMap<String, usize>,
}

impl ResponseTexts {
    /// Adds the texts of a body or an event to those at the same places before it.
    fn collect_texts(&mut self, value: &Value) {
        let mut waiting = vec![(String::new(), value)];
        while let Some((place, value)) = waiting.pop() {
            match value {
                Value::String(text) => self.add_text(place, text),
                Value::Array(values) => {
                    let placed = values.iter().enumerate();
                    let placed = placed.map(|(index, value)| (format!("{place}/{index}"), value));
                    waiting.extend(placed.rev());
                }
                Value::Object(members) => {
                    let placed = members.iter();
                    let placed = placed.map(|(name, value)| (format!("{place}/{name}"), value));
                    waiting.extend(placed.rev());
                }
                _ => {}
            }
        }
    }

    fn add_text(&mut self, place: String, text: &str) {
        match self.places.get(&place) {
            Some(&index) => self.found[index].push_str(text),
            None if self.found.len() == MOST_PLACES => {}
            None => {
                self.places.insert(place, self.found.len());
                self.found.push(text.to_owned());
            }
        }
    }
}

/// Whether a text from which secrets were removed is the same as the whole text apart from them.
fn matches_marked(marked: &str, whole: &str) -> bool {
    if !marked.contains(MARK) {
        return false;
    }
    let mut parts: Vec<&str> = marked.split(MARK).collect();
    let (Some(last), false) = (parts.pop(), parts.is_empty()) else { return false };
    let Some(mut rest) = whole.strip_prefix(parts[0]) else { return false };
    for part in &parts[1..] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn without_white_space(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

fn squeezed_bytes(bytes: &[u8]) -> String {
    without_white_space(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
#[path = "summary_check_tests.rs"]
mod tests;
