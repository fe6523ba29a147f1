//! Tests of headers in the identity of a request: those that change an answer are part of the key
//! in every kind of call; those that name an account are never stored.

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{
    CHAT, chat, chat_answer, chat_body, gemini, gemini_answer, message, message_answer,
};
use crate::support::{Answer, Call, Scene, Server, Upstream};

const INVOKE: &str = "/bedrock/model/anthropic.claude-3/invoke";
const SPEECH: &str = "/openai/v1/audio/speech";

fn upstream() -> Upstream {
    Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("x")),
        "/v1/audio/speech" => Answer::whole(200, &["content-type: audio/mpeg"], [0xff_u8, 1]),
        target if target.contains("generateContent") => Answer::json(200, gemini_answer("x")),
        _ => Answer::json(200, chat_answer("x")),
    })
}

fn invoke() -> Call {
    Call::post(INVOKE, json!({"messages": [], "max_tokens": 1}).to_string())
}

fn speech() -> Call {
    let body = json!({"model": "tts-1", "voice": "alloy", "input": "hi"});
    Call::post(SPEECH, body.to_string())
}

/// Each header of the issue, on a call whose answer it changes, with two values.
fn headers() -> Vec<(Call, &'static str, &'static str, &'static str)> {
    let mut all = vec![
        (invoke(), "accept", "text/plain", "application/x-ndjson"),
        (invoke(), "x-amzn-bedrock-accept", "text/plain", "text/html"),
        (speech(), "accept", "audio/mpeg", "audio/wav"),
        (Call::get("/openai/v1/files/file-1/content"), "range", "bytes=0-9", "bytes=10-19"),
        (message("hi"), "anthropic-beta", "one-2025-01-01", "two-2025-01-01"),
        (gemini("generateContent", "hi"), "x-goog-user-project", "project-a", "project-b"),
    ];
    for name in [
        "x-amzn-bedrock-guardrailidentifier",
        "x-amzn-bedrock-guardrailversion",
        "x-amzn-bedrock-trace",
        "x-amzn-bedrock-performanceconfig-latency",
        "x-amzn-bedrock-service-tier",
    ] {
        all.push((invoke(), name, "value-a", "value-b"));
    }
    for name in [
        "anthropic-beta",
        "helicone-cache-enabled",
        "helicone-prompt-id",
        "helicone-target-url",
        "openai-beta",
        "openai-organization",
        "openai-project",
        "prefer",
        "x-amz-target",
        "x-goog-fieldmask",
        "x-goog-user-project",
        "x-http-method-override",
        "x-policy-id",
        "x-portkey-config",
        "x-portkey-provider",
        "x-portkey-unheard-of",
        "x-portkey-virtual-key",
    ] {
        all.push((chat("hi"), name, "value-one-canary", "value-two-canary"));
    }
    all
}

#[test]
fn a_header_that_changes_an_answer_decides() {
    let upstream = upstream();
    for (call, name, one, other) in headers() {
        let with = |value: &str| call.clone().header(&format!("{name}: {value}"));
        let scene = Scene::new();
        let server = scene.record(&upstream, &[]);
        server.call(&with(one)).expect(200);
        server.stop().expect(0);
        let server = scene.replay(&["--strict"]);
        for refused in [with(other), call.clone()] {
            let answer = server.call(&refused);
            assert_eq!(answer.status, 422, "{name}: {}", answer.text());
            assert!(
                answer.text().contains(&format!("header {}", shown(name))),
                "{name}: {}",
                answer.text()
            );
        }
        let answer = server.call(&with(one));
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        server.stop().expect(1);
        let told = scene.run(&["verify", "run.json"]).expect(0).stdout;
        assert!(told.contains("ok, 1 call"), "{name}: {told}");
        // And the reverse: recorded without the header, it does not answer a call with it.
        let scene = Scene::new();
        scene.recorded(&upstream, std::slice::from_ref(&call));
        let answer = scene.replayed(&["--strict"], &[with(one)], 1).remove(0);
        assert_eq!(answer.status, 422, "{name}: {}", answer.text());
    }
}

