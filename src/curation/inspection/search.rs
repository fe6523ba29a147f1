//! Search in all text of a call: its line, its request, its answer, and what both sides sent.

use std::ops::ControlFlow;

use serde_json::Value;

use super::answer::DecodedAnswer;
use super::request::READ;
use loomrec_recording::{Entry, MessagePayload};

/// The most bytes of a query.
const LONGEST: usize = 1000;
/// The most words of a query.
const WORDS: usize = 50;
/// How deep JSON in JSON is searched, as in the arguments of a tool call.
const NESTED: usize = 2;
/// From this length, a text of nothing but the characters of base64 is an image or a file.
const ENCODED: usize = 2048;

/// The words of a query. A call is found if each of them is somewhere in it, in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedWords(Vec<String>);

impl SearchedWords {
    /// Reads a query: words with white space between them.
    ///
    /// # Errors
    /// A query without words, or a longer one than is searched, as a message for people.
    pub fn from_query(query: &str) -> Result<Self, String> {
        let words = query.split_whitespace().map(str::to_lowercase);
        let words: Vec<String> = words.take(WORDS + 1).collect();
        if words.is_empty() || words.len() > WORDS || query.len() > LONGEST {
            return Err(format!(
                "say what to search: ?q=WORDS (at most {WORDS} words, {LONGEST} bytes)"
            ));
        }
        Ok(Self(words))
    }

    /// Whether every word is in the line or in what is known of the call.
    pub fn are_in(&self, line: &Value, entry: Option<&Entry>) -> bool {
        let mut left = WordsLeft(self.0.iter().map(String::as_str).collect());
        left.take_call(line, entry).is_break()
    }
}

/// The words that were not found so far. The search breaks off once there are no more.
struct WordsLeft<'w>(Vec<&'w str>);

impl WordsLeft<'_> {
    fn take_call(&mut self, line: &Value, entry: Option<&Entry>) -> ControlFlow<()> {
        if let Some(entry) = entry {
            self.take_summary(entry)?;
        }
        // The names of its members are the same in all lines.
        let mut values = line.as_object().into_iter().flat_map(|line| line.values());
        values.try_for_each(|value| self.take_value(value, 0))?;
        match entry {
            Some(entry) => {
                self.take_request(entry)?;
                self.take_answer(entry)
            }
            None => ControlFlow::Continue(()),
        }
    }

    fn remove_found(&mut self, text: &str) -> ControlFlow<()> {
        if text.len() < ENCODED || !is_encoded(text) {
            let lower = text.to_lowercase();
            self.0.retain(|word| !lower.contains(word));
        }
        if self.0.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Takes the names and values of JSON.
    fn take_value(&mut self, value: &Value, depth: usize) -> ControlFlow<()> {
        match value {
            Value::Null | Value::Bool(_) => ControlFlow::Continue(()),
            Value::Number(number) => self.remove_found(&number.to_string()),
            Value::String(text) => {
                let is_json = depth < NESTED && text.starts_with(['{', '[']);
                match is_json.then(|| serde_json::from_str::<Value>(text)) {
                    Some(Ok(inner)) => self.take_value(&inner, depth + 1),
                    _ => self.remove_found(text),
                }
            }
            Value::Array(list) => {
                // Vectors have no words.
                let mut items = list.iter().filter(|item| list.len() < 64 || !item.is_number());
                items.try_for_each(|item| self.take_value(item, depth))
            }
            Value::Object(members) => members.iter().try_for_each(|(name, value)| {
                self.remove_found(name)?;
                self.take_value(value, depth)
            }),
        }
    }

    fn take_body(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let bytes = &bytes[..bytes.len().min(READ)];
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => self.take_value(&value, 0),
            Err(_) => self.remove_found(&String::from_utf8_lossy(bytes)),
        }
    }

    fn take_headers(&mut self, headers: &[(String, String)]) -> ControlFlow<()> {
        headers.iter().try_for_each(|(name, value)| {
            self.remove_found(name)?;
            self.remove_found(value)
        })
    }

    /// Takes what the entry says of its answer.
    fn take_summary(&mut self, entry: &Entry) -> ControlFlow<()> {
        let texts = [&entry.content, &entry.model, &entry.finish_reason];
        texts.into_iter().flatten().try_for_each(|text| self.remove_found(text))?;
        entry.tool_calls.iter().try_for_each(|call| {
            self.remove_found(&call.name)?;
            self.take_value(&call.arguments, 0)
        })
    }

    /// Takes the request, if it is kept.
    fn take_request(&mut self, entry: &Entry) -> ControlFlow<()> {
        for text in [entry.request_path(), entry.request_query()].into_iter().flatten() {
            self.remove_found(text)?;
        }
        self.take_headers(entry.request_headers())?;
        entry.request_body().map_or(ControlFlow::Continue(()), |body| self.take_body(body))
    }

    /// Takes the answer, and what followed its head.
    fn take_answer(&mut self, entry: &Entry) -> ControlFlow<()> {
        if let Some(fault) = &entry.fault {
            self.take_value(fault, 0)?;
        }
        self.take_headers(entry.answer_headers())?;
        self.take_headers(entry.answer_trailers())?;
        let call = entry.recognise_call();
        if let Some(answer) = DecodedAnswer::from_entry(entry, call.as_ref()) {
            match &answer.whole {
                Some(whole) => self.take_value(whole, 0)?,
                None => self.remove_found(&String::from_utf8_lossy(answer.plain_body()))?,
            }
            if let Some(error) = answer.failure_message() {
                self.remove_found(&error)?;
            }
        }
        entry.messages.iter().try_for_each(|message| match &message.payload {
            MessagePayload::Binary(_) => ControlFlow::Continue(()),
            payload => self.take_body(payload.as_bytes()),
        })
    }
}

