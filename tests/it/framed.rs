//! Tests of streams that are not server-sent events: Ollama's lines and Bedrock's messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use loomrec_provider::Framing;
use loomrec_provider::framing::EventFrame;
use serde_json::{Value, json};

use crate::support::client::Call;
use crate::support::{Answer, Scene, Upstream};

const CONVERSE: &str = "/bedrock/model/us.amazon.nova-lite-v1%3A0/converse";
const CHAT: &str = "/ollama/api/chat";

fn converse(verb: &str) -> Call {
    let body = json!({ "messages": [{ "role": "user", "content": [{ "text": "hi" }] }] });
    Call::post(&format!("{CONVERSE}{verb}"), body.to_string())
}

fn chat(stream: Option<bool>) -> Call {
    let mut body = json!({ "model": "qwen3", "messages": [{ "role": "user", "content": "hi" }] });
    if let Some(stream) = stream {
        body["stream"] = stream.into();
    }
    Call::post(CHAT, body.to_string())
}

/// Bedrock's messages as it sends them, one per event.
fn messages() -> Vec<Vec<u8>> {
    let frame =
        |name, data: Value| EventFrame { name: Some(name), data: Some(data), exception: false };
    let delta = |text: &str| {
        frame(
            "contentBlockDelta",
            json!({ "contentBlockIndex": 0, "delta": { "text": text }, "p": "abc" }),
        )
    };
    let usage = json!({ "inputTokens": 3, "outputTokens": 5, "totalTokens": 8 });
    Framing::EventStream.write_events(&[
        frame("messageStart", json!({ "p": "abcd", "role": "assistant" })),
        delta("Bon"),
        delta("jour."),
        frame("contentBlockStop", json!({ "contentBlockIndex": 0 })),
        frame("messageStop", json!({ "stopReason": "end_turn" })),
        frame("metadata", json!({ "metrics": { "latencyMs": 9 }, "usage": usage })),
    ])
}

/// The bytes, cut within messages.
fn cut_oddly(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.chunks(97).map(<[u8]>::to_vec).collect()
}

fn answer(media: &str, chunks: &[Vec<u8>]) -> Answer {
    let head = ["transfer-encoding: chunked".to_owned(), format!("content-type: {media}")];
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    chunks.iter().fold(Answer::head(200, &head), Answer::chunk).end()
}

fn bedrock(chunks: &[Vec<u8>]) -> Upstream {
    Upstream::always(answer("application/vnd.amazon.eventstream", chunks))
}

#[test]
fn bedrocks_messages_come_back_chunk_for_chunk_and_complete() {
    let chunks = cut_oddly(&messages().concat());
    let (scene, upstream) = (Scene::new(), bedrock(&chunks));
    let recorded = scene.recorded(&upstream, &[converse("-stream")]).remove(0).expect(200);
    assert_eq!(recorded.chunks, chunks);
    let take = scene.only_take();
    assert_eq!(
        (&take["content"], &take["finish_reason"]),
        (&json!("Bonjour."), &json!("end_turn"))
    );
    assert_eq!(take["usage"]["total_tokens"], 8);
    let again = scene.replayed(&["--strict"], &[converse("-stream")], 0).remove(0).expect(200);
    assert_eq!(again.chunks, chunks);
    assert_eq!(again.header("content-type"), Some("application/vnd.amazon.eventstream"));
    let whole = scene.replayed(&["--strict"], &[converse("")], 0).remove(0).expect(200);
    assert_eq!(whole.json()["output"]["message"]["content"], json!([{ "text": "Bonjour." }]));
    assert_eq!(whole.header("content-type"), Some("application/json"));
}

