//! Tests of where faults are declared, and which declaration takes precedence.

use serde_json::{Value, json};

use super::stage::{Stage, recorded, sample, step};
use crate::support::shape::{chat, chat_answer, chat_streamed, gemini, message_streamed};
use crate::support::{Answer, Call, End, Scene, Upstream};

/// A recording of steps, as AgentLoom writes one.
pub(super) fn steps(entries: &Value) -> Scene {
    let scene = Scene::new();
    scene.write(entries.to_string());
    scene
}

pub(super) fn status(stage: &Stage, call: &Call) -> u16 {
    let answer = stage.call(call);
    assert_eq!(answer.end, End::Complete, "{}", answer.text());
    answer.status
}

#[test]
fn an_entry_of_a_fault_alone_has_it_at_every_call() {
    let scene = steps(&json!({ "_version": 2, "plan": { "fault": {
        "type": "http_error", "status_code": 503, "body": "later" } } }));
    let stage = Stage::of(scene, &["--fail-unused"]);
    for prompt in ["one", "one", "two"] {
        assert_eq!(stage.call(&step("plan", prompt)).expect(503).text(), "later");
    }
    let over = stage.end(0);
    assert_eq!(over.count("plan"), (3, 3));
    assert_eq!(over.receipt["faults"]["rules"][0]["source"], "entry");
    assert_eq!(over.receipt["served"], 0);
}

#[test]
fn an_entry_of_a_fault_alone_never_gives_the_whole_of_an_answer() {
    for fault in [
        json!({ "type": "stream_truncate", "after_chunks": 3 }),
        json!({ "type": "stream_truncate", "after_bytes": 50_000, "raise": "error_event" }),
        json!({ "type": "stream_stall", "after_events": 200 }),
        json!({ "type": "malformed" }),
        json!({ "type": "bad_encoding" }),
    ] {
        let scene = steps(&json!({ "_version": 2, "plan": { "fault": fault } }));
        let stage = Stage::of(scene, &[]);
        for (id, call) in [(1, chat("hi")), (2, chat_streamed("hi"))] {
            let mut client = stage.server.connect();
            client.send(&call.header("x-loomrec-step-id: plan"));
            stage.journal_with(|line| line["outcome"] == "fired" && line["fault"] == id);
        }
        let over = stage.end(0);
        assert_eq!(over.receipt["faults"]["fired"], 2, "{fault}: {}", over.receipt);
        assert_eq!(over.receipt["faults"]["warnings"], json!([]), "{fault}");
    }
}

#[test]
fn an_entry_of_a_fault_alone_that_needs_an_answer_is_a_miss() {
    for fault in [
        json!({ "type": "slow", "delay_ms": 1 }),
        json!({ "type": "throttle", "bytes_per_second": 100_000 }),
        json!({ "type": "slice", "bytes": 9 }),
        json!({ "type": "stream_stall", "for_ms": 1 }),
        json!({ "type": "stream_garble" }),
        json!({ "type": "wrong_length", "by": -1 }),
        json!({ "type": "partial_response" }),
        json!({ "type": "stream_truncate", "raise": "clean_eof" }),
    ] {
        let scene = steps(&json!({ "_version": 2, "plan": { "fault": fault } }));
        let stage = Stage::of(scene, &[]);
        for call in [chat("hi"), chat_streamed("hi")] {
            let answer = stage.call(&call.header("x-loomrec-step-id: plan")).expect(422);
            assert!(answer.text().contains("needs an answer"), "{fault}: {}", answer.text());
        }
        assert_eq!(stage.end(1).receipt["missed"], 2, "{fault}");
    }
}

#[test]
fn another_fault_does_not_get_the_words_of_an_entry_of_a_fault_alone() {
    let fault = json!({ "type": "stream_truncate", "after_chunks": 3 });
    let stage = Stage::of(steps(&json!({ "_version": 2, "plan": { "fault": fault } })), &[]);
    for (other, status) in [("slow:1", 422), ("stream_truncate:99", 422), ("http_error:503", 503)] {
        for call in [chat("hi"), chat_streamed("hi")] {
            let call = call.header("x-loomrec-step-id: plan");
            let answer = stage.call(&call.header(&format!("x-loomrec-fault: {other}")));
            assert_eq!(answer.status, status, "{other}: {}", answer.text());
        }
    }
    assert_eq!(stage.end(1).receipt["missed"], 4);
}

