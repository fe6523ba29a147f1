//! One call with a secret at one place, and the upstream's answer to it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};

use super::spelling::{TOKEN, hex, secret, secret_of, spelled};
use crate::support::chance::Chance;
use crate::support::shape::{CHAT, chat_answer, chat_body, chat_events};
use crate::support::{Answer, Call, Received};

/// The places where a secret may be.
pub(super) const PLACES: [&str; 23] = [
    "a prompt",
    "a member's name",
    "a compressed prompt",
    "a model's name",
    "a file's name in a multipart body",
    "the path",
    "a query parameter",
    "the step id",
    "the session",
    "the `accept` header",
    "`tracestate`",
    "the value of `x-loomrec-fault`",
    "an answer's text",
    "an answer's stream",
    "an answer's log probabilities",
    "an answer's stream of bare strings",
    "an answer under gzip",
    "a stream under zstandard",
    "an answer's `location` header",
    "an answer's `x-request-id` header",
    "the name of an answer's header",
    "an answer's error",
    "a tool call of an answer",
];

/// One call with a secret at one place.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) place: &'static str,
    pub(super) secret: String,
    pub(super) spelled: String,
    /// Whether it is the call's credential, which must not be found. Otherwise it is a normal word,
    /// which the search must find.
    pub(super) is_credential: bool,
    /// The number of deltas into which an answer's stream cuts it.
    cuts: usize,
}

impl Case {
    pub(super) fn new(place: &'static str, chance: &mut Chance) -> Self {
        let secret = match place {
            // Only these characters are allowed in a name.
            "the name of an answer's header" => secret_of(TOKEN, chance),
            _ => secret(chance),
        };
        let spelled = match chance.below(6) {
            0 => secret.clone(),
            1 => hex(&secret),
            _ => spelled(&secret, 3, chance),
        };
        let cuts = 2 + chance.below(4);
        Self { place, secret, spelled, is_credential: true, cuts }
    }

