//! Tests of what a run reports about its faults: journal, receipt, exit code.

use serde_json::{Value, json};

use super::stage::{Stage, recorded, sample, step};
use crate::support::shape::chat;
use crate::support::{Answer, End, Scene, Upstream};

fn planned(rules: &Value, more: &[&str]) -> Stage {
    let scene = recorded();
    std::fs::write(scene.path("plan.json"), json!({ "rules": rules }).to_string()).unwrap();
    Stage::of(scene, &[&["--faults", "plan.json"], more].concat())
}

#[test]
fn a_rule_that_never_fired_fails_the_run_unless_that_is_allowed() {
    let rules = json!([
        { "name": "comes", "fault": "http_error:500", "times": 1 },
        { "name": "another model", "match": { "model": "gpt-9" }, "fault": "drop" },
        { "name": "hardly ever", "fault": "drop", "probability": 0 }
    ]);
    for (more, code, verdict) in [(&[][..], 1, "not tested"), (&["--allow-unfired"], 0, "ok")] {
        let stage = planned(&rules, more);
        stage.call(&chat("complete")).expect(500);
        stage.call(&chat("complete")).expect(200);
        let over = stage.end(code);
        assert_eq!(over.receipt["verdict"], verdict);
        assert_eq!(over.receipt["faults"]["unfired"], json!(["another model", "hardly ever"]));
        assert_eq!(over.count("comes"), (2, 1));
        assert_eq!(over.count("another model"), (0, 0));
        // The first call got the fault of another rule.
        assert_eq!(over.count("hardly ever"), (1, 0));
        assert_eq!(over.receipt["faults"]["fired"], 1);
        assert_eq!(over.receipt["faulted"], 1);
        assert_eq!(over.receipt["served"], 1);
        let said = &over.finished.stderr;
        assert!(said.contains("fault comes (plan): fired 1 of 2 matching calls"), "{said}");
        assert_eq!(said.contains("never happened"), code == 1, "{said}");
    }
}

#[test]
fn a_rule_whose_fault_could_not_happen_has_not_fired() {
    let rules = json!([{ "name": "far", "fault": "stream_truncate:99" }]);
    let stage = planned(&rules, &[]);
    stage.call(&sample("chat stream").call).expect(200);
    let over = stage.end(1);
    assert_eq!(over.count("far"), (1, 0));
    assert!(over.warnings().contains("(far)"), "{}", over.warnings());
}

#[test]
fn a_miss_stays_a_miss_under_a_fault() {
    let stage = Stage::replay(&[]);
    let unknown = |fault: &str| chat("unknown").header(&format!("x-loomrec-fault: {fault}"));
    stage.call(&unknown("http_error:503")).expect(503);
    assert_eq!(stage.silent(&unknown("connection_reset")).end, End::Reset);
    assert_eq!(stage.silent(&unknown("timeout:1")).end, End::Closed);
    // A fault that changes an answer has none to change: the call is answered as without a fault.
    for fault in ["stream_truncate:1", "slow:1", "malformed", "partial_response", "wrong_length:2"]
    {
        let answer = stage.call(&unknown(fault)).expect(422);
        assert_eq!(answer.header("x-loomrec-error"), Some("RecordingMismatchError"), "{fault}");
        assert_eq!(answer.header("x-should-retry"), Some("false"), "{fault}");
    }
    let mismatches =
        stage.call(&crate::support::Call::get("/__loomrec/mismatches").header("host: localhost"));
    assert_eq!(mismatches.json()["mismatches"].as_array().unwrap().len(), 8);
    let over = stage.end(1);
    assert_eq!((&over.receipt["missed"], &over.receipt["served"]), (&json!(8), &json!(0)));
    assert!(over.finished.stderr.contains("calls without a recorded answer: 8"));
}

#[test]
fn a_call_of_which_only_the_faults_were_recorded_is_a_miss_once_they_are_over() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, crate::support::shape::chat_answer("x")));
    scene.recorded(&upstream, &[chat("a")]);
    let stage = Stage::of(scene, &["--fault", "recover_after:2;fault=drop"]);
    for status in [500, 500, 200, 422] {
        stage.call(&chat("a")).expect(status);
    }
    stage.end(1);
}

