//! Tests of `loomrec noise`: rules for what differs between two recordings of the same run.

use serde_json::{Value, json};

use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Finished, Scene, Upstream};

const IDS: [&str; 4] = [
    "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
    "1190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
    "2290a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
    "3390a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
];

fn call(body: &Value) -> Call {
    Call::post(CHAT, body.to_string())
}

fn fine() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("fine")))
}

/// Records the calls of two runs.
fn recorded(one: &[Call], other: &[Call]) -> (Scene, Scene) {
    let (here, there) = (Scene::new(), Scene::new());
    here.recorded(&fine(), one);
    there.recorded(&fine(), other);
    (here, there)
}

fn noise(here: &Scene, there: &Scene, more: &[&str]) -> Finished {
    let there = there.recording();
    here.run(&[&["noise", here.name(), there.to_str().unwrap()], more].concat())
}

fn found(here: &Scene, there: &Scene) -> Value {
    serde_json::from_str(&noise(here, there, &["--json"]).stdout).unwrap()
}

/// The reason and the place of what is not explained.
fn refused(one: &[Call], other: &[Call]) -> Vec<(String, String)> {
    let (here, there) = recorded(one, other);
    let found = found(&here, &there);
    noise(&here, &there, &[]).expect(1);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let refused = found["unexplained"].as_array().unwrap().iter();
    refused.map(|refused| (text(&refused["reason"]), text(&refused["place"]))).collect()
}

/// A call with ids, times and a number of a process.
fn turn(id: &str, at: u64, prompt: &str) -> Call {
    let system = format!("You run as PGID: {at}. Chunk ID: 4{at}bd0f, said on 2026-11-0{at}.");
    call(&json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": prompt},
        ],
        "metadata": {
            "session": id, "turn": id,
            "started": 1_795_392_426_000_u64 + at,
        },
    }))
}

