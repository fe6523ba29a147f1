//! Tests of headers that are not part of a key: only their names are kept and shown.

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, message, message_answer};
use crate::support::{Answer, Scene, Upstream};

fn upstream() -> Upstream {
    Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("x")),
        _ => Answer::json(200, chat_answer("x")),
    })
}

#[test]
fn show_lists_the_headers_that_did_not_count_and_none_of_their_values() {
    let (scene, upstream) = (Scene::new(), upstream());
    let call = chat("hi")
        .header("X-Foo: value-canary-1")
        .header("x-bar: value-canary-2")
        .header("x-hop: value-canary-3")
        .header("connection: keep-alive, x-hop")
        .header("cookie: value-canary-4")
        .header("authorization: Bearer value-canary-5-000000")
        .header("x-api-key: value-canary-6-000000")
        .header("user-agent: value-canary-7")
        .header("x-stainless-os: Linux");
    scene.recorded(&upstream, &[call]);
    assert_eq!(scene.only_take()["request"]["other_headers"], json!("x-bar, x-foo"));
    assert!(!scene.text().contains("canary"), "{}", scene.text());
    let key = scene.takes().remove(0).0;
    let shown = scene.run(&["show", "run.json", &key]).expect(0).stdout;
    assert!(shown.contains("(not part of the key: x-bar, x-foo)"), "{shown}");
    let shown = scene.run(&["show", "run.json", "--json"]).expect(0).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["headers_not_in_key"], json!(["x-bar", "x-foo"]));
    let told = scene.run(&["verify", "run.json", "--strict"]).expect(0).stdout;
    assert!(told.contains("ok, 1 call"), "{told}");
}

#[test]
fn stored_headers_that_a_rule_leaves_out_are_listed_and_those_that_count_are_not() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--ignore", "header:anthropic-beta"]);
    let call = message("hi").header("anthropic-beta: one").header("x-foo: 1");
    server.call(&call.header("anthropic-version: 2023-06-01")).expect(200);
    server.stop().expect(0);
    let key = scene.takes().remove(0).0;
    let shown = scene.run(&["show", "run.json", &key]).expect(0).stdout;
    assert!(shown.contains("(not part of the key: anthropic-beta, x-foo)"), "{shown}");
}

#[test]
fn a_miss_lists_the_headers_that_did_not_count_and_those_in_which_the_nearest_differs() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi").header("x-foo: 1").header("x-old: 1")]);
    let server = scene.replay(&["--strict"]);
    // They do not count: the same call with other such headers is answered.
    server.call(&chat("hi").header("x-new: 1")).expect(200);
    let miss = server.call(&chat("ho").header("x-foo: 2").header("x-new: value-canary"));
    let text = miss.expect(422).text();
    for part in [
        "headers that are not part of the key: x-foo, x-new",
        "of these the nearest recorded call does not list: x-new",
        "the nearest recorded call lists others: x-old",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let said = server.stop().expect(1).stderr;
    assert!(said.contains("headers that are not part of the key: x-foo, x-new"), "{said}");
    assert!(!said.contains("canary") && !text.contains("canary"), "{said}");
}

#[test]
fn a_miss_tells_programs_the_names_apart() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi").header("x-old: 1")]);
    let server = scene.replay(&["--journal", "calls.jsonl"]);
    server.call(&chat("ho").header("x-new: 1")).expect(422);
    server.stop().expect(1);
    let journal = std::fs::read_to_string(scene.path("calls.jsonl")).unwrap();
    let line = journal.lines().find(|line| line.contains("headers_not_in_key")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    let mismatch = &line["mismatch"];
    assert_eq!(mismatch["headers_not_in_key"], json!(["x-new"]), "{line}");
    let expected = json!({"only_now": ["x-new"], "only_recorded": ["x-old"]});
    assert_eq!(mismatch["nearest"]["headers_not_in_key"], expected);
}

#[test]
fn a_header_name_that_holds_a_secret_is_kept_nowhere() {
    let (scene, upstream) = (Scene::new(), upstream());
    let secret = "canary-secret-0001-abcdef";
    let call = chat("hi")
        .header(&format!("authorization: Bearer {secret}"))
        .header(&format!("x-{secret}: 1"))
        .header("x-customer-4711: 1")
        .header("x-foo: 1");
    let server = scene.record(&upstream, &["--redact", "customer-[0-9]+"]);
    server.call(&call).expect(200);
    server.stop().expect(0);
    assert_eq!(scene.only_take()["request"]["other_headers"], json!("x-foo"));
    let server = scene.replay(&["--redact", "customer-[0-9]+", "--journal", "calls.jsonl"]);
    let changed = chat("ho").header(&format!("authorization: Bearer {secret}"));
    let text = server.call(&changed.header(&format!("x-{secret}: 1"))).expect(422).text();
    let said = server.stop().expect(1).stderr;
    assert!(!text.contains(secret) && !said.contains(secret), "{text} {said}");
    for (path, bytes) in scene.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret) && !text.contains("4711"), "{}", path.display());
    }
}

#[test]
fn recording_again_writes_the_same_names_and_a_file_without_them_stays_as_it_is() {
    let (scene, upstream) = (Scene::new(), upstream());
    let call = || chat("hi").header("x-b: 1").header("x-a: 1").header("x-b: 2");
    scene.recorded(&upstream, &[call(), chat("plain").header("user-agent: x")]);
    let text = scene.text();
    assert_eq!(text.matches("other_headers").count(), 1, "{text}");
    assert!(text.contains("\n      \"other_headers\": \"x-a, x-b\",\n"), "{text}");
    let again = Scene::new();
    let other_order = chat("hi").header("x-a: 3").header("x-b: 4");
    again.recorded(&upstream, &[other_order]);
    assert!(again.text().contains("\n      \"other_headers\": \"x-a, x-b\",\n"));
    // A value that is not a string is an error that names its place.
    scene.write(text.replace("\"x-a, x-b\"", "7"));
    scene.run(&["ls", "run.json"]).expect(4).says(&["/request/other_headers"]);
}
