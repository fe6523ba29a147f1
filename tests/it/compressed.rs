//! Tests of credentials in compressed bodies: each coding is decoded completely, or the body is not
//! kept.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::{Compression, GzBuilder};
use ruzstd::decoding::FrameDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};

use crate::support::shape::{CHAT, chat, chat_answer, chat_body, chat_streamed};
use crate::support::{Answer, Call, Scene, Upstream};

const KEY: &str = "canaryKeyQ7f3aZb94Wm2x0";

/// A key with a well-known form, which is not in the source as such.
fn known_key() -> String {
    format!("sk-ant-api03-{}", "AbCdEfGh1234567890".repeat(2))
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A brotli stream with one uncompressed block.
fn brotli(text: &[u8]) -> Vec<u8> {
    let head = ((text.len() as u32 - 1) << 4 | 1 << 20).to_le_bytes();
    [&head[..3], text, &[3]].concat()
}

/// Text that does not compress well.
fn prose(words: u64) -> String {
    (0..words).map(|at| format!("{:x} ", at.wrapping_mul(at).wrapping_mul(2_654_435_761))).collect()
}

fn own(call: Call) -> Call {
    call.header(&format!("authorization: Bearer {KEY}")).header("accept-encoding: gzip, zstd")
}

/// The text in a body of the file, and what other programs decode from it.
fn readable(body: &Value) -> String {
    let mut bytes = Vec::new();
    let mut push = |part: &Value| match part["base64"].as_str() {
        Some(text) => bytes.extend(STANDARD.decode(text).unwrap()),
        None => bytes.extend(part.to_string().into_bytes()),
    };
    match body["chunks"].as_array() {
        Some(chunks) => chunks.iter().for_each(|chunk| push(&chunk[1])),
        None => push(body),
    }
    let mut texts = [bytes.clone(), Vec::new(), Vec::with_capacity(4 << 20)];
    let _cut = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut texts[1]);
    let _cut = FrameDecoder::new().decode_all_to_vec(&bytes, &mut texts[2]);
    texts.iter().map(|text| String::from_utf8_lossy(text)).collect()
}

/// Records the answer to one call in a run that exits with `code`.
#[track_caller]
fn record(scene: &Scene, call: Call, answer: Answer, code: i32) -> String {
    let upstream = Upstream::always(answer);
    let server = scene.record(&upstream, &["--keep-failures"]);
    server.call(&own(call));
    let said = server.stop().expect(code);
    for (_, bytes) in scene.files() {
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY));
    }
    said.stderr
}

#[test]
fn a_key_in_a_later_frame_of_zstandard_is_not_kept() {
    let whole = chat_answer(&format!("Your key is {KEY} {}", prose(2000)));
    let (front, back) = whole.as_bytes().split_at(20);
    let headers = ["content-type: application/json", "content-encoding: zstd"];
    let frames = [zstd(front), b"\x50\x2a\x4d\x18\x02\0\0\0..".to_vec(), zstd(back)].concat();
    let scene = Scene::new();
    record(&scene, chat("hi"), Answer::whole(200, &headers, frames), 0);
    let take = scene.only_take();
    assert!(!readable(&take["response"]).contains(KEY), "{take}");
    assert!(take["content"].as_str().unwrap().starts_with("Your key is [REDACTED] "));
    assert!(take["usage"]["total_tokens"].is_u64(), "{take}");

    let scene = Scene::new();
    let event = |text: &str| {
        let data = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        zstd(format!("data: {data}\n\n").as_bytes())
    };
    let headers =
        ["content-type: text/event-stream", "content-encoding: zstd", "transfer-encoding: chunked"];
    let stream = Answer::head(200, &headers).chunk(event("Hello ")).chunk(event(KEY)).end();
    record(&scene, chat_streamed("hi"), stream, 0);
    assert!(!readable(&scene.only_take()["response"]).contains(KEY));
    assert_eq!(scene.only_take()["content"], "Hello [REDACTED]");

    let scene = Scene::new();
    let body = chat_body(&format!("my key is {KEY}")).to_string();
    let (front, back) = body.as_bytes().split_at(20);
    let call = Call::post(CHAT, [zstd(front), zstd(back)].concat());
    let call = call.header("content-encoding: zstd");
    record(&scene, call, Answer::json(200, chat_answer("ok")), 0);
    assert!(!readable(&scene.only_take()["request"]).contains(KEY));
}

#[test]
fn an_answer_of_several_frames_is_replayed_whole_to_a_client_that_cannot_read_it() {
    let whole = chat_answer(&prose(2000));
    let (front, back) = whole.as_bytes().split_at(20);
    let headers = ["content-type: application/json", "content-encoding: zstd"];
    let scene = Scene::new();
    let answer = Answer::whole(200, &headers, [zstd(front), zstd(back)].concat());
    record(&scene, chat("hi"), answer, 0);
    let call = chat("hi").header("accept-encoding: identity");
    let replayed = scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
    assert_eq!(replayed.text(), whole);
}