#[test]
fn the_journal_tells_of_each_fault_and_of_what_became_of_it() {
    let rules = json!([{ "name": "first", "match": { "attempt": 1 }, "fault": "http_error:503" }]);
    let stage = planned(&rules, &["--journal", "journal.jsonl"]);
    let call = chat("complete").header("x-loomrec-session: s");
    // On one connection, so that only the repeated call shows that the client noticed.
    let mut client = stage.server.connect();
    client.exchange(&call).expect(503);
    client.exchange(&call).expect(200);
    let journal = stage.journal_with(|line| line["outcome"] == "recovered");
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    let text = std::fs::read_to_string(scene.path("journal.jsonl")).unwrap();
    let file: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(file, journal, "the file and the endpoint must say the same");
    let find = |outcome: &str| {
        let mut found = journal.iter().filter(|line| line["outcome"] == outcome);
        let one = found.next().unwrap_or_else(|| panic!("no {outcome} in {journal:#?}"));
        assert_eq!(found.next(), None, "{outcome} twice");
        one
    };
    let (faulted, served) = (find("faulted"), find("served"));
    let fault = &faulted["fault"];
    assert_eq!(faulted["status"], 503);
    for (field, value) in [
        ("type", json!("http_error")),
        ("rule", json!("first")),
        ("source", json!("plan")),
        ("session", json!("s")),
        ("call", json!(1)),
        ("attempt", json!(1)),
        ("only_delays", json!(false)),
    ] {
        assert_eq!(fault[field], value, "{field}: {fault}");
    }
    let key = scene.takes()[0].1["request_hash"].clone();
    assert_eq!(fault["key"], key);
    assert_eq!(served["fault"], Value::Null);
    let marks = ["fired", "noticed", "recovered"].map(find);
    for mark in marks {
        assert_eq!(mark["fault"], fault["id"], "{mark}");
    }
    assert_eq!(marks[1]["by"], "error");
    let times = marks.map(|mark| mark["at_ms"].as_f64().unwrap());
    assert!(times[0] <= times[1] && times[1] <= times[2], "{times:?}");
    assert!(times[0] >= 0.0 && times[2] < 30_000.0, "{times:?}");
}

#[test]
fn an_error_that_was_sent_is_noticed_though_the_connection_stays_open() {
    for fault in ["http_error:500", "drop", "stream_truncate:1;raise=error_event"] {
        let stage = planned(&json!([{ "fault": fault, "times": 1 }]), &[]);
        let mut client = stage.server.connect();
        client.send(&chat("complete"));
        client.head();
        let journal = stage.journal_with(|line| line["outcome"] == "noticed");
        let line = |outcome: &str| journal.iter().find(|it| it["outcome"] == outcome).unwrap();
        assert_eq!(line("noticed")["by"], "error", "{fault}");
        let at = |outcome: &str| line(outcome)["at_ms"].as_f64().unwrap();
        assert!(at("noticed") - at("fired") < 500.0, "{fault}: {journal:#?}");
        stage.call(&chat("complete")).expect(200);
        drop(client);
        stage.end(0);
    }
}

#[test]
fn an_answer_that_does_not_parse_is_sent_whole() {
    let stage = planned(&json!([{ "fault": "malformed", "times": 1 }]), &[]);
    assert_eq!(stage.call(&chat("complete")).expect(200).text().len(), 28);
    let journal = stage.journal_with(|line| line["fault"].is_object());
    let line = journal.iter().find(|line| line["fault"].is_object()).unwrap();
    assert_eq!((&line["end"], &line["status"]), (&json!("complete"), &json!(200)), "{line}");
    stage.call(&chat("complete")).expect(200);
    stage.end(0);
}

