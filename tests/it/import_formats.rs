//! Tests of importing many files: of several formats, bad ones among them, each into its own
//! recording.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::interchange::{entries, run};
use crate::support::Scene;
use crate::support::shape::{chat, chat_answer};

const ASKED: &str = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;

/// A cassette with one call, whose request has these headers.
fn cassette(headers: &str, uri: &str) -> String {
    let answer = chat_answer("Hello");
    format!(
        "interactions:\n- request:\n    method: POST\n    uri: {uri}\n    headers: {headers}\n    \
         body: '{ASKED}'\n  response:\n    status: {{code: 200}}\n    headers: \
         {{content-type: [application/json]}}\n    body: {{string: '{answer}'}}\nversion: 1\n"
    )
}

const OPENAI: &str = "https://api.openai.com/v1/chat/completions";

fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn trace() -> String {
    let request = format!("POST {OPENAI} HTTP/1.1\nContent-Type: application/json\n\n{ASKED}");
    let response =
        format!("HTTP/2.0 200 OK\nContent-Type: application/json\n\n{}", chat_answer("Hello"));
    format!("httprr trace v1\n{} {}\n{request}{response}", request.len(), response.len())
}

#[test]
fn calls_of_any_tool_are_answered_as_they_were() {
    let answer: Value = serde_json::from_str(&chat_answer("Hello")).unwrap();
    let nock = json!([{"scope": "https://api.openai.com:443", "method": "POST",
        "path": "/v1/chat/completions", "status": 200, "response": answer,
        "body": serde_json::from_str::<Value>(ASKED).unwrap(),
        "rawHeaders": ["Content-Type", "application/json"]}]);
    let mapping = json!({"request": {"url": "/v1/chat/completions", "method": "POST",
        "bodyPatterns": [{"equalToJson": ASKED}]},
        "response": {"status": 200, "jsonBody": answer,
            "headers": {"Content-Type": "application/json"}}});
    let go_vcr = cassette("{}", OPENAI).replace("uri:", "url:").replace("version: 1", "version: 2");
    for (name, text) in [
        ("a.httprr", trace().into_bytes()),
        ("a.httprr.gz", gzip(&trace())),
        ("nock.json", nock.to_string().into_bytes()),
        ("mapping.json", mapping.to_string().into_bytes()),
        ("go.yaml", go_vcr.into_bytes()),
    ] {
        let scene = Scene::new();
        write(&scene.path(name), text);
        let ran = run(&scene, &["import", name, "-o", "run.json"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let server = scene.replay(&["--strict", "--fail-unused"]);
        let served: Value = serde_json::from_str(&server.call(&chat("hi")).text()).unwrap();
        assert_eq!(served, answer, "{name}");
        server.stop().expect(0);
    }
}

#[test]
fn bad_file_does_not_stop_the_others_unless_the_import_is_strict() {
    let scene = Scene::new();
    let kind = "{content-type: [application/json]}";
    write(&scene.path("c/a.yaml"), cassette(kind, OPENAI));
    write(&scene.path("c/b.yaml"), &cassette(kind, OPENAI)[..300]);
    write(&scene.path("c/c.yaml"), "agents: 1\n");
    write(&scene.path("c/d.yaml"), cassette(kind, OPENAI));
    let ran = run(&scene, &["import", "c", "-o", "run.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for told in ["2 calls to run.json", "c/b.yaml", "c/c.yaml: it is of no known format"] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert_eq!(entries(&scene.path("run.json")).len(), 2);
    for target in [["-o", "strict.json"], ["--per-file", "strict"]] {
        let ran = run(&scene, &["import", "--strict", "c", target[0], target[1]]);
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        assert!(ran.stderr.contains("c/b.yaml") && ran.stderr.contains("c/c.yaml"));
        assert!(!scene.path(target[1]).exists());
    }
}

#[test]
fn filtered_headers_are_assumed_unless_the_user_says_no() {
    let scene = Scene::new();
    write(&scene.path("a.yaml"), cassette("{}", "https://api.anthropic.com/v1/messages"));
    let headers = |flags: &[&str]| {
        let ran =
            run(&scene, &[&["import", "a.yaml", "-o", "run.json", "--force"], flags].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let stored = entries(&scene.path("run.json"))[0].1["request"]["headers"].to_string();
        (stored.contains("2023-06-01"), ran.stderr.contains("assumed in a.yaml: anthropic-version"))
    };
    assert_eq!(headers(&[]), (true, true));
    assert_eq!(headers(&["--no-assume"]), (false, false));
}

#[test]
fn each_cassette_becomes_the_recording_of_its_test() {
    let scene = Scene::new();
    let kind = "{content-type: [application/json]}";
    let placeholder = "https://aiplatform.googleapis.com/v1/projects/<P>/locations/global/\
                       publishers/google/models/m:generateContent";
    write(&scene.path("tests/test_a.py"), "def test_one():\n    pass\n");
    write(&scene.path("tests/cassettes/test_one.yaml"), cassette(kind, OPENAI));
    write(&scene.path("tests/cassettes/test_b/T.test_two[x].yaml"), cassette(kind, placeholder));
    let ran = run(
        &scene,
        &["import", "tests/cassettes", "--per-file", "tests/recordings", "--substitute", "P=mine"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (name, path) in
        [("test_a/test_one.json", "/v1/chat/"), ("test_b/T.test_two[x].json", "/projects/mine/")]
    {
        let stored = entries(&scene.path(&format!("tests/recordings/{name}")));
        let found = stored[0].1["request"]["path"].as_str().unwrap_or_default().to_owned();
        assert!(stored.len() == 1 && found.contains(path), "{name}: {found}");
    }
}

#[test]
fn call_to_azure_comes_back_from_a_cassette_with_its_upstream_and_cost() {
    let scene = Scene::new();
    let uri = "https://acme.openai.azure.com/openai/deployments/d/chat/completions?api-version=1";
    write(&scene.path("a.yaml"), cassette("{content-type: [application/json]}", uri));
    assert_eq!(run(&scene, &["import", "a.yaml", "-o", "run.json"]).code, 0);
    let first = entries(&scene.path("run.json"));
    for format in ["vcr", "har"] {
        let ran = run(&scene, &["export", "--to", format, "run.json", "-o", format]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(run(&scene, &["import", format, "-o", "back.json", "--force"]).code, 0);
        let back = entries(&scene.path("back.json"));
        for member in ["upstream", "upstream_origin", "request_hash", "cost_usd", "request"] {
            assert_eq!(back[0].1[member], first[0].1[member], "{format}: {member}");
        }
    }
}