#[test]
fn ids_and_times_are_explained_and_the_rules_bind_them() {
    let runs = [0, 1].map(|run| {
        let at = 5 + run as u64;
        [turn(IDS[run], at, "hi"), turn(IDS[run + 2], at, "ho")]
    });
    let (here, there) = (Scene::new(), Scene::new());
    here.recorded(&fine(), &runs[0]);
    there.recorded(&fine(), &runs[1]);
    let before = here.replayed(&["--strict"], &runs[1], 1);
    assert!(before.iter().all(|answer| answer.status == 422));
    let ended = noise(&here, &there, &[]).expect(0);
    for part in [
        "2 calls in both: 0 the same, 2 with what is proposed\n",
        "  --normalize '/metadata/session: uuid'\n      2 calls, 2 places: \"0190a5b2-",
        "  --normalize '/metadata/turn: uuid'\n",
        "  --normalize '/metadata/started: epoch'\n      2 calls, 2 places: \"1795392426005\" and",
        "  --normalize 'system: You run as PGID: {{pid}}. Chunk ID: {{hex6}}, said on {{date}}.'\n",
        "\nnext: loomrec noise run",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    // Without --apply, nothing is written.
    here.replayed(&["--strict"], &runs[1], 1);
    let ended = noise(&here, &there, &["--apply"]).expect(0);
    assert!(ended.stdout.contains("\nwrote 4 rules into run"), "{}", ended.stdout);
    here.replayed(&["--strict", "--fail-unused"], &runs[1], 0);
    here.replayed(&["--strict", "--fail-unused"], &runs[0], 0);
    here.run(&["verify", here.name()]).expect(0);
    let ended = noise(&here, &there, &[]).expect(0);
    assert!(ended.stdout.contains("nothing differs that needs a rule"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("2 with the other run's epoch, pid+hex6+date, uuid"),
        "{}",
        ended.stdout
    );
}

#[test]
fn elements_of_a_list_have_one_rule() {
    let run = |id: &str, count: usize| {
        let item = json!({"role": "tool", "tool_call_id": "x", "content": format!("Run {id}")});
        let first = json!({"role": "user", "content": "go"});
        let messages: Vec<Value> =
            std::iter::once(first).chain(std::iter::repeat_n(item, count)).collect();
        call(&json!({"model": "m", "messages": messages}))
    };
    let rules = |count: usize| {
        let (here, there) = recorded(&[run(IDS[0], count)], &[run(IDS[1], count)]);
        let found = found(&here, &there);
        let rules = found["rules"].as_array().unwrap().iter();
        rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rules(1), ["tool: Run {{uuid}}"]);
    assert_eq!(rules(2), ["tool: Run {{uuid}}"]);
}

#[test]
fn differences_with_a_meaning_are_refused() {
    let reason = |one: Value, other: Value| {
        let refused = refused(&[call(&one)], &[call(&other)]);
        assert_eq!(refused.len(), 1, "{refused:?}");
        let (reason, place) = refused.into_iter().next().unwrap();
        format!("{reason} {place}")
    };
    let with = |member: &str, value: Value| {
        let mut body = chat_body("Please fix the failing test in this repository, then stop.");
        body[member] = value;
        body
    };
    let prompt = |text: &str| chat_body(text);
    assert_eq!(
        reason(prompt("Please fix the test today"), prompt("Please fix the tests today")),
        "words /messages/0/content"
    );
    assert_eq!(reason(prompt("add 41 and 1"), prompt("add 42 and 1")), "value /messages/0/content");
    assert_eq!(reason(with("seed", json!(1)), with("seed", json!(2))), "value /seed");
    assert_eq!(reason(with("store", json!(true)), with("store", json!(false))), "value /store");
    assert_eq!(reason(with("user", json!("a")), with("user", json!(["a"]))), "structure /user");
    assert_eq!(reason(with("user", json!("a")), with("user", Value::Null)), "structure /user");
    // The model is no id, even if its name has a date in it.
    assert_eq!(
        reason(with("model", json!("gpt-2024-08-06")), with("model", json!("gpt-2024-11-20"))),
        "words /model"
    );
    let messages = |count: usize| {
        let message = json!({"role": "user", "content": "Please fix the failing test, then stop."});
        with("messages", Value::Array(vec![message; count]))
    };
    assert_eq!(reason(messages(2), messages(3)), "count /messages");
}

#[test]
fn difference_in_a_header_is_shown_where_it_begins() {
    let with = |beta: &str| {
        let body = crate::support::shape::message_body("Please fix the failing test, then stop.");
        let call = Call::post("/anthropic/v1/messages", body.to_string());
        call.header(&format!("anthropic-beta: tools-2024-04-04,output-128k-2025-02-19,{beta}"))
    };
    let (here, there) = recorded(&[with("one-2025")], &[with("two-2025")]);
    let ended = noise(&here, &there, &[]).expect(1);
    for part in ["a difference outside the body: header anthropic-beta", "one-2025", "two-2025"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

#[test]
fn call_that_only_one_recording_has_is_named() {
    let calls = [chat("the first question of this run"), chat("something else entirely")];
    let (here, there) = recorded(&calls, &calls[..1]);
    let ended = noise(&here, &there, &[]).expect(1);
    assert!(ended.stdout.contains("a call that only one of the two has: "), "{}", ended.stdout);
    assert!(ended.stdout.contains("recorded \"something else entirely\""), "{}", ended.stdout);
}

#[test]
fn ids_that_are_equal_in_one_run_only_are_refused() {
    let with = |one: &str, other: &str| chat(&format!("from {one} to {other}, please"));
    let refused = refused(&[with(IDS[0], IDS[0])], &[with(IDS[1], IDS[2])]);
    assert_eq!(refused, [("numbering".to_owned(), "body".to_owned())]);
}

#[test]
fn rule_that_would_merge_calls_with_different_answers_is_refused() {
    let prompt = "Please look at the order with this number and say what is in it:";
    let ask = |id: &str| chat(&format!("{prompt} {id}"));
    let (here, there) = (Scene::new(), Scene::new());
    let answers = ["1", "2"].map(|text| Answer::json(200, chat_answer(text)));
    here.recorded(&Upstream::script(answers.into()), &[ask(IDS[0]), ask(IDS[1])]);
    there.recorded(&fine(), &[ask(IDS[2]), ask(IDS[3])]);
    let ended = noise(&here, &there, &["--apply"]).expect(1);
    let part = "the rule would merge two calls with different answers: user: ";
    assert!(ended.stdout.contains(part), "{}", ended.stdout);
    assert!(here.json()["_loomrec"]["identity"].get("normalize").is_none());
}

#[test]
fn values_of_the_run_need_no_rule() {
    let (here, there, upstream) = (Scene::new(), Scene::new(), fine());
    for (scene, place) in [(&here, "/srv/a"), (&there, "/ci/b/7")] {
        let server = scene.record(&upstream, &["--var", &format!("place={place}")]);
        server.call(&chat(&format!("work in {place}, please"))).expect(200);
        server.stop().expect(0);
    }
    let ended = noise(&here, &there, &[]).expect(0);
    let part = "1 call in both: 0 the same, 1 with the other run's place\n";
    assert!(ended.stdout.starts_with(part), "{}", ended.stdout);
}

#[test]
fn path_that_always_differs_in_the_same_way_is_proposed_as_a_value() {
    let runs = ["/opt/work/one", "/data/other"].map(|place| {
        let call = |file: &str| chat(&format!("Please read {place}/{file} and {place}/notes.txt"));
        [call("a.txt"), call("b.txt")]
    });
    let (here, there) = recorded(&runs[0], &runs[1]);
    let found = found(&here, &there);
    assert_eq!(
        found["values"],
        json!([{"name": "path", "calls": 2,
                "texts": {"recorded": "/opt/work/one", "now": "/data/other"}}])
    );
    let ended = noise(&here, &there, &[]).expect(0);
    assert!(ended.stdout.contains("  --var path=/opt/work/one\n"), "{}", ended.stdout);
    // Not if the same path is two paths in the other run.
    let there = Scene::new();
    there.recorded(&fine(), &[runs[1][0].clone(), chat("Please read /x1/b.txt and /x2/notes.txt")]);
    noise(&here, &there, &[]).expect(1);
}

#[test]
fn ids_that_answers_gave_need_no_rule() {
    let (here, there) = (Scene::new(), Scene::new());
    for (scene, id) in [(&here, "call_Ab12Cd34Ef"), (&there, "call_Zz98Yy76Xx")] {
        let made = json!({"id": id, "type": "function",
                          "function": {"name": "ls", "arguments": "{}"}});
        let answer = json!({"choices": [{"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": null, "tool_calls": [made]}}]});
        let answers =
            vec![Answer::json(200, answer.to_string()), Answer::json(200, chat_answer("done"))];
        let mut body = chat_body("Please list the files of this folder");
        let first = call(&body);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [made]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "hello.txt"}));
        scene.recorded(&Upstream::script(answers), &[first, call(&body)]);
    }
    let ended = noise(&here, &there, &[]).expect(0);
    assert!(ended.stdout.starts_with("2 calls in both: 2 the same\n"), "{}", ended.stdout);
}

