//! Tests of faults by chance: aimock's three and others, declared at every level, and repeatable.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::stage::{Stage, recorded, sample, samples, step};
use crate::support::chance::Chance;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, End, Scene, Upstream};

const DROPPED: &str =
    r#"{"error":{"message":"Chaos: request dropped","type":"server_error","code":"chaos_drop"}}"#;
const MALFORMED: &str = "{malformed json: <<<chaos>>>";

/// What happened to a call: the fault that its answer names, or how it ended.
fn call_result(stage: &Stage, call: &Call) -> String {
    let mut client = stage.server.connect();
    client.send(call);
    match client.answer() {
        Ok(answer) => answer.header("x-loomrec-fault").unwrap_or("none").to_owned(),
        Err(end) => format!("{end:?}"),
    }
}

/// A recording of this many calls, each with a different answer.
fn many(count: usize) -> Scene {
    let scene = Scene::new();
    let entries = (0..count).map(|n| (format!("step{n}"), json!({ "content": format!("{n}") })));
    let mut recording: serde_json::Map<String, Value> = entries.collect();
    recording.insert("_version".to_owned(), 2.into());
    scene.write(Value::Object(recording).to_string());
    scene
}

fn nth(n: usize) -> Call {
    step(&format!("step{n}"), "go on")
}

#[test]
fn half_of_all_calls_are_dropped_with_aimocks_body_and_the_others_answered() {
    let stage = Stage::of(many(200), &["--chaos", "0.5=drop", "--seed", "7"]);
    let mut client = stage.server.connect();
    let mut dropped = 0;
    for n in 0..200 {
        let answer = client.exchange(&nth(n));
        match answer.status {
            500 => {
                assert_eq!(answer.text(), DROPPED);
                assert_eq!(answer.header("content-type"), Some("application/json"));
                assert_eq!(answer.header("x-loomrec-fault"), Some("drop"));
                dropped += 1;
            }
            _ => {
                let said = &answer.expect(200).json()["choices"][0]["message"]["content"];
                assert_eq!(*said, format!("{n}"));
            }
        }
    }
    assert!((70..=130).contains(&dropped), "{dropped} of 200");
    let over = stage.end(0);
    assert_eq!(over.count("drop"), (dropped, dropped));
    assert_eq!(over.receipt["served"], 200 - dropped);
}