/// The name of a header in a miss: Bedrock's two headers for one choice share a name.
fn shown(name: &str) -> &str {
    if name == "x-amzn-bedrock-accept" { "accept" } else { name }
}

#[test]
fn what_names_an_account_is_kept_as_a_digest_only() {
    let (scene, upstream) = (Scene::new(), upstream());
    let names = ["openai-organization", "openai-project", "x-goog-user-project"];
    let mut call = chat("hi").header("x-portkey-virtual-key: virtual-canary-0001");
    for name in names {
        call = call.header(&format!("{name}: account-canary-0001"));
    }
    let journal = ["--journal", "calls.jsonl", "--receipt", "receipt.json"];
    let server = scene.record(&upstream, &journal);
    server.call(&call).expect(200);
    server.stop().expect(0);
    let kept = &scene.only_take()["request"]["headers"];
    for name in names.iter().chain(&["x-portkey-virtual-key"]) {
        let value = kept[*name].as_str().unwrap();
        assert!(value.starts_with("sha256:") && value.len() == 23, "{name}: {value}");
    }
    // The upstream got the original values.
    assert_eq!(upstream.received()[0].header("openai-project"), Some("account-canary-0001"));
    let other = chat("hi").header("openai-organization: account-canary-0002");
    let more =
        ["--journal", "replayed.jsonl", "--receipt", "replayed.json", "--pending", "r.pending"];
    let server = scene.replay(&more);
    let answer = server.call(&other).expect(422).text();
    assert!(answer.contains("header openai-organization differs"), "{answer}");
    assert!(answer.contains("OPENAI_ORG_ID"), "{answer}");
    let said = server.stop().expect(1).stderr;
    assert!(!answer.contains("canary") && !said.contains("canary"), "{answer} {said}");
    for (path, bytes) in scene.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("canary"), "{}: {text}", path.display());
    }
}

#[test]
fn a_plain_chat_call_keeps_agentlooms_hash() {
    let (scene, upstream) = (Scene::new(), upstream());
    let body = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Do I need an umbrella in Paris?"}]}"#;
    let call = Call::post(CHAT, body)
        .header("accept: application/json")
        .header("user-agent: OpenAI/Python 2.54.0")
        .header("x-stainless-os: Linux");
    scene.recorded(&upstream, &[call]);
    let key = "79c034c8f450e6f10656b6baa8c8b8ad62396b9097ed1fcabc25115080605fc3";
    assert_eq!(scene.takes()[0].0, key);
    assert_eq!(scene.json()["_loomrec"]["identity"], json!({"version": 1, "ignore": []}));
}

/// A recording of a chat call from before `openai-beta` was part of its key.
fn of_first_generation() -> Scene {
    let scene = Scene::new();
    let call = chat("hi").header("openai-beta: assistants=v1");
    scene.recorded(&upstream(), &[call]);
    let plain = Scene::new();
    plain.recorded(&upstream(), &[chat("hi")]);
    let key = plain.takes()[0].0.clone();
    let mut file = scene.json();
    let now = scene.takes()[0].0.clone();
    let mut entry = file.as_object_mut().unwrap().remove(&now).unwrap();
    entry["request_hash"] = json!(key);
    file[&key] = entry;
    scene.write(format!("{file:#}\n"));
    scene
}

#[test]
fn a_recording_from_before_is_answered_by_what_it_keeps() {
    let scene = of_first_generation();
    scene.run(&["verify", "run.json"]).expect(0);
    let with = |value: &str| chat("hi").header(&format!("openai-beta: {value}"));
    let server = scene.replay(&["--strict"]);
    server.call(&with("assistants=v2")).expect(422);
    server.call(&chat("hi")).expect(422);
    server.call(&with("assistants=v1")).expect(200);
    // The miss says that the recording did not keep the header.
    let answer = server.call(&with("assistants=v1").header("openai-project: p"));
    let answer = answer.expect(422).text();
    assert!(answer.contains("did not keep this header"), "{answer}");
    server.stop().expect(1);
}

