//! Tests of secrets that an answer sends in pieces, in formats that no provider's reader knows.

use serde_json::json;

use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Scene, Upstream};

const KEY: &str = "canaryKeyQ7f3aZb94Wm2x0";
const PIECES: [&str; 5] = ["Your key ", "canaryK", "eyQ7f3aZ", "b94Wm2x0", "."];
const SSE: &str = "content-type: text/event-stream";
const TOKENS: &str = "/openai/v1/tokens";

/// A call with the key that its answer contains.
fn asked(path: &str) -> Call {
    let body = json!({"model": "m", "stream": true, "max_tokens": 5, "messages": []});
    Call::post(path, body.to_string()).header(&format!("authorization: Bearer {KEY}"))
}

/// Server-sent events of these values.
fn events(values: impl Iterator<Item = String>) -> String {
    values.map(|value| format!("data: {value}\n\n")).collect()
}

/// Records one answer. Checks that the recording has no piece of the key and all of the rest, and
/// that `verify` and `redact` find nothing left.
fn assert_is_removed(what: &str, path: &str, head: &str, body: &str, rules: &[&str]) -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::whole(200, &[head], body));
    let server = scene.record(&upstream, &[rules, &["--keep-failures"]].concat());
    assert_eq!(server.call(&asked(path)).expect(200).text(), body, "{what}");
    server.stop().expect(0);
    let text = scene.text();
    for piece in [PIECES[1], PIECES[2], PIECES[3], "CUST-kq", "wxyz"] {
        assert!(!text.contains(piece), "{what}: {piece} in {text}");
    }
    assert!(text.contains("[REDACTED]") && text.contains("Your key "), "{what}: {text}");
    scene.run(&["verify", "run.json"]).expect(0);
    let clean = scene.run(&[&["redact", "run.json"], rules].concat()).expect(0);
    assert!(clean.stdout.contains("clean"), "{what}: {}", clean.stdout);
    scene
}

#[test]
fn pieces_that_are_strings_of_their_own_are_one_text() {
    let strings = || PIECES.iter().map(|piece| json!(piece).to_string());
    let lines: Vec<String> = strings().collect();
    let tagged: String = strings().map(|text| format!("0:{text}\n")).collect();
    let plain = "content-type: text/plain";
    let cases = [
        ("events of strings", SSE, events(strings())),
        ("lines of strings", "content-type: application/x-ndjson", lines.join("\n")),
        (
            "lines of strings that are called JSON",
            "content-type: application/json",
            lines.join("\n"),
        ),
        ("lines with a tag", plain, tagged),
    ];
    for (what, head, body) in &cases {
        assert_is_removed(what, TOKENS, head, body, &[]);
        let body =
            body.replace("canaryK", "CUST-kq").replace("eyQ7f3aZ", "wxyz").replace("b94Wm2x0", "");
        assert_is_removed(what, TOKENS, head, &body, &["--redact", "CUST-[a-z]{6}"]);
    }
}

#[test]
fn text_goes_on_under_another_index_type_place_or_spelling_of_a_name() {
    let indexed = |indexes: [u8; 5]| {
        events(
            indexes
                .iter()
                .zip(PIECES)
                .map(|(index, piece)| json!({"index": index, "text": piece}).to_string()),
        )
    };
    for indexes in [[0, 1, 2, 3, 3], [0, 0, 1, 2, 2], [0, 1, 0, 1, 0], [0, 1, 1, 1, 0]] {
        assert_is_removed("indexes", TOKENS, SSE, &indexed(indexes), &[]);
    }
    let typed = PIECES.iter().enumerate();
    let typed = typed.map(|(at, piece)| json!({"type": at.to_string(), "t": piece}).to_string());
    assert_is_removed("types", TOKENS, SSE, &events(typed), &[]);
    let names = ["\"t\"", "\"\\u0074\"", "\"t\"", "\"\\u0074\"", "\"t\""];
    let spelled = names.iter().zip(PIECES).map(|(name, piece)| format!("{{{name}:\"{piece}\"}}"));
    assert_is_removed("names", TOKENS, SSE, &events(spelled), &[]);
    let rule = ["--redact", "CUST-[a-z]{6}"];
    let texts = ["Your key ", "CUST-kq", "wxyz"];
    let spelled = names.iter().zip(texts).map(|(name, piece)| format!("{{{name}:\"{piece}\"}}"));
    assert_is_removed("names", TOKENS, SSE, &events(spelled), &rule);
}

#[test]
fn text_that_begins_in_the_start_of_a_content_block_is_read_with_its_deltas() {
    let start = json!({"type": "content_block_start", "index": 0,
                       "content_block": {"type": "text", "text": "Your key canaryK"}});
    let delta = json!({"type": "content_block_delta", "index": 0,
                       "delta": {"type": "text_delta", "text": "eyQ7f3aZb94Wm2x0"}});
    let body = events([start, delta].iter().map(ToString::to_string));
    assert_is_removed("blocks", "/anthropic/v1/messages", SSE, &body, &[]);
}

#[test]
fn pieces_in_one_array_of_an_unknown_answer_are_one_text() {
    let array = json!(PIECES.map(|piece| json!({ "text": piece }))).to_string();
    assert_is_removed("an array", TOKENS, "content-type: application/json", &array, &[]);
    let strings = json!({ "tokens": PIECES }).to_string();
    assert_is_removed("strings", TOKENS, "content-type: application/json", &strings, &[]);
}

#[test]
fn words_that_have_nothing_to_do_with_each_other_are_no_text_of_a_rule() {
    let scene = Scene::new();
    let body = json!({"tags": ["alpha", "beta", "gamma", "delta"]}).to_string();
    let upstream = Upstream::always(Answer::json(200, &body));
    let server = scene.record(&upstream, &["--redact", "[a-z]{12,}"]);
    server.call(&asked(TOKENS)).expect(200);
    server.stop().expect(0);
    assert_eq!(scene.only_take()["response"]["body"]["tags"][1], "beta");
}

#[test]
fn key_that_is_spelled_as_the_mark_itself_loses_no_call() {
    for key in ["REDACTED", "redacted", "[REDACTED]"] {
        let scene = Scene::new();
        let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
        let server = scene.record(&upstream, &["--redact", "CUST-[0-9]{6}"]);
        let call = chat("see CUST-123456").header(&format!("authorization: Bearer {key}"));
        server.call(&call).expect(200);
        server.stop().expect(0);
        let body = &scene.only_take()["request"]["body"];
        assert_eq!(body["messages"][0]["content"], "see [REDACTED]");
    }
}
