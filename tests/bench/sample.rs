//! The requests and answers of the benchmark: chat calls of 1 KB, conversations of 256 KB, answers
//! of 2 KB, and streams of events. Every system gets the same bytes.

use bytes::Bytes;
use serde_json::{Value, json};

/// The size of a call's body, in bytes.
const REQUEST: usize = 1024;
/// The size of a conversation's body, in bytes.
const CONVERSATION: usize = 256 << 10;
/// The size of a complete answer, in bytes.
const ANSWER: usize = 2048;
/// The number of events in a stream.
pub const EVENTS: usize = 200;
/// The number of events in a slow stream.
const SLOW_EVENTS: usize = 10;
/// A placeholder for a request's number, which makes prompts distinct.
const NUMBER: &str = "000000000000";
/// Filler with the features of real prompts: line breaks, quotes, characters outside ASCII.
const PROSE: &str = "The weaver keeps every thread in \"order\".\nWhat was recorded is what is \
                     served \u{2014} na\u{ef}ve copies drift. ";

/// The kind of a call and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call with one complete answer.
    Call,
    /// The same with another word in its system prompt, as long as the word of a call.
    Elsewhere,
    /// A long conversation with one complete answer.
    Long,
    /// A stream, one chunk an event.
    Events,
    /// The bytes of that stream in one body of known length.
    Whole,
    /// A stream whose events are 20 ms apart. The first is sent at once.
    Slow,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Call, Self::Elsewhere, Self::Long, Self::Events, Self::Whole, Self::Slow];

    /// Returns the argument with which a bare server is started to give this answer.
    pub fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Elsewhere => "elsewhere",
            Self::Long => "long",
            Self::Events => "events",
            Self::Whole => "whole",
            Self::Slow => "slow",
        }
    }

    /// Returns the kind that an argument names.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the chunks of the answer.
    pub fn chunks(self) -> Vec<Bytes> {
        match self {
            Self::Call | Self::Elsewhere | Self::Long => vec![answer()],
            Self::Events => events(EVENTS),
            Self::Whole => vec![events(EVENTS).concat().into()],
            Self::Slow => events(SLOW_EVENTS),
        }
    }

    /// Whether the answer is a stream of events.
    pub fn streams(self) -> bool {
        matches!(self, Self::Events | Self::Whole | Self::Slow)
    }

    /// Returns the form of answer that the system prompt asks for: a value that differs between two
    /// runs.
    pub fn form(self) -> &'static str {
        if self == Self::Elsewhere { "sentences" } else { "paragraph" }
    }

    /// Returns the media type of the answer.
    pub fn media(self) -> &'static str {
        match self.streams() {
            true => "text/event-stream; charset=utf-8",
            false => "application/json",
        }
    }
}

/// Returns the assistant's text in an answer, complete or streamed. Empty if it has none.
pub fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if let Ok(answer) = serde_json::from_str::<Value>(&text) {
        return answer["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned();
    }
    let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let deltas = events.map(|event| event["choices"][0]["delta"]["content"].clone());
    deltas.filter_map(|delta| delta.as_str().map(str::to_owned)).collect()
}

/// A request as it is sent, with a place for its number.
#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
    number: usize,
    body: usize,
}

impl Request {
    /// Creates the request to `host` for an answer of `kind`. It depends on nothing else of the system.
    pub fn new(kind: Kind, host: &str) -> Self {
        let body = match kind {
            Kind::Long => conversation(),
            _ => call(kind),
        };
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\n\
             content-type: application/json\r\naccept: application/json\r\n\
             accept-encoding: gzip, deflate\r\nuser-agent: loomrec-bench\r\n\
             authorization: Bearer sk-bench-0123456789abcdefghij\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let start = head.len();
        let bytes = [head.into_bytes(), body].concat();
        let at = memchr::memmem::rfind(&bytes, NUMBER.as_bytes());
        Self { number: at.unwrap_or(bytes.len()), bytes, body: start }
    }

    /// Returns its bytes with another number.
    pub fn numbered(&mut self, number: u64) -> &[u8] {
        let digits = format!("{number:012}");
        for (place, digit) in self.bytes[self.number..].iter_mut().zip(digits.bytes()) {
            *place = digit;
        }
        &self.bytes
    }

    /// Returns the bytes of its body.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.body..]
    }
}

/// Returns the body of a call of 1 KB.
fn call(kind: Kind) -> Vec<u8> {
    padded(REQUEST, |prose| {
        let mut body = json!({
            "model": "gpt-4o-mini",
            "messages": [
                { "role": "system", "content": format!("You answer in one {}.", kind.form()) },
                { "role": "user", "content": format!("Call {NUMBER}. {prose}") },
            ],
            "temperature": 0.2,
            "max_tokens": 400,
        });
        if kind.streams() {
            body["stream"] = json!(true);
        }
        body
    })
}

/// Returns the body of a call at the end of a long conversation. Its number is in the last message,
/// which is where each turn of a conversation differs from the one before.
fn conversation() -> Vec<u8> {
    let mut messages = vec![json!({ "role": "system", "content": "You answer in one paragraph." })];
    let mut size = 0;
    for (turn, role) in ["user", "assistant"].into_iter().cycle().enumerate() {
        let message = json!({ "role": role, "content": format!("{turn}: {}", PROSE.repeat(14)) });
        size += message.to_string().len() + 1;
        if size > CONVERSATION && role == "user" {
            break;
        }
        messages.push(message);
    }
    messages.push(json!({ "role": "user", "content": format!("Call {NUMBER}. Go on.") }));
    let body = json!({
        "model": "gpt-4o-mini",
        "messages": messages,
        "temperature": 0.2,
        "max_tokens": 400,
    });
    body.to_string().into_bytes()
}

/// Returns the JSON that `build` makes, with as much prose as is needed for `size` bytes.
fn padded(size: usize, build: impl Fn(&str) -> Value) -> Vec<u8> {
    let mut prose = String::new();
    let mut text = build(&prose).to_string();
    for letter in PROSE.chars().cycle() {
        if text.len() >= size {
            break;
        }
        // An escaped character may be one byte too long for the last place, but a dot fits.
        prose.push(if text.len() + letter.len_utf8() + 1 > size { '.' } else { letter });
        text = build(&prose).to_string();
    }
    text.into_bytes()
}

/// Returns a complete chat answer.
fn answer() -> Bytes {
    let body = padded(ANSWER, |prose| {
        json!({
            "id": "chatcmpl-bench",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "gpt-4o-mini",
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": prose },
                "finish_reason": "stop",
            }],
            "usage": { "prompt_tokens": 230, "completion_tokens": 400, "total_tokens": 630 },
        })
    });
    body.into()
}

/// Returns a streamed chat answer with this many events.
fn events(count: usize) -> Vec<Bytes> {
    let event = |delta: Value, finish: Value| {
        let data = json!({
            "id": "chatcmpl-bench",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "gpt-4o-mini",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        Bytes::from(format!("data: {data}\n\n"))
    };
    let words = (2..count).map(|n| event(json!({ "content": format!(" word{n}") }), Value::Null));
    let last = [event(json!({}), json!("stop")), Bytes::from_static(b"data: [DONE]\n\n")];
    words.chain(last).collect()
}
