//! Tests of rules in scripts, and of aimock's fixture files as scripts.

use serde_json::{Value, json};

use crate::support::shape::{CHAT, chat, chat_answer, chat_streamed, message};
use crate::support::{Answer, Call, End, Finished, Response, Scene, Server, Upstream};

/// A script of rules in its own scene.
struct Ruled {
    scene: Scene,
}

impl Ruled {
    fn new(script: &Value) -> Self {
        let scene = Scene::new();
        std::fs::write(scene.path("script.json"), script.to_string()).unwrap();
        Self { scene }
    }

    #[track_caller]
    fn start(&self, more: &[&str]) -> Server {
        let mut args = vec!["replay", "--script", "script.json", "--receipt", "receipt.json"];
        args.extend(more);
        Server::start(self.scene.dir(), &args)
    }

    fn receipt(&self) -> Value {
        let text = std::fs::read_to_string(self.scene.path("receipt.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn said(answer: &Response) -> String {
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

fn in_session(call: Call, session: &str) -> Call {
    call.header(&format!("x-loomrec-session: {session}"))
}

#[test]
fn the_first_rule_that_holds_answers_and_the_receipt_says_who_wrote_it() {
    let ruled = Ruled::new(&json!({ "rules": [
        { "name": "refund", "when": { "user": "refund" }, "answer": "Paid." },
        { "when": { "provider": "anthropic" }, "answer": [{ "text": "Other." }] },
        { "name": "idle", "when": { "user": { "equals": "nobody" } }, "answer": "Never." },
    ] }));
    let server = ruled.start(&["--journal", "j.jsonl", "--fail-unused"]);
    let answer = server.call(&chat("a refund, please")).expect(200);
    assert_eq!(said(&answer), "Paid.");
    assert_eq!(answer.header("x-loomrec-matched-by"), Some("script"));
    assert_eq!(answer.header("x-loomrec-entry"), Some("rule refund"));
    let other = server.call(&message("hello")).expect(200);
    assert_eq!(other.json()["content"][0]["text"], "Other.");
    assert_eq!(other.header("x-loomrec-entry"), Some("rule#2"));
    let stream = server.call(&chat_streamed("refund")).expect(200).text();
    assert!(stream.contains("Paid.") && stream.contains("[DONE]"), "{stream}");
    let missed = server.call(&chat("hello")).expect(422);
    assert_eq!(missed.header("x-loomrec-error"), Some("no_scripted_response"));
    let why = missed.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(why.contains("\"hello\"") && why.contains("the nearest, rule refund"), "{why}");
    server.stop().expect(1).says(&[
        "3 scripted (written by hand)",
        "1 of 3 rules unused",
        "calls that the script has no answer for: 1",
        "rules of the script that no call used: 1: idle",
        "a script written by hand: 3 rules, 0 calls",
    ]);
    let script = json!({ "written_by_hand": true, "calls": 3, "unanswered": 1, "left": 0,
        "rules": 3, "unused_rules": ["idle"], "not_played": [],
        "streams": { "drained": 1, "left": 0 } });
    assert_eq!(ruled.receipt()["script"], script);
    let journal = std::fs::read_to_string(ruled.scene.path("j.jsonl")).unwrap();
    assert!(journal.contains(r#""more":{"script":{"rule":"refund"}}"#), "{journal}");
}

#[test]
fn the_documents_example_of_rules_answers_as_it_says_it_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scripts.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, from) = text.split_once("```yaml\nrules:").expect("an example");
    let (rules, _) = from.split_once("```").unwrap();
    let scene = Scene::new();
    std::fs::write(scene.path("rules.yaml"), format!("rules:{rules}")).unwrap();
    let server = Server::start(scene.dir(), &["replay", "--script", "rules.yaml"]);
    let body =
        json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "a refund!" }] });
    let tool = server.call(&Call::post(CHAT, body.to_string())).expect(200).json();
    let call = &tool["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("refund"), &json!("{\"order\":17}")));
    let result = json!([{ "role": "user", "content": "x" },
        { "role": "tool", "tool_call_id": "c", "content": "ok, done" }]);
    let body = json!({ "model": "m", "messages": result });
    let refunded = server.call(&Call::post(CHAT, body.to_string())).expect(200);
    assert_eq!(said(&refunded), "The money is on its way.");
    assert_eq!(server.call(&chat("status?")).expect(429).json()["error"]["message"], "Slow down");
    assert_eq!(
        server.call(&message("x")).expect(503).header("x-loomrec-fault-rule"),
        Some("rule down")
    );
    server.stop().expect(0);
}