#[test]
fn headers_of_aimock_and_of_ours_have_it_happen_to_their_call() {
    let stage = Stage::replay(&["--repeat", "last"]);
    for prefix in ["x-aimock-chaos", "X-Loomrec-Chaos"] {
        for sample in samples() {
            let with = |what: &str, rate: &str| {
                sample.call.clone().header(&format!("{prefix}-{what}: {rate}"))
            };
            assert_eq!(
                stage.call(&with("drop", "1")).expect(500).text(),
                DROPPED,
                "{}",
                sample.name
            );
            assert_eq!(stage.silent(&with("disconnect", "1.0")).end, End::Reset, "{}", sample.name);
            let spared = stage.call(&with("drop", "0")).expect(200);
            assert_eq!(spared.body(), sample.body(), "{}", sample.name);
        }
        let call = sample("chat").call.header(&format!("{prefix}-malformed: 1"));
        let answer = stage.call(&call).expect(200);
        assert_eq!(answer.text(), MALFORMED);
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
    stage.end(0);
}

#[test]
fn other_actions_have_headers_too() {
    let stage = Stage::replay(&["--repeat", "last"]);
    let with = |line: &str| sample("chat").call.header(&format!("x-loomrec-chaos-{line}"));
    let limited = stage.call(&with("rate-limit: 1")).expect(429);
    assert_eq!(limited.header("retry-after"), Some("1"));
    let began = std::time::Instant::now();
    let late = with("latency: 1").header("x-loomrec-chaos-latency-ms: 40");
    let answer = stage.call(&late).expect(200);
    assert_eq!(answer.header("x-loomrec-fault"), Some("slow"));
    assert!(began.elapsed() >= std::time::Duration::from_millis(40));
    stage.call(&with("fault: 1=http_error:418")).expect(418);
    stage.end(0);
}

#[test]
fn actions_are_tried_in_order_and_one_befalls_a_call() {
    let all = ["--chaos", "1=drop", "--chaos", "1=malformed", "--chaos", "1=disconnect"];
    let stage = Stage::replay(&[&all[..], &["--repeat", "last"]].concat());
    let call = sample("chat").call;
    assert_eq!(call_result(&stage, &call), "drop");
    let call = call.header("x-aimock-chaos-drop: 0");
    assert_eq!(call_result(&stage, &call), "malformed");
    // Our headers take precedence over aimock's.
    let ours = call.clone().header("x-loomrec-chaos-drop: 1");
    assert_eq!(call_result(&stage, &ours), "drop");
    let call = call.header("x-aimock-chaos-malformed: 0");
    assert_eq!(call_result(&stage, &call), "Reset");
    assert_eq!(call_result(&stage, &call.header("x-aimock-chaos-disconnect: 0")), "none");
    stage.end(0);
}

#[test]
fn rates_in_an_entry_stand_over_those_of_the_run() {
    let scene = Scene::new();
    scene.write(
        json!({ "_version": 2,
            "always": { "content": "a", "chaos": { "dropRate": 1.0 } },
            "never": { "content": "b", "chaos": { "malformedRate": 0, "dropRate": 0 } },
            "half": { "content": "c", "chaos": { "dropRate": 0.5 } },
            "plain": { "content": "d" } })
        .to_string(),
    );
    let stage = Stage::of(scene, &["--chaos", "1=malformed", "--seed", "3", "--repeat", "last"]);
    let of = |name: &str| call_result(&stage, &step(name, "x"));
    assert_eq!([of("always"), of("never"), of("plain")], ["drop", "none", "malformed"]);
    let halves: Vec<String> = (0..60).map(|_| of("half")).collect();
    let dropped = halves.iter().filter(|result| *result == "drop").count();
    assert!((15..=45).contains(&dropped), "{dropped} of 60");
    assert!(halves.iter().all(|result| result == "drop" || result == "malformed"), "{halves:?}");
    stage.end(0);
}

#[test]
fn a_plans_rates_stand_under_those_of_flags() {
    let scene = many(40);
    std::fs::write(
        scene.path("plan.yaml"),
        "chaos:\n  drop: 1\n  faults:\n    - {name: teapot, rate: 1, fault: http_error:418}\n",
    )
    .unwrap();
    let stage = Stage::of(scene, &["--faults", "plan.yaml", "--chaos", "0=drop"]);
    assert_eq!(stage.call(&nth(0)).expect(418).header("x-loomrec-fault-rule"), Some("teapot"));
    stage.end(0);
}

/// What happened to each call, by its step and its number.
type Trace = BTreeMap<(String, u64), String>;

/// The faults of a run, from its journal.
fn trace(scene: &Scene) -> Trace {
    let journal = std::fs::read_to_string(scene.path("journal.jsonl")).unwrap();
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut trace = Trace::new();
    for line in lines.filter(|line| line["fault"].is_object()) {
        let fault = &line["fault"];
        let step = fault["step_id"].as_str().unwrap().to_owned();
        let what =
            format!("{} {} {} {}", fault["type"], fault["rule"], fault["source"], fault["attempt"]);
        let twice = trace.insert((step, fault["call"].as_u64().unwrap()), what);
        assert_eq!(twice, None, "one call twice");
    }
    trace
}

const STEPS: usize = 12;
const CALLS: usize = 10;

/// Makes all calls from this many clients, in a random order.
fn swarmed(plan: &Value, clients: usize, chance: &mut Chance) -> Trace {
    let scene = many(STEPS);
    std::fs::write(scene.path("plan.json"), plan.to_string()).unwrap();
    let more = ["--faults", "plan.json", "--journal", "journal.jsonl", "--repeat", "last"];
    let stage = Stage::of(scene, &[&more[..], &["--allow-unfired"]].concat());
    let mut calls: Vec<usize> = (0..STEPS * CALLS).map(|n| n % STEPS).collect();
    for at in (1..calls.len()).rev() {
        calls.swap(at, chance.below(at + 1));
    }
    let calls = Mutex::new(calls);
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                loop {
                    let Some(n) = calls.lock().unwrap().pop() else { return };
                    call_result(&stage, &nth(n));
                }
            });
        }
    });
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    trace(&scene)
}

