//! Tests of files and flags written for AgentLoom, mcptest and aimock, used unchanged.

use std::time::Duration;

use loomrec_provider::Framing;
use loomrec_provider::framing::events;
use serde_json::{Value, json};

use super::stage::{Stage, step};
use crate::support::shape::{chat_streamed, message_streamed};
use crate::support::{Call, End, Scene};

/// An AgentLoom recording that mixes answers and faults by step id.
const AGENTLOOM: &str = r#"{
  "_version": 2,
  "plan": {
    "content": "1. search 2. answer",
    "model": "gpt-4o-mini",
    "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    "cost_usd": 0.0001,
    "latency_ms": 120.5,
    "finish_reason": "stop"
  },
  "search": { "fault": { "type": "timeout", "after_ms": 40 } },
  "summarize": {
    "fault": {
      "type": "http_error",
      "status_code": 429,
      "headers": { "Retry-After": "2" },
      "body": { "error": { "message": "Rate limit exceeded", "type": "rate_limit_error" } }
    }
  },
  "extract": { "fault": { "type": "malformed_response", "raw": "{\"choices\": [{\"mess" } },
  "draft": { "fault": { "type": "stream_truncate", "after_chunks": 3, "raise": "ConnectionError" } },
  "fetch": { "fault": { "type": "connection_reset" } },
  "answer": {
    "fault": {
      "type": "partial_response",
      "content": "The answer is",
      "completion_tokens": 0,
      "finish_reason": "length"
    }
  },
  "review": [
    { "content": "looks wrong", "finish_reason": "stop" },
    { "content": "looks right", "finish_reason": "stop" }
  ]
}"#;

fn agentloom() -> Scene {
    let scene = Scene::new();
    scene.write(AGENTLOOM);
    scene
}

fn content(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_default()
}

fn streamed(step: &str) -> Call {
    chat_streamed("hi").header(&format!("x-loomrec-step-id: {step}"))
}