#[test]
fn ollamas_lines_come_back_chunk_for_chunk_and_complete() {
    let line = |piece: &str, more: Value| {
        let mut line = json!({ "model": "qwen3", "created_at": "2026-11-21T22:47:48Z",
            "message": { "role": "assistant", "content": piece }, "done": false });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let last =
        json!({ "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 5 });
    let text = line("Bon", json!({})) + &line("jour. \u{2603}", json!({})) + &line("", last);
    let chunks = cut_oddly(text.as_bytes());
    let upstream = Upstream::always(answer("application/x-ndjson", &chunks));
    let scene = Scene::new();
    assert_eq!(scene.recorded(&upstream, &[chat(None)]).remove(0).expect(200).chunks, chunks);
    let take = scene.only_take();
    assert_eq!((&take["content"], &take["model"]), (&json!("Bonjour. \u{2603}"), &json!("qwen3")));
    let again = scene.replayed(&["--strict"], &[chat(Some(true))], 0).remove(0).expect(200);
    assert_eq!(again.chunks, chunks);
    let whole = scene.replayed(&["--strict"], &[chat(Some(false))], 0).remove(0).expect(200).json();
    assert_eq!(whole["message"]["content"], "Bonjour. \u{2603}");
    assert_eq!((&whole["done"], &whole["eval_count"]), (&json!(true), &json!(5)));
}

#[test]
fn bytes_that_do_not_decode_are_kept_and_marked_in_show() {
    let mut chunks = messages();
    let at = chunks[1].len() - 6;
    chunks[1][at] ^= 1;
    let (scene, upstream) = (Scene::new(), bedrock(&chunks));
    scene.recorded(&upstream, &[converse("-stream")]);
    assert_eq!(scene.only_take()["content"], "jour.");
    let again = scene.replayed(&[], &[converse("-stream")], 0).remove(0).expect(200);
    assert_eq!(again.body(), chunks.concat());
    let path = scene.recording();
    let key = scene.takes().remove(0).0;
    let shown = scene.run(&["show", path.to_str().unwrap(), &key]).expect(0);
    let mark = "damage     event 2 does not decode: a checksum or a header is wrong";
    assert!(shown.stdout.contains(mark), "{}", shown.stdout);
    for said in [
        "  messageStart {\"p\":\"abcd\",\"role\":\"assistant\"}\n",
        "  (a message that does not decode)\n",
        "  contentBlockStop {\"contentBlockIndex\":0}\n",
    ] {
        assert!(shown.stdout.contains(said), "no {said} in {}", shown.stdout);
    }
    // A stream without one of its pieces is not a complete answer.
    scene.replayed(&[], &[converse("")], 1).remove(0).expect(422);
}

/// A model's own event, as InvokeModel streams it.
fn invoked(text: &str) -> Vec<u8> {
    let event = json!({ "generation": text, "stop_reason": null }).to_string();
    let data = json!({ "bytes": STANDARD.encode(event) });
    Framing::EventStream
        .write_events(&[EventFrame { name: Some("chunk"), data: Some(data), exception: false }])
        .concat()
}

#[test]
fn a_key_that_bedrock_echoes_leaves_the_messages_and_these_still_decode() {
    let key = "ABCkey-canary-0123456789";
    let said = |text: &str| -> Vec<u8> {
        let delta = json!({ "contentBlockIndex": 0, "delta": { "text": text } });
        let frame =
            EventFrame { name: Some("contentBlockDelta"), data: Some(delta), exception: false };
        Framing::EventStream.write_events(&[frame]).concat()
    };
    let mine = format!("I saw {key}.");
    for (sent, clean, path) in [
        (
            vec![said("one"), said(&mine), said("three")],
            vec![said("one"), said("I saw [REDACTED]."), said("three")],
            "/bedrock/model/us.amazon.nova-lite-v1%3A0/converse-stream",
        ),
        (
            vec![invoked("one"), invoked(&mine), invoked("three")],
            vec![invoked("one"), invoked("I saw [REDACTED]."), invoked("three")],
            "/bedrock/model/meta.llama3-8b-instruct-v1%3A0/invoke-with-response-stream",
        ),
    ] {
        let (scene, upstream) = (Scene::new(), bedrock(&sent));
        let call = Call::post(path, "{}").header(&format!("authorization: Bearer {key}"));
        let recorded = scene.recorded(&upstream, std::slice::from_ref(&call)).remove(0).expect(200);
        assert_eq!(recorded.chunks, sent);
        let again = scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
        assert_eq!(again.chunks, clean);
        assert!(!scene.text().contains(key));
    }
}
