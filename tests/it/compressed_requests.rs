//! Tests of compressed requests: each is known by its text, whatever its coding, and so are those
//! that earlier versions recorded.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use flate2::{Compression, GzBuilder};
use loomrec_identity::{IdentityRules, KeyForm, RequestKey, RequestParts};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::json;

use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

fn gzip(bytes: &[u8], level: u32, time: u32) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(time).write(Vec::new(), Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A brotli stream with one uncompressed block.
fn brotli(text: &[u8]) -> Vec<u8> {
    let head = ((text.len() as u32 - 1) << 4 | 1 << 20).to_le_bytes();
    [&head[..3], text, &[3]].concat()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A body in each coding: the header, and the bytes.
fn coded(body: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("gzip", gzip(body, 9, 1)),
        ("gzip", gzip(body, 1, 2)),
        ("x-gzip", gzip(body, 6, 0)),
        ("deflate", zlib(body)),
        ("deflate", deflate(body)),
        ("br", brotli(body)),
        ("zstd", zstd(body)),
        ("zstd", [zstd(&body[..9]), zstd(&body[9..])].concat()),
        ("zstd, gzip", gzip(&zstd(body), 5, 3)),
    ]
}

fn call(coding: &str, bytes: &[u8]) -> Call {
    Call::post(CHAT, bytes).header(&format!("content-encoding: {coding}"))
}

fn body(text: &str) -> Vec<u8> {
    chat_body(text).to_string().into_bytes()
}

#[test]
fn compressed_request_is_known_by_its_text() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
    let plain = Scene::new();
    plain.recorded(&upstream, &[chat("what is in it?")]);
    let others = coded(&body("what is in it?"));
    for (coding, bytes) in &others {
        let scene = Scene::new();
        scene.recorded(&upstream, &[call(coding, bytes)]);
        // The upstream got the client's own bytes, and its header.
        let received = upstream.received().pop().unwrap();
        assert_eq!(received.body, *bytes, "{coding}");
        assert_eq!(received.header("content-encoding"), Some(*coding));
        assert_eq!(scene.takes()[0].0, plain.takes()[0].0, "{coding}");
        let request = &scene.takes()[0].1["request"];
        assert_eq!(request["body"]["messages"][0]["content"], "what is in it?", "{coding}");
        for (other, bytes) in &others {
            let answers = scene.replayed(&["--strict"], &[call(other, bytes)], 0);
            assert_eq!(answers[0].status, 200, "{coding} {other}: {}", answers[0].text());
        }
        scene.replayed(&["--strict"], &[chat("what is in it?")], 0).remove(0).expect(200);
        scene.run(&["verify", "run.json", "--strict"]).expect(0);
        // What was recorded without a coding answers, too.
        plain.replayed(&["--strict"], &[call(coding, bytes)], 0).remove(0).expect(200);
    }
}

#[test]
fn miss_rules_and_commands_see_the_text_of_a_compressed_request() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("ok"))));
    let with = |text: &str, user: &str| {
        let mut body = chat_body(text);
        body["user"] = json!(user);
        call("zstd", &zstd(body.to_string().as_bytes()))
    };
    let server = scene.record(&upstream, &["--ignore", "/user"]);
    server.call(&with("the first question", "ann")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--pending", "run.json.pending"]);
    server.call(&with("the first question", "bob")).expect(200);
    let text = server.call(&with("the other question", "bob")).expect(422).text();
    assert!(text.contains("/messages/0/content") && text.contains("other"), "{text}");
    server.stop().expect(1);
    for args in [&["show", "run.json"][..], &["ls", "run.json"]] {
        let shown = scene.run(args).expect(0).stdout;
        assert!(shown.contains("the first question"), "{args:?}: {shown}");
    }
    let pending = scene.run(&["review", "--list", "run.json"]).expect(0).stdout;
    assert!(pending.contains("the other question"), "{pending}");
}

/// A recording of a compressed request, as a version made it that stored the compressed bytes.
fn recorded_before(bytes: &[u8]) -> (Scene, String) {
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let parts = RequestParts {
        form: KeyForm::Chat,
        method: "POST",
        query: "",
        headers: &headers,
        body: bytes,
    };
    let key = RequestKey::from_parts(&parts, &IdentityRules::default()).to_string();
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("ok"))));
    scene.recorded(&upstream, &[call("gzip", &gzip(&body("an old question"), 6, 0))]);
    let now = scene.takes()[0].0.clone();
    let stored = serde_json::to_string(&json!({ "base64": STANDARD.encode(bytes) })).unwrap();
    let text = scene.text().replace(&now, &key);
    let start = text.find("\"body\": {").unwrap();
    let end = start + text[start..].find("\n      }").unwrap() + "\n      }".len();
    let stored = stored.trim_matches(['{', '}']).replace("\":\"", "\": \"");
    scene.write(format!("{}{stored}{}", &text[..start], &text[end..]));
    (scene, key)
}