#[test]
fn a_changed_header_is_seen_on_one_connection_behind_the_memo() {
    let (scene, upstream) = (Scene::new(), upstream());
    let with = |value: &str| chat("hi").header(&format!("openai-beta: {value}"));
    let named = |value: &str| chat("hi").header(&format!("x-tenant: {value}"));
    let server = scene.record(&upstream, &["--identity-header", "X-Tenant"]);
    for call in [with("a"), with("a"), with("a"), named("a"), named("a"), named("a")] {
        server.call(&call).expect(200);
    }
    server.stop().expect(0);
    let server = scene.replay(&["--strict"]);
    let mut client = server.connect();
    for (call, status) in [
        (with("a"), 200),
        (with("a"), 200),
        (with("b"), 422),
        (with("a"), 200),
        (named("a"), 200),
        (named("a"), 200),
        (named("b"), 422),
        (named("a"), 200),
    ] {
        assert_eq!(client.exchange(&call).status, status, "{call:?}");
    }
    server.stop().expect(1);
}

#[test]
fn a_header_that_is_named_is_kept_and_decides() {
    let (scene, upstream) = (Scene::new(), upstream());
    let with = |value: &str| chat("hi").header(&format!("X-Tenant: {value}"));
    let server = scene.record(&upstream, &["--identity-header", "X-Tenant"]);
    server.call(&with("a")).expect(200);
    server.stop().expect(0);
    let identity = scene.json()["_loomrec"]["identity"].clone();
    assert_eq!(identity, json!({"version": 2, "ignore": [], "headers": ["x-tenant"]}));
    assert_eq!(scene.only_take()["request"]["headers"]["x-tenant"], "a");
    let server = scene.replay(&["--strict"]);
    for refused in [with("b"), chat("hi")] {
        assert!(server.call(&refused).expect(422).text().contains("header x-tenant"));
    }
    server.call(&with("a")).expect(200);
    server.stop().expect(1).says(&["in force: also compared: header x-tenant ("]);
    let server = scene.record(&upstream, &[]);
    server.call(&with("b")).expect(200);
    server.stop().expect(0);
    scene.replayed(&["--strict"], &[with("b")], 0).remove(0).expect(200);
}

#[test]
fn a_header_that_holds_a_credential_cannot_be_named() {
    let scene = Scene::new();
    for name in [
        "authorization",
        "X-Api-Key",
        "x-functions-key",
        "x-access-key",
        "x-key",
        "cookie",
        "x-secret",
        "content-type",
        "a:b",
        "x-loomrec-a",
    ] {
        let args = ["record", "-r", "run.json", "--identity-header", name, "--", "true"];
        scene.run(&args).expect(2).says(&["--identity-header", name]);
    }
    // A file from a stranger cannot make loomrec store it either.
    scene.recorded(&upstream(), &[chat("hi")]);
    let mut file = scene.json();
    file["_loomrec"]["identity"] =
        json!({"version": 2, "ignore": [], "headers": ["authorization"]});
    scene.write(file.to_string());
    scene.run(&["ls", "run.json"]).expect(4).says(&["/_loomrec/identity/headers", "credential"]);
}