#[test]
fn the_nth_call_is_that_of_a_rule_and_a_session() {
    let ruled = Ruled::new(&json!({ "rules": [
        { "when": { "user": "status", "call": 1 }, "error": { "status": 503, "message": "wait" } },
        { "when": { "user": "status" }, "answer": "Well." },
    ] }));
    let server = ruled.start(&[]);
    server.call(&chat("my status")).expect(503);
    server.call(&in_session(chat("status"), "a")).expect(503);
    assert_eq!(said(&server.call(&chat("status")).expect(200)), "Well.");
    let reset = Call::post("/__loomrec/reset?session=a", "").header("host: localhost");
    server.call(&reset).expect(200);
    server.call(&in_session(chat("status"), "a")).expect(503);
    assert_eq!(said(&server.call(&chat("status")).expect(200)), "Well.");
    server.stop().expect(0).says(&["0 of 2 rules unused"]);
}

#[test]
fn a_rules_faults_happen_as_those_of_an_entry_do() {
    let ruled = Ruled::new(&json!({ "rules": [
        { "name": "down", "when": { "user": "down" }, "fault": "http_error:503", "times": 2 },
        { "name": "up", "when": { "user": "down", "call": 3 }, "answer": "Up again." },
        { "name": "flaky", "when": { "user": "flaky", "call": 1 }, "answer": "At last.", "times": 1,
          "fault": { "type": "http_error", "status_code": 500 } },
        { "name": "lost", "when": { "user": "lost" }, "answer": "Never.", "chaos": { "drop": 1 } },
    ] }));
    let server = ruled.start(&[]);
    for _ in 0..2 {
        let down = server.call(&chat("down")).expect(503);
        assert_eq!(down.header("x-loomrec-fault-rule"), Some("rule down"));
    }
    assert_eq!(said(&server.call(&chat("down")).expect(200)), "Up again.");
    // The fault gives the call back: its retry is the first call still.
    server.call(&chat("flaky")).expect(500);
    assert_eq!(said(&server.call(&chat("flaky")).expect(200)), "At last.");
    let lost = server.call(&chat("lost")).expect(500);
    assert_eq!(lost.json()["error"]["code"], "chaos_drop");
    let finished = server.stop().expect(0);
    finished.says(&["faults of rules: down (http_error); flaky (http_error); lost (chaos)"]);
    assert_eq!(ruled.receipt()["script"]["unused_rules"], json!([]));
    assert_eq!(ruled.receipt()["faulted"], 4);
}

#[test]
fn a_fault_that_changes_an_answer_changes_a_rules_answer() {
    let ruled = Ruled::new(&json!({ "rules": [
        { "when": { "user": "cut" }, "answer": [{ "text": "one " }, { "text": "two" }],
          "fault": { "type": "stream_truncate", "after_events": 2, "raise": "clean_eof" } },
        { "when": { "user": "slow" }, "times": 1, "answer": "Late.",
          "fault": { "type": "slow", "delay_ms": 50 } },
    ] }));
    let server = ruled.start(&[]);
    let cut = server.call(&chat_streamed("cut")).expect(200).text();
    assert!(cut.contains("one ") && !cut.contains("[DONE]"), "{cut}");
    let whole = server.call(&chat_streamed("cut")).expect(200).text();
    assert!(whole.contains("two") && whole.contains("[DONE]"), "{whole}");
    // A delayed answer is an answer, and uses the rule up.
    assert_eq!(said(&server.call(&chat("slow")).expect(200)), "Late.");
    server.call(&chat("slow")).expect(422);
    server.stop().expect(1);
}

