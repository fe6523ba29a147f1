//! Tests of `import` and `export` with good and bad files of other tools.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::loomrec::{self, Finished, command};
use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, Scene, Upstream};

/// A credential without a known form.
const KEY: &str = "correct-horse-battery-staple";

#[track_caller]
pub(crate) fn run(scene: &Scene, args: &[&str]) -> Finished {
    let ran = loomrec::run(scene.dir(), args);
    assert!(!ran.stderr.contains(KEY) && !ran.stdout.contains(KEY), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

pub(crate) fn entries(path: &Path) -> Vec<(String, Value)> {
    let held: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let own = held.as_object().unwrap().iter().filter(|(key, _)| !key.starts_with('_'));
    own.map(|(key, entry)| (key.clone(), entry.clone())).collect()
}

/// A cassette: a chat with several answers, and a page.
fn cassette(answers: &[&str]) -> String {
    let mut text = String::from("interactions:\n");
    let mut add = |uri: &str, request: &str, kind: &str, body: &str| {
        text.push_str(&format!(
            "- request:\n    method: POST\n    uri: {uri}\n    body: '{request}'\n    headers:\n      \
             Authorization:\n      - Bearer {KEY}\n      content-type:\n      - application/json\n  \
             response:\n    status: {{code: 200, message: OK}}\n    headers:\n      Content-Type:\n      \
             - {kind}\n    body: {{string: {}}}\n",
            Value::from(body)
        ));
    };
    let request = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;
    for answer in answers {
        let url = "https://api.openai.com/v1/chat/completions";
        add(url, request, "application/json", &chat_answer(answer));
    }
    add("https://example.com/track", "{}", "text/plain", KEY);
    text.push_str("version: 1\n");
    text
}

#[test]
fn import_makes_the_keys_that_record_makes_under_the_same_flags() {
    let uri = "https://api.openai.com/v1/chat/completions?customer=4711";
    let text =
        cassette(&["one"]).replace("https://api.openai.com/v1/chat/completions", uri).replace(
            "      content-type:\n      - application/json\n  ",
            "      content-type:\n      - application/json\n      X-Tenant:\n      - a\n      \
             OpenAI-Beta:\n      - b\n  ",
        );
    let rules = ["--identity-header", "X-Tenant", "--ignore", "header:openai-beta"];
    let flags = [&rules[..], &["--credential-param", "customer"]].concat();
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("one"))));
    std::fs::write(scene.path("c.yaml"), text).unwrap();
    let made = [&["import", "c.yaml", "-o", "imported.json"], &flags[..]].concat();
    run(&scene, &made).expect(0);
    let request = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;
    let call = Call::post("/openai/v1/chat/completions?customer=4711", request);
    let server = scene.record(&upstream, &flags);
    let call = call.header("content-type: application/json").header("x-tenant: a");
    server.call(&call.header("openai-beta: b")).expect(200);
    server.stop().expect(0);
    let (imported, recorded) = (entries(&scene.path("imported.json")), entries(&scene.recording()));
    assert_eq!(imported[0].0, recorded[0].0);
    assert_eq!(imported[0].1["request"]["headers"]["x-tenant"], json!("a"));
    let held = std::fs::read_to_string(scene.path("imported.json")).unwrap();
    assert!(held.contains("\"ignore_headers\"") && !held.contains("4711"), "{held}");
    run(&scene, &["verify", "imported.json"]).expect(0);
    run(&scene, &["export", "--to", "har", "imported.json"])
        .expect(0)
        .says(&["lost: the rules under which requests are compared"]);
}

