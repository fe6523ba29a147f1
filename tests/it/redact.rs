//! Tests of `redact`: text that was recorded before its rule existed is removed, and the recording
//! still replays.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use loomrec_provider::Framing;
use loomrec_provider::framing::EventFrame;
use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_streamed};
use crate::support::{Answer, Call, Scene, Upstream};

const RULE: &str = "CUST-[0-9]{6}";
const CONVERSE: &str = "/bedrock/model/us.amazon.nova-lite-v1%3A0/converse-stream";

/// A stream with a customer's number in one event, which two chunks share.
fn streamed(customer: &str) -> Answer {
    let delta = |words: &str| {
        let choice = json!({"index": 0, "delta": {"content": words}});
        format!("data: {}\n\n", json!({"id": "1", "model": "m", "choices": [choice]}))
    };
    let event = delta(&format!("It is {customer}."));
    let (one, other) = event.split_at(event.find("CUST-").unwrap() + 7);
    Answer::events(&[one, other, "data: [DONE]\n\n"])
}

/// AWS frames with the number, in their own JSON and in a model's.
fn framed(customer: &str) -> Answer {
    let native = STANDARD.encode(json!({"text": customer}).to_string());
    let frame =
        |name, data: Value| EventFrame { name: Some(name), data: Some(data), exception: false };
    let delta = json!({"contentBlockIndex": 0, "delta": {"text": customer}});
    let bytes = Framing::EventStream.write_events(&[
        frame("contentBlockDelta", delta),
        frame("chunk", json!({"bytes": native})),
        frame("messageStop", json!({"stopReason": "end_turn"})),
    ]);
    let head = ["transfer-encoding: chunked", "content-type: application/vnd.amazon.eventstream"];
    let whole = bytes.concat();
    whole.chunks(61).fold(Answer::head(200, &head), Answer::chunk).end()
}

fn upstream() -> Upstream {
    Upstream::start(|request| {
        let text = request.text();
        let customer = text.find("CUST-").and_then(|at| text.get(at..at + 11));
        let customer = customer.unwrap_or("CUST-999999").to_owned();
        let odd = [b"\xff\xfe\x00".as_slice(), customer.as_bytes()].concat();
        match () {
            () if request.target.contains("converse") => framed(&customer),
            () if text.contains("\"stream\":true") => streamed(&customer),
            () if text.contains("binary") => {
                Answer::whole(200, &["content-type: application/octet-stream"], odd)
            }
            () => Answer::json(200, chat_answer(&format!("Dear {customer}"))),
        }
    })
}

fn converse(prompt: &str) -> Call {
    let body = json!({"messages": [{"role": "user", "content": [{"text": prompt}]}]});
    Call::post(CONVERSE, body.to_string()).header("content-type: application/json")
}

/// Calls about a customer.
fn calls(customer: &str) -> Vec<Call> {
    vec![
        chat(&format!("Who is {customer}?")),
        chat_streamed(&format!("Stream {customer}")),
        chat(&format!("a binary of {customer}")),
        converse(&format!("Frame {customer}")),
        chat("step").header(&format!("x-loomrec-step-id: about {customer}")),
    ]
}

/// Asserts that no file in the folder has a customer's number, in any known encoding.
#[track_caller]
fn nothing_is_left(scene: &Scene) {
    let native = STANDARD.encode(b"CUST-123456");
    for (path, bytes) in scene.files() {
        // The recording keeps the rule.
        let text = String::from_utf8_lossy(&bytes).replace(RULE, "");
        for needle in ["CUST-", "123456", "999999", native.trim_end_matches('=')] {
            assert!(!text.contains(needle), "{needle} in {}:\n{text}", path.display());
        }
        for found in text.split("\"base64\": \"").skip(1) {
            let bytes = STANDARD.decode(found.split('"').next().unwrap()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("CUST-"), "{found}");
        }
    }
}

