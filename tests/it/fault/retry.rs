//! Tests of faults and the calls after them: how often each happens, and what it leaves.

use serde_json::{Value, json};

use super::stage::{Stage, recorded, sample, samples, step};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, End, Scene, Server, Upstream};

/// A recording with three takes of one call and one of another.
fn takes() -> Scene {
    let scene = Scene::new();
    let said = ["one", "two", "three", "other"];
    let answers = said.map(|text| Answer::json(200, chat_answer(text)));
    let calls = [chat("a"), chat("a"), chat("a"), chat("b")];
    scene.recorded(&Upstream::script(answers.to_vec()), &calls);
    scene
}

/// A run of `scene` with a plan of these rules.
fn planned(scene: Scene, rules: &Value, more: &[&str]) -> Stage {
    std::fs::write(scene.path("plan.json"), json!({ "rules": rules }).to_string()).unwrap();
    Stage::of(scene, &[&["--faults", "plan.json"], more].concat())
}

/// The text of an answer, its status if it is not 200, or how the call ended.
fn call_result(stage: &Stage, call: &Call) -> String {
    let mut client = stage.server.connect();
    client.send(call);
    match client.answer() {
        Ok(answer) if (answer.status, answer.end) == (200, End::Complete) => {
            let text = &answer.json()["choices"][0]["message"]["content"];
            text.as_str().unwrap_or_default().to_owned()
        }
        Ok(answer) if answer.end == End::Complete => answer.status.to_string(),
        Ok(answer) => format!("{:?}", answer.end),
        Err(end) => format!("{end:?}"),
    }
}

fn all(stage: &Stage, calls: &[Call]) -> Vec<String> {
    calls.iter().map(|call| call_result(stage, call)).collect()
}

fn a(times: usize) -> Vec<Call> {
    vec![chat("a"); times]
}

#[test]
fn the_first_attempt_of_each_call_fails_and_the_second_is_the_recorded_answer() {
    let rules = json!([{ "match": { "attempt": 1 }, "fault": "http_error:500" }]);
    let stage = planned(takes(), &rules, &["--fail-unused"]);
    let seen = all(&stage, &a(6));
    assert_eq!(seen, ["500", "one", "500", "two", "500", "three"]);
    assert_eq!(all(&stage, &[chat("b"), chat("b")]), ["500", "other"]);
    stage.end(0);
}

#[test]
fn a_fault_with_once_happens_once_in_the_run_whatever_calls_ask() {
    let once = Stage::of(takes(), &["--fault", "429:once"]);
    assert_eq!(
        all(&once, &[chat("b"), chat("a"), chat("b"), chat("a")]),
        ["429", "one", "other", "two"]
    );
    once.end(0);
    let rules = json!([{ "fault": "http_error:503", "times": 2, "per": "run" }]);
    let twice = planned(takes(), &rules, &[]);
    assert_eq!(
        all(&twice, &[chat("a"), chat("b"), chat("a"), chat("b")]),
        ["503", "503", "one", "other"]
    );
    twice.end(0);
}

#[test]
fn the_first_call_of_a_key_fails_and_no_later_one() {
    let stage =
        planned(takes(), &json!([{ "match": { "call": 1 }, "fault": "http_error:500" }]), &[]);
    assert_eq!(all(&stage, &a(4)), ["500", "one", "two", "three"]);
    stage.end(0);
}

#[test]
fn numbers_of_a_list_are_all_meant() {
    let rules = json!([{ "match": { "call": [1, 3] }, "fault": "connection_reset" }]);
    let stage = planned(takes(), &rules, &[]);
    assert_eq!(all(&stage, &a(5)), ["Reset", "one", "Reset", "two", "three"]);
    stage.end(0);
}

/// Each call with another nonce, as often as there are outcomes.
fn nonces(stage: &Stage, outcomes: &[&str]) {
    let call = |nonce: usize| {
        let messages = json!([{ "role": "user", "content": "a" }]);
        let body = json!({ "model": "gpt-4o", "messages": messages, "nonce": nonce });
        Call::post("/v1/chat/completions", body.to_string())
    };
    let calls: Vec<Call> = (0..outcomes.len()).map(call).collect();
    assert_eq!(all(stage, &calls), outcomes);
}