#[test]
fn a_file_of_agentloom_mixes_faults_and_answers_by_step() {
    let stage = Stage::of(agentloom(), &[]);
    assert_eq!(content(&stage.call(&step("plan", "hi")).expect(200).json()), "1. search 2. answer");
    // The same faults at every call, and in every run.
    for _ in 0..2 {
        let silence = stage.silent(&step("search", "hi"));
        assert!(silence.end == End::Closed && silence.after >= Duration::from_millis(40));
        let limited = stage.call(&step("summarize", "hi")).expect(429);
        assert_eq!(limited.header("retry-after"), Some("2"));
        assert_eq!(
            limited.text(),
            r#"{"error":{"message":"Rate limit exceeded","type":"rate_limit_error"}}"#
        );
        assert_eq!(stage.call(&step("extract", "hi")).expect(200).text(), r#"{"choices": [{"mess"#);
        let draft = stage.call(&streamed("draft"));
        assert_eq!((draft.status, draft.end), (200, End::Reset));
        assert!(draft.text().starts_with("data: {"), "{}", draft.text());
        // A program gets three pieces of text, beside the event with the role.
        let pieces = events(Framing::Sse, draft.text().as_bytes())
            .filter_map(|event| {
                let text =
                    event.json_data()?.pointer("/choices/0/delta/content")?.as_str()?.to_owned();
                (!text.is_empty()).then_some(text)
            })
            .count();
        assert_eq!(pieces, 3, "{}", draft.text());
        assert_eq!(stage.silent(&step("fetch", "hi")).end, End::Reset);
        let answer = stage.call(&step("answer", "hi")).expect(200).json();
        assert_eq!(content(&answer), "The answer is");
        assert_eq!(answer["choices"][0]["finish_reason"], "length");
        assert_eq!(answer["usage"]["completion_tokens"], 0);
    }
    // Turns come in order, and the last one is repeated.
    let turns = ["looks wrong", "looks right", "looks right"];
    for turn in turns {
        assert_eq!(content(&stage.call(&step("review", "hi")).expect(200).json()), turn);
    }
    let over = stage.end(0);
    for step in ["search", "summarize", "extract", "draft", "fetch", "answer"] {
        assert_eq!(over.count(step), (2, 2), "{step}");
    }
    assert_eq!(over.receipt["faults"]["fired"], 12);
}

#[test]
fn a_file_of_agentloom_answers_other_providers_too() {
    let stage = Stage::of(agentloom(), &["--allow-unfired"]);
    let as_message =
        |step: &str| message_streamed("hi").header(&format!("x-loomrec-step-id: {step}"));
    let draft = stage.call(&as_message("draft"));
    assert_eq!((draft.status, draft.end), (200, End::Reset));
    assert!(draft.text().starts_with("event: message_start\n"), "{}", draft.text());
    assert_eq!(draft.text().matches("text_delta").count(), 3, "{}", draft.text());
    let answer = stage.call(&as_message("answer")).expect(200).text();
    assert!(answer.contains("\"max_tokens\"") && answer.contains("message_stop"), "{answer}");
    stage.end(0);
}

#[test]
fn agentlooms_file_is_left_as_it_is() {
    let stage = Stage::of(agentloom(), &["--allow-unfired"]);
    stage.call(&step("summarize", "hi")).expect(429);
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    assert_eq!(scene.text(), AGENTLOOM);
    scene.run(&["ls", "run.json"]).expect(0);
}

/// A recording of steps with answers, and mcptest's plan for them.
fn mcptest(steps: &[&str], rules: &Value) -> Scene {
    let scene = Scene::new();
    let mut recording = json!({ "_version": 2 });
    for step in steps {
        recording[step] = json!({ "content": format!("{step} is well") });
    }
    scene.write(recording.to_string());
    std::fs::write(scene.path("plan.json"), json!({ "rules": rules }).to_string()).unwrap();
    scene
}

/// Makes a call and gives it up after this time.
fn gives_up(stage: &Stage, call: &Call, after: Duration) {
    let mut client = stage.server.connect();
    client.send(call);
    assert!(client.is_quiet_for(after), "an answer came");
}

fn rules(failures: u32) -> Value {
    json!([
        { "name": "hangs", "match": { "step_id": "read", "attempt": 1 }, "fault": { "type": "hang" } },
        { "name": "is stuck", "match": { "step_id": "write", "attempt": 1 },
          "fault": { "type": "wedged" } },
        { "name": "is slow", "match": { "step_id": "list" },
          "fault": { "type": "slow", "delay_ms": 50 } },
        { "name": "comes back", "match": { "step_id": "call" },
          "fault": { "type": "recover_after", "failures": failures } }
    ])
}

const STEPS: [&str; 4] = ["read", "write", "list", "call"];

/// Runs through mcptest's faults as a client that waits 60 ms for an answer.
fn go_through(stage: &Stage, failures: usize) {
    let timeout = Duration::from_millis(60);
    for name in ["read", "write"] {
        gives_up(stage, &step(name, "x"), timeout);
        let answer = stage.call(&step(name, "x")).expect(200).json();
        assert_eq!(content(&answer), format!("{name} is well"));
    }
    let began = std::time::Instant::now();
    stage.call(&step("list", "x")).expect(200);
    assert!(began.elapsed() >= Duration::from_millis(50));
    // The default of the inner fault is a hang.
    for _ in 0..failures {
        gives_up(stage, &step("call", "x"), timeout);
    }
    assert_eq!(content(&stage.call(&step("call", "x")).expect(200).json()), "call is well");
}

#[test]
fn a_client_that_recovers_in_time_keeps_mcptests_budget() {
    let budget = "max_detection_ms=5000,max_recovery_ms=9000,require_clean_timeout";
    let scene = mcptest(&STEPS, &rules(2));
    let stage = Stage::of(scene, &["--faults", "plan.json", "--recovery", budget]);
    go_through(&stage, 2);
    let over = stage.end(0);
    let recovery = &over.receipt["recovery"];
    assert_eq!(over.receipt["verdict"], "ok", "{recovery:#}");
    assert_eq!(over.receipt["faults"]["fired"], 5);
}

#[test]
fn a_client_that_does_not_come_back_misses_mcptests_budget() {
    let scene = mcptest(
        &["call"],
        &json!([{ "name": "comes back",
        "fault": { "type": "recover_after", "failures": 1 } }]),
    );
    let budget = "max_detection_ms=5000,max_recovery_ms=9000";
    let stage = Stage::of(scene, &["--faults", "plan.json", "--recovery", budget]);
    gives_up(&stage, &step("call", "x"), Duration::from_millis(40));
    stage.journal_with(|line| line["outcome"] == "noticed");
    let over = stage.end(1);
    assert_eq!(over.receipt["verdict"], "failed");
    over.finished.says(&[
        "budget MISSED by 1 of 1 fault",
        "fault 1, hang, \"comes back\"",
        "not recovered",
    ]);
}

#[test]
fn a_client_that_notices_late_misses_mcptests_budget() {
    let scene = mcptest(&["call"], &json!([{ "fault": "recover_after:1" }]));
    let budget = "max_detection_ms=10,require_clean_timeout";
    let stage = Stage::of(scene, &["--faults", "plan.json", "--recovery", budget]);
    let mut hung = stage.server.connect();
    hung.send(&step("call", "x"));
    // The time counts from the fault, which may come late where the machine is busy.
    stage.journal_with(|line| line["outcome"] == "fired");
    assert!(hung.is_quiet_for(Duration::from_millis(60)), "an answer came");
    drop(hung);
    stage.call(&step("call", "x")).expect(200);
    stage.journal_with(|line| line["outcome"] == "recovered");
    stage.end(1).finished.says(&["budget MISSED by 1 of 1 fault", "hang"]);
}

/// An mcptest suite, with blocks that are about other things.
const SUITE: &str = "
servers:
  backend: { command: [./server] }
faults:
  - name: flaky backend
    target: server:openai
    kind: recover-after:2
    fault: http_error:503
  - name: dead tool
    target: plan
    kind: hang
  - name: healthy
    kind: none
agents:
  - name: survives
    inject: [flaky backend]
recovery:
  max_detection_ms: 60000
  max_recovery_ms: 60000
";

#[test]
fn a_suite_of_mcptest_is_a_plan() {
    let scene = mcptest(&["one", "two", "three"], &json!([]));
    std::fs::write(scene.path("suite.yaml"), SUITE).unwrap();
    let stage = Stage::of(scene, &["--faults", "suite.yaml"]);
    // Discovery stays responsive: it is a miss here, and gets no fault.
    stage.call(&Call::get("/v1/models")).expect(422);
    // The first two calls of the server fail, whatever they ask.
    stage.call(&step("one", "x")).expect(503);
    stage.call(&step("two", "y")).expect(503);
    for (name, prompt) in [("three", "z"), ("one", "x"), ("two", "y")] {
        stage.call(&step(name, prompt)).expect(200);
    }
    let over = stage.end(1);
    assert_eq!(over.count("flaky backend"), (5, 2));
    let recovery = &over.receipt["recovery"];
    assert_eq!(recovery["outcome"], "kept", "{recovery:#}");
    let rules = over.receipt["faults"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 1, "no agent injects the others: {rules:?}");
}

/// A suite in the form in which mcptest's documentation writes one: targets are objects, and the
/// agent's matcher has the budget.
const DOCUMENTED: &str = "
servers:
  openai: { command: [./server] }
faults:
  - name: search is dead
    target: { tool: search }
    kind: hang
  - name: backend wakes up
    target: { server: openai }
    kind: recover-after:1
    fault: http_error:503
  - name: summary is dead
    target: { server: openai, tool: summarize }
    kind: wedged
agents:
  - name: survives a dead search
    inject: [search is dead, summary is dead]
    recovery:
      max_detection_ms: 3000
      max_recovery_ms: 5000
      require_clean_timeout: true
";

#[test]
fn a_suite_in_the_form_of_mcptests_documentation_is_a_plan() {
    let scene = mcptest(&["search", "summarize", "write"], &json!([]));
    std::fs::write(scene.path("suite.yml"), DOCUMENTED).unwrap();
    let stage = Stage::of(scene, &["--faults", "suite.yml"]);
    stage.call(&step("write", "x")).expect(200);
    for name in ["search", "summarize"] {
        let mut client = stage.server.connect();
        client.send(&step(name, "x"));
        assert!(client.is_quiet_for(std::time::Duration::from_millis(60)), "{name}");
    }
    let over = stage.end(1);
    let recovery = &over.receipt["recovery"];
    assert_eq!(recovery["total"]["missed"], 2, "{recovery:#}");
    assert_eq!(recovery["budget"]["require_clean_timeout"], true);
    let scene = mcptest(&["search"], &json!([]));
    std::fs::write(scene.path("suite.yml"), DOCUMENTED).unwrap();
    let refused = scene.run(&["replay", "-r", "run.json", "--faults", "suite.yml"]).expect(2);
    refused.says(&["summary is dead", "step id \"summarize\""]);
}

#[test]
fn a_suite_that_names_what_is_not_there_is_refused_with_its_place() {
    let refused = |suite: &str, parts: &[&str]| {
        let scene = mcptest(&["one"], &json!([]));
        std::fs::write(scene.path("suite.yaml"), suite).unwrap();
        scene.run(&["replay", "-r", "run.json", "--faults", "suite.yaml"]).expect(2).says(parts);
    };
    refused("faults: [{ kind: hang, target: 'server:nowhere' }]", &["suite.yaml", "\"nowhere\""]);
    refused("faults: [{ kind: hang, target: two }]", &["suite.yaml", "step id \"two\""]);
    refused("faults: [{ kind: hung }]", &["suite.yaml", "/faults/0/kind", "\"hang\""]);
    refused("faults: [{ kind: hang }]\nsuites: []", &["suite.yaml", "suites"]);
    refused("faults: [{ kind: hang }]\nrecovery: { max: 5 }", &["/recovery", "\"max\""]);
}

#[test]
fn mcptests_spellings_are_understood() {
    let scene = mcptest(&["one"], &json!([]));
    let stage = Stage::of(scene, &["--fault", "none", "--fault", "one=recover-after:1;fault=drop"]);
    stage.call(&step("one", "x")).expect(500);
    stage.call(&step("one", "x")).expect(200);
    let over = stage.end(0);
    assert_eq!(over.receipt["faults"]["rules"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_never_meets_its_fault_is_told_apart_from_one_that_failed() {
    let budget = ["--recovery", "max_detection_ms=60000", "--junit", "out.xml"];
    let fault = ["--fault", "one=hang"];
    for (more, code, verdict, element) in
        [(&[][..], 1, "not tested", "<error"), (&["--allow-unfired"], 0, "ok", "<skipped")]
    {
        let scene = mcptest(&["one", "two"], &json!([]));
        let stage = Stage::of(scene, &[&budget[..], &fault[..], more].concat());
        stage.call(&step("two", "x")).expect(200);
        let Stage { scene, server } = stage;
        let finished = server.stop().expect(code);
        let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
        let receipt: Value = serde_json::from_str(&receipt).unwrap();
        assert_eq!(receipt["verdict"], verdict);
        assert_eq!(receipt["recovery"]["outcome"], "not_tested");
        assert_eq!(receipt["recovery"]["passed"], code == 0);
        finished.says(&["budget NOT TESTED", &format!("loomrec replay: {verdict}: ")]);
        let xml = std::fs::read_to_string(scene.path("out.xml")).unwrap();
        assert!(xml.contains(element), "{xml}");
    }
}

/// aimock's example: half of all calls fail, some fixtures more, one never.
#[test]
fn aimocks_rates_hold_at_every_level() {
    let scene = Scene::new();
    let mut recording = json!({ "_version": 2 });
    for n in 0..60 {
        recording[format!("plain{n}")] = json!({ "content": "fine" });
        recording[format!("fixture{n}")] =
            json!({ "content": "fine", "chaos": { "dropRate": 0.9, "malformedRate": 0.0 } });
    }
    scene.write(recording.to_string());
    let stage = Stage::of(scene, &["--chaos", "0.5=drop", "--seed", "12"]);
    let dropped = |kind: &str, header: Option<&str>| {
        let call = |n: usize| {
            let call = step(&format!("{kind}{n}"), "x");
            header.map_or(call.clone(), |header| call.header(header))
        };
        (0..60).filter(|n| stage.call(&call(*n)).status == 500).count()
    };
    assert_eq!(dropped("fixture", Some("x-aimock-chaos-drop: 1")), 60);
    let (plain, fixture) = (dropped("plain", None), dropped("fixture", None));
    assert!((15..=45).contains(&plain), "{plain} of 60 under 0.5");
    assert!((44..60).contains(&fixture), "{fixture} of 60 under 0.9");
    let over = stage.end(0);
    assert_eq!(over.count("drop").1, (60 + plain + fixture) as u64);
}