#[test]
fn recording_is_redacted_and_replays_under_the_same_rule() {
    let scene = Scene::new();
    let calls = calls("CUST-123456");
    let plain = chat("nothing to hide");
    scene.recorded(&upstream(), &[&calls[..], &[chat("no CUST here")]].concat());
    let before = scene.text();
    let dry = scene.run(&["redact", "run.json", "--redact", RULE]).expect(0);
    assert!(dry.stdout.contains("6 of 6 takes would be redacted"), "{}", dry.stdout);
    assert!(!dry.stdout.contains("CUST-1"), "{}", dry.stdout);
    assert_eq!(scene.text(), before, "a dry run changed it");
    let told = scene.run(&["redact", "run.json", "--redact", RULE, "--apply", "--json"]).expect(0);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let told = &told["recordings"][0];
    assert_eq!(
        (&told["applied"], &told["left"], &told["takes"]),
        (&json!(true), &json!([]), &json!(6))
    );
    nothing_is_left(&scene);
    assert_eq!(scene.names(), ["run.json"]);
    let all = [&calls[..], &[chat("no CUST here")]].concat();
    let answers = scene.replayed(&["--redact", RULE, "--fail-unused"], &all, 0);
    assert!(answers[0].text().contains("Dear [REDACTED]"), "{}", answers[0].text());
    assert!(answers[1].text().contains("It is [REDACTED]."), "{}", answers[1].text());
    assert_eq!(answers[2].body(), b"\xff\xfe\x00[REDACTED]");
    // The recording keeps the rule: another customer now makes the same request.
    let strict = ["--strict"];
    for rule in [&["--redact", RULE][..], &[], &strict] {
        scene.replayed(rule, &[chat("Who is CUST-654321?")], 0);
        scene.replayed(rule, &[chat("Who is CUST-65432?")], 1);
        scene.replayed(rule, std::slice::from_ref(&plain), 1);
    }
    assert_eq!(scene.json()["_loomrec"]["identity"]["redact"], json!([RULE]));
    // The frames have valid checksums, and a second run finds nothing to do.
    scene.run(&["ls", "run.json"]).expect(0);
    let again = scene.run(&["redact", "run.json", "--redact", RULE, "--apply"]).expect(0);
    assert!(again.stdout.contains("run.json: clean, 6 takes"), "{}", again.stdout);
}

#[test]
fn calls_that_become_one_are_takes_of_it() {
    let scene = Scene::new();
    let ask = |customer: &str| chat(&format!("Who is CUST-{customer}?"));
    scene.recorded(&upstream(), &[ask("111111"), chat("between"), ask("222222")]);
    let said = scene.run(&["redact", "run.json", "--redact", RULE, "--apply"]).expect(0).stdout;
    assert!(said.contains("2 keys become one"), "{said}");
    assert!(said.contains("run.json: its rules: redact CUST-[0-9]{6}"), "{said}");
    let keys: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    assert_eq!(keys[1], format!("{}#2", keys[0]), "{keys:?}");
    let calls = [ask("1111"), ask("333333"), ask("444444"), chat("between")];
    scene.replayed(&["--redact", RULE, "--fail-unused"], &calls[1..], 0);
}

#[test]
fn what_is_clean_keeps_its_text_and_its_place() {
    let scene = Scene::new();
    let ask = chat("Who is CUST-111111?");
    scene.recorded(&upstream(), &[chat("one no CUST"), ask, chat("three")]);
    let mut json = scene.json();
    // Only the second must change.
    for (name, entry) in json.as_object_mut().unwrap() {
        if !name.starts_with('_') && !entry["request"].to_string().contains("111111") {
            *entry =
                serde_json::from_str(&entry.to_string().replace("CUST-999999", "nobody")).unwrap();
        }
    }
    scene.write(format!("{json:#}\n"));
    let (before, was) = (scene.text(), scene.takes());
    scene.run(&["redact", "run.json", "--redact", RULE, "--apply"]).expect(0);
    let is = scene.takes();
    assert_eq!((&was[0], &was[2]), (&is[0], &is[2]));
    assert_ne!(was[1].0, is[1].0);
    let after = scene.text();
    let first = |text: &str, end: &str| {
        text[text.find(&was[0].0).unwrap()..text.find(end).unwrap()].to_owned()
    };
    assert_eq!(first(&before, &was[1].0), first(&after, &is[1].0));
    nothing_is_left(&scene);
}

