//! Results of tools that are broken, in the answers of their servers (JSON-RPC).

use serde_json::{Map, Value, json};

use super::NotApplicable;
use super::call::of_another_type;
use crate::ToolResultMode;
use crate::event::with_data;
use loomrec_provider::Framing;
use loomrec_provider::framing::events;

/// The text of a tool that failed.
const FAILED: &str = "the tool failed";
/// The data of an image: a PNG of one pixel.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Returns the body of an answer whose first result of a tool is broken. All other events of a stream
/// stay as they are.
///
/// # Errors
/// If there is no result, or no place in it for the change.
pub(super) fn break_answer(
    mode: ToolResultMode,
    message: Option<&str>,
    framing: Option<Framing>,
    body: &[u8],
) -> Result<Vec<Vec<u8>>, NotApplicable> {
    let Some(framing) = framing else { return Ok(vec![break_message(mode, message, body)?]) };
    for event in events(framing, body) {
        let Some(data) = event.data else { continue };
        let text = match break_message(mode, message, &data) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(NotApplicable::NoToolResult) => continue,
            Err(why) => return Err(why),
        };
        let (before, event, after) =
            (&body[..event.range.start], &body[event.range.clone()], &body[event.range.end..]);
        let changed = with_data(framing, event, &text, before.is_empty());
        let pieces = [before.to_vec(), changed, after.to_vec()];
        return Ok(pieces.into_iter().filter(|piece| !piece.is_empty()).collect());
    }
    Err(NotApplicable::NoToolResult)
}

/// Returns a message, or several in a list, whose first result of a tool is broken.
fn break_message(
    mode: ToolResultMode,
    message: Option<&str>,
    text: &[u8],
) -> Result<Vec<u8>, NotApplicable> {
    let mut json: Value = serde_json::from_slice(text).map_err(|_| NotApplicable::NoToolResult)?;
    let messages = match &mut json {
        Value::Array(messages) => messages.iter_mut(),
        one => std::slice::from_mut(one).iter_mut(),
    };
    let result = messages.filter_map(tool_result).next().ok_or(NotApplicable::NoToolResult)?;
    break_result(mode, message, result)?;
    Ok(json.to_string().into_bytes())
}

/// Returns the result in a message, if it is that of a tool.
fn tool_result(message: &mut Value) -> Option<&mut Map<String, Value>> {
    let result = message.get_mut("result")?.as_object_mut()?;
    result.get("content").is_some_and(Value::is_array).then_some(result)
}