#[test]
fn an_entry_of_a_fault_beside_an_answer_has_it_once() {
    let scene = steps(&json!({ "_version": 2, "_loomrec": { "format": "1.0" }, "plan": {
        "content": "go on", "fault": { "type": "http_error", "status_code": 500 } } }));
    let stage = Stage::of(scene, &["--fail-unused"]);
    assert_eq!(status(&stage, &step("plan", "one")), 500);
    let answer = stage.call(&step("plan", "one")).expect(200);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "go on");
    assert_eq!(stage.end(0).count("plan").1, 1);
}

#[test]
fn the_fault_of_an_entry_of_agentlooms_file_comes_each_time_unless_it_says_otherwise() {
    let failing = |more: Value| {
        let mut fault = json!({ "type": "http_error", "status_code": 500 });
        fault.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "content": "go on", "fault": fault })
    };
    let scene = steps(&json!({ "_version": 2,
        "plan": failing(json!({})),
        "once": failing(json!({ "times": 1 })),
        "second": failing(json!({ "attempt": 1 })),
        "turns": [failing(json!({})), { "content": "b" }, failing(json!({}))],
        "recovers": { "content": "go on", "fault": { "type": "recover_after", "failures": 1,
            "fault": { "type": "drop" } } } }));
    let stage = Stage::of(scene, &[]);
    let seen =
        |name: &str| -> Vec<u16> { (0..5).map(|_| status(&stage, &step(name, "x"))).collect() };
    assert_eq!(seen("plan"), [500; 5]);
    assert_eq!(seen("once"), [500, 200, 200, 200, 200]);
    assert_eq!(seen("second"), [500, 200, 500, 200, 500]);
    assert_eq!(seen("turns"), [500, 200, 200, 500, 200]);
    assert_eq!(seen("recovers"), [500, 200, 200, 200, 200]);
    stage.end(0);
}

#[test]
fn pieces_of_an_entrys_words_are_counted_whatever_the_provider() {
    let truncate = json!({ "type": "stream_truncate", "after_chunks": 2, "raise": "clean_eof" });
    let words = "One two three four five six seven eight nine ten.";
    let scene = steps(&json!({ "_version": 2, "plan": { "content": words, "fault": truncate } }));
    let stage = Stage::of(scene, &[]);
    let text = |body: &Value| -> Option<String> {
        let chat = body.pointer("/choices/0/delta/content");
        let message = body.pointer("/delta/text");
        let gemini = body.pointer("/candidates/0/content/parts/0/text");
        let found = chat.or(message).or(gemini)?.as_str()?;
        (!found.is_empty()).then(|| found.to_owned())
    };
    for call in
        [chat_streamed("hi"), message_streamed("hi"), gemini("streamGenerateContent?alt=sse", "hi")]
    {
        let answer = stage.call(&call.header("x-loomrec-step-id: plan")).expect(200).text();
        let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
        let pieces: Vec<String> =
            data.filter_map(|data| text(&serde_json::from_str(data).ok()?)).collect();
        assert_eq!(pieces.len(), 2, "{answer}");
    }
    stage.end(0);
}