/// Whether a text has nothing but characters of base64.
fn is_encoded(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Entry {
        let image = "QUJD".repeat(1000);
        let answer = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Take an UMBRELLA, Zoë", "reasoning_content": "drizzle",
            "tool_calls": [{ "id": "c1", "type": "function", "function": {
                "name": "get_weather", "arguments": "{\"city\":\"S\\u00e3o Paulo\"}" } }] } }] });
        Entry::parse(&json!({
            "content": "Take an UMBRELLA, Zoë", "upstream": "openai",
            "request": { "method": "POST", "path": "/v1/chat/completions",
                "headers": { "user-agent": "agent/7" }, "body": { "model": "gpt-4o",
                "messages": [{ "role": "user", "content": [
                    { "type": "text", "text": "In\nOslo?" }, { "type": "image", "data": image } ] }] } },
            "response": { "status": 200, "headers": { "content-type": "application/json" },
                "end": "complete", "body": answer },
        }))
        .unwrap()
    }

    fn is_found(words: &str) -> bool {
        let line = json!({ "seq": 7, "step_id": "plan trip", "key": "abc123" });
        SearchedWords::from_query(words).unwrap().are_in(&line, Some(&entry()))
    }

    #[test]
    fn words_are_found_wherever_a_call_has_them() {
        for words in [
            "umbrella",
            "Umbrella OSLO",
            "ZOË",
            "são",
            "get_weather",
            "drizzle",
            "plan",
            "abc1",
            "gpt-4o",
            "agent/7",
            "/v1/chat oslo take trip",
        ] {
            assert!(is_found(words), "{words}");
        }
        assert!(!is_found("oslo nowhere"));
        assert!(!is_found("QUJDQUJD"), "an image is no text");
    }

    #[test]
    fn words_of_a_stream_are_found_across_its_chunks() {
        let event = |delta: Value, finish: Option<&str>| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
            let data = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
                "model": "m", "choices": [choice] });
            json!([1.0, format!("data: {data}\n\n")])
        };
        let chunk = |text: &str| event(json!({ "content": text }), None);
        let entry = Entry::parse(&json!({
            "content": "", "upstream": "openai",
            "request": { "method": "POST", "path": "/v1/chat/completions", "headers": {},
                "body": { "model": "m", "stream": true, "messages": [] } },
            "response": { "status": 200, "headers": { "content-type": "text/event-stream" },
                "end": "complete", "chunks": [chunk("um"), chunk("brel"), chunk("la"),
                    event(json!({}), Some("stop")), [2.0, "data: [DONE]\n\n"]] },
        }))
        .unwrap();
        let words = SearchedWords::from_query("umbrella").unwrap();
        assert!(words.are_in(&json!({}), Some(&entry)));
    }

    #[test]
    fn query_is_some_words() {
        assert_eq!(SearchedWords::from_query(" A  b ").unwrap().0, ["a", "b"]);
        for wrong in ["", " \n", &"a ".repeat(51), &"a".repeat(1001)] {
            assert!(SearchedWords::from_query(wrong).unwrap_err().contains("?q=WORDS"));
        }
    }
}