#[test]
fn recording_with_compressed_bytes_is_readable_and_matches_by_their_text() {
    let text = body("an old question");
    for (coding, bytes) in coded(&text) {
        let (scene, key) = recorded_before(&bytes);
        let before = scene.text();
        assert!(before.contains("\"base64\""), "{before}");
        scene.run(&["verify", "run.json", "--strict"]).expect(0);
        for (other, bytes) in coded(&text) {
            let answers = scene.replayed(&["--strict"], &[call(other, &bytes)], 0);
            assert_eq!(answers[0].status, 200, "{coding} {other}: {}", answers[0].text());
        }
        scene.replayed(&["--strict"], &[chat("an old question")], 0).remove(0).expect(200);
        scene.replayed(&["--strict"], &[chat("a new question")], 1).remove(0).expect(422);
        let shown = scene.run(&["show", "run.json"]).expect(0).stdout;
        assert!(shown.contains("an old question"), "{coding}: {shown}");
        // A recorder that adds a call leaves the old one as it is.
        let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
        scene.recorded(&upstream, &[chat("another question")]);
        assert!(scene.takes().iter().any(|(name, take)| {
            *name == key && take["request"]["base64"] == json!(STANDARD.encode(&bytes))
        }));
    }
}

#[test]
fn file_that_is_compressed_by_itself_is_kept_as_it_is_and_known_by_its_text() {
    let upstream = Upstream::always(Answer::json(200, "{}"));
    let upload = |bytes: &[u8]| {
        Call::new("POST", "/openai/v1/things").header("content-type: application/gzip").body(bytes)
    };
    let scene = Scene::new();
    let bytes = gzip(b"a file of its own", 9, 7);
    scene.recorded(&upstream, &[upload(&bytes)]);
    assert_eq!(scene.only_take()["request"]["base64"], json!(STANDARD.encode(&bytes)));
    let calls = [upload(&bytes)];
    scene.replayed(&["--strict"], &calls, 0).remove(0).expect(200);
    let other = [upload(&gzip(b"a file of its own", 1, 8))];
    scene.replayed(&["--strict"], &other, 0).remove(0).expect(200);
    let other = [upload(&gzip(b"another file", 1, 8))];
    scene.replayed(&["--strict"], &other, 1).remove(0).expect(422);
    scene.run(&["verify", "run.json", "--strict"]).expect(0);
}

#[test]
fn body_that_does_not_decode_is_known_by_its_bytes() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
    let whole = gzip(&body("what is in it?"), 9, 1);
    for (coding, bytes) in [("gzip", whole[..whole.len() - 9].to_vec()), ("snappy", whole.clone())]
    {
        let scene = Scene::new();
        scene.recorded(&upstream, &[call(coding, &bytes)]);
        scene.replayed(&["--strict"], &[call(coding, &bytes)], 0).remove(0).expect(200);
        let other = [call(coding, &bytes[..bytes.len() - 1])];
        scene.replayed(&["--strict"], &other, 1).remove(0).expect(422);
    }
}

#[test]
fn text_that_is_sent_as_if_it_were_compressed_is_another_request() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
    let plain = body("what is in it?");
    let scene = Scene::new();
    scene.recorded(&upstream, &[chat("what is in it?")]);
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let calls = [call(coding, &plain)];
        scene.replayed(&["--strict"], &calls, 1).remove(0).expect(422);
        // An upstream that takes it is recorded with it, and the plain request is another.
        let own = Scene::new();
        own.recorded(&upstream, &calls);
        own.replayed(&["--strict"], &calls, 0).remove(0).expect(200);
        own.replayed(&["--strict"], &[chat("what is in it?")], 1).remove(0).expect(422);
    }
    let named = [call("utf-8", &plain)];
    scene.replayed(&["--strict"], &named, 0).remove(0).expect(200);
}

#[test]
fn multipart_key_as_boundary_is_replaced_and_the_call_is_answered() {
    let upstream = Upstream::always(Answer::json(200, "{}"));
    let upload = |boundary: &str, key: &str| {
        let body = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\nb\r\n--{boundary}--\r\n"
        );
        Call::new("POST", "/openai/v1/things")
            .header(&format!("content-type: multipart/form-data; boundary={boundary}"))
            .header(&format!("authorization: Bearer {key}"))
            .body(body)
    };
    let known = format!("sk-ant-api03-{}", "Ab12".repeat(8));
    for (boundary, key) in [("own-canary-key-1", "own-canary-key-1"), (&known, "another-key-1")] {
        let scene = Scene::new();
        scene.recorded(&upstream, &[upload(boundary, key)]);
        assert!(!scene.text().contains(boundary), "{}", scene.text());
        for calls in [[upload(boundary, key)], [upload("plain", "a-third-key-1")]] {
            scene.replayed(&["--strict"], &calls, 0).remove(0).expect(200);
        }
        scene.run(&["verify", "run.json", "--strict"]).expect(0);
    }
}
