//! The results of tools in a request, and whether the request also has their calls.

use std::borrow::Cow;
use std::collections::HashMap;

use loomrec_identity::{Json, JsonPointer, ToolResultPlace};

/// Finds the places of tool results in a request's body.
pub(super) type FindToolResults = fn(&Json<'_>) -> Vec<ToolResultPlace>;

/// The calls of tools so far, by their ids, each with its number, and the places of their results.
#[derive(Default)]
struct ToolResults<'j> {
    called: HashMap<Cow<'j, str>, usize>,
    found: Vec<ToolResultPlace>,
}

impl<'j> ToolResults<'j> {
    /// Notes a call, by its id, or by its name in a format without ids.
    fn note_call(&mut self, id: Option<Cow<'j, str>>) {
        let number = self.called.len();
        if let Some(id) = id {
            self.called.entry(id).or_insert(number);
        }
    }

    /// Notes a result if its call is known: the place of its element, and that of what the tool gave
    /// in it.
    fn note_result(&mut self, id: Option<&Cow<'j, str>>, element: &str, content: &str) {
        let Some(call) = id.and_then(|id| self.called.get(id)).copied() else { return };
        let places =
            (JsonPointer::parse(element), JsonPointer::parse(&format!("{element}{content}")));
        if let (Ok(element), Ok(content)) = places {
            self.found.push(ToolResultPlace { element, content, call });
        }
    }
}

/// Returns the text of the first member of these names.
fn first_text<'j>(value: &Json<'j>, names: &[&str]) -> Option<Cow<'j, str>> {
    names.iter().find_map(|name| value.get(name)?.as_str())
}

fn indexed_items<'v, 'j>(
    value: &'v Json<'j>,
    name: &str,
) -> impl Iterator<Item = (usize, &'v Json<'j>)> {
    value.get(name).and_then(Json::as_array).unwrap_or_default().iter().enumerate()
}

/// Results in messages: those of the role `tool`, as OpenAI's chat has them, and those in blocks of
/// content, as Anthropic and Bedrock have them.
pub(super) fn in_messages(body: &Json<'_>) -> Vec<ToolResultPlace> {
    let mut results = ToolResults::default();
    for (at, message) in indexed_items(body, "messages") {
        for (_, call) in indexed_items(message, "tool_calls") {
            results.note_call(first_text(call, &["id"]));
            // Ollama's calls have no ids.
            results.note_call(
                call.get("function").and_then(|function| first_text(function, &["name"])),
            );
        }
        if first_text(message, &["role"]).as_deref() == Some("tool") {
            let id = first_text(message, &["tool_call_id", "tool_name", "name"]);
            results.note_result(id.as_ref(), &format!("/messages/{at}"), "/content");
        }
        for (part, block) in indexed_items(message, "content") {
            in_block(block, &format!("/messages/{at}/content/{part}"), &mut results);
        }
    }
    results.found
}

fn in_block<'j>(block: &Json<'j>, place: &str, results: &mut ToolResults<'j>) {
    let converse = |name| block.get(name).and_then(|it| first_text(it, &["toolUseId"]));
    match first_text(block, &["type"]).as_deref() {
        Some("tool_use") => results.note_call(first_text(block, &["id"])),
        Some("tool_result") => {
            let id = first_text(block, &["tool_use_id"]);
            results.note_result(id.as_ref(), place, "/content");
        }
        _ => {
            results.note_call(converse("toolUse"));
            results.note_result(converse("toolResult").as_ref(), place, "/toolResult/content");
        }
    }
}

/// Results among the items of OpenAI's Responses. A request that continues a stored response does
/// not repeat the calls in it. The id of that response, which is compared, stands for them.
pub(super) fn in_items(body: &Json<'_>) -> Vec<ToolResultPlace> {
    let mut results = ToolResults::default();
    let continues = |name| body.get(name).is_some_and(|it| !matches!(it, Json::Null));
    let has_stored_calls = continues("previous_response_id") || continues("conversation");
    for (at, item) in indexed_items(body, "input") {
        let (kind, id) = (first_text(item, &["type"]), first_text(item, &["call_id"]));
        match kind.as_deref() {
            Some(kind) if kind.ends_with("_call") => results.note_call(id),
            Some(kind) if kind.ends_with("_call_output") => {
                if has_stored_calls {
                    results.note_call(id.clone());
                }
                results.note_result(id.as_ref(), &format!("/input/{at}"), "/output");
            }
            _ => {}
        }
    }
    results.found
}