    /// The call; `tag` makes it different from others.
    pub(super) fn call(&self, tag: &str) -> Call {
        let text = &self.spelled;
        let mut body = chat_body(&format!("hi {tag}"));
        let (mut target, mut header) = (CHAT.to_owned(), String::new());
        match self.place {
            "a prompt" | "a compressed prompt" => {
                body["messages"][0]["content"] = json!(format!("{tag}: {text}."));
            }
            "a member's name" => body["metadata"] = json!({ text: tag }),
            "a model's name" => body["model"] = json!(text),
            "the path" => target = format!("/openai/v1/things/{}/{tag}", as_url(text)),
            "a query parameter" => {
                target = format!("/openai/v1/things?tag={tag}&note={}", as_url(text));
            }
            "the step id" => header = format!("x-loomrec-step-id: {tag} {text}"),
            "the session" => header = format!("x-loomrec-session: {tag} {text}"),
            "the `accept` header" => header = format!("accept: text/{text}"),
            "`tracestate`" => header = format!("tracestate: a={text}"),
            "the value of `x-loomrec-fault`" => header = format!("x-loomrec-fault: {text}"),
            "an answer's stream" | "a stream under zstandard" => body["stream"] = json!(true),
            "an answer's stream of bare strings" => target = format!("/openai/v1/tokens/{tag}"),
            _ => {}
        }
        let (mut media, mut bytes) = ("application/json", body.to_string().into_bytes());
        match self.place {
            "a compressed prompt" => {
                bytes = gzip(&bytes);
                header = "content-encoding: gzip".to_owned();
            }
            "a file's name in a multipart body" => {
                media = "multipart/form-data; boundary=b";
                let name = text.replace('"', "%22");
                bytes = format!("--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{tag}\r\n--b--\r\n").into_bytes();
                target = "/openai/v1/audio/transcriptions".to_owned();
            }
            _ => {}
        }
        let credential = if self.is_credential { &self.secret } else { "another-key-0123456789" };
        let call = Call::new("POST", &target)
            .body(bytes)
            .header(&format!("content-type: {media}"))
            .header(&format!("authorization: Bearer {credential}"))
            .header(&format!("x-answer: {}", hex(&self.wish())))
            .header("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        if header.is_empty() { call } else { call.header(&header) }
    }

    /// The answer that the upstream should send.
    fn wish(&self) -> String {
        let Self { place, spelled, secret, cuts, .. } = self;
        json!({ "place": place, "text": spelled, "secret": secret, "cuts": cuts }).to_string()
    }
}

fn as_url(text: &str) -> String {
    let write = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(write).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An answer with gzip, in two members.
fn gzip_members(whole: &str) -> Answer {
    let (front, back) = whole.as_bytes().split_at(whole.len() / 3);
    let headers = ["content-type: application/json", "content-encoding: gzip"];
    Answer::whole(200, &headers, [gzip(front), gzip(back)].concat())
}

/// A stream with zstandard: a frame for each event, as servers flush them.
fn zstd_frames(events: Vec<String>) -> Answer {
    let headers = [
        "content-type: text/event-stream",
        "content-encoding: identity",
        "content-encoding: zstd",
        "transfer-encoding: chunked",
    ];
    let frame = |event: String| compress_to_vec(event.as_bytes(), CompressionLevel::Fastest);
    let frames = events.into_iter().map(frame);
    frames.fold(Answer::head(200, &headers), |answer, frame| answer.chunk(frame)).end()
}

/// Answers as the request asks for it. One that asks for nothing gets its own key back if the
/// upstream `echoes` it.
pub(super) fn answer(request: &Received, echoes: bool) -> Answer {
    let Some(digits) = request.header("x-answer") else {
        let key = request.header("authorization").filter(|_| echoes).unwrap_or_default();
        return Answer::json(200, chat_answer(&format!("ok {key} {}", hex(key))));
    };
    let digits = digits.as_bytes().chunks(2);
    let bytes =
        digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap());
    let asked: Value = serde_json::from_slice(&bytes.collect::<Vec<u8>>()).unwrap();
    let text = |name: &str| asked[name].as_str().unwrap();
    let said = text("text");
    let with_header = |header: String| {
        Answer::whole(200, &["content-type: application/json", &header], chat_answer("ok"))
    };
    match text("place") {
        "an answer's text" => Answer::json(200, chat_answer(&format!("<{said}>"))),
        "an answer's stream" => Answer::events(&chat_events(&words(&asked))),
        "an answer's log probabilities" => {
            let words = words(&asked);
            let token = |word: &&str| json!({"token": word, "bytes": word.as_bytes()});
            let tokens: Vec<Value> = words.iter().map(token).collect();
            let mut body: Value = serde_json::from_str(&chat_answer(&words.concat())).unwrap();
            body["choices"][0]["logprobs"] = json!({ "content": tokens });
            Answer::json(200, body.to_string())
        }
        "an answer's stream of bare strings" => {
            let words = words(&asked);
            let events = words.iter().map(|word| format!("data: {}\n\n", json!(word)));
            Answer::events(&events.collect::<Vec<String>>())
        }
        "an answer under gzip" => gzip_members(&chat_answer(&format!("<{said}>"))),
        "a stream under zstandard" => zstd_frames(chat_events(&words(&asked))),
        "an answer's `location` header" => {
            with_header(format!("location: https://h.test/?next={said}"))
        }
        "an answer's `x-request-id` header" => with_header(format!("x-request-id: req_{said}")),
        "the name of an answer's header" => with_header(format!("x-{}: 1", text("secret"))),
        "an answer's error" => {
            Answer::json(401, json!({"error": {"message": format!("bad key {said}")}}).to_string())
        }
        "a tool call of an answer" => {
            let arguments = json!({ "key": said }).to_string();
            let mut body: Value = serde_json::from_str(&chat_answer("ok")).unwrap();
            body["choices"][0]["message"]["tool_calls"] = json!([{"id": "call_1", "type": "function",
                "function": {"name": "look", "arguments": arguments}}]);
            Answer::json(200, body.to_string())
        }
        _ => Answer::json(200, chat_answer("ok")),
    }
}

/// The requested text in pieces, with words around it.
fn words(asked: &Value) -> Vec<&str> {
    let said = asked["text"].as_str().unwrap();
    let cuts = usize::try_from(asked["cuts"].as_u64().unwrap()).unwrap();
    let parts = said.as_bytes().chunks(said.len().div_ceil(cuts));
    let parts = parts.map(|part| std::str::from_utf8(part).unwrap());
    ["see "].into_iter().chain(parts).chain([" there"]).collect()
}