/// A recording of such calls. The first one is the second one of a replay.
fn recorded_nonces(more: &[&str]) -> Scene {
    let scene = Scene::new();
    let answers = ["one", "two", "three"].map(|text| Answer::json(200, chat_answer(text)));
    let upstream = Upstream::script(answers.to_vec());
    let server = scene.record(&upstream, more);
    for nonce in [1, 7, 8] {
        let messages = json!([{ "role": "user", "content": "a" }]);
        let body = json!({ "model": "gpt-4o", "messages": messages, "nonce": nonce });
        server.call(&Call::post("/v1/chat/completions", body.to_string())).expect(200);
    }
    server.stop().expect(0);
    scene
}

#[test]
fn calls_that_differ_in_what_is_ignored_are_counted_as_one() {
    for recorded_with in [&[][..], &["--ignore", "/nonce"]] {
        for (fault, outcomes) in [
            ("recover_after:2;fault=http_error:503", ["503", "503", "one", "two", "three"]),
            ("http_error:503;times=1", ["503", "one", "two", "three", "422"]),
            ("http_error:503;attempt=2", ["one", "two", "three", "422", "503"]),
            ("http_error:503;call=3", ["one", "two", "503", "three", "422"]),
        ] {
            let scene = recorded_nonces(recorded_with);
            let stage = Stage::of(scene, &["--ignore", "/nonce", "--fault", fault]);
            nonces(&stage, &outcomes);
            stage.end(i32::from(outcomes.contains(&"422")));
        }
    }
}

#[test]
fn recovery_from_a_fault_is_seen_in_the_same_call_with_another_nonce() {
    let budget = ["--recovery", "max_detection_ms=60000"];
    let faults = ["--ignore", "/nonce", "--fault", "connection_reset;times=1"];
    let stage = Stage::of(recorded_nonces(&[]), &[&faults[..], &budget].concat());
    nonces(&stage, &["Reset", "one"]);
    let over = stage.end(0);
    let fault = &over.receipt["recovery"]["faults"][0];
    assert_eq!(fault["recovered_by"], "same_call", "{fault}");
}

#[test]
fn calls_of_a_script_that_differ_in_what_is_ignored_are_counted_as_one() {
    let scene = Scene::new();
    let script = json!([[{ "text": "one" }], [{ "text": "two" }]]);
    std::fs::write(scene.path("answers.json"), script.to_string()).unwrap();
    let args = ["--script", "answers.json", "--ignore", "/nonce", "--fault", "503;times=1"];
    let server = Server::start(scene.dir(), &[&["replay"], &args[..]].concat());
    let stage = Stage { scene, server };
    nonces(&stage, &["503", "one", "two"]);
    stage.server.stop().expect(0);
}

#[test]
fn times_are_counted_for_each_key() {
    let stage = planned(takes(), &json!([{ "fault": "drop", "times": 2 }]), &[]);
    let calls = [chat("a"), chat("b"), chat("a"), chat("a"), chat("b"), chat("b")];
    assert_eq!(all(&stage, &calls), ["500", "500", "500", "one", "500", "other"]);
    let over = stage.end(0);
    assert_eq!(over.receipt["faults"]["fired"], 4);
}

#[test]
fn a_call_recovers_after_so_many_failures() {
    let rules = json!([{ "match": { "upstream": "openai" },
        "fault": { "type": "recover_after", "failures": 2, "fault": { "type": "connection_drop" } } }]);
    let stage = planned(takes(), &rules, &[]);
    assert_eq!(all(&stage, &a(5)), ["Closed", "Closed", "one", "two", "three"]);
    assert_eq!(all(&stage, &vec![chat("b"); 3]), ["Closed", "Closed", "other"]);
    stage.end(0);
}