#[test]
fn a_script_beside_recordings_is_refused_under_strict_unless_that_is_said() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("recorded")));
    scene.recorded(&upstream, &[chat("known")]);
    let rules =
        json!({ "rules": [{ "name": "mock", "when": { "user": "other" }, "answer": "Mock." }] });
    std::fs::write(scene.path("s.json"), rules.to_string()).unwrap();
    let args = ["replay", "--strict", "-r", "run.json", "--script", "s.json"];
    scene.run(&args).expect(2).says(&["--strict", "--allow-script"]);
    let script = scene.path("s.json");
    let more = ["--strict", "--allow-script", "--script", script.to_str().unwrap()];
    let server = scene.replay(&more);
    assert_eq!(said(&server.call(&chat("known")).expect(200)), "recorded");
    assert_eq!(said(&server.call(&chat("other")).expect(200)), "Mock.");
    server.stop().expect(0).says(&[
        "a script written by hand: 1 rules, 0 calls",
        "1 served",
        "1 scripted (written by hand)",
    ]);
}

#[test]
fn a_fixture_file_of_aimock_runs_as_a_script_as_it_is() {
    let ruled = Ruled::new(&json!({ "fixtures": [
        { "match": { "userMessage": "seq", "sequenceIndex": 0 }, "response": { "content": "first" } },
        { "match": { "userMessage": "seq", "sequenceIndex": 1 },
          "response": { "content": "second", "model": "named", "finishReason": "length",
              "usage": { "prompt_tokens": 3, "completion_tokens": 2 } } },
        { "match": { "userMessage": "tool" }, "response": { "toolCalls": [
            { "id": "call_1", "name": "weather", "arguments": { "city": "Paris" } }] } },
        { "match": { "userMessage": "busy" }, "response": { "error": { "message": "Slow down",
            "type": "rate_limit_error" }, "status": 429 } },
        { "match": { "userMessage": "lost" }, "response": { "content": "x" }, "chaos": { "dropRate": 1 } },
        { "match": { "userMessage": "picture", "endpoint": "image" }, "response": { "image": { "url": "u" } } },
        { "match": { "userMessage": "cut" }, "response": { "content": "one two three" },
          "chunkSize": 4, "truncateAfterChunks": 2 },
    ] }));
    let server = ruled.start(&[]);
    assert_eq!(said(&server.call(&chat("seq")).expect(200)), "first");
    let second = server.call(&chat("seq")).expect(200).json();
    assert_eq!((&second["model"], &second["usage"]["total_tokens"]), (&json!("named"), &json!(5)));
    assert_eq!(second["choices"][0]["finish_reason"], "length");
    server.call(&chat("seq")).expect(422);
    let tool = server.call(&chat("tool")).expect(200).json();
    let call = &tool["choices"][0]["message"]["tool_calls"][0];
    assert_eq!((&call["id"], &call["function"]["name"]), (&json!("call_1"), &json!("weather")));
    assert_eq!(server.call(&chat("busy")).expect(429).json()["error"]["message"], "Slow down");
    assert_eq!(server.call(&chat("lost")).expect(500).json()["error"]["code"], "chaos_drop");
    // A complete answer is not cut; a stream is, after two events, with a reset.
    assert_eq!(said(&server.call(&chat("cut")).expect(200)), "one two three");
    let mut client = server.connect();
    client.send(&chat_streamed("cut"));
    let head = client.head();
    let cut = client.collect(head);
    assert!(cut.text().contains("one ") && !cut.text().contains("two "), "{}", cut.text());
    assert_eq!(cut.end, End::Reset);
    let finished = server.stop().expect(1);
    finished.says(&[
        "not played: fixture 6 (its answer is not text (image)",
        "faults of rules: fixture#5",
    ]);
    let script = ruled.receipt()["script"].clone();
    assert_eq!((&script["rules"], &script["unused_rules"]), (&json!(6), &json!([])));
    assert_eq!(script["not_played"].as_array().unwrap().len(), 1);
}

#[test]
fn a_rule_that_is_wrong_is_refused_at_start_with_its_place() {
    let refused = |script: &Value| -> Finished {
        let ruled = Ruled::new(script);
        ruled.scene.run(&["replay", "--script", "script.json"]).expect(2)
    };
    let wrong = json!({ "rules": [{ "answer": "a" }, { "when": { "usr": "x" }, "answer": "b" }] });
    refused(&wrong).says(&["script.json: rule 2: when.usr", "did you mean \"user\"?"]);
    refused(&json!({ "fixtures": [{ "match": {} }] }))
        .says(&["fixture 1: missing field `response`"]);
    refused(&json!({ "rules": [{ "fault": "slow:5" }] }))
        .says(&["rule 1: fault: slow needs an answer"]);
}