/// Plans with much chance and with ordered rules.
fn plans() -> Vec<Value> {
    let rules = |rules: Value, chaos: Value| json!({ "seed": 7, "rules": rules, "chaos": chaos });
    vec![
        rules(
            json!([
                { "match": { "attempt": 1 }, "fault": "http_error:503", "probability": 0.4 },
                { "match": { "step_id": ["step1", "step2"] }, "fault": "connection_reset", "times": 2 },
                { "match": { "call": [2, 5] }, "fault": "stream_truncate:0;raise=close" }
            ]),
            json!({ "drop": 0.2, "malformed": 0.2, "disconnect": 0.1 }),
        ),
        rules(
            json!([
                { "fault": { "type": "recover_after", "failures": 3, "fault": "drop" }, "probability": 0.5 },
                { "match": { "attempt": [2, 3] }, "fault": "malformed_response", "probability": 0.7 },
                { "fault": "slow:1", "probability": 0.3 }
            ]),
            json!({ "rate_limit": 0.3,
                "faults": [{ "rate": 0.5, "fault": "connection_drop" }] }),
        ),
    ]
}

#[test]
fn the_same_plan_and_seed_give_the_same_faults_at_any_concurrency_in_every_run() {
    let mut chance = Chance::new();
    for plan in plans() {
        let alone = swarmed(&plan, 1, &mut chance);
        assert!(alone.len() > STEPS * CALLS / 4, "{alone:#?}");
        for clients in [1, 8, 64] {
            let again = swarmed(&plan, clients, &mut chance);
            assert_eq!(again, alone, "{clients} clients under {plan}");
        }
        let mut other = plan.clone();
        other["seed"] = 8.into();
        assert_ne!(swarmed(&other, 8, &mut chance), alone, "the seed does not matter");
    }
}

#[test]
fn a_seed_that_was_drawn_is_said_and_repeats_the_run() {
    let run = |more: &[&str]| {
        let args = [&["--chaos", "0.5=drop", "--chaos", "0.5=disconnect"], more].concat();
        let stage = Stage::of(many(40), &args);
        let results: Vec<String> = (0..40).map(|n| call_result(&stage, &nth(n))).collect();
        (results, stage.end(0))
    };
    let (results, over) = run(&[]);
    let said = &over.finished.stderr;
    let seed = said.split("--seed ").nth(1).and_then(|rest| rest.split(' ').next());
    let seed = seed.unwrap_or_else(|| panic!("no seed was said: {said}")).to_owned();
    assert_eq!(over.receipt["faults"]["seed"].to_string(), seed);
    let (again, over) = run(&["--seed", &seed]);
    assert_eq!(again, results);
    assert!(!over.finished.stderr.contains("drawn"), "{}", over.finished.stderr);
}

#[test]
fn a_seed_is_drawn_only_when_something_is_left_to_chance() {
    let stage = Stage::of(recorded(), &["--fault", "drop"]);
    call_result(&stage, &chat("complete"));
    let said = stage.end(0).finished.stderr;
    assert!(!said.contains("seed"), "{said}");
    let normal = ["--latency", "normal:1"];
    for (more, drawn) in [(&[][..], true), (&["--seed", "4"], false)] {
        let stage = Stage::of(recorded(), &[&normal[..], more].concat());
        stage.call(&chat("complete")).expect(200);
        let said = stage.end(0).finished.stderr;
        assert_eq!(said.contains("was drawn; --seed "), drawn, "{said}");
    }
}

#[test]
fn chance_in_front_of_an_upstream_leaves_the_recording_true() {
    let upstream = Upstream::start(|received| {
        let body: Value = serde_json::from_slice(&received.body).unwrap();
        Answer::json(200, chat_answer(body["messages"][0]["content"].as_str().unwrap()))
    });
    let rates = ["--chaos", "0.4=drop", "--chaos", "0.4=malformed", "--seed", "5"];
    let stage = Stage::record(&upstream, &rates);
    let results: Vec<String> =
        (0..40).map(|n| call_result(&stage, &chat(&format!("prompt {n}")))).collect();
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    let count = |what: &str| results.iter().filter(|result| *result == what).count();
    assert!(count("drop") > 5 && count("malformed") > 5 && count("none") > 2, "{results:?}");
    assert_eq!(upstream.requests(), 40 - count("drop"));
    let takes = scene.takes();
    assert_eq!(takes.len(), 40 - count("drop"));
    let said: Vec<&Value> = takes.iter().map(|(_, take)| &take["content"]).collect();
    for (n, result) in results.iter().enumerate() {
        let there = said.iter().any(|said| **said == format!("prompt {n}"));
        assert_eq!(there, result != "drop", "{n}: {result}");
    }
}
