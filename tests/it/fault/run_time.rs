//! Tests of chaos that is set while a run goes on, and of aimock's own actions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stage::{Stage, recorded, sample, samples, upstream};
use crate::support::{Call, End, Response};

const MALFORMED: &str = "{malformed json: <<<chaos>>>";

/// A request to the control endpoint of chaos.
fn control(stage: &Stage, method: &str, query: &str, body: &str) -> Response {
    let call = match method {
        "GET" => Call::get(&format!("/__loomrec/chaos{query}")),
        _ => Call::new(method, &format!("/__loomrec/chaos{query}")).body(body),
    };
    stage.call(&call.header("host: localhost"))
}

#[test]
fn rates_are_set_shown_and_cleared_while_a_run_goes_on() {
    let stage = Stage::replay(&["--repeat", "last", "--chaos", "1=http_error:418"]);
    let call = sample("chat").call;
    stage.call(&call).expect(418);
    let shown = control(&stage, "GET", "", "").expect(200).json();
    assert_eq!((&shown["set"], &shown["chaos"]["faults"][0]["rate"]), (&json!(false), &json!(1.0)));
    // What is set replaces what the run declares, all of it.
    let set = control(&stage, "POST", "", r#"{"drop": 1}"#).expect(200).json();
    assert_eq!(set, json!({ "session": null, "chaos": { "drop": 1.0 }, "set": true }));
    assert!(stage.call(&call).expect(500).text().contains("chaos_drop"));
    control(&stage, "POST", "?session=calm", "{}").expect(200);
    stage.call(&call.clone().header("x-loomrec-session: calm")).expect(200);
    stage.call(&call.clone().header("x-loomrec-session: other")).expect(500);
    // A header stands above it.
    stage.call(&call.clone().header("x-loomrec-chaos-drop: 0")).expect(200);
    control(&stage, "DELETE", "", "").expect(200);
    stage.call(&call).expect(418);
    stage.call(&call.clone().header("x-loomrec-session: calm")).expect(200);
    let over = stage.end(0);
    let told = &over.receipt["faults"]["run_time_chaos"];
    assert_eq!(told["changes"], 3);
    assert_eq!(told["latest"][0]["chaos"], json!({ "drop": 1.0 }));
    assert_eq!(told["latest"][1]["session"], "calm");
    assert_eq!(told["latest"][2]["chaos"], Value::Null);
    let said = &over.finished.stderr;
    assert!(said.contains("chaos of all calls was set after"), "{said}");
    assert!(said.contains(r#"ms to {"drop":1.0}"#), "{said}");
}

#[test]
fn rates_that_cannot_be_are_refused_and_nothing_is_set() {
    let stage = Stage::replay(&[]);
    for (body, why) in [
        ("", "expected an object of rates as JSON"),
        ("{", "expected an object of rates as JSON"),
        ("[]", "expected an object of rates"),
        (r#"{"drop": 2}"#, "/drop: expected a rate, from 0 to 1, not 2"),
        (r#"{"dorp": 1}"#, "did you mean \"drop\"?"),
        (r#"{"latencyMs": 1.5}"#, "/latencyMs: expected whole milliseconds"),
    ] {
        let answer = control(&stage, "POST", "", body).expect(400).json();
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(why), "{body}: {error}");
    }
    let large = format!(r#"{{"drop": 1{}}}"#, " ".repeat(70_000));
    let answer = control(&stage, "POST", "", &large).expect(400);
    assert!(answer.text().contains("over the limit"), "{}", answer.text());
    control(&stage, "POST", "?session=", "{}").expect(400);
    let foreign = Call::post("/__loomrec/chaos", r#"{"drop": 1}"#).header("host: evil.example");
    stage.call(&foreign).expect(403);
    assert_eq!(control(&stage, "GET", "", "").expect(200).json()["set"], false);
    stage.call(&sample("chat").call).expect(200);
    let over = stage.end(0);
    assert_eq!(over.receipt["faults"], Value::Null);
}

#[test]
fn aimocks_actions_take_its_form_for_every_provider_and_in_place_of_a_stream() {
    let stage = Stage::replay(&["--repeat", "last"]);
    for sample in samples() {
        let with = |line: &str| sample.call.clone().header(&format!("x-aimock-chaos-{line}"));
        let broken = stage.call(&with("malformed: 1")).expect(200);
        assert_eq!(broken.text(), MALFORMED, "{}", sample.name);
        assert_eq!(broken.header("content-type"), Some("application/json"), "{}", sample.name);
        let limited = stage.call(&with("ratelimit: 1")).expect(429);
        assert_eq!(limited.json()["error"]["code"], "chaos_ratelimit", "{}", sample.name);
        assert_eq!(limited.header("retry-after"), Some("1"), "{}", sample.name);
        assert_eq!(limited.header("x-ratelimit-limit-tokens"), Some("150000"), "{}", sample.name);
    }
    // The delay comes before any other action, and alone it is a late answer.
    let call = sample("chat").call.header("x-aimock-chaos-latency: 60");
    for (header, status) in [("x-aimock-chaos-drop: 1", 500), ("x-aimock-chaos-drop: 0", 200)] {
        let began = Instant::now();
        stage.call(&call.clone().header(header)).expect(status);
        assert!(began.elapsed() >= Duration::from_millis(60), "{header}");
    }
    let gone = sample("chat").call.header("x-aimock-chaos-disconnect: 1");
    assert_eq!(stage.silent(&gone).end, End::Reset);
    let over = stage.end(0);
    assert_eq!(over.count("rate_limit").1, samples().len() as u64);
    assert_eq!(over.count("latency"), (1, 1));
}

#[test]
fn an_invalid_header_of_aimocks_is_ignored_with_one_warning() {
    let stage = Stage::replay(&["--repeat", "last"]);
    for value in ["-1", "NaN", "often"] {
        let call = sample("chat").call.header(&format!("x-aimock-chaos-drop: {value}"));
        stage.call(&call).expect(200);
    }
    let over = stage.end(0);
    let expected = "x-aimock-chaos-drop was ignored: its value is not a rate from 0 to 1\n";
    assert_eq!(over.warnings(), expected);
    assert_eq!(over.receipt["faults"]["warnings"][0]["calls"], 3);
    assert!(over.finished.stderr.contains(expected.trim()), "{}", over.finished.stderr);
}

#[test]
fn a_live_answer_is_broken_once_it_is_there_and_a_live_stream_passes() {
    let upstream = upstream();
    let stage = Stage::record(&upstream, &["--metrics-compat"]);
    for sample in samples() {
        let call = sample.call.clone().header("x-aimock-chaos-malformed: 1");
        let answer = stage.call(&call).expect(200);
        let expected = match sample.framing {
            Some(_) => sample.body(),
            None => MALFORMED.as_bytes().to_vec(),
        };
        assert_eq!(answer.body(), expected, "{}", sample.name);
    }
    let streams = samples().iter().filter(|sample| sample.framing.is_some()).count();
    let metrics = stage.call(&Call::get("/metrics").header("host: localhost")).text();
    let passed =
        r#"aimock_chaos_bypassed_total{action="malformed",source="proxy",reason="sse_streamed"}"#;
    assert!(metrics.contains(&format!("{passed} {streams}\n")), "{metrics}");
    let over = stage.end(0);
    // What is recorded is the true answer.
    assert_eq!(over.receipt["recorded"], samples().len());
}

#[test]
fn an_entry_declares_aimocks_rates() {
    let scene = recorded();
    let mut recording: Value = serde_json::from_str(&scene.text()).unwrap();
    for (_, entry) in
        recording.as_object_mut().unwrap().iter_mut().filter(|(name, _)| *name != "_loomrec")
    {
        if let Value::Object(entry) = entry {
            entry.insert("chaos".to_owned(), json!({ "rateLimitRate": 1, "latencyMs": 20 }));
        }
    }
    scene.write(recording.to_string());
    let stage = Stage::of(scene, &["--repeat", "last"]);
    let began = Instant::now();
    let answer = stage.call(&sample("chat").call).expect(429);
    assert_eq!(answer.json()["error"]["code"], "chaos_ratelimit");
    assert!(began.elapsed() >= Duration::from_millis(20));
    stage.end(0);
}