#[test]
fn the_fault_of_a_turn_gives_way_to_the_next_turns_when_prompts_grow() {
    let turns = json!([
        { "content": "a" },
        { "content": "b", "fault": { "type": "http_error", "status_code": 503 } },
        { "content": "c" }
    ]);
    let entries = json!({ "_version": 2, "_loomrec": { "format": "1.0" }, "plan": turns });
    let stage = Stage::of(steps(&entries), &["--fail-unused"]);
    let seen: Vec<String> = (0..4)
        .map(|round| {
            let answer = stage.call(&step("plan", &"more ".repeat(round)));
            let content = answer.json()["choices"][0]["message"]["content"].clone();
            format!("{} {}", answer.status, content.as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(seen, ["200 a", "503 ", "200 b", "200 c"]);
    assert_eq!(stage.end(0).count("plan#2").1, 1);
}

#[test]
fn a_rule_of_a_step_counts_its_calls_whatever_they_ask() {
    let entries = json!({ "_version": 2, "_loomrec": { "format": "1.0" }, "plan": {
        "content": "a" }, "other": { "content": "b" } });
    let plan = json!({ "rules": [
        { "name": "second", "match": { "step_id": "plan", "call": 2 }, "fault": "http_error:503" },
        { "name": "once", "match": { "step_id": "other" }, "fault": "http_error:502", "times": 1 },
        { "name": "retried", "match": { "step_id": "plan", "attempt": 2 },
          "fault": "http_error:504" }
    ] });
    let scene = steps(&entries);
    std::fs::write(scene.path("plan.json"), plan.to_string()).unwrap();
    let stage = Stage::of(scene, &["--faults", "plan.json", "--repeat", "last"]);
    let calls = |name: &str, session: &str| -> Vec<u16> {
        let call = |round: usize| step(name, &"more ".repeat(round)).header(session);
        (0..5).map(|round| status(&stage, &call(round))).collect()
    };
    // The second call is a first attempt, and the third its retry.
    assert_eq!(calls("plan", "x-loomrec-session: one"), [200, 503, 504, 200, 200]);
    assert_eq!(calls("plan", "x-loomrec-session: two"), [200, 503, 504, 200, 200]);
    assert_eq!(calls("other", "x-loomrec-session: one"), [502, 200, 200, 200, 200]);
    stage.end(0);
}

#[test]
fn each_take_of_a_step_has_its_own_fault() {
    let drop = json!({ "type": "drop" });
    let scene = steps(&json!({ "_version": 2, "_loomrec": { "format": "1.0" }, "plan": [
        { "content": "a", "fault": drop }, { "content": "b", "fault": drop }, { "content": "c" } ],
        "again": { "content": "d", "fault":
            { "type": "recover_after", "failures": 2, "fault": drop } } }));
    let stage = Stage::of(scene, &["--fail-unused"]);
    let seen: Vec<u16> = (0..5).map(|_| status(&stage, &step("plan", "x"))).collect();
    assert_eq!(seen, [500, 200, 500, 200, 200]);
    let seen: Vec<u16> = (0..3).map(|_| status(&stage, &step("again", "x"))).collect();
    assert_eq!(seen, [500, 500, 200]);
    stage.end(0);
}

#[test]
fn a_fault_in_a_recorded_entry_leaves_its_answer_to_the_later_attempts() {
    let scene = recorded();
    let mut recording = scene.json();
    let entry = recording.as_object_mut().unwrap().values_mut().find(|entry| {
        entry["request"]["path"] == "/v1/chat/completions" && entry["response"]["chunks"].is_array()
    });
    entry.unwrap()["fault"] = json!({ "type": "connection_reset" });
    scene.write(recording.to_string());
    let (stage, sample) = (Stage::of(scene, &[]), sample("chat stream"));
    assert_eq!(stage.silent(&sample.call).end, End::Reset);
    let answer = stage.call(&sample.call).expect(200);
    assert_eq!(answer.chunks, sample.chunks);
    stage.end(0);
}

#[test]
fn a_plan_says_the_same_in_json_and_in_yaml() {
    let json = r#"{ "seed": 7, "rules": [
        { "name": "first fails", "match": { "upstream": "openai", "call": 1,
            "body": { "/messages/0/content": { "contains": "compl" } } },
          "fault": { "type": "http_error", "status_code": 503 } },
        { "name": "second, too", "match": { "attempt": [2], "operation": "chat_completions",
            "provider": "openai", "model": "gpt-4o-mini", "path": "/v1/chat/completions" },
          "fault": "http_error:504", "times": 1 } ] }"#;
    let yaml = "seed: 7
rules:
  - name: first fails
    match: {upstream: openai, call: 1, body: {/messages/0/content: {contains: compl}}}
    fault: {type: http_error, status_code: 503}
  - name: second, too
    match:
      attempt: [2]
      operation: chat_completions
      provider: openai
      model: gpt-4o-mini
      path: /v1/chat/completions
    fault: http_error:504
    times: 1
";
    let operation = loomrec_provider::Operation::CHAT_COMPLETIONS.as_str();
    for (name, text) in [("plan.json", json), ("plan.yaml", yaml), ("plan.yml", yaml)] {
        let scene = recorded();
        let before = scene.text();
        std::fs::write(scene.path(name), text.replace("chat_completions", operation)).unwrap();
        let stage = Stage::of(scene, &["--faults", name]);
        let call = sample("chat").call;
        let seen: Vec<u16> = (0..3).map(|_| status(&stage, &call)).collect();
        assert_eq!(seen, [503, 504, 200], "{name}");
        assert_eq!(status(&stage, &sample("message").call), 200);
        assert_eq!(stage.scene.text(), before, "a plan must leave the recording alone");
        let over = stage.end(0);
        assert_eq!((over.count("first fails").1, over.count("second, too").1), (1, 1), "{name}");
        assert_eq!(over.receipt["faults"]["seed"], 7);
    }
}

#[test]
fn a_flag_has_a_fault_for_one_step_or_for_every_call() {
    let entries =
        json!({ "_version": 2, "plan": { "content": "a" }, "answer": { "content": "b" } });
    let stage = Stage::of(steps(&entries), &["--fault", "answer=http_error:429"]);
    assert_eq!(status(&stage, &step("plan", "x")), 200);
    assert_eq!(status(&stage, &step("answer", "x")), 429);
    stage.end(0);
    let stage = Stage::of(steps(&entries), &["--fault", "http_error:429", "--fault", "drop"]);
    // The first rule matches every call, so the second never applies.
    assert_eq!(status(&stage, &step("plan", "x")), 429);
    assert_eq!(status(&stage, &step("answer", "x")), 429);
    stage.end(1).finished.says(&["--fault drop", "--allow-unfired"]);
}

#[test]
fn the_environment_declares_faults_as_the_flags_do() {
    let scene = recorded();
    let mut command = crate::support::loomrec::command(scene.dir(), &scene.replay_args(&[]));
    command.args(["--listen", "127.0.0.1:0"]).env("LOOMREC_FAULT", "http_error:418");
    let server = crate::support::Server::spawn(&mut command);
    server.call(&chat("complete")).expect(418);
    server.stop().expect(0);
}

/// Calls with a fault declared in every place at once.
#[test]
fn a_header_goes_before_an_entry_and_that_before_a_plan_and_that_before_chance() {
    let scene = steps(&json!({ "_version": 2, "plan": {
        "content": "go on", "fault": { "type": "http_error", "status_code": 512, "times": 1 },
        "chaos": { "dropRate": 1 } } }));
    std::fs::write(
        scene.path("plan.json"),
        r#"{ "rules": [{ "fault": "http_error:513", "times": 1 }] }"#,
    )
    .unwrap();
    let more = ["--faults", "plan.json", "--chaos", "1=disconnect", "--seed", "1"];
    let stage = Stage::of(scene, &more);
    let call = step("plan", "x");
    assert_eq!(status(&stage, &call.clone().header("x-loomrec-fault: http_error:511")), 511);
    assert_eq!(status(&stage, &call), 512);
    assert_eq!(status(&stage, &call), 513);
    // The entry's rates override those of the run, and a header's override both.
    assert_eq!(stage.call(&call).expect(500).header("x-loomrec-fault"), Some("drop"));
    let spared = call.clone().header("x-loomrec-chaos-drop: 0");
    assert_eq!(stage.silent(&spared).end, End::Reset);
    let spared = spared.header("x-loomrec-chaos-disconnect: 0");
    assert_eq!(status(&stage, &spared), 200);
    let over = stage.end(0);
    let sources: Vec<_> = over.receipt["faults"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| (rule["source"].as_str().unwrap(), rule["fired"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        sources,
        [("header", 1), ("entry", 1), ("plan", 1), ("chaos", 1), ("chaos", 1)],
        "{:#}",
        over.receipt["faults"]
    );
}

#[test]
fn an_answer_names_its_fault_and_its_rule() {
    let scene = recorded();
    std::fs::write(
        scene.path("plan.json"),
        r#"{ "rules": [{ "name": "too many", "fault": "http_error:429" }] }"#,
    )
    .unwrap();
    let stage = Stage::of(scene, &["--faults", "plan.json"]);
    let answer = stage.call(&chat("complete")).expect(429);
    assert_eq!(answer.header("x-loomrec-fault"), Some("http_error"));
    assert_eq!(answer.header("x-loomrec-fault-rule"), Some("too many"));
    stage.end(0);
}

#[test]
fn a_header_of_a_fault_is_no_part_of_the_call_and_never_goes_upstream() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("hi")));
    let stage = Stage::record(&upstream, &[]);
    let call = chat("hi").header("x-loomrec-fault: slow:1").header("x-loomrec-chaos-drop: 0");
    stage.call(&call).expect(200);
    let head = &upstream.received()[0].head;
    let ours = head.headers.iter().find(|(name, _)| name.to_lowercase().starts_with("x-loomrec"));
    assert_eq!(ours, None, "{head:?}");
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    let recording = scene.text();
    assert!(!recording.contains("x-loomrec"), "{recording}");
    scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200);
}
