//! Tests of many callers at once that want answers in another form than they were recorded in:
//! without their coding, as a stream or whole, with values of this run.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;

use crate::support::memory::peak_of;
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Received, Scene, Server, Upstream};

const CODINGS: [&str; 8] =
    ["identity", "gzip", "deflate", "br", "zstd", "gzip, br", "zstd, gzip", "br, zstd, gzip"];
const CALLERS: usize = 64;

fn encoded_once(coding: &str, bytes: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "br" => brotli(bytes),
        "zstd" => compress_to_vec(bytes, CompressionLevel::Fastest),
        _ => bytes.to_vec(),
    }
}

/// A brotli stream of uncompressed blocks.
fn brotli(text: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for (at, block) in text.chunks(1 << 16).enumerate() {
        let length = block.len() as u32 - 1;
        // The first block stands behind the bit that gives the size of the window.
        let head = if at == 0 { length << 4 | 1 << 20 } else { length << 3 | 1 << 19 };
        // Uncompressed blocks begin at a byte.
        stream.extend_from_slice(&head.to_le_bytes()[..3]);
        stream.extend_from_slice(block);
    }
    stream.push(3);
    stream
}

fn encoded(codings: &str, bytes: &[u8]) -> Vec<u8> {
    codings.split(", ").fold(bytes.to_vec(), |bytes, coding| encoded_once(coding, &bytes))
}

/// What a program says to get an answer of one coding and form.
fn prompt(coding: &str, form: &str, words: usize, place: &str) -> String {
    format!("[{coding}|{form}|{words}] read {place}/notes.txt")
}

/// Answers in the coding, the form and the length that the prompt names.
fn answer(request: &Received) -> Answer {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let said = body["messages"][0]["content"].as_str().unwrap();
    let (asked, rest) = said.trim_start_matches('[').split_once("] read ").unwrap();
    let asked: Vec<&str> = asked.split('|').collect();
    let [coding, form, words] = asked[..] else { panic!("{said}") };
    let filler: Vec<String> = (0..words.parse().unwrap()).map(|at| format!("w{at} ")).collect();
    let command = format!("cat {rest}");
    let text = filler.iter().map(String::as_str).chain([command.as_str()]);
    let (media, body) = match form {
        "stream" => ("text/event-stream", chat_events(&text.collect::<Vec<_>>()).concat()),
        _ => ("application/json", chat_answer(&text.collect::<String>())),
    };
    let headers = [format!("content-type: {media}"), format!("content-encoding: {coding}")];
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let headers = if coding == "identity" { &headers[..1] } else { &headers[..] };
    Answer::whole(200, headers, encoded(coding, body.as_bytes()))
}

fn asked(form: &str, prompt: &str) -> Call {
    if form == "stream" { chat_streamed(prompt) } else { chat(prompt) }
}

/// Records an answer for each of `kinds`: a coding, a form, and a number of words.
fn recorded(kinds: &[(&str, &str, usize)]) -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::start(answer);
    let server = scene.record(&upstream, &["--var", "workspace=/tmp/recorded-here"]);
    for (coding, form, words) in kinds {
        let call = asked(form, &prompt(coding, form, *words, "/tmp/recorded-here"));
        server.call(&call.header(&format!("accept-encoding: {coding}"))).expect(200);
    }
    server.stop().expect(0);
    scene
}

/// Makes each of `calls` from each of many callers at once, and checks what they get.
fn load(server: &Server, calls: &[(Call, String)]) {
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let answered = &answered;
            scope.spawn(move || {
                for at in 0..calls.len() {
                    let (call, expected) = &calls[(caller + at) % calls.len()];
                    let got = server.call(call).expect(200);
                    assert_eq!(got.header("content-encoding"), None);
                    let text = got.text();
                    // A stream gives the path in pieces, each in an event of its own.
                    let said: String = match text.starts_with("data:") {
                        false => text,
                        true => said_in(&text),
                    };
                    assert!(said.contains(expected), "{expected}: {said}");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answered.into_inner(), CALLERS * calls.len());
}

/// The text that a stream of events says.
fn said_in(events: &str) -> String {
    let events = events.lines().filter_map(|line| line.strip_prefix("data: {"));
    let delta = |event: &str| {
        let event: Value = serde_json::from_str(&format!("{{{event}")).unwrap();
        event["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned()
    };
    events.map(delta).collect()
}

#[test]
fn every_caller_gets_its_answer_in_every_coding_and_mode_with_bound_values() {
    let kinds: Vec<(&str, &str, usize)> = CODINGS
        .into_iter()
        .flat_map(|coding| ["whole", "stream"].map(|form| (coding, form, 20)))
        .collect();
    let scene = recorded(&kinds);
    let args = ["--repeat", "last", "--var", "workspace=/tmp/elsewhere"];
    let server = scene.replay(&args);
    let mut calls = Vec::new();
    for (coding, form, words) in kinds {
        for wanted in ["whole", "stream"] {
            for place in ["/tmp/recorded-here", "/tmp/elsewhere"] {
                let call = asked(wanted, &prompt(coding, form, words, place));
                calls.push((call, format!("cat {place}/notes.txt")));
            }
        }
    }
    load(&server, &calls);
    let peak = peak_of(server.process.pid());
    assert!(peak < 400 << 10, "{peak} kB");
    server.stop().expect(0);
}

#[test]
fn large_answers_in_another_form_take_bounded_memory_together() {
    let kinds = ["gzip", "br", "zstd"].map(|coding| (coding, "stream", 3000));
    let scene = recorded(&kinds);
    let server = scene.replay(&["--repeat", "last"]);
    let calls = kinds.map(|(coding, form, words)| {
        let place = "/tmp/recorded-here";
        (chat(&prompt(coding, form, words, place)), format!("cat {place}/notes.txt"))
    });
    load(&server, &calls);
    let peak = peak_of(server.process.pid());
    assert!(peak < 300 << 10, "{peak} kB");
    server.stop().expect(0);
}
