//! Tests of credentials in UTF-16 and UTF-32: none is kept, whatever carries the text, and `verify`
//! and `redact` read it, too.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

const KEY: &str = "canaryKeyQ7f3aZb94Wm2x0";

/// A key with a well-known form, which is not in the source as such.
fn known_key() -> String {
    format!("sk-ant-api03-{}", "AbCdEfGh1234567890".repeat(2))
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn utf32_big(text: &str) -> Vec<u8> {
    text.chars().flat_map(|letter| u32::from(letter).to_be_bytes()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Whether a body of the file holds a text, read with and without zero bytes.
fn holds(body: &Value, text: &str) -> bool {
    let bytes = match (body["base64"].as_str(), body["chunks"].as_array()) {
        (Some(base64), _) => STANDARD.decode(base64).unwrap(),
        (None, Some(chunks)) => {
            let bytes = |chunk: &Value| match chunk[1]["base64"].as_str() {
                Some(base64) => STANDARD.decode(base64).unwrap(),
                None => chunk[1].as_str().unwrap().as_bytes().to_vec(),
            };
            chunks.iter().flat_map(bytes).collect()
        }
        _ => body.to_string().replace("\\u0000", "").into_bytes(),
    };
    let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    memchr::memmem::find(&narrow, text.as_bytes()).is_some()
}

/// Records a call, whose body holds both keys, and the answer.
#[track_caller]
fn recorded(call: Call, answer: Answer) -> Scene {
    let (scene, upstream) = (Scene::new(), Upstream::always(answer));
    let sent = call.header(&format!("authorization: Bearer {KEY}"));
    let server = scene.record(&upstream, &["--keep-failures"]);
    server.call(&sent);
    server.stop().expect(0);
    let take = scene.only_take();
    for part in ["request", "response"] {
        for secret in [KEY, &known_key()] {
            assert!(!holds(&take[part], secret), "{part}: {take}");
        }
    }
    scene.run(&["verify", "run.json", "--strict"]).expect(0);
    scene
}

#[test]
fn keys_in_wide_bodies_are_not_kept_and_the_upstream_gets_them() {
    let said = format!("{KEY} {}", known_key());
    let wide: [fn(&str) -> Vec<u8>; 2] = [utf16, utf32_big];
    for encode in wide {
        for mark in ["", "\u{feff}"] {
            let body = encode(&format!("{mark}{}", chat_body(&said)));
            let answer = encode(&format!("{mark}{}", chat_answer(&said)));
            let upstream = Upstream::always(Answer::json(200, &answer));
            let scene = Scene::new();
            // No answer of a chat is in such an encoding.
            let server = scene.record(&upstream, &["--keep-failures"]);
            let call = Call::post(CHAT, &body).header(&format!("authorization: Bearer {KEY}"));
            assert_eq!(server.call(&call).body(), answer);
            server.stop().expect(0);
            assert_eq!(upstream.received()[0].body, body);
            recorded(Call::post(CHAT, &body), Answer::json(200, &answer));
            // The same call with another key is answered.
            let other =
                encode(&format!("{mark}{}", chat_body(&said)).replace(KEY, "another-key-01"));
            let call = Call::post(CHAT, other).header("authorization: Bearer another-key-01");
            scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
        }
    }
}

#[test]
fn keys_in_a_wide_file_of_a_multipart_or_compressed_body_are_not_kept() {
    let file = utf16(&format!("\u{feff}id;key\r\n1;{KEY}\r\n2;{}\r\n", known_key()));
    let head = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\
                content-type: text/csv\r\n\r\n";
    let body = [head.as_bytes(), &file, b"\r\n--b--\r\n"].concat();
    let upload = |body: &[u8]| {
        Call::new("POST", "/openai/v1/files")
            .header("content-type: multipart/form-data; boundary=b")
            .body(body)
    };
    recorded(upload(&body), Answer::json(200, "{}"));
    let packed = upload(&gzip(&body)).header("content-encoding: gzip");
    recorded(packed, Answer::json(200, "{}"));
    let headers = ["content-type: text/csv", "content-encoding: gzip"];
    recorded(chat("hi"), Answer::whole(200, &headers, gzip(&file)));
}

#[test]
fn key_across_chunks_of_a_wide_stream_is_not_kept() {
    let events = utf16(&format!("data: {{\"a\":\"{KEY} {}\"}}\n\n", known_key()));
    let stream = events.chunks(9).fold(Answer::stream(), |answer, part| answer.chunk(part)).end();
    // An operation that loomrec does not know has no end mark.
    let scene = recorded(Call::post("/openai/v1/other", chat_body("hi").to_string()), stream);
    let chunks = scene.only_take()["response"]["chunks"].as_array().unwrap().len();
    assert_eq!(chunks, events.len().div_ceil(9));
}

#[test]
fn own_key_in_base64_of_wide_text_is_not_kept() {
    let command = STANDARD.encode(utf16(&format!("$env:API_KEY = '{KEY}'")));
    let scene = recorded(
        chat(&format!("powershell -EncodedCommand {command}")),
        Answer::json(200, chat_answer("ok")),
    );
    assert!(!scene.text().contains(&command));
}

#[test]
fn verify_finds_a_key_in_a_wide_body_and_redact_removes_it() {
    let body = STANDARD.encode(utf16(&format!("\u{feff}key: {}", known_key())));
    for part in ["request", "response"] {
        let mut request = json!({"method": "POST", "path": "/v1/odd", "headers": {}});
        let mut response = json!({"status": 200, "headers": {}, "end": "complete"});
        if part == "request" {
            request["base64"] = json!(body)
        } else {
            response["base64"] = json!(body)
        }
        let identity = json!({"format": "1.0", "identity": {"version": 1, "ignore": []}});
        let entry = json!({"request": request, "response": response});
        let scene = Scene::new();
        let file = json!({"_version": 2, "_loomrec": identity, "step": entry});
        scene.write(serde_json::to_string_pretty(&file).unwrap());
        let found = scene.run(&["verify", "run.json"]).expect(1).stdout;
        assert!(found.contains("credential"), "{found}");
        scene.run(&["redact", "run.json", "--apply"]).expect(0);
        assert!(!holds(&scene.only_take()[part], "sk-ant"), "{}", scene.text());
        scene.run(&["verify", "run.json"]).expect(0);
    }
}
