//! What is asked and what is answered: chat calls of 1 KB, answers of 2 KB, and
//! streams of events, the same bytes for every system.

use bytes::Bytes;
use serde_json::{Value, json};

/// The header by which the bare server knows what to answer.
pub const HEADER: &str = "x-bench-answer";
/// Bytes of a request's body.
const REQUEST: usize = 1024;
/// Bytes of a complete answer.
const ANSWER: usize = 2048;
/// Events of a stream.
const EVENTS: usize = 200;
/// Events of a slow stream.
const SLOW_EVENTS: usize = 10;
/// Stands where a request's number is written, so that prompts can be told apart.
const NUMBER: &str = "000000000000";
/// Filler with what real prompts hold: line breaks, quotes, letters beyond ASCII.
const PROSE: &str = "The weaver keeps every thread in \"order\".\nWhat was recorded is what is \
                     served \u{2014} na\u{ef}ve copies drift. ";

/// What a call gets from the bare server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One complete answer.
    Call,
    /// A stream, one chunk an event.
    Events,
    /// The bytes of that stream in one body of known length.
    Whole,
    /// A stream whose events are 20 ms apart, the first at once.
    Slow,
}

impl Kind {
    /// The value of [`HEADER`].
    pub fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Events => "events",
            Self::Whole => "whole",
            Self::Slow => "slow",
        }
    }

    /// The kind a value of [`HEADER`] stands for.
    pub fn of(word: &[u8]) -> Option<Self> {
        [Self::Call, Self::Events, Self::Whole, Self::Slow]
            .into_iter()
            .find(|kind| kind.word().as_bytes() == word)
    }

    /// The chunks of the answer.
    pub fn chunks(self) -> Vec<Bytes> {
        match self {
            Self::Call => vec![answer()],
            Self::Events => events(EVENTS),
            Self::Whole => vec![events(EVENTS).concat().into()],
            Self::Slow => events(SLOW_EVENTS),
        }
    }

    /// The whole body of the answer.
    pub fn body(self) -> Vec<u8> {
        self.chunks().concat()
    }

    /// The media type of the answer.
    pub fn media(self) -> &'static str {
        match self {
            Self::Call => "application/json",
            Self::Events | Self::Whole | Self::Slow => "text/event-stream; charset=utf-8",
        }
    }
}

/// A request on the wire, with a place for its number.
#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
    number: usize,
}

impl Request {
    /// The request for an answer of `kind` from the server at `host`.
    pub fn new(kind: Kind, host: &str) -> Self {
        let body = padded(REQUEST, |prose| {
            let mut body = json!({
                "model": "gpt-4o-mini",
                "messages": [
                    { "role": "system", "content": "You answer in one paragraph." },
                    { "role": "user", "content": format!("{} {NUMBER}. {prose}", kind.word()) },
                ],
                "temperature": 0.2,
                "max_tokens": 400,
            });
            if kind != Kind::Call {
                body["stream"] = json!(true);
            }
            body
        });
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\n\
             content-type: application/json\r\naccept: application/json\r\n\
             accept-encoding: gzip, deflate\r\nuser-agent: loomrec-bench\r\n\
             authorization: Bearer sk-bench-0123456789abcdefghij\r\n{HEADER}: {}\r\n\
             content-length: {}\r\n\r\n",
            kind.word(),
            body.len()
        );
        let bytes = [head.into_bytes(), body].concat();
        let at = memchr::memmem::find(&bytes, NUMBER.as_bytes());
        Self { number: at.unwrap_or(bytes.len()), bytes }
    }

    /// Its bytes, under another number.
    pub fn numbered(&mut self, number: u64) -> &[u8] {
        let digits = format!("{number:012}");
        for (place, digit) in self.bytes[self.number..].iter_mut().zip(digits.bytes()) {
            *place = digit;
        }
        &self.bytes
    }
}

/// The JSON that `build` makes around as much prose as gives `size` bytes.
fn padded(size: usize, build: impl Fn(&str) -> Value) -> Vec<u8> {
    let mut prose = String::new();
    let mut text = build(&prose).to_string();
    for letter in PROSE.chars().cycle() {
        if text.len() >= size {
            break;
        }
        // An escaped letter may be one byte too long for the last place: a dot fits.
        prose.push(if text.len() + letter.len_utf8() + 1 > size { '.' } else { letter });
        text = build(&prose).to_string();
    }
    text.into_bytes()
}

/// A complete chat answer.
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

/// A streamed chat answer of so many events.
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