#[test]
fn the_times_of_a_hang_are_those_the_client_gave_it() {
    let stage = planned(&json!([{ "fault": "hang", "times": 1 }]), &[]);
    let mut client = stage.server.connect();
    client.send(&chat("complete"));
    stage.journal_with(|line| line["outcome"] == "fired");
    assert!(client.is_quiet_for(std::time::Duration::from_millis(80)));
    drop(client);
    stage.journal_with(|line| line["outcome"] == "noticed");
    std::thread::sleep(std::time::Duration::from_millis(40));
    stage.call(&chat("complete")).expect(200);
    let journal = stage.journal_with(|line| line["outcome"] == "recovered");
    let at = |outcome: &str| {
        let line = journal.iter().find(|line| line["outcome"] == outcome).unwrap();
        line["at_ms"].as_f64().unwrap()
    };
    let (noticed, recovered) = (at("noticed") - at("fired"), at("recovered") - at("fired"));
    assert!((79.0..9_000.0).contains(&noticed), "{noticed}");
    assert!(recovered - noticed >= 38.0 && recovered < 19_000.0, "{recovered} {noticed}");
    let by = journal.iter().find(|line| line["outcome"] == "noticed").unwrap();
    assert_eq!(by["by"], "left");
    stage.end(0);
}

#[test]
fn what_only_came_late_recovers_by_itself_and_what_was_cut_does_not() {
    let stage = Stage::replay(&["--repeat", "last"]);
    stage.call(&sample("chat").with("slow:1")).expect(200);
    let journal = stage.journal_with(|line| line["outcome"] == "recovered");
    let delayed = journal.iter().find(|line| line["fault"].is_object()).unwrap();
    assert_eq!(delayed["fault"]["only_delays"], true);
    let cut = stage.call(&sample("chat stream").with("stream_truncate:1;raise=close"));
    assert_eq!(cut.end, End::Closed);
    let recovered =
        |journal: &[Value]| journal.iter().filter(|line| line["outcome"] == "recovered").count();
    assert_eq!(recovered(&stage.journal()), 1);
    // A good answer to another call does not count for this one.
    stage.call(&sample("message").call).expect(200);
    assert_eq!(recovered(&stage.journal()), 1);
    stage.call(&sample("chat stream").call).expect(200);
    let is = |line: &Value| line["outcome"] == "recovered" && line["fault"] == 2;
    stage.journal_with(is);
    stage.end(0);
}

#[test]
fn a_connections_fault_is_over_when_any_call_is_answered_well() {
    let rules =
        json!([{ "name": "no", "match": { "connection": 1 }, "fault": "connection_reset" }]);
    let stage = planned(&rules, &["--journal", "journal.jsonl"]);
    assert_eq!(stage.server.connect().silence(), End::Reset);
    stage.call(&chat("complete")).expect(200);
    let journal = stage.journal_with(|line| line["outcome"] == "recovered");
    assert!(journal.iter().any(|line| line["outcome"] == "noticed"), "{journal:#?}");
    let faulted = journal.iter().find(|line| line["outcome"] == "faulted").unwrap();
    assert_eq!((&faulted["connection"], &faulted["fault"]["rule"]), (&json!(1), &json!("no")));
    assert_eq!(faulted["fault"]["type"], "connection_reset");
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    let scored = scene.run(&["journal", "journal.jsonl", "--recovery"]).expect(0).stdout;
    assert!(scored.contains("connection_reset") && scored.contains("1 recovered"), "{scored}");
}

#[test]
fn a_call_whose_answer_a_fault_changed_says_so_on_its_line() {
    let stage = Stage::replay(&[]);
    stage.call(&sample("chat stream").with("stream_truncate:1;raise=clean_eof")).expect(200);
    let journal = stage.journal();
    let line = journal.iter().find(|line| line["outcome"] == "served").unwrap();
    assert_eq!((&line["status"], &line["fault"]["type"]), (&json!(200), &json!("stream_truncate")));
    assert_eq!(line["fault"]["raise"], Value::Null);
    let fired = journal.iter().find(|line| line["outcome"] == "fired").unwrap();
    assert_eq!(fired["fault"], line["fault"]["id"]);
    stage.call(&sample("chat stream").with("stream_truncate:1;raise=ConnectionResetError"));
    let named = stage.journal_with(|line| line["fault"]["raise"].is_string());
    assert!(named.iter().any(|line| line["fault"]["raise"] == "ConnectionResetError"));
    stage.end(0);
}