/// Results among the parts of Gemini's contents, whose calls may have no ids.
pub(super) fn in_parts(body: &Json<'_>) -> Vec<ToolResultPlace> {
    let mut results = ToolResults::default();
    for (at, content) in indexed_items(body, "contents") {
        for (index, part) in indexed_items(content, "parts") {
            for name in ["functionCall", "function_call"] {
                results
                    .note_call(part.get(name).and_then(|call| first_text(call, &["id", "name"])));
            }
            for name in ["functionResponse", "function_response"] {
                let id = part.get(name).and_then(|result| first_text(result, &["id", "name"]));
                let place = format!("/contents/{at}/parts/{index}");
                results.note_result(id.as_ref(), &place, &format!("/{name}/response"));
            }
        }
    }
    results.found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(find: FindToolResults, body: &str) -> Vec<String> {
        let json = loomrec_identity::parse(body.as_bytes()).unwrap();
        find(&json).iter().map(|found| found.content.to_string()).collect()
    }

    #[test]
    fn results_of_calls_in_the_request_are_found() {
        let chat = r#"{"messages": [{"role": "assistant", "tool_calls": [{"id": "a",
            "function": {"name": "f"}}]}, {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "user", "tool_call_id": "a", "content": "3"}]}"#;
        assert_eq!(found(in_messages, chat), ["/messages/1/content"]);
        let ollama = chat.replace(r#""tool_call_id": "b""#, r#""tool_name": "f""#);
        assert_eq!(found(in_messages, &ollama), ["/messages/1/content", "/messages/2/content"]);
        let blocks = r#"{"messages": [{"content": [{"type": "tool_use", "id": "a"},
            {"toolUse": {"toolUseId": "b"}}]}, {"content": "text"}, {"content": [
            {"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "a"},
            {"toolResult": {"toolUseId": "b"}}, {"toolResult": {"toolUseId": "c"}},
            {"type": "tool_result", "tool_use_id": "d"}]}]}"#;
        let places = ["/messages/2/content/1/content", "/messages/2/content/2/toolResult/content"];
        assert_eq!(found(in_messages, blocks), places);
        let items = r#"{"input": [{"type": "function_call", "call_id": "a"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
            {"type": "shell_call_output", "call_id": "b", "output": "2"}]}"#;
        assert_eq!(found(in_items, items), ["/input/1/output"]);
        let stored = items.replace("{\"input\"", "{\"previous_response_id\": \"r\", \"input\"");
        assert_eq!(found(in_items, &stored), ["/input/1/output", "/input/2/output"]);
        let parts = r#"{"contents": [{"parts": [{"functionCall": {"name": "f"}},
            {"functionCall": {"id": "1", "name": "g"}}]}, {"parts": [
            {"functionResponse": {"name": "f"}}, {"functionResponse": {"id": "1", "name": "g"}},
            {"functionResponse": {"id": "2", "name": "g"}}]}]}"#;
        let places =
            [0, 1].map(|part| format!("/contents/1/parts/{part}/functionResponse/response"));
        assert_eq!(found(in_parts, parts), places);
        for find in [in_messages, in_items, in_parts] {
            assert!(found(find, "{}").is_empty() && found(find, "[1]").is_empty());
        }
    }

    #[test]
    fn result_has_its_element_and_the_number_of_its_call() {
        let of = |find: FindToolResults, body: &str| -> Vec<(String, usize)> {
            let json = loomrec_identity::parse(body.as_bytes()).unwrap();
            find(&json).into_iter().map(|found| (found.element.to_string(), found.call)).collect()
        };
        let blocks = r#"{"messages": [{"content": [{"type": "tool_use", "id": "a"},
            {"type": "tool_use", "id": "b"}, {"toolUse": {"toolUseId": "c"}}]}, {"content": [
            {"toolResult": {"toolUseId": "c"}}, {"type": "tool_result", "tool_use_id": "b"},
            {"type": "tool_result", "tool_use_id": "a"}]}]}"#;
        let places = [0, 1, 2].map(|part| format!("/messages/1/content/{part}"));
        let numbered = |calls: &[usize]| -> Vec<(String, usize)> {
            places.iter().cloned().zip(calls.iter().copied()).collect()
        };
        assert_eq!(of(in_messages, blocks), numbered(&[2, 1, 0]));
        let items = r#"{"input": [{"type": "function_call", "call_id": "a"},
            {"type": "function_call", "call_id": "b"},
            {"type": "function_call_output", "call_id": "b"}]}"#;
        assert_eq!(of(in_items, items), [("/input/2".to_owned(), 1)]);
    }

    #[test]
    fn result_before_its_call_is_not_found() {
        let body = r#"{"input": [{"type": "function_call_output", "call_id": "a"},
            {"type": "function_call", "call_id": "a"}]}"#;
        assert!(found(in_items, body).is_empty());
    }
}