#[test]
fn a_header_can_be_left_out_where_that_is_declared() {
    let (scene, upstream) = (Scene::new(), upstream());
    let with = |value: &str| chat("hi").header(&format!("openai-organization: {value}"));
    scene.recorded(&upstream, &[with("org-a")]);
    let flags = ["--strict", "--ignore", "header:OpenAI-Organization"];
    for call in [with("org-b"), chat("hi")] {
        let server = scene.replay(&flags);
        server.call(&call).expect(200);
        server.stop().expect(0).says(&["in force: ignored: header:openai-organization"]);
    }
    // Set by a variable, it is set aside under --strict.
    let mut process = command(scene.dir(), &scene.replay_args(&["--strict"]));
    process.args(["--listen", "127.0.0.1:0"]).env("LOOMREC_IGNORE", "header:openai-organization");
    let server = Server::spawn(&mut process);
    server.call(&chat("hi")).expect(422);
    server.stop().expect(1).says(&["set aside by --strict: ignore header:openai-organization"]);
    // Declared in the recording, it holds for everyone, and no value is stored.
    let scene = Scene::new();
    let server = scene.record(&upstream, &["--ignore", "header:openai-organization"]);
    server.call(&with("org-a")).expect(200);
    server.stop().expect(0);
    let identity = scene.json()["_loomrec"]["identity"].clone();
    assert_eq!(identity["ignore_headers"], json!(["openai-organization"]));
    scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200);
    let told = scene.run(&["verify", "run.json"]).expect(0).stdout;
    assert!(told.contains("header:openai-organization"), "{told}");
    // An AgentLoom entry, known only by its hash, is found with it too.
    let plain = Scene::new();
    let hash = scene.takes()[0].0.clone();
    plain.write(json!({"_version": 2, hash: {"content": "x"}}).to_string());
    plain.replayed(&["--strict"], &[with("org-a")], 1).remove(0).expect(422);
    plain.replayed(&flags, &[with("org-a")], 0).remove(0).expect(200);
}

#[test]
fn headers_of_the_key_are_sent_again_and_a_digest_only_where_its_value_is_known() {
    let (scene, upstream) = (Scene::new(), upstream());
    let call = chat("hi").header("openai-beta: a=b").header("openai-organization: org-canary-01");
    scene.recorded(&upstream, &[call]);
    let base = format!("openai={}", upstream.url());
    let args = ["rerecord", "run.json", "--upstream", &base, "--yes"];
    let run = |organization: Option<&str>| {
        let mut process = command(scene.dir(), &args);
        process.env("OPENAI_API_KEY", "sk-any-key-0123456789");
        process.envs(organization.map(|value| ("OPENAI_ORG_ID", value)));
        finish(&mut process, b"")
    };
    let refused = run(None);
    assert!(refused.stderr.contains("OPENAI_ORG_ID"), "{}", refused.stderr);
    assert_eq!(upstream.requests(), 1);
    assert!(run(Some("org-another")).stderr.contains("OPENAI_ORG_ID"));
    run(Some("org-canary-01")).expect(0);
    let sent = upstream.received().remove(1);
    assert_eq!(sent.header("openai-beta"), Some("a=b"));
    assert_eq!(sent.header("openai-organization"), Some("org-canary-01"));
}

#[test]
fn headers_of_the_key_come_over_with_an_import_and_go_with_an_export() {
    let (scene, upstream) = (Scene::new(), upstream());
    let call = chat("hi").header("openai-beta: a=b").header("openai-organization: org-canary-01");
    scene.recorded(&upstream, std::slice::from_ref(&call));
    let key = scene.takes()[0].0.clone();
    for (form, file) in [("har", "out.har"), ("vcr", "out.yaml")] {
        scene.run(&["export", "--to", form, "run.json", "-o", file]).expect(0);
        scene.run(&["import", file, "-o", "back.json", "--force"]).expect(0);
        let text = std::fs::read_to_string(scene.path("back.json")).unwrap();
        let back: Value = serde_json::from_str(&text).unwrap();
        assert!(back.get(&key).is_some(), "{form}: {text}");
    }
    let har = json!({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [{
        "startedDateTime": "2026-01-01T00:00:00Z", "time": 1,
        "request": {"method": "POST", "url": "https://api.openai.com/v1/chat/completions",
            "httpVersion": "HTTP/1.1", "headers": [
                {"name": "content-type", "value": "application/json"},
                {"name": "OpenAI-Beta", "value": "a=b"},
                {"name": "OpenAI-Organization", "value": "org-canary-01"}],
            "postData": {"mimeType": "application/json", "text": chat_body("hi").to_string()}},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1",
            "headers": [{"name": "content-type", "value": "application/json"}],
            "content": {"mimeType": "application/json", "text": chat_answer("x")}}}]}});
    std::fs::write(scene.path("in.har"), har.to_string()).unwrap();
    scene.run(&["import", "in.har", "-o", "run.json", "--force"]).expect(0);
    assert!(!scene.text().contains("canary"));
    scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
}
