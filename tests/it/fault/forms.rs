//! Faults of every type, each with an answer to which it happens and one to which it cannot happen.

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call};

/// A fault, an answer to which it happens, and one to which it cannot happen, with a part of the
/// reason. `None` if it happens to every answer.
pub(super) struct Form {
    pub(super) happens: (&'static str, Sample),
    pub(super) cannot: Option<(&'static str, Sample, &'static str)>,
}

/// An answer of an upstream.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sample {
    Text,
    Tool,
    ToolResult,
    Stream,
    Twelve,
    Empty,
}

impl Sample {
    pub(super) fn call(self) -> Call {
        match self {
            Self::Stream => chat_streamed("hi"),
            Self::ToolResult => {
                let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": { "name": "weather", "arguments": { "city": "Paris" } } });
                Call::post("/openai/mcp", call.to_string())
            }
            _ => chat("hi"),
        }
    }

    pub(super) fn answer(self) -> Answer {
        let text = |body: &str| Answer::whole(200, &["content-type: text/plain"], body);
        match self {
            Self::Text => Answer::json(200, chat_answer("All good.")),
            Self::Tool => Answer::json(200, tool_answer()),
            Self::ToolResult => {
                let result = json!({ "content": [{ "type": "text", "text": "fine" }] });
                let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
                Answer::json(200, answer.to_string())
            }
            Self::Stream => {
                let media = ["content-type: text/event-stream", "transfer-encoding: chunked"];
                let events = chat_events(&["All ", "good."]);
                events.iter().fold(Answer::head(200, &media), Answer::chunk).end()
            }
            Self::Twelve => text("twelve bytes"),
            Self::Empty => text(""),
        }
    }

    /// The answer in the words of a script, if there are any for it.
    pub(super) fn words(self) -> Option<Value> {
        match self {
            Self::Text | Self::Stream => Some("All good.".into()),
            Self::Tool => {
                let call = json!({ "name": "weather", "arguments": { "city": "Paris" } });
                Some(json!([{ "tool_call": call }]))
            }
            Self::ToolResult | Self::Twelve | Self::Empty => None,
        }
    }
}

fn tool_answer() -> String {
    let function = json!({ "name": "weather", "arguments": "{\"city\":\"Paris\"}" });
    let call = json!({ "id": "call_1", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8 } })
    .to_string()
}

/// A form that happens to the first answer, and cannot happen to the second, in other words.
fn form(
    fault: &'static str,
    to: Sample,
    cannot: &'static str,
    at: Sample,
    why: &'static str,
) -> Form {
    Form { happens: (fault, to), cannot: Some((cannot, at, why)) }
}

pub(super) fn forms() -> Vec<Form> {
    use Sample::{Empty, Stream, Text, Tool, ToolResult, Twelve};
    let always = |fault| Form { happens: (fault, Text), cannot: None };
    let mut all: Vec<Form> = [
        "timeout:5",
        "hang:5",
        "wedged:5",
        "slow:1",
        "recover_after:1;fault=http_error:503",
        "http_error:503",
        "malformed_response",
        "connection_reset",
        "connection_drop",
        "bad_encoding",
        "drop",
        "rate_limit",
        "malformed",
        "disconnect",
    ]
    .map(always)
    .into();
    all.extend(cuts_and_stalls());
    all.extend([
        form("partial_response", Text, "partial_response", Twelve, "the answer is not one of"),
        form("tool_call_fault", Tool, "tool_call_fault", Text, "the answer calls no tool"),
        form(
            "tool_result_fault",
            ToolResult,
            "tool_result_fault:server_dies",
            Text,
            "the answer is not the result of a tool",
        ),
        form("throttle:100000", Text, "throttle:100000", Empty, "the answer has no bytes"),
        form("slice:5", Text, "slice:90000", Text, "no chunk of the answer has more than 90000"),
        form("stream_garble:0", Stream, "stream_garble:0", Text, "the answer is not a stream"),
        form("stream_garble:1", Stream, "stream_garble:99", Stream, "events; the last event"),
        form(
            "stream_garble:0;how=dropped",
            Stream,
            "stream_garble:0;how=checksum",
            Stream,
            "the events of the answer have no checksum",
        ),
        form("wrong_length:-3", Text, "wrong_length:-3", Empty, "is the true one"),
    ]);
    all
}

fn cuts_and_stalls() -> [Form; 6] {
    use Sample::{Stream, Text, Twelve};
    [
        form(
            "stream_truncate;after_bytes=6",
            Twelve,
            "stream_truncate;after_bytes=4096",
            Twelve,
            "the answer has 12 bytes; the cut is at 4096",
        ),
        form(
            "stream_truncate;after_events=1",
            Stream,
            "stream_truncate;after_events=4096",
            Stream,
            "events; the cut is at 4096",
        ),
        form(
            "stream_truncate;after_text_events=1;raise=clean_eof",
            Stream,
            "stream_truncate;after_text_events=4096;raise=clean_eof",
            Stream,
            "events with text; the cut is at 4096",
        ),
        form(
            "stream_truncate;after_events=1;raise=error_event",
            Stream,
            "stream_truncate;after_events=3",
            Text,
            "the answer is not a stream",
        ),
        form(
            "stream_truncate:1;raise=close",
            Stream,
            "stream_truncate:1;code=1011",
            Stream,
            "only a WebSocket closes with a code",
        ),
        form(
            "stream_stall;after_chunks=1;for_ms=1",
            Stream,
            "stream_stall;after_chunks=4096;for_ms=1",
            Stream,
            "chunks; the pause is at 4096",
        ),
    ]
}
