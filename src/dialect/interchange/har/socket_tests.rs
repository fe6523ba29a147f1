use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::super::super::{ForeignExchange, ForeignFormat, FoundItem, read};
use super::*;

/// An entry as Chrome writes it.
fn entry() -> Value {
    json!({
        "startedDateTime": "2026-01-02T03:04:05.000Z",
        "time": 900.0,
        "_resourceType": "websocket",
        "_webSocketMessages": [
            { "type": "receive", "time": 1_767_323_045.25, "opcode": 1, "data": "{\"type\":\"hello\"}" },
            { "type": "send", "time": 1_767_323_045.5, "opcode": 2, "data": "AP8=" },
            { "type": "send", "time": 1_767_323_045.6, "opcode": 9, "data": "" },
            { "type": "receive", "time": 1_767_323_046.0, "opcode": 1, "data": "bye" },
        ],
        "request": {
            "method": "GET", "url": "wss://api.openai.com/v1/realtime?model=m", "headers": [
                { "name": "Upgrade", "value": "WebSocket" },
                { "name": "Sec-WebSocket-Key", "value": "dGhlIHNhbXBsZSBub25jZQ==" },
                { "name": "Sec-WebSocket-Protocol", "value": "realtime" },
                { "name": "sec-websocket-protocol", "value": "openai-insecure-api-key.x" },
            ], "bodySize": 0,
        },
        "response": {
            "status": 101, "statusText": "Switching Protocols", "headers": [
                { "name": "Sec-WebSocket-Accept", "value": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" },
            ], "content": { "size": 0, "mimeType": "x-unknown" }, "bodySize": -1,
        },
        "timings": {},
    })
}

/// Returns the exchange of a file's only entry, or the reason why it is left out.
fn only(entry: Value) -> Result<ForeignExchange, String> {
    let file = json!({ "log": { "version": "1.2", "entries": [entry] } }).to_string();
    let mut items = Vec::new();
    read(ForeignFormat::Har, &mut file.as_bytes(), &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    })
    .unwrap();
    match items.remove(0) {
        FoundItem::Exchange(exchange) => Ok(*exchange),
        FoundItem::Left(left) => Err(left.reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn connection_is_found_with_its_messages_and_their_times() {
    let exchange = only(entry()).unwrap();
    let message = |sender, at_ms, payload| RecordedMessage::new(sender, at_ms, payload);
    let text = |text: &'static str| MessagePayload::Text(text.into());
    assert_eq!(
        exchange.messages,
        [
            message(MessageSender::Server, 250.0, text(r#"{"type":"hello"}"#)),
            message(MessageSender::Client, 500.0, MessagePayload::Binary(b"\x00\xff"[..].into())),
            message(MessageSender::Server, 1000.0, text("bye")),
        ]
    );
    assert_eq!(exchange.request.url, "https://api.openai.com/v1/realtime?model=m");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        exchange.request.headers,
        [
            pair("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            pair("upgrade", "websocket"),
            pair("sec-websocket-protocol", "realtime, openai-insecure-api-key.x"),
        ]
    );
    assert_eq!((exchange.response.headers, exchange.lost), (Vec::new(), vec![UNKNOWN_END]));
}

#[test]
fn connection_without_all_of_its_messages_is_lost_by_name() {
    let with = |messages: Value| {
        let mut entry = entry();
        entry["_webSocketMessages"] = messages;
        only(entry).unwrap_err()
    };
    let message =
        |opcode: i64, data: Value| json!([{ "type": "send", "opcode": opcode, "data": data }]);
    for (messages, why) in [
        (json!([]), "does not hold its messages"),
        (Value::Null, "does not hold its messages"),
        (json!({}), "not those of a HAR file"),
        (json!([{ "type": "send" }]), "not those of a HAR file"),
        (json!([{ "type": "shout", "opcode": 1, "data": "" }]), "nobody sent its message 1"),
        (message(2, "*".into()), "message 1 is no base64"),
        (message(0, "rest".into()), "message 1 is neither a text nor binary"),
    ] {
        let told = with(messages.clone());
        assert!(told.starts_with("it is a WebSocket, and ") && told.contains(why), "{told}");
    }
    let mut refused = entry();
    refused["response"]["status"] = 401.into();
    let refused = only(refused).unwrap();
    assert_eq!((refused.response.status, refused.messages), (401, Vec::new()));
}
