//! Tests that redaction works on the decoded text of bodies and streams, not on their bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use loomrec_provider::Framing;
use loomrec_provider::framing::{EventFrame, events};
use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_body, chat_events, message_events};
use crate::support::{Answer, Call, Scene, Upstream};

const CHAT: &str = "/openai/v1/chat/completions";
const RULE: &str = "CUST-[0-9]{6}";
const PIECES: [&str; 4] = ["It is CU", "ST-12", "", "3456, yes."];

/// A key with a well-known form, which is not in the source as such.
fn key() -> String {
    format!("sk-ant-api03-{}", "a1B2c3D4e5".repeat(4))
}

#[test]
fn a_rule_ends_with_the_string_and_another_prompt_is_not_served() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("four")));
    let rules = ["--redact", "Today is .*"];
    let server = scene.record(&upstream, &rules);
    server.call(&chat("Today is Monday. What is 2+2?")).expect(200);
    server.stop().expect(0);
    let body = &scene.only_take()["request"]["body"];
    assert_eq!(body["messages"][0]["content"], "[REDACTED]");
    assert_eq!(body["model"], "gpt-4o-mini");
    // The members after the prompt are still a part of the request.
    let other = |name: &str, value: Value| {
        let mut body = chat_body("Today is Friday.");
        body[name] = value;
        Call::post(CHAT, body.to_string())
    };
    scene.replayed(&rules, &[other("temperature", json!(0.1))], 1);
    scene.replayed(&rules, &[other("model", json!("gpt-4o"))], 1);
    scene.replayed(&rules, &[chat("What is today?")], 1);
    scene.replayed(&rules, &[chat("Today is Friday.")], 0);
}

#[test]
fn a_rule_ends_with_the_string_within_the_arguments_of_a_tool_call() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("done")));
    let arguments = json!({"note": "Today is Monday", "to": "Berlin"}).to_string();
    let call = json!({"id": "c1", "type": "function",
                      "function": {"name": "f", "arguments": arguments}});
    let body = json!({"model": "m", "messages": [{"role": "assistant", "tool_calls": [call]}]});
    let server = scene.record(&upstream, &["--redact", "Today is .*"]);
    server.call(&Call::post(CHAT, body.to_string())).expect(200);
    server.stop().expect(0);
    let body = scene.only_take()["request"]["body"].clone();
    let arguments = &body["messages"][0]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, r#"{"note":"[REDACTED]","to":"Berlin"}"#);
}

#[test]
fn a_rule_leaves_numbers_and_names_and_warns_where_it_does_nothing_else() {
    let scene = Scene::new();
    let answer = r#"{"created": 1712345678, "1712345678": true, "choices": []}"#;
    let upstream = Upstream::always(Answer::json(200, answer));
    let server = scene.record(&upstream, &["--redact", "1[0-9]{9}"]);
    server.call(&chat("hi")).expect(200);
    let said = server.stop().expect(0);
    assert_eq!(
        scene.only_take()["response"]["body"],
        serde_json::from_str::<Value>(answer).unwrap()
    );
    let warning = "--redact 1[0-9]{9} matched only names of members and numbers";
    assert!(said.stderr.contains(warning), "{}", said.stderr);
    // A rule that also matches a text is useful.
    let scene = Scene::new();
    let server = scene.record(&upstream, &["--redact", "1[0-9]{9}"]);
    server.call(&chat("call 1712345678")).expect(200);
    let said = server.stop().expect(0);
    assert!(!said.stderr.contains("matched only"), "{}", said.stderr);
}