#[test]
fn id_that_an_answer_only_repeats_needs_a_rule() {
    let (here, there) = (Scene::new(), Scene::new());
    let upstream = Upstream::start(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let mut answer: Value = serde_json::from_str(&chat_answer("fine")).unwrap();
        answer["metadata"] = body["metadata"].clone();
        Answer::json(200, answer.to_string())
    });
    for (scene, id) in [(&here, IDS[0]), (&there, IDS[1])] {
        let mut body = chat_body("Please list the files of this folder");
        body["metadata"] = json!({"session": id});
        scene.recorded(&upstream, &[call(&body), call(&body)]);
    }
    let found = found(&here, &there);
    assert_eq!(found["rules"][0]["rule"], "/metadata/session: uuid");
}

#[test]
fn missed_call_ends_with_the_command_that_explains_it() {
    let scene = Scene::new();
    scene.recorded(&fine(), &[turn(IDS[0], 5, "Please fix the test"), chat("other")]);
    let other = turn(IDS[1], 6, "Please fix the test");
    let replay = |call: &Call| {
        let server = scene.replay(&["--strict", "--pending", "run.json.pending"]);
        let missed = server.call(call).expect(422).text();
        server.stop().expect(1);
        missed
    };
    let missed = replay(&turn(IDS[1], 6, "Please fix the tests"));
    assert!(!missed.contains("loomrec noise"), "{missed}");
    scene.run(&["noise", scene.name(), "--pending"]).expect(1);
    let missed = replay(&other);
    assert!(missed.contains("this proposes the rules: `loomrec noise "), "{missed}");
    let ended = scene.run(&["noise", scene.name(), "--pending"]).expect(0);
    assert!(ended.stdout.contains("next: loomrec noise run.json --pending --apply"));
    scene.run(&["noise", scene.name(), "--pending", "--apply"]).expect(0);
    scene.replayed(&["--strict"], &[other], 0);
}

#[test]
fn input_that_cannot_be_compared_is_an_error() {
    let (here, there) = recorded(&[chat("hi")], &[chat("hi")]);
    let name = here.name();
    for (args, code, said) in [
        (vec!["noise", name], 2, "<B>"),
        (vec!["noise", name, name], 2, "run.json is named twice"),
        (vec!["noise", name, "none.json"], 4, "none.json"),
        (
            vec!["noise", name, "--pending"],
            2,
            "no requests that a replay has missed are kept for run.json",
        ),
        (vec!["noise", name, "other.txt"], 4, "other.txt"),
    ] {
        std::fs::write(here.path("other.txt"), "no recording").unwrap();
        here.run(&args).expect(code).says(&[said]);
    }
    let server = here.replay(&["--pending", "missed.json"]);
    server.call(&chat("else")).expect(422);
    server.stop();
    let there = there.recording();
    here.run(&["noise", "missed.json", there.to_str().unwrap()]).expect(2);
    // What a replay has missed may be named, too.
    here.run(&["noise", name, "missed.json"]).expect(1);
}