#[test]
fn a_step_of_the_same_call_has_a_history_of_its_own() {
    let scene = Scene::new();
    scene.write(
        json!({ "_version": 2, "x": [{ "content": "x1" }, { "content": "x2" }],
            "y": { "content": "y1" } })
        .to_string(),
    );
    let stage = planned(scene, &json!([{ "fault": "drop", "times": 1 }]), &[]);
    let calls = [step("x", "a"), step("y", "a"), step("x", "a"), step("y", "a"), step("x", "a")];
    assert_eq!(all(&stage, &calls), ["500", "500", "x1", "y1", "x2"]);
    stage.end(0);
}

#[test]
fn a_session_has_a_history_of_its_own_and_a_reset_forgets_it() {
    let stage = planned(takes(), &json!([{ "fault": "drop", "times": 1 }]), &[]);
    let of = |session: &str| chat("a").header(&format!("x-loomrec-session: {session}"));
    let calls = [of("s"), of("t"), of("s"), of("t"), chat("a")];
    assert_eq!(all(&stage, &calls), ["500", "500", "one", "one", "500"]);
    let reset = |query: &str| {
        let call = Call::post(&format!("/__loomrec/reset{query}"), "");
        stage.call(&call.header("host: localhost")).expect(200);
    };
    reset("?session=s");
    assert_eq!(all(&stage, &[of("s"), of("s"), of("t")]), ["500", "one", "two"]);
    reset("");
    assert_eq!(all(&stage, &[of("t"), of("t")]), ["500", "one"]);
    stage.end(0);
}

#[test]
fn a_rule_of_a_session_is_for_no_other() {
    let stage = planned(takes(), &json!([{ "match": { "session": "s" }, "fault": "drop" }]), &[]);
    let of = |session: &str| chat("a").header(&format!("x-loomrec-session: {session}"));
    assert_eq!(all(&stage, &[of("s"), of("t"), chat("a")]), ["500", "one", "one"]);
    let by_path = Call::post("/@s/openai/v1/chat/completions", chat("a").body_bytes());
    assert_eq!(call_result(&stage, &by_path), "500");
    stage.end(0);
}

#[test]
fn an_answer_that_only_came_late_was_answered_well() {
    let rules = json!([{ "match": { "attempt": 1 }, "fault": "slow:1" }]);
    let stage = planned(takes(), &rules, &[]);
    assert_eq!(all(&stage, &a(3)), ["one", "two", "three"]);
    assert_eq!(stage.end(0).receipt["faults"]["fired"], 3);
}

#[test]
fn a_beginning_of_a_hash_is_enough() {
    let scene = takes();
    let name = |text: &str| {
        let takes = scene.takes();
        let (name, _) = takes.iter().find(|(_, take)| take["content"] == text).unwrap();
        name[..6].to_owned()
    };
    let rules = json!([{ "match": { "request_hash": name("other") }, "fault": "drop" }]);
    let stage = planned(scene, &rules, &[]);
    assert_eq!(all(&stage, &[chat("a"), chat("b"), chat("a")]), ["one", "500", "two"]);
    stage.end(0);
}

#[test]
fn a_recorded_error_is_no_good_answer() {
    let scene = Scene::new();
    let answers = vec![Answer::json(429, "{}"), Answer::json(200, chat_answer("one"))];
    scene.recorded(&Upstream::script(answers), &[chat("a"), chat("a")]);
    let rules = json!([{ "match": { "attempt": [1, 3] }, "fault": "http_error:500" }]);
    let stage = planned(scene, &rules, &[]);
    // The recorded 429 is the second attempt of a call that keeps failing.
    assert_eq!(all(&stage, &a(4)), ["500", "429", "500", "one"]);
    stage.end(0);
}