#[test]
fn a_secret_is_found_however_json_spells_it() {
    let key = key();
    let units = |text: &str| -> String {
        text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    let spellings = [
        units(&key),
        key.replace('-', "\\u002D"),
        format!("{}-{}", units("sk"), &key[3..]),
        format!("\\n{key}\\n"),
        format!("\\ud83d\\ude00{}", units(&key)),
    ];
    for spelling in &spellings {
        let scene = Scene::new();
        let echoed = chat_answer("SECRET").replace("SECRET", spelling);
        let upstream = Upstream::always(Answer::json(200, echoed));
        let body = chat_body("SECRET").to_string().replace("SECRET", spelling);
        let server = scene.record(&upstream, &[]);
        server.call(&Call::post(CHAT, &body)).expect(200);
        server.stop().expect(0);
        let take = scene.only_take();
        for side in ["request", "response"] {
            let body = take[side]["body"].to_string();
            assert!(body.contains("[REDACTED]") && !body.contains(&key[12..]), "{body}");
        }
        assert!(take["content"].as_str().unwrap().contains("[REDACTED]"));
        scene.run(&["verify", "run.json"]).expect(0);
        scene.replayed(&[], &[Call::post(CHAT, &body)], 0);
    }
    // The credentials in a URL whose slashes are escaped.
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
    let body = chat_body("SECRET").to_string().replace("SECRET", "pg:\\/\\/me:hunter2@db");
    let server = scene.record(&upstream, &[]);
    server.call(&Call::post(CHAT, body)).expect(200);
    server.stop().expect(0);
    assert!(!scene.text().contains("hunter2"), "{}", scene.text());
}

#[test]
fn forms_and_parts_are_searched_field_by_field() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, "{}"));
    let server = scene.record(&upstream, &["--redact", RULE, "--redact", "Today is .*"]);
    let form = Call::new("POST", "/openai/v1/form")
        .body("a=1&b=CUST%2D123456+x&c=Today+is+it&d=4")
        .header("content-type: application/x-www-form-urlencoded");
    server.call(&form).expect(200);
    let part = |name: &str, kind: &str, text: &str| {
        format!(
            "--XX\r\ncontent-disposition: form-data; name=\"{name}\"\r\ncontent-type: {kind}\r\n\
             \r\n{text}\r\n"
        )
    };
    let parts = [
        part("meta", "application/json", r#"{"who":"\u0043UST-123456","n":7}"#),
        part("text", "text/plain", "Today is Monday"),
        part("rest", "text/plain", "kept"),
        "--XX--\r\n".to_owned(),
    ];
    let parts = Call::new("POST", "/openai/v1/parts")
        .body(parts.concat())
        .header("content-type: multipart/form-data; boundary=XX");
    server.call(&parts).expect(200);
    server.stop().expect(0);
    let text = scene.text();
    assert!(text.contains("a=1&b=[REDACTED]+x&c=[REDACTED]&d=4"), "{text}");
    assert!(text.contains(r#"{\"who\":\"[REDACTED]\",\"n\":7}\r\n--XX"#), "{text}");
    assert!(text.contains(r"\r\n\r\n[REDACTED]\r\n--XX"), "{text}");
    assert!(text.contains(r"kept\r\n--XX--\r\n"), "{text}");
}

/// A stream: its call, its media type, and one chunk per event.
type Stream = (Call, &'static str, Vec<Vec<u8>>);

/// A stream in each framing with these pieces of text.
fn streams(pieces: &[&str]) -> Vec<Stream> {
    [text_streams(pieces), framed_streams(pieces)].concat()
}

fn asked(path: &str) -> Call {
    let chat = json!({"model": "m", "stream": true, "messages": []});
    Call::post(path, chat.to_string())
}

fn gemini(text: &&str) -> Value {
    json!({"candidates": [{"content": {"parts": [{"text": text}]}}]})
}

/// Server-sent events and JSON lines.
fn text_streams(pieces: &[&str]) -> Vec<Stream> {
    let data = |value: Value| format!("data: {value}\n\n");
    let responses = |text: &&str| {
        data(json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0,
                    "content_index": 0, "delta": text}))
    };
    let ollama = |text: &&str| {
        format!("{}\n", json!({"model": "m", "message": {"content": text}, "done": false}))
    };
    let cohere = |text: &&str| {
        data(json!({"type": "content-delta", "index": 0,
                    "delta": {"message": {"content": {"text": text}}}}))
    };
    let sse = "text/event-stream";
    let streams: [(&str, &'static str, Vec<String>); 6] = [
        (CHAT, sse, chat_events(pieces)),
        ("/anthropic/v1/messages", sse, message_events(pieces)),
        ("/openai/v1/responses", sse, pieces.iter().map(responses).collect()),
        (
            "/gemini/v1beta/models/g:streamGenerateContent?alt=sse",
            sse,
            pieces.iter().map(|text| data(gemini(text))).collect(),
        ),
        ("/ollama/api/chat", "application/x-ndjson", pieces.iter().map(ollama).collect()),
        ("/cohere/v2/chat", sse, pieces.iter().map(cohere).collect()),
    ];
    let bytes = |events: Vec<String>| events.into_iter().map(String::into_bytes).collect();
    streams.into_iter().map(|(path, media, events)| (asked(path), media, bytes(events))).collect()
}

/// Gemini's array, and AWS's messages.
fn framed_streams(pieces: &[&str]) -> Vec<Stream> {
    let frame = |name, data: Value| EventFrame { name, data: Some(data), exception: false };
    let converse = |text: &&str| {
        let data = json!({"contentBlockIndex": 0, "delta": {"text": text}});
        frame(Some("contentBlockDelta"), data)
    };
    let native = |text: &&str| {
        let event = json!({"type": "content_block_delta", "index": 0,
                           "delta": {"type": "text_delta", "text": text}});
        let data = json!({"bytes": STANDARD.encode(event.to_string()), "p": "abc"});
        frame(Some("chunk"), data)
    };
    let stream = |path: &str, framing: Framing, media, frames: Vec<EventFrame>| {
        (asked(path), media, framing.write_events(&frames))
    };
    let aws = "application/vnd.amazon.eventstream";
    let model = "/bedrock/model/us.anthropic.claude";
    vec![
        stream(
            "/gemini/v1beta/models/g:streamGenerateContent",
            Framing::Array,
            "application/json",
            pieces.iter().map(|text| frame(None, gemini(text))).collect(),
        ),
        stream(
            &format!("{model}/converse-stream"),
            Framing::EventStream,
            aws,
            pieces.iter().map(converse).collect(),
        ),
        stream(
            &format!("{model}/invoke-with-response-stream"),
            Framing::EventStream,
            aws,
            pieces.iter().map(native).collect(),
        ),
    ]
}

fn streamed(media: &str, chunks: &[Vec<u8>]) -> Answer {
    let head = ["transfer-encoding: chunked".to_owned(), format!("content-type: {media}")];
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    chunks.iter().fold(Answer::head(200, &head), Answer::chunk).end()
}

/// The data of a stream's events, decoded from base64.
fn data(media: &str, body: &[u8]) -> Vec<String> {
    let framing = Framing::of_media(media).unwrap_or(Framing::Array);
    let data = events(framing, body).filter_map(|event| event.data.map(|data| data.into_owned()));
    let plain = |data: Vec<u8>| {
        let json: Value = serde_json::from_slice(&data).unwrap_or_default();
        let native = json["bytes"].as_str().map(|base64| STANDARD.decode(base64).unwrap());
        String::from_utf8(native.unwrap_or(data)).unwrap()
    };
    data.map(plain).collect()
}

#[test]
fn a_secret_that_a_stream_says_in_pieces_is_removed_from_each_of_them() {
    let key = key();
    let secret = [&key[..2], &key[2..20], "", &key[20..]];
    let around = [format!("The key: {}", secret[0]), format!("{}.", secret[3])];
    let secret = [around[0].as_str(), secret[1], secret[2], around[1].as_str()];
    for (pieces, left) in [
        (PIECES, ["It is [REDACTED]", "", "", ", yes."]),
        (secret, ["The key: [REDACTED]", "", "", "."]),
    ] {
        let clean = streams(&left);
        for ((call, media, chunks), (_, _, expected)) in streams(&pieces).into_iter().zip(clean) {
            let scene = Scene::new();
            let upstream = Upstream::always(streamed(media, &chunks));
            let cohere = format!("cohere={}", upstream.url());
            let flags = ["--redact", RULE, "--upstream", &cohere, "--keep-failures"];
            let server = scene.record(&upstream, &flags);
            // The client gets the bytes that the upstream sent.
            assert_eq!(server.call(&call).expect(200).body(), chunks.concat());
            server.stop().expect(0);
            let take = scene.only_take();
            let answers = scene.replayed(&["--redact", RULE], &[call], 0);
            let body = answers[0].body();
            assert_eq!(data(media, &body), data(media, &expected.concat()), "{media}");
            assert_eq!(body, expected.concat(), "{media}");
            assert!(!scene.text().contains("123456") && !scene.text().contains(&key[14..]));
            let content = take["content"].as_str().unwrap();
            assert!(content.is_empty() || content.contains("[REDACTED]"), "{media}: {content}");
            scene.run(&["verify", "run.json"]).expect(0);
        }
    }
}

#[test]
fn verify_and_redact_find_what_a_stream_says_in_pieces() {
    let key = key();
    for (call, media, chunks) in streams(&[&key[..9], &key[9..30], &key[30..]]) {
        let scene = Scene::new();
        let upstream = Upstream::always(streamed(media, &chunks));
        let cohere = format!("cohere={}", upstream.url());
        let server = scene.record(&upstream, &["--upstream", &cohere, "--keep-failures"]);
        server.call(&call).expect(200);
        server.stop().expect(0);
        let mut file = scene.json();
        let recorded = chunks.iter().map(|chunk| match std::str::from_utf8(chunk) {
            Ok(text) => json!([1, text]),
            Err(_) => json!([1, {"base64": STANDARD.encode(chunk)}]),
        });
        let name = scene.takes()[0].0.clone();
        let response = file[&name]["response"].as_object_mut().unwrap();
        response.retain(|name, _| !matches!(name.as_str(), "body" | "style" | "text"));
        response.insert("chunks".to_owned(), recorded.collect());
        // As it was recorded before streams were decoded.
        scene.write(serde_json::to_string_pretty(&file).unwrap());
        let said = scene.run(&["verify", "run.json"]).expect(1);
        assert!(said.stdout.contains("credential"), "{media}: {}", said.stdout);
        assert!(!said.stdout.contains(&key[30..]), "{}", said.stdout);
        let said = scene.run(&["redact", "run.json"]).expect(0);
        assert!(said.stdout.contains("1 of 1 takes would be redacted"), "{}", said.stdout);
        scene.run(&["redact", "run.json", "--apply"]).expect(0);
        scene.run(&["verify", "run.json"]).expect(0);
        let again = scene.run(&["redact", "run.json"]).expect(0);
        assert!(again.stdout.contains("clean"), "{}", again.stdout);
        scene.replayed(&[], &[call], 0);
    }
}

#[test]
fn the_arguments_of_a_streamed_tool_call_stay_json() {
    let piece = |text: &str| {
        let call = json!({"index": 0, "function": {"arguments": text}});
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    };
    let events: Vec<String> =
        [r#"{"note":"Today "#, r#"is \u004do"#, r#"nday","to""#, r#":"Berlin"}"#]
            .into_iter()
            .map(piece)
            .chain(["data: [DONE]\n\n".to_owned()])
            .collect();
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::events(&events));
    let rule = ["--redact", "Today is .*"];
    let server = scene.record(&upstream, &rule);
    let call = Call::post(CHAT, r#"{"model":"m","stream":true,"messages":[]}"#);
    server.call(&call).expect(200);
    server.stop().expect(0);
    let take = scene.only_take();
    let arguments = &take["tool_calls"][0]["arguments"];
    assert_eq!(*arguments, json!({"note": "[REDACTED]", "to": "Berlin"}), "{take:#}");
}

#[test]
fn plain_data_over_several_events_and_lines_is_one_text() {
    let events = ["data: It is CU\n\n", "data: ST-12\n\n", "data: 3456,\ndata: CUST-654321\n\n"];
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::events(&events));
    let server = scene.record(&upstream, &["--redact", RULE]);
    server.call(&Call::get("/openai/v1/tokens")).expect(200);
    server.stop().expect(0);
    let answer = scene.replayed(&["--redact", RULE], &[Call::get("/openai/v1/tokens")], 0);
    let expected = "data: It is [REDACTED]\n\ndata: \n\ndata: ,\ndata: [REDACTED]\n\n";
    assert_eq!(answer[0].text(), expected);
}

#[test]
fn a_secret_spread_over_an_unknown_framing_is_not_kept() {
    let scene = Scene::new();
    let body = "7|{\"text\":\"CUST-1\"}7|{\"text\":\"23456\"}";
    let upstream = Upstream::start(move |request| match request.target.ends_with("odd") {
        true => Answer::whole(200, &["content-type: application/x-odd"], body),
        false => Answer::json(200, chat_answer("fine")),
    });
    let server = scene.record(&upstream, &["--redact", RULE]);
    server.call(&Call::get("/openai/v1/odd")).expect(200);
    server.call(&chat("kept")).expect(200);
    let said = server.stop().expect(5);
    let why = "GET /v1/odd is not kept: a credential is spread over its answer";
    assert!(said.stderr.contains(why), "{}", said.stderr);
    assert!(!scene.text().contains("CUST-1"), "{}", scene.text());
}

#[test]
fn verify_refuses_a_request_that_redaction_has_broken() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("four")));
    scene.recorded(&upstream, &[Call::post(CHAT, r#"{"model":"m","prompt":"[REDACTED]"#)]);
    let said = scene.run(&["verify", "run.json"]).expect(1);
    assert!(said.stdout.contains("its body was broken by redaction"), "{}", said.stdout);
    assert!(said.stdout.contains("record the call again"), "{}", said.stdout);
}