#[test]
fn a_cut_answer_of_zstandard_is_kept_only_where_all_of_it_was_read() {
    let text = prose(90_000);
    let headers = ["content-type: text/plain", "content-encoding: zstd", "content-length: 9999999"];
    for (key, cut, code) in [(KEY, 2000, 5), ("none", 2000, 5), (KEY, 3, 0), ("none", 3, 0)] {
        // Cut within a compressed block, or after the start of another frame.
        let mut packed = zstd(format!("Your key is {key} {text}").as_bytes());
        packed.truncate(packed.len() - if cut == 3 { 0 } else { cut });
        packed.extend_from_slice(if cut == 3 { &[0x28, 0xb5, 0x2f] } else { b"" });
        let scene = Scene::new();
        let answer = Answer::head(200, &headers).bytes(packed).close();
        let said = record(&scene, Call::get("/openai/v1/things"), answer, code);
        if code == 5 {
            assert!(said.contains("its answer is compressed and cannot be looked into"), "{said}");
            continue;
        }
        let response = &scene.only_take()["response"];
        assert_eq!(response["end"], "upstream_abort");
        assert!(!readable(response).contains(KEY));
        let is_kept_packed = response["headers"]["content-encoding"] == "zstd";
        assert_eq!(is_kept_packed, key != KEY);
        assert!(is_kept_packed || readable(response).contains("Your key is [REDACTED] "));
    }
}

#[test]
fn each_content_encoding_header_of_an_answer_counts() {
    let whole = chat_answer(&format!("Your key is {KEY}"));
    let json = "content-type: application/json";
    let answers = [
        (vec!["content-encoding: identity", "content-encoding: gzip"], gzip(whole.as_bytes())),
        (vec!["content-encoding: gzip", "content-encoding: IDENTITY"], gzip(whole.as_bytes())),
        (vec!["content-encoding: zstd", "content-encoding: gzip"], gzip(&zstd(whole.as_bytes()))),
        (vec!["content-encoding: Identity"], whole.clone().into_bytes()),
        // A text with the header of a coding that it does not have.
        (vec!["content-encoding: gzip"], whole.clone().into_bytes()),
    ];
    for (headers, body) in answers {
        let scene = Scene::new();
        let headers = [&[json][..], &headers].concat();
        record(&scene, chat("hi"), Answer::whole(200, &headers, body), 0);
        let take = scene.only_take();
        assert!(!readable(&take["response"]).contains(KEY), "{headers:?}: {take}");
        assert_eq!(take["content"], "Your key is [REDACTED]", "{headers:?}");
    }
}

#[test]
fn what_a_coding_carries_beside_its_text_is_looked_at() {
    let clean = chat_answer("ok");
    let mut named = GzBuilder::new().filename(KEY).write(Vec::new(), Compression::default());
    named.write_all(clean.as_bytes()).unwrap();
    let named = named.finish().unwrap();
    let note = [b"\x50\x2a\x4d\x18\x17\0\0\0", KEY.as_bytes()].concat();
    let noted = [note, zstd(clean.as_bytes())].concat();
    for (coding, body) in [("gzip", &named), ("zstd", &noted)] {
        let scene = Scene::new();
        let coding = format!("content-encoding: {coding}");
        let headers = ["content-type: application/json", &coding];
        record(&scene, chat("hi"), Answer::whole(200, &headers, body), 0);
        assert!(!readable(&scene.only_take()["response"]).contains(KEY), "{coding}");
        assert_eq!(scene.only_take()["content"], "ok");
    }
    let scene = Scene::new();
    let call = Call::post(CHAT, &named).header("content-encoding: gzip");
    record(&scene, call, Answer::json(200, &clean), 0);
    assert!(!readable(&scene.only_take()["request"]).contains(KEY));
}

#[test]
fn an_answer_with_bytes_behind_the_end_of_its_coding_is_not_kept() {
    let clean = chat_answer("ok").into_bytes();
    let packed = [
        ("deflate", zlib(&clean)),
        ("gzip", gzip(&clean)),
        ("br", brotli(&clean)),
        ("zstd", zstd(&clean)),
    ];
    for (coding, packed) in packed {
        for rest in [format!(" {}", known_key()).into_bytes(), gzip(KEY.as_bytes())] {
            // A second gzip member belongs to the first, and text after uncompressed brotli is
            // readable as a whole.
            if (coding == "gzip" && rest[0] != b' ') || (coding == "br" && rest[0] == b' ') {
                continue;
            }
            let scene = Scene::new();
            let header = format!("content-encoding: {coding}");
            let headers = ["content-type: application/json", &header];
            let answer = Answer::whole(200, &headers, [&packed[..], &rest].concat());
            let said = record(&scene, chat("hi"), answer, 5);
            assert!(said.contains("cannot be looked into"), "{coding}: {said}");
        }
    }
}

