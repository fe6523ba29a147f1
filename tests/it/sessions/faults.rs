//! Faults, budgets and control calls of one session.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{begin, control, echo, end, in_session};
use crate::support::{Call, Scene};

#[test]
fn faults_and_the_budget_are_of_their_session() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    server.call(&in_session("gw0", "Hello")).expect(200);
    end(&server, "gw0", true);
    server.stop().expect(0);
    let server = scene.replay(&[]);
    let with_fault = json!({ "prefix": "gw0", "recording": "a.json", "fault": "http_error:429;times=1",
        "recovery": "max_recovery_ms=60000" });
    begin(&server, &with_fault);
    begin(&server, &json!({ "prefix": "gw1", "recording": "a.json" }));
    server.call(&in_session("gw0", "Hello")).expect(429);
    server.call(&in_session("gw1", "Hello")).expect(200);
    server.call(&in_session("gw0", "Hello")).expect(200);
    let receipt = end(&server, "gw0", true)["receipt"].clone();
    assert_eq!(receipt["verdict"], "ok");
    assert_eq!(receipt["recovery"]["outcome"], "kept");
    assert_eq!(end(&server, "gw1", true)["receipt"]["faults"], json!(null));
    // If no call met the fault, the receipt says that it was not tested.
    begin(&server, &with_fault);
    assert_eq!(end(&server, "gw0", true)["receipt"]["verdict"], "not tested");
    // A plan.
    let plan = json!({ "rules": [{ "name": "busy", "fault": { "type": "http_error", "status_code": 503 } }] });
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json", "faults": plan }));
    server.call(&in_session("gw0", "Hello")).expect(503);
    end(&server, "gw0", true);
    server.stop().expect(0);
}

#[test]
fn control_calls_below_the_prefix_are_for_the_session() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    begin(
        &server,
        &json!({ "prefix": "gw0", "recording": "a.json", "fault": "http_error:503;times=1",
        "recovery": "max_recovery_ms=60000" }),
    );
    server.call(&in_session("gw0", "Hello")).expect(503);
    let recovered = server.call(&Call::post("/@gw0/__loomrec/recovered", "")).expect(200).json();
    assert_eq!(recovered["recovered"].as_array().unwrap().len(), 1, "{recovered}");
    server.call(&Call::post("/@gw1/__loomrec/recovered", "")).expect(404);
    control(&server, "recovered", &json!({}), 409);
    let receipt = end(&server, "gw0", true)["receipt"].clone();
    assert_eq!(receipt["recovery"]["outcome"], "kept", "{receipt}");
    server.stop();
}

#[test]
fn fault_before_the_first_request_of_a_connection_is_refused() {
    let scene = Scene::of_sessions();
    let server = scene.replay(&[]);
    let plan = json!({ "rules": [{ "name": "early", "match": { "connection": 1 },
        "fault": { "type": "connection_refused" } }] });
    let body = json!({ "prefix": "gw0", "recording": "a.json", "faults": plan });
    let answer = control(&server, "session", &body, 400);
    assert!(answer["error"].as_str().unwrap().contains("early"), "{answer}");
    server.stop().expect(0);
}

#[test]
fn call_that_a_fault_lets_hang_ends_with_its_session() {
    let scene = Scene::of_sessions();
    let server = scene.replay(&[]);
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json", "fault": "hang" }));
    let mut client = server.connect();
    client.send(&in_session("gw0", "Hello"));
    let at = Instant::now();
    while server.call(&Call::get("/__loomrec/sessions")).json()["open"][0]["calls"] == 0 {
        assert!(at.elapsed() < Duration::from_secs(20));
    }
    let began = Instant::now();
    let receipt = end(&server, "gw0", true)["receipt"].clone();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(receipt["faults"]["fired"], 1, "{receipt}");
    server.stop().expect(0);
}

#[test]
fn sessions_that_tested_no_fault_fail_the_run() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    server.call(&in_session("one", "Hello")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&["--fault", "answer=http_error:503"]);
    server.call(&in_session("one", "Hello")).expect(200);
    server.stop().expect(1).says(&["1 session, 1 failed", "session one: faults that were not"]);
}