#[test]
fn cassette_becomes_a_recording_without_credentials_and_other_hosts() {
    let scene = Scene::new();
    std::fs::write(scene.path("c.yaml"), cassette(&["one", "two"])).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "r.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("2 calls to r.json"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 call to other hosts (example.com)"), "{}", ran.stderr);
    let held = entries(&scene.path("r.json"));
    assert_eq!(held.len(), 2);
    assert_eq!(held[1].0, format!("{}#2", held[0].0));
    assert_eq!(
        (held[0].1["content"].clone(), held[1].1["content"].clone()),
        (json!("one"), json!("two"))
    );
    assert!(!std::fs::read_to_string(scene.path("r.json")).unwrap().contains(KEY));
    let again = run(&scene, &["import", "c.yaml", "-o", "r.json"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    let all = run(&scene, &["import", "c.yaml", "-o", "r.json", "--force", "--all", "--json"]);
    let receipt: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!((receipt["calls"].clone(), receipt["left_out_count"].clone()), (json!(3), json!(0)));
    let page = &entries(&scene.path("r.json"))[2].1;
    assert_eq!(
        (page["upstream"].clone(), page["request"]["path"].clone()),
        (json!("example.com"), json!("/track"))
    );
}

#[test]
fn program_is_answered_by_what_was_imported() {
    let scene = Scene::new();
    std::fs::write(scene.path("c.yaml"), cassette(&["one"])).unwrap();
    assert_eq!(run(&scene, &["import", "c.yaml", "-o", "run.json"]).code, 0);
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let answer = server.call(&chat("hi"));
    assert_eq!((answer.status, answer.text()), (200, chat_answer("one")));
    server.stop().expect(0);
}

#[test]
fn nothing_is_written_when_nothing_comes_over() {
    let scene = Scene::new();
    std::fs::write(scene.path("c.yaml"), cassette(&[])).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "r.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(!scene.path("r.json").exists());
}

/// A recording of calls to several upstreams: complete, streamed, cut, by step.
pub(crate) fn recorded() -> Scene {
    let upstream = Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("Grüße")),
        _ if request.text().contains("\"stream\":true") => {
            Answer::events(&chat_events(&["Hel", "lo ☃"]))
        }
        _ => Answer::whole(429, &["content-type: application/json", "retry-after: 1"], "{}"),
    });
    let scene = Scene::new();
    let server = scene.record(&upstream, &["--upstream", &format!("mine={}", upstream.url())]);
    for call in [
        chat("hi"),
        chat("hi"),
        chat_streamed("hi"),
        message("hi").header("x-loomrec-step-id: greet"),
    ] {
        server.call(&call);
    }
    server.stop();
    scene
}