fn break_result(
    mode: ToolResultMode,
    message: Option<&str>,
    result: &mut Map<String, Value>,
) -> Result<(), NotApplicable> {
    match mode {
        ToolResultMode::ToolError => {
            let text = message.unwrap_or(FAILED);
            result.insert("content".to_owned(), json!([{ "type": "text", "text": text }]));
            result.insert("isError".to_owned(), true.into());
            result.shift_remove("structuredContent");
        }
        ToolResultMode::MalformedResult => {
            result.shift_remove("content");
        }
        ToolResultMode::SchemaViolation => {
            let held = result.get_mut("structuredContent").and_then(Value::as_object_mut);
            let member = held.and_then(|held| held.values_mut().next());
            let member =
                member.ok_or(NotApplicable::NoResultPart { part: "structured content" })?;
            *member = of_another_type(member.take());
        }
        ToolResultMode::WrongContent => {
            let blocks = result.get_mut("content").and_then(Value::as_array_mut);
            let block = blocks.and_then(|blocks| blocks.first_mut());
            let block = block.ok_or(NotApplicable::NoResultPart { part: "content" })?;
            *block = match block.get("type").and_then(Value::as_str) {
                Some("text") => json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" }),
                _ => json!({ "type": "text", "text": "" }),
            };
        }
        // This mode ends the connection, so it changes no answer.
        ToolResultMode::ServerDies => return Err(NotApplicable::NoToolResult),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"5"},{"type":"text","text":"6"}],"structuredContent":{"result":5,"more":6},"isError":false,"resultType":"complete"}}"#;

    fn whole(mode: ToolResultMode, message: Option<&str>, answer: &str) -> Result<String, String> {
        let changed = break_answer(mode, message, None, answer.as_bytes());
        let text = |pieces: Vec<Vec<u8>>| String::from_utf8(pieces.concat()).unwrap();
        changed.map(text).map_err(|why| why.to_string())
    }

    #[test]
    fn each_mode_changes_its_part_of_a_result_and_nothing_else() {
        let text = r#"{"type":"text","text":"5"}"#;
        let content = r#""content":[{"type":"text","text":"5"},{"type":"text","text":"6"}],"#;
        let image = format!(r#"{{"type":"image","data":"{IMAGE}","mimeType":"image/png"}}"#);
        for (mode, from, to) in [
            (ToolResultMode::MalformedResult, content, ""),
            (ToolResultMode::SchemaViolation, r#""result":5,"#, r#""result":[5],"#),
            (ToolResultMode::WrongContent, text, &image),
        ] {
            assert_eq!(whole(mode, None, ANSWER), Ok(ANSWER.replacen(from, to, 1)), "{mode:?}");
        }
        let failed = |text: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":true,"resultType":"complete"}}}}"#
            )
        };
        assert_eq!(whole(ToolResultMode::ToolError, None, ANSWER), Ok(failed(FAILED)));
        assert_eq!(
            whole(ToolResultMode::ToolError, Some("no \u{e9}"), ANSWER),
            Ok(failed("no \u{e9}"))
        );
    }

    #[test]
    fn blocks_of_other_types_become_texts_and_structured_lists_become_texts() {
        let answer = r#"{"result":{"content":[{"type":"image","data":"","mimeType":"a/b"}],"structuredContent":{"list":[1]}}}"#;
        let expected = answer.replace(
            r#"{"type":"image","data":"","mimeType":"a/b"}"#,
            r#"{"type":"text","text":""}"#,
        );
        assert_eq!(whole(ToolResultMode::WrongContent, None, answer), Ok(expected));
        let expected = answer.replace("[1]", r#""[1]""#);
        assert_eq!(whole(ToolResultMode::SchemaViolation, None, answer), Ok(expected));
    }

    #[test]
    fn what_is_no_result_of_a_tool_stays() {
        let none = NotApplicable::NoToolResult.to_string();
        for answer in [
            "",
            "5",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":"text"}}"#,
        ] {
            assert_eq!(
                whole(ToolResultMode::ToolError, None, answer),
                Err(none.clone()),
                "{answer}"
            );
        }
        let empty = r#"{"result":{"content":[],"structuredContent":{}}}"#;
        for (mode, part) in [
            (ToolResultMode::SchemaViolation, "structured content"),
            (ToolResultMode::WrongContent, "content"),
        ] {
            let why = Err(format!("the result of the tool has no {part}"));
            assert_eq!(whole(mode, None, empty), why);
        }
        assert_eq!(whole(ToolResultMode::ServerDies, None, ANSWER), Err(none));
    }

    #[test]
    fn only_the_response_of_a_stream_changes() {
        let progress =
            "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";
        let stream =
            |answer: &str| format!(": hi\n\n{progress}id: 4\r\ndata: {answer}\r\n\r\n{progress}");
        let changed = break_answer(
            ToolResultMode::SchemaViolation,
            None,
            Some(Framing::Sse),
            stream(ANSWER).as_bytes(),
        );
        let expected = stream(&ANSWER.replace("\"result\":5", "\"result\":[5]"));
        assert_eq!(String::from_utf8(changed.unwrap().concat()).unwrap(), expected);
        let none =
            break_answer(ToolResultMode::ToolError, None, Some(Framing::Sse), progress.as_bytes());
        assert_eq!(none, Err(NotApplicable::NoToolResult));
    }

    #[test]
    fn first_result_of_a_list_changes() {
        let error = r#"{"id":1,"error":{}}"#;
        let expected = ANSWER.replace("\"result\":5", "\"result\":[5]");
        let list = |second: &str| format!("[{error},{second},{ANSWER}]");
        let changed = whole(ToolResultMode::SchemaViolation, None, &list(ANSWER));
        assert_eq!(changed, Ok(list(&expected)));
    }
}