#[test]
fn what_cannot_be_removed_is_told() {
    let scene = Scene::new();
    // An unknown framing.
    let body = "1|{\"text\":\"CUST-12\"}2|{\"text\":\"3456\"}";
    let upstream = Upstream::always(Answer::whole(200, &["content-type: application/x-odd"], body));
    scene.recorded(&upstream, &[chat_streamed("hi")]);
    std::fs::write(scene.planted(".log.torn-1"), "CUST-123456").unwrap();
    // A copy that a killed command left.
    let copy = scene.hidden("").with_file_name(".run.json.abc123.loomrec-tmp");
    std::fs::write(copy, "CUST-123456").unwrap();
    let said = scene.run(&["redact", "run.json", "--redact", RULE, "--apply"]).expect(1).stdout;
    assert!(said.contains("NOT removed: a credential is spread over its answer"), "{said}");
    assert!(said.contains(".loomrec/run.json.log.torn-1 belongs to it"), "{said}");
    assert!(said.contains(".loomrec/.run.json.abc123.loomrec-tmp belongs to it"), "{said}");
    assert!(!scene.text().contains("CUST-123456"), "{}", scene.text());
}

#[test]
fn rules_of_the_project_hold_and_metadata_is_cleaned() {
    let scene = Scene::new();
    std::fs::write(scene.path("loomrec.toml"), format!("redact = ['{RULE}']\n")).unwrap();
    scene.write(
        "{\"_version\": 2, \"_by\": \"CUST-123456\", \"x\": {\"content\": \"CUST-999999\"}}",
    );
    scene.run(&["redact", "run.json", "--apply"]).expect(0);
    std::fs::remove_file(scene.path("loomrec.toml")).unwrap();
    nothing_is_left(&scene);
    assert_eq!(scene.json()["_by"], "[REDACTED]");
    assert_eq!(scene.json()["x"]["content"], "[REDACTED]");
}

#[test]
fn later_recordings_redact_as_the_recording_says() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("Who is CUST-111111?")]);
    scene.run(&["redact", "run.json", "--redact", RULE, "--apply"]).expect(0);
    // Neither is the flag typed, nor does the file lose the rule.
    scene.recorded(&upstream(), &[chat("Where is CUST-222222?")]);
    nothing_is_left(&scene);
    assert!(!scene.text().contains("CUST-222222"), "{}", scene.text());
    let both = [chat("Who is CUST-333333?"), chat("Where is CUST-444444?")];
    scene.replayed(&["--strict", "--fail-unused"], &both, 0);
    let upstream = upstream();
    let server = scene.record(&upstream, &["--mode", "new_episodes"]);
    server.call(&chat("Who is CUST-555555?")).expect(200);
    server.call(&chat("When did CUST-666666 call?")).expect(200);
    server.stop().expect(0).says(&["1 served", "1 recorded"]);
    assert!(!scene.text().contains("CUST-6"), "{}", scene.text());
}

#[test]
fn pattern_that_holds_what_it_removes_is_not_written() {
    for pattern in ["CUST-123456", "^CUST-123456", r"CUST\-123456"] {
        let scene = Scene::new();
        scene.recorded(&upstream(), &[chat("Who is CUST-123456?")]);
        let ended = scene.run(&["redact", "run.json", "--redact", pattern, "--apply"]).expect(0);
        ended.says(&["is not written into the recording"]);
        assert!(!scene.text().contains("123456") || pattern.starts_with('^'), "{}", scene.text());
        assert_eq!(scene.json()["_loomrec"]["identity"].get("redact"), None);
    }
}

#[test]
fn patterns_of_a_recording_are_checked_as_it_is_read() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hello")]);
    let mut json = scene.json();
    let wrong = [json!(["("]), json!(["x*"]), json!("a"), json!([1]), json!(vec!["a"; 257])];
    for patterns in wrong {
        json["_loomrec"]["identity"]["redact"] = patterns.clone();
        scene.write(format!("{json:#}\n"));
        scene.run(&["ls", "run.json"]).expect(4).says(&["/_loomrec/identity/redact"]);
    }
}

#[test]
fn bad_input_is_refused_and_nothing_is_changed() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("Who is CUST-111111?")]);
    let before = scene.text();
    let with = |rule: &str| scene.run(&["redact", "run.json", "--apply", "--redact", rule]);
    with("(").expect(2).says(&["--redact"]);
    with("x*").expect(2).says(&["empty text"]);
    std::fs::write(scene.path("bad.json"), "{\"x\": {").unwrap();
    let both = ["redact", "run.json", "bad.json", "--redact", RULE, "--apply"];
    scene.run(&both).expect(4).says(&["bad.json", "line 1"]);
    assert_eq!(scene.text(), before);
    let upstream = upstream();
    let server = scene.record(&upstream, &[]);
    server.call(&chat("more")).expect(200);
    with(RULE).expect(5).says(&["recorded into"]);
    server.stop().expect(0);
}