#[test]
fn connections_are_numbered_as_they_come() {
    let rules = json!([
        { "name": "first", "match": { "connection": 1 }, "fault": "connection_reset" },
        { "name": "second", "match": { "connection": 2 }, "fault": "connection_drop" },
        { "name": "third", "match": { "connection": 3 }, "fault": "timeout:40" },
        { "name": "fourth", "match": { "connection": 4 }, "fault": "hang" },
        { "name": "fifth", "match": { "connection": 5 }, "fault": "http_error:503" },
        { "name": "sixth", "match": { "connection": 6, "call": 2 }, "fault": "disconnect" }
    ]);
    let stage = planned(recorded(), &rules, &["--repeat", "last"]);
    // No request is sent: the fault applies to the connection itself.
    assert_eq!(stage.server.connect().silence(), End::Reset);
    assert_eq!(stage.server.connect().silence(), End::Closed);
    let mut third = stage.server.connect();
    third.send(&chat("complete"));
    assert!(third.is_quiet_for(std::time::Duration::from_millis(10)));
    assert_eq!(third.silence(), End::Closed);
    let mut fourth = stage.server.connect();
    fourth.send(&chat("complete"));
    assert!(fourth.is_quiet_for(std::time::Duration::from_millis(60)));
    drop(fourth);
    let mut fifth = stage.server.connect();
    fifth.exchange(&chat("complete")).expect(503);
    fifth.exchange(&sample("message").call).expect(503);
    let mut sixth = stage.server.connect();
    sixth.exchange(&sample("message stream").call).expect(200);
    sixth.send(&chat("complete"));
    assert_eq!(sixth.silence(), End::Reset);
    stage.call(&chat("complete")).expect(200);
    let over = stage.end(0);
    assert_eq!(over.count("fifth"), (2, 2));
    for rule in ["first", "second", "third", "fourth", "sixth"] {
        assert_eq!(over.count(rule), (1, 1), "{rule}");
    }
}

#[test]
fn a_connections_rule_comes_as_often_as_it_may_and_leaves_the_rest_to_the_next() {
    let rules = json!([
        { "name": "never", "match": { "connection": [1, 2, 3, 4] }, "fault": "connection_drop",
          "probability": 0 },
        { "name": "twice", "match": { "connection": [1, 2, 3, 4] }, "fault": "connection_reset",
          "times": 2 },
        { "name": "then", "match": { "connection": [3] }, "fault": "connection_drop" }
    ]);
    let stage = planned(recorded(), &rules, &["--allow-unfired"]);
    let ends: Vec<End> = (0..3).map(|_| stage.server.connect().silence()).collect();
    assert_eq!(ends, [End::Reset, End::Reset, End::Closed]);
    // The fault of a connection does not apply to its calls.
    stage.call(&chat("complete")).expect(200);
    let over = stage.end(0);
    assert_eq!((over.count("never").1, over.count("twice").1, over.count("then").1), (0, 2, 1));
}

#[test]
fn an_answer_that_a_client_did_not_wait_for_is_still_owed() {
    for fault in ["slow:60000", "stream_stall:1;for_ms=60000", "slice:9;delay_ms=60000"] {
        let rules = json!([{ "match": { "attempt": 1 }, "fault": fault }]);
        let stage = planned(recorded(), &rules, &["--fail-unused"]);
        for (number, sample) in (1..).zip(samples()) {
            let left = |line: &Value| line["outcome"] == "noticed" && line["fault"] == number;
            if fault.starts_with("stream_stall") && sample.framing.is_none() {
                // It comes in one piece, so there is nothing to wait for after that.
                stage.call(&sample.call).expect(200);
                continue;
            }
            let mut client = stage.server.connect();
            client.send(&sample.call);
            stage.journal_with(|line| line["fault"] == number);
            drop(client);
            stage.journal_with(left);
            let answer = stage.call(&sample.call).expect(200);
            assert_eq!(answer.body(), sample.body(), "{fault} {}", sample.name);
        }
        stage.end(0);
    }
}

#[test]
fn an_answer_to_which_nothing_could_happen_is_used_up() {
    let impossible = ["stream_garble:0", "tool_call_fault", "stream_truncate;after_events=1"];
    for fault in impossible {
        let stage =
            planned(takes(), &json!([{ "fault": fault }]), &["--allow-unfired", "--fail-unused"]);
        assert_eq!(all(&stage, &a(4)), ["one", "two", "three", "422"], "{fault}");
        assert_eq!(call_result(&stage, &chat("b")), "other");
        stage.end(1);
    }
    let far = json!([{ "match": { "attempt": 1 }, "fault": "stream_truncate;after_bytes=99999" }]);
    let stage = planned(takes(), &far, &["--allow-unfired"]);
    assert_eq!(all(&stage, &a(4)), ["one", "two", "three", "422"]);
    stage.end(1);
}
