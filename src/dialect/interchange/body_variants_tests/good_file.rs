//! Good files of each format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::ForeignFormat;

const URL: &str = "https://api.openai.com/v1/chat/completions";
const ASKED: &str = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;
const SAID: &str = r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello, wörld"},"finish_reason":"stop"}]}"#;
const STREAM: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hey\"}}]}\n\ndata: [DONE]\n\n";
const SOUND: [u8; 40] = [
    0xff, 0xfb, 0x90, 0x44, 0, 1, 2, 3, 4, 5, 0x80, 0x81, 0xfe, 0xc3, 0x28, 7, 8, 9, 0xa0, 0xa1, 1,
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
];

/// A good file, and the places of its bodies.
pub(super) struct GoodFile {
    pub(super) format: ForeignFormat,
    pub(super) name: String,
    pub(super) file: Value,
    pub(super) bodies: Vec<String>,
    /// The bytes of the answer, if they are no text.
    pub(super) bytes: Option<Vec<u8>>,
    /// Whether a body is a text that a person may have written, of which any other text may be one.
    pub(super) is_prose: bool,
}

pub(super) fn hars() -> Vec<GoodFile> {
    let mut all = Vec::new();
    let bodies: [(&str, &[u8]); 3] = [
        ("application/json", SAID.as_bytes()),
        ("text/event-stream", STREAM.as_bytes()),
        ("audio/mpeg", &SOUND),
    ];
    for (kind, bytes) in bodies {
        for (size, is_packed) in [(bytes.len() as i64, false), (-1, false), (-1, true)] {
            let mut headers = vec![json!({"name": "Content-Type", "value": kind})];
            if is_packed {
                headers.push(json!({"name": "Content-Encoding", "value": "gzip"}));
            }
            let text = std::str::from_utf8(bytes).map_or_else(
                |_| {
                    json!({"size": size, "mimeType": kind, "text": STANDARD.encode(bytes),
                    "encoding": "base64"})
                },
                |text| json!({"size": size, "mimeType": kind, "text": text}),
            );
            let entry = json!({
                "request": {"method": "POST", "url": URL,
                    "headers": [{"name": "content-type", "value": "application/json"}],
                    "postData": {"mimeType": "application/json", "text": ASKED}},
                "response": {"status": 200, "headers": headers, "content": text},
            });
            all.push(GoodFile {
                format: ForeignFormat::Har,
                name: format!("HAR of {kind}, size {size}, packed {is_packed}"),
                file: json!({"log": {"version": "1.2", "entries": [entry]}}),
                bodies: [
                    "request/postData/text",
                    "request/postData",
                    "response/content/text",
                    "response/content",
                    "response",
                ]
                .iter()
                .filter(|place| kind != "audio/mpeg" || place.starts_with("response"))
                .map(|place| format!("/log/entries/0/{place}"))
                .collect(),
                bytes: std::str::from_utf8(bytes).is_err().then(|| bytes.to_vec()),
                is_prose: false,
            });
        }
    }
    all
}

/// JSON is nearly YAML, so both readers of cassettes read these.
pub(super) fn cassettes() -> Vec<GoodFile> {
    let mut all = Vec::new();
    for format in [ForeignFormat::Vcr, ForeignFormat::VcrJson] {
        for (kind, text) in [("application/json", SAID), ("text/event-stream", STREAM)] {
            for is_packed in [false, true] {
                let mut headers = json!({"content-type": [kind]});
                if is_packed {
                    headers["content-encoding"] = json!(["gzip"]);
                }
                let interaction = json!({
                    "request": {"method": "POST", "uri": URL, "body": ASKED,
                        "headers": {"content-type": ["application/json"]}},
                    "response": {"status": {"code": 200}, "headers": headers,
                        "body": {"string": text}},
                });
                all.push(GoodFile {
                    format,
                    name: format!("{format} of {kind}, packed {is_packed}"),
                    file: json!({"interactions": [interaction], "version": 1}),
                    bodies: ["request/body", "response/body/string", "response/body", "response"]
                        .map(|place| format!("/interactions/0/{place}"))
                        .to_vec(),
                    bytes: None,
                    is_prose: false,
                });
            }
        }
        let asked: Value = serde_json::from_str(ASKED).unwrap();
        let said: Value = serde_json::from_str(SAID).unwrap();
        let json = json!({"content-type": ["application/json"]});
        let parsed = json!({
            "request": {"method": "POST", "uri": URL, "headers": json, "parsed_body": asked},
            "response": {"status": {"code": 200}, "headers": json, "parsed_body": said},
        });
        all.push(GoodFile {
            format,
            name: format!("{format} of parsed bodies"),
            file: json!({"interactions": [parsed], "version": 1}),
            bodies: ["request/parsed_body", "response/parsed_body"]
                .map(|place| format!("/interactions/0/{place}"))
                .to_vec(),
            bytes: None,
            is_prose: true,
        });
    }
    all
}

fn good_file(format: ForeignFormat, file: Value, bodies: &[&str]) -> GoodFile {
    GoodFile {
        format,
        name: format.to_string(),
        file,
        bodies: bodies.iter().map(|body| (*body).to_owned()).collect(),
        bytes: None,
        is_prose: true,
    }
}

/// Formats that hold only words.
pub(super) fn words() -> Vec<GoodFile> {
    let call = json!({"id": "c", "type": "function",
        "function": {"name": "f", "arguments": "{}"}});
    let mut called = json!({"model": "m", "messages": [{"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello"}]});
    let chat = called.clone();
    called["messages"][1] = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let aimock = json!({"fixtures": [{"match": {"userMessage": "hi", "model": "gpt-4o-mini",
        "turnIndex": 0, "hasToolResult": false}, "response": {"content": "Hello"}}]});
    let loom = json!({"_version": 2, "ask": {"content": "Hello", "model": "m"}});
    vec![
        good_file(ForeignFormat::OpenAiChat, chat, &["/messages", "/messages/1/content"]),
        good_file(
            ForeignFormat::OpenAiChat,
            called,
            &[
                "/messages/1/tool_calls",
                "/messages/1/tool_calls/0/function",
                "/messages/1/tool_calls/0/function/name",
            ],
        ),
        good_file(
            ForeignFormat::Aimock,
            aimock,
            &["/fixtures/0/response", "/fixtures/0/response/content"],
        ),
        good_file(ForeignFormat::AgentLoom, loom, &["/ask", "/ask/content"]),
    ]
}
