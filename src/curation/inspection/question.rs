//! The question of a call: what its request asks, in a few words.

use serde_json::Value;

use super::block::BlockKind;
use super::request::READ;
use super::talk::{self, ChatMessage};
use loomrec_recording::Entry;

/// The most characters of a question.
pub const MOST: usize = 4000;

/// Returns the beginning of the last user message or tool result in a request, on one line: at most
/// `most` characters of it, and never more than [`MOST`]. Returns `None` if the request has no text,
/// or is not recorded.
pub fn last_question(entry: &Entry, most: usize) -> Option<String> {
    let body = entry.request_body().filter(|body| !body.is_empty() && body.len() <= READ)?;
    let mut body: Value = serde_json::from_slice(body).ok()?;
    if let Some(members) = body.as_object_mut() {
        // The text after the gap that is to be filled: the question is the text before it.
        members.remove("suffix");
    }
    let messages = talk::request_messages(&body)?;
    let asks = |message: &&ChatMessage| {
        ["user", "tool", "function"].iter().any(|role| message.role.eq_ignore_ascii_case(role))
    };
    let last =
        messages.iter().rev().filter(asks).find_map(|message| message_beginning(message, most));
    last.or_else(|| messages.iter().rev().find_map(|message| message_beginning(message, most)))
}

/// Returns the beginning of what a message says; `None` if it says nothing.
fn message_beginning(message: &ChatMessage, most: usize) -> Option<String> {
    let mut text = String::new();
    let mut room = most.min(MOST);
    for part in &message.parts {
        let before = match part.kind {
            BlockKind::Text => None,
            BlockKind::ToolResult => Some("tool result:"),
            _ => continue,
        };
        for word in before.into_iter().chain(part.text.split_whitespace()) {
            let gap = usize::from(!text.is_empty());
            let length = gap + word.chars().count();
            if gap > 0 {
                text.push(' ');
            }
            if length > room {
                text.extend(word.chars().take(room.saturating_sub(gap + 1)));
                text.truncate(text.trim_end().len());
                text.push('…');
                return Some(text);
            }
            room -= length;
            text.push_str(word);
        }
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use loomrec_recording::RecordedRequest;
    use serde_json::json;

    use super::*;

    fn asked(body: &Value) -> Option<String> {
        asked_of(body.to_string().as_bytes(), MOST)
    }

    fn asked_of(body: &[u8], most: usize) -> Option<String> {
        let request = RecordedRequest {
            method: "POST".to_owned(),
            path: "/v1".to_owned(),
            body: body.to_vec().into(),
            ..RecordedRequest::default()
        };
        last_question(&Entry { request: Some(request), ..Entry::default() }, most)
    }

    #[test]
    fn question_is_the_last_user_message_or_tool_result() {
        let user = |text: &str| json!({ "role": "user", "content": text });
        let system = json!({ "role": "system", "content": "be brief" });
        let calls = json!({ "role": "assistant", "tool_calls": [{ "function": { "name": "f" } }] });
        let result = json!({ "role": "tool", "tool_call_id": "1", "content": "21 °C" });
        for (body, expected) in [
            (json!({ "messages": [user("a"), user(" hi\n\n there\t")] }), "hi there"),
            (json!({ "messages": [user("a"), calls, result] }), "tool result: 21 °C"),
            (json!({ "messages": [user("a"), { "role": "assistant", "content": "b" }] }), "a"),
            (json!({ "messages": [user("a"), user(" ")] }), "a"),
            (json!({ "messages": [system] }), "be brief"),
            (
                json!({ "system": "s", "messages": [{ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "x", "content": "done" },
                { "type": "image", "source": { "data": "AAAA" } },
                { "type": "text", "text": "and now?" },
            ] }] }),
                "tool result: done and now?",
            ),
            (json!({ "contents": [{ "parts": [{ "text": "bonjour" }] }] }), "bonjour"),
            (json!({ "instructions": "s", "input": "what?" }), "what?"),
            (json!({ "input": ["one", "two"], "model": "m" }), "one two"),
            (json!({ "prompt": "def f(", "suffix": "return x" }), "def f("),
            (
                json!({ "chat_history": [{ "role": "USER", "message": "old" }], "message": "new" }),
                "new",
            ),
        ] {
            assert_eq!(asked(&body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn request_without_text_has_no_question() {
        for body in [&b""[..], b"no JSON", b"{}", b"{\"model\":\"m\"}", b"[1]"] {
            assert_eq!(asked_of(body, MOST), None);
        }
        assert_eq!(asked(&json!({ "input": [1, 2] })), None);
    }

    #[test]
    fn long_question_is_cut_between_characters() {
        let body = json!({ "prompt": "é".repeat(10_000) }).to_string();
        let long = asked_of(body.as_bytes(), usize::MAX).unwrap();
        assert_eq!((long.chars().count(), long.chars().last()), (MOST, Some('…')));
        let body = json!({ "prompt": "one two three" }).to_string();
        for (most, expected) in
            [(13, "one two three"), (12, "one two thr…"), (8, "one two…"), (4, "one…"), (1, "…")]
        {
            assert_eq!(asked_of(body.as_bytes(), most).as_deref(), Some(expected), "{most}");
        }
    }
}