/// A fixture that answers a message with this text, with these rates.
fn fixture(text: &str, chaos: Value) -> Value {
    json!({ "match": { "userMessage": text }, "response": { "content": text }, "chaos": chaos })
}

#[test]
fn the_chaos_of_a_fixture_has_aimocks_form() {
    let ruled = Ruled::new(&json!({ "fixtures": [
        fixture("broken", json!({ "malformedRate": 1 })),
        fixture("limited", json!({ "rateLimitRate": 1, "disconnectRate": 1, "latencyMs": 60 })),
        fixture("late", json!({ "latencyMs": 60 })),
    ] }));
    let server = ruled.start(&["--metrics-compat"]);
    for call in [chat("broken"), chat_streamed("broken")] {
        let answer = server.call(&call).expect(200);
        assert_eq!(answer.text(), "{malformed json: <<<chaos>>>");
    }
    let began = std::time::Instant::now();
    let limited = server.call(&chat("limited")).expect(429);
    assert_eq!(limited.json()["error"]["code"], "chaos_ratelimit");
    assert_eq!(limited.header("retry-after"), Some("1"));
    assert_eq!(said(&server.call(&chat("late")).expect(200)), "late");
    assert!(began.elapsed() >= std::time::Duration::from_millis(120));
    let count = server.call(&Call::get("/__aimock/fixtures").header("host: localhost")).json();
    assert_eq!(count, json!({ "count": 3 }));
    let metrics = server.call(&Call::get("/metrics").header("host: localhost")).text();
    assert!(metrics.lines().any(|line| line == "aimock_fixtures_loaded 3"), "{metrics}");
    for (path, status) in [("/health", "ok"), ("/ready", "ready")] {
        // Load balancers name any host.
        let probe = Call::get(path).header("host: balancer.test");
        assert_eq!(server.call(&probe).expect(200).json(), json!({ "status": status }));
    }
    server.stop().expect(0);
}

#[test]
fn malformed_answer_replaces_a_stream_or_breaks_it() {
    let ruled = Ruled::new(&json!({ "rules": [{ "answer": "All is well." }] }));
    for (flags, is_whole) in
        [(["--chaos", "1=malformed;whole=true"], true), (["--chaos", "1=malformed"], false)]
    {
        let server = ruled.start(&[&flags[..], &["--seed", "1"]].concat());
        let text = server.call(&chat_streamed("hi")).expect(200).text();
        assert_eq!(text == "{malformed json: <<<chaos>>>", is_whole, "{text}");
        assert!(text.contains("{malformed json: <<<chaos>>>"), "{text}");
        server.stop().expect(0);
    }
}

#[test]
fn files_and_folders_make_up_one_script() {
    let scene = Scene::new();
    let write = |name: &str, value: Value| {
        let path = scene.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    };
    let fixtures = |text: &str| json!({ "fixtures": [fixture(text, json!({}))] });
    write("all/b.json", fixtures("b"));
    write("all/a.json", fixtures("a"));
    write("all/below/c.json", fixtures("c"));
    write("all/z.txt", json!("no script"));
    write("rules.yaml", json!({ "rules": [{ "when": { "user": "d" }, "answer": "d" }] }));
    let args = ["replay", "--script", "all", "--script", "rules.yaml"];
    let server = Server::start(scene.dir(), &args);
    for (text, rule) in [("a", "#1"), ("b", "#2"), ("c", "#3"), ("d", "rule#1")] {
        let answer = server.call(&chat(text)).expect(200);
        let entry = answer.header("x-loomrec-entry").unwrap().to_owned();
        assert!(said(&answer) == text && entry.ends_with(rule), "{text}: {entry}");
    }
    server.stop().expect(0);
    let refused = |args: &[&str], words: &[&str]| {
        let finished = scene.run(&[&["replay"], args].concat()).expect(2);
        finished.says(words);
    };
    std::fs::create_dir(scene.path("empty")).unwrap();
    refused(&["--script", "empty"], &["empty", "no file whose name ends in"]);
    write("all/below/d.json", json!({ "fixtures": [{ "match": {} }] }));
    refused(&["--script", "all"], &["all/below/d.json", "fixture 1"]);
    write("one.json", json!([[]]));
    write("two.json", json!([[]]));
    refused(&["--script", "one.json", "--script", "two.json"], &["two.json", "into one file"]);
}