#[test]
fn exported_har_gives_the_very_recording_back() {
    let scene = recorded();
    let ran = run(&scene, &["export", "--to", "har", "run.json", "-o", "run.har", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let receipt: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((receipt["calls"].clone(), receipt["lost"].clone()), (json!(4), json!([])));
    let har: Value =
        serde_json::from_slice(&std::fs::read(scene.path("run.har")).unwrap()).unwrap();
    assert_eq!(har["log"]["version"], "1.2");
    for entry in har["log"]["entries"].as_array().unwrap() {
        for member in ["startedDateTime", "time", "request", "response", "cache", "timings"] {
            assert!(!entry[member].is_null(), "{member} is not in {entry}");
        }
    }
    assert_eq!(run(&scene, &["import", "run.har", "-o", "back.json"]).code, 0);
    assert_eq!(entries(&scene.path("back.json")), entries(&scene.path("run.json")));
    assert_eq!(run(&scene, &["export", "--to", "har", "run.json", "-o", "run.har"]).code, 2);
}

#[test]
fn what_limits_an_answer_is_in_har_and_in_no_other_format() {
    let scene = recorded();
    let names: Vec<String> = entries(&scene.recording()).into_iter().map(|(key, _)| key).collect();
    let mut held = scene.json();
    for (take, field, value) in [
        (0, "client_left", json!({ "ms": 1.5, "bytes": 2 })),
        (1, "fault", json!({ "type": "http_error", "status_code": 500 })),
        (2, "chaos", json!({ "dropRate": 0.5 })),
        (2, "edited_at", json!("2026-11-30T18:00:00Z")),
        (3, "ended_at", json!("2026-11-30T18:00:00Z")),
        (3, "preset", json!("claude-code 4")),
    ] {
        held[&names[take]][field] = value;
    }
    held[&names[3]]["request"]["other_headers"] = "x-one, x-two".into();
    scene.write(held.to_string());
    let ran = run(&scene, &["export", "--to", "har", "run.json", "-o", "run.har", "--json"]);
    let receipt: Value = serde_json::from_str(&ran.expect(0).stdout).unwrap();
    assert_eq!((&receipt["calls"], &receipt["lost"]), (&json!(4), &json!([])));
    run(&scene, &["import", "run.har", "-o", "back.json"]).expect(0);
    assert_eq!(entries(&scene.path("back.json")), entries(&scene.recording()));
    run(&scene, &["export", "--to", "vcr", "run.json"]).expect(0).says(&[
        "2 calls to stdout",
        "its client got only a part of the answer",
        "a fault takes the place of its answer",
        "lost: the chaos of entries",
        "lost: that answers were edited by hand",
    ]);
    // Without what limits it, the call would get another answer.
    let har = std::fs::read_to_string(scene.path("run.har")).unwrap();
    let wrong = har.replace("\"client_left\":{", "\"client_left\":[],\"x\":{");
    std::fs::write(scene.path("wrong.har"), wrong).unwrap();
    run(&scene, &["import", "wrong.har", "-o", "wrong.json"])
        .expect(1)
        .says(&["left out: entry 1: in `_loomrec`: /client_left must be"]);
}

#[test]
fn exported_cassette_says_what_is_lost_and_comes_back_without_it() {
    let scene = recorded();
    for format in ["vcr", "vcr-json"] {
        let ran = run(&scene, &["export", "--to", format, "run.json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for lost in ["when calls were made", "step ids", "the chunks of streamed answers"] {
            assert!(ran.stderr.contains(&format!("lost: {lost}")), "{}", ran.stderr);
        }
        let file = scene.path(format);
        std::fs::write(&file, ran.stdout).unwrap();
        let ran = run(&scene, &["import", format, "-o", "back.json", "--force"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let told = |path: &str| -> Vec<_> {
            let mut told: Vec<_> = entries(&scene.path(path))
                .into_iter()
                .map(|(_, e)| {
                    (
                        e["request_hash"].to_string(),
                        e["content"].to_string(),
                        e["response"]["status"].to_string(),
                    )
                })
                .collect();
            told.sort();
            told
        };
        assert_eq!(told("back.json"), told("run.json"));
    }
}

#[test]
fn file_that_cannot_be_read_is_named_with_the_place_and_changes_nothing() {
    let scene = Scene::new();
    let good = cassette(&["one"]);
    let deep = format!("{{\"log\": {{\"entries\": [{{\"_loomrec\": {}", "[".repeat(100_000));
    let files: [(&str, Vec<u8>, &str); 8] = [
        ("empty.yaml", Vec::new(), "it is empty"),
        ("cut.yaml", good.as_bytes()[..good.len() - 60].to_vec(), "it may be cut"),
        ("odd.txt", b"hello".to_vec(), "no known format"),
        ("type.yaml", format!("interactions: {KEY}\n").into_bytes(), "expected a list"),
        (
            "twice.har",
            br#"{"log": {"entries": [{"request": {"url": "a", "url": "b"}}]}}"#.to_vec(),
            "duplicate field",
        ),
        ("deep.har", deep.into_bytes(), "recursion limit"),
        ("deep.yaml", format!("interactions: {}", "[".repeat(100_000)).into_bytes(), "line 1"),
        ("own.json", br#"{"_loomrec": {}}"#.to_vec(), "a recording already"),
    ];
    for (name, text, told) in files {
        std::fs::write(scene.path(name), text).unwrap();
        let ran = run(&scene, &["import", name, "-o", "r.json"]);
        assert_eq!(ran.code, 4, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(name) && ran.stderr.contains(told), "{name}: {}", ran.stderr);
        assert!(ran.stderr.len() < 1000, "{name}: {}", ran.stderr);
        assert!(!scene.path("r.json").exists());
    }
    let missing = run(&scene, &["import", "none.har", "-o", "r.json"]);
    assert_eq!(missing.code, 4);
    let format = run(&scene, &["import", "--from", "vcrr", "odd.txt", "-o", "r.json"]);
    assert_eq!(format.code, 2);
    assert!(format.stderr.contains("did you mean vcr?"), "{}", format.stderr);
}

/// Feeds `import` 1 GiB through a pipe. Returns its exit code, its output, and its peak memory.
pub(crate) fn feed(head: &str, piece: &str, more: bool) -> (i32, String, u64) {
    let scene = Scene::new();
    let mut child = command(scene.dir(), &["import", "-", "-o", "r.json"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut peak, mut written) = (0, 0);
    let mut text = head.to_owned();
    while written < 1 << 30 && stdin.write_all(text.as_bytes()).is_ok() {
        if text.len() < piece.len() {
            text = piece.to_owned();
        }
        written += text.len();
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
        peak = peak.max(line.trim().trim_end_matches(" kB").parse().unwrap_or(0));
        if more && written > 48 << 20 {
            break;
        }
    }
    drop(stdin);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code().unwrap(), said, peak)
}

#[test]
fn memory_is_bounded_when_a_file_is_enormous() {
    // One body without an end.
    let head = "{\"log\": {\"entries\": [{\"request\": {\"url\": \"";
    let (code, said, peak) = feed(head, &"x".repeat(1 << 20), false);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("one exchange takes more than 128 MiB"), "{said}");
    assert!(peak < 700 << 10, "{peak} kB");
    // Many small ones.
    let entry = json!({"request": {"method": "GET", "url": "https://example.com/x", "headers": []},
        "response": {"status": 200, "headers": [], "content": {"text": "y".repeat(2000)}}});
    let piece = format!("{entry},").repeat(200);
    let (code, said, peak) = feed("{\"log\": {\"entries\": [", &piece, true);
    assert_eq!(code, 4, "{said}");
    assert!(peak < 100 << 10, "{peak} kB");
}
