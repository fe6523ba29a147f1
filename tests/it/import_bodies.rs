//! Tests of importing files whose bodies are elsewhere, absent, or in another encoding: no empty or
//! wrong answer is served.

use std::path::Path;

use serde_json::{Value, json};

use crate::interchange::run;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Finished, Scene};

const URL: &str = "https://api.openai.com/v1/chat/completions";
const ASKED: &str = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;
const STREAM: &str = "data: {\"choices\":[]}\n\ndata: [DONE]\n\n";

/// A HAR file with one chat that has this `content`.
fn har(content_type: &str, content: &Value) -> Value {
    let kind = |kind: &str| json!([{"name": "content-type", "value": kind}]);
    json!({"log": {"version": "1.2", "creator": {"name": "Playwright"}, "entries": [{
        "startedDateTime": "2026-01-05T07:39:17.503Z", "time": 12,
        "request": {"method": "POST", "url": URL, "headers": kind("application/json"),
            "bodySize": -1, "postData": {"mimeType": "application/json", "text": ASKED}},
        "response": {"status": 200, "headers": kind(content_type), "bodySize": -1,
            "content": content},
    }]}})
}

fn import(scene: &Scene, name: &str, file: impl AsRef<[u8]>) -> Finished {
    std::fs::write(scene.path(name), file).unwrap();
    let _ = std::fs::remove_file(scene.recording());
    run(scene, &["import", name, "-o", "run.json"])
}

/// The body that a strict replay of the imported recording serves.
fn served(scene: &Scene) -> Vec<u8> {
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let answer = server.call(&chat("hi"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    server.stop().expect(0);
    answer.body()
}

#[test]
fn body_that_a_har_file_does_not_hold_is_a_loss_and_no_empty_answer() {
    let scene = Scene::new();
    for (kind, content) in [
        (
            "application/json",
            json!({"mimeType": "application/json", "size": -1, "_file": "a.json"}),
        ),
        ("application/json", json!({"mimeType": "application/json", "size": -1})),
        ("text/event-stream", json!({"mimeType": "text/event-stream", "size": 0})),
        ("application/json", Value::Null),
        ("application/json", json!({"size": 9, "text": "uryyb", "encoding": "rot13"})),
    ] {
        let ran = import(&scene, "a.har", har(kind, &content).to_string()).expect(1);
        assert!(ran.stderr.contains("left out: entry 1: "), "{content}: {}", ran.stderr);
        assert!(ran.stderr.contains("response's body"), "{content}: {}", ran.stderr);
        assert!(!scene.recording().exists(), "{content}");
    }
    let mut asked = har("application/json", &json!({"size": 2, "text": "{}"}));
    asked["log"]["entries"][0]["request"].as_object_mut().unwrap().remove("postData");
    let ran = import(&scene, "a.har", asked.to_string()).expect(1);
    assert!(ran.stderr.contains("does not hold its request's body"), "{}", ran.stderr);
}

#[test]
fn body_in_another_encoding_or_in_a_file_beside_is_served_as_it_was_sent() {
    let scene = Scene::new();
    let whole = chat_answer("Hello");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sound: Vec<u8> = (0..=255).collect();
    std::fs::write(scene.path("a.json"), &whole).unwrap();
    for (kind, content, truth) in [
        ("application/json", json!({"size": -1, "_file": "a.json"}), whole.as_bytes()),
        ("application/json", json!({"text": hex(whole.as_bytes())}), whole.as_bytes()),
        (
            "text/event-stream",
            json!({"text": hex(STREAM.as_bytes()), "encoding": "hex"}),
            STREAM.as_bytes(),
        ),
        ("audio/mpeg", json!({"_isBinary": true, "size": 200, "text": hex(&sound)}), &sound),
    ] {
        import(&scene, "b.har", har(kind, &content).to_string()).expect(0);
        assert_eq!(served(&scene), truth, "{content}");
        run(&scene, &["verify", "run.json"]).expect(0);
    }
}

#[test]
fn file_that_a_har_file_names_elsewhere_is_not_read() {
    let outer = Scene::new();
    let secret = chat_answer("secret");
    std::fs::write(outer.path("secret.json"), &secret).unwrap();
    let scene = Scene::within(outer.dir());
    std::os::unix::fs::symlink("../secret.json", scene.path("link.json")).unwrap();
    std::fs::write(scene.path(".hidden.json"), &secret).unwrap();
    let absolute = outer.path("secret.json").display().to_string();
    for name in ["../secret.json", &absolute, "link.json", ".hidden.json", "/dev/zero"] {
        let file = har("application/json", &json!({"size": -1, "_file": name})).to_string();
        let ran = import(&scene, "a.har", file).expect(1);
        assert!(ran.stderr.contains("is not in the file, but in"), "{name}: {}", ran.stderr);
    }
    assert!(Path::new(&absolute).exists());
    let ran = import(&scene, "a.zip", b"PK\x03\x04rest").expect(4);
    assert!(ran.stderr.contains("a zip archive: unpack it"), "{}", ran.stderr);
}

#[test]
fn cassette_without_a_body_is_a_loss_unless_the_exchange_says_that_there_is_none() {
    let scene = Scene::new();
    let cassette = |status: u16, headers: &str, body: &str| {
        format!(
            "interactions:\n- request:\n    method: POST\n    uri: {URL}\n    headers: \
             {{content-type: [application/json]}}\n    body: '{ASKED}'\n  response:\n    status: \
             {{code: {status}}}\n    headers: {{{headers}}}\n    body: {body}\nversion: 1\n"
        )
    };
    let json = "content-type: [application/json]";
    let packed = "content-type: [application/json], content-encoding: [gzip]";
    for (headers, body) in [
        (json, "null"),
        (json, "{string: null}"),
        (json, "{string: ''}"),
        (packed, "{string: ''}"),
        (packed, "{base64_string: ''}"),
        (json, "{encoding: UTF-8}"),
        (json, "{string: '', blob: x}"),
    ] {
        let ran = import(&scene, "c.yaml", cassette(200, headers, body)).expect(1);
        assert!(ran.stderr.contains("left out: interaction 1: "), "{body}: {}", ran.stderr);
        assert!(!scene.recording().exists(), "{body}");
    }
    import(&scene, "c.yaml", cassette(200, "content-length: ['0']", "{string: ''}")).expect(0);
    assert_eq!(served(&scene), b"");
    import(&scene, "c.yaml", cassette(204, "", "{string: ''}")).expect(0);
    let server = scene.replay(&["--strict"]);
    assert_eq!(server.call(&chat("hi")).status, 204);
    server.stop();
}