#[test]
fn a_receipt_lists_what_was_declared_anywhere() {
    let scene = Scene::new();
    scene.write(
        json!({ "_version": 2,
            "a": { "content": "a", "fault": { "type": "drop", "times": 1 } },
            "b": { "content": "b" } })
        .to_string(),
    );
    let stage =
        Stage::of(scene, &["--fault", "b=slow:1", "--chaos", "0.000001=drop", "--seed", "4"]);
    stage.call(&step("a", "x")).expect(500);
    stage.call(&step("a", "x")).expect(200);
    stage.call(&step("b", "x").header("x-loomrec-fault: http_error:418")).expect(418);
    stage.call(&step("b", "x")).expect(200);
    let over = stage.end(0);
    let faults = &over.receipt["faults"];
    assert_eq!(faults["seed"], 4);
    let mut told: Vec<String> = faults["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| format!("{} {} {}", rule["source"], rule["rule"], rule["fired"]))
        .collect();
    told.sort();
    let expected =
        ["\"entry\" \"a\" 1", "\"flag\" \"--fault b=slow:1\" 1", "\"header\" \"http_error\" 1"];
    assert_eq!(told, expected);
    assert_eq!((&faults["fired"], &faults["unfired"]), (&json!(3), &json!([])));
    assert_eq!(faults["warnings"], json!([]));
}

#[test]
fn a_run_without_faults_says_nothing_of_them() {
    let stage = Stage::replay(&[]);
    let answer = stage.call(&chat("complete")).expect(200);
    let ours = answer.head.headers.iter().any(|(name, _)| name.contains("fault"));
    assert!(!ours, "{:?}", answer.head);
    let over = stage.end(0);
    assert_eq!(over.receipt["faults"], Value::Null);
    assert!(!over.finished.stderr.contains("fault"), "{}", over.finished.stderr);
}

#[test]
fn a_fault_of_a_flag_may_be_short_and_is_reported_as_a_flags() {
    for (fault, counts) in [
        ("429;times=1", [429, 200, 200]),
        ("http_error:429;times=2", [429, 429, 200]),
        ("429;probability=0%;call=1", [200, 200, 200]),
        ("429;model=another", [200, 200, 200]),
        ("429;attempt=2;upstream=openai;100%", [200, 200, 200]),
    ] {
        let scene = Scene::new();
        let upstream = Upstream::always(Answer::json(200, crate::support::shape::chat_answer("x")));
        scene.recorded(&upstream, &[chat("a"), chat("a"), chat("a")]);
        let stage = Stage::of(scene, &["--fault", fault, "--allow-unfired"]);
        let seen: Vec<u16> = counts.iter().map(|_| stage.call(&chat("a")).status).collect();
        assert_eq!(seen, counts, "{fault}");
        let over = stage.end(0);
        let rule = &over.receipt["faults"]["rules"][0];
        assert_eq!(
            (&rule["source"], &rule["rule"]),
            (&json!("flag"), &json!(format!("--fault {fault}")))
        );
        let said = &over.finished.stderr;
        assert!(said.contains(&format!("fault --fault {fault} (flag): fired ")), "{said}");
    }
    let stage = Stage::replay(&["--chaos", "100%=rate_limit"]);
    stage.call(&chat("complete")).expect(429);
    stage.end(0);
}

#[test]
fn a_fault_for_a_step_says_how_to_send_one_if_no_call_has_a_step() {
    let scene = recorded();
    let stage = Stage::of(scene, &["--fault", "answer=hang"]);
    stage.call(&chat("complete")).expect(200);
    let said = stage.end(1).finished.stderr;
    for part in [
        "rule \"--fault answer=hang\" is for the step \"answer\", but no recorded call has a step id: \
         it applies only if the program sends one, in the header x-loomrec-step-id or in that of \
         --step-id-header\n",
        "never happened (--allow-unfired permits that): --fault answer=hang (flag, hang): no call \
         matched it\n",
        "no call sent a step id, which --fault answer=hang needs: send it in the header \
         x-loomrec-step-id or in that of --step-id-header\n",
    ] {
        assert!(said.contains(part), "{part:?} not in {said}");
    }
    // Once a call has a step id, only its name can be wrong.
    let stage = Stage::of(recorded(), &["--fault", "answer=hang"]);
    stage.call(&chat("complete").header("x-loomrec-step-id: other")).expect(200);
    let said = stage.end(1).finished.stderr;
    assert!(!said.contains("no call sent a step id"), "{said}");
}