#[test]
fn a_key_in_pieces_of_a_compressed_answer_of_no_known_framing_is_not_kept() {
    let pieces = [&KEY[..8], &KEY[8..15], &KEY[15..]];
    let text: String = pieces.iter().map(|piece| format!("7|{{\"text\":\"{piece}\"}}")).collect();
    let scene = Scene::new();
    let headers = ["content-type: application/x-odd", "content-encoding: gzip"];
    let answer = Answer::whole(200, &headers, gzip(text.as_bytes()));
    record(&scene, Call::get("/openai/v1/odd"), answer, 5);
}

#[test]
fn redact_reads_requests_under_each_coding() {
    let body = chat_body("mail ann@example.com").to_string().into_bytes();
    let packed = [
        ("gzip", gzip(&body)),
        ("deflate", zlib(&body)),
        ("br", brotli(&body)),
        ("zstd", [zstd(&body[..9]), zstd(&body[9..])].concat()),
    ];
    for (coding, packed) in packed {
        let scene = Scene::new();
        let call = Call::post(CHAT, packed).header(&format!("content-encoding: {coding}"));
        record(&scene, call, Answer::json(200, chat_answer("ok")), 0);
        let found = scene.run(&["redact", "run.json", "--redact", "[a-z]+@[a-z.]+", "--apply"]);
        assert!(found.expect(0).stdout.contains("1 of 1 takes redacted"), "{coding}");
        let content = &scene.only_take()["request"]["body"]["messages"][0]["content"];
        assert_eq!(content, "mail [REDACTED]", "{coding}");
    }
}

/// A recording of one answer without its request.
fn with_answer(headers: Value, members: Value) -> Scene {
    let mut response = json!({"status": 200, "headers": headers, "end": "complete"});
    response.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let scene = Scene::new();
    let identity = json!({"format": "1.0", "identity": {"version": 1, "ignore": []}});
    let request = json!({"method": "GET", "path": "/v1/odd", "headers": {}});
    let entry = json!({"request": request, "response": response});
    let file = json!({"_version": 2, "_loomrec": identity, "step": entry});
    scene.write(serde_json::to_string_pretty(&file).unwrap());
    scene
}

#[test]
fn verify_and_redact_read_a_cut_answer_as_far_as_it_decodes() {
    let text = chat_answer(&format!("Your key is {} {}", known_key(), prose(3000)));
    let packed = gzip(text.as_bytes());
    let headers = json!({"content-type": "application/json", "content-encoding": "gzip"});
    let cut =
        json!({"end": "upstream_abort", "base64": STANDARD.encode(&packed[..packed.len() - 500])});
    for command in [&["verify", "--fix"][..], &["redact", "--apply"]] {
        let scene = with_answer(headers.clone(), cut.clone());
        let said = scene.run(&["verify", "run.json"]).expect(1);
        assert!(said.stdout.contains("a credential: sk-a"), "{}", said.stdout);
        scene.run(&[command, &["run.json"]].concat()).expect(0);
        assert!(!readable(&scene.only_take()["response"]).contains("sk-ant"));
        scene.run(&["verify", "run.json"]).expect(0);
    }
}

#[test]
fn redact_takes_a_key_out_of_headers_where_the_answer_cannot_be_cleaned() {
    let key = known_key();
    let spread: String = [&key[..9], &key[9..30], &key[30..]]
        .map(|part| format!("7|{{\"text\":\"{part}\"}}"))
        .concat();
    let answers = [
        (json!({"content-type": "application/x-odd", "x-note": key}), spread),
        (json!({"content-encoding": "snappy", "x-note": key}), "abc".to_owned()),
    ];
    for (headers, text) in answers {
        let scene = with_answer(headers, json!({"text": text}));
        let said = scene.run(&["redact", "run.json", "--apply"]).expect(1);
        assert!(said.stdout.contains("NOT removed"), "{}", said.stdout);
        let response = &scene.only_take()["response"];
        assert_eq!(response["headers"]["x-note"], "[REDACTED]");
        assert_eq!(response["text"], text);
    }
}

#[test]
fn import_takes_a_key_out_of_a_step_id_and_fails_where_it_cannot() {
    let import = |file: Value, code: i32| {
        let scene = Scene::new();
        std::fs::write(scene.path("log.json"), file.to_string()).unwrap();
        let args = ["import", "log.json", "--from", "agentloom", "-o", "run.json"];
        let said = scene.run(&args).expect(code);
        assert!(!scene.text().contains("sk-ant"), "{}", scene.text());
        (scene, said)
    };
    let named = format!("step-{}", known_key());
    let plain = json!({"content": "fine"});
    let (scene, _) = import(json!({"_version": 2, named: plain, "ok": plain}), 0);
    let keys: Vec<String> = scene.takes().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["step-[REDACTED]", "ok"]);
    let unclean = json!({"content": "hello", "model": known_key()});
    let (scene, said) = import(json!({"_version": 2, "one": unclean, "ok": plain}), 1);
    assert_eq!(scene.takes().len(), 1);
    assert!(said.stderr.contains("a credential in it could not be taken out"), "{}", said.stderr);
}
