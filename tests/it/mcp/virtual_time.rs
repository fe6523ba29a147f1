//! Tests of virtual time: what a fault delays is counted, and not waited for.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{recorded, request, tool_call, tools};
use crate::support::{Scene, Server};

/// More than any of these runs takes, and less than any of them would have to wait for.
const AT_ONCE: Duration = Duration::from_secs(8);

fn scene() -> Scene {
    let list = request(json!(1), "tools/list", &Value::Null);
    recorded(&tools(), &[list, tool_call(json!(2), "search", json!({}))])
}

fn replay(scene: &Scene, fault: &str, budget: &str) -> Server {
    scene.replay(&[
        "--strict",
        "--fault",
        fault,
        "--virtual-time",
        "30s",
        "--recovery",
        budget,
        "--receipt",
        "receipt.json",
    ])
}

/// Calls the tool.
fn search(server: &Server, id: u32) -> Value {
    let response = server.call(&tool_call(json!(id), "search", json!({})));
    assert_eq!(response.status, 200);
    let answer = response.json();
    assert_eq!(answer["id"], id);
    answer
}

fn timed_out() -> Value {
    json!({ "code": -32001, "message": "Request timed out" })
}

#[test]
fn tool_that_hangs_is_given_up_at_once_and_its_time_counts() {
    for fault in ["hang", "wedged", "timeout:30000"] {
        let (scene, began) = (scene(), Instant::now());
        let fault = format!("recover_after:2;tool=search;fault={fault}");
        let budget = "max_detection_ms=31000,max_recovery_ms=62000,require_clean_timeout";
        let server = replay(&scene, &fault, budget);
        let listed = server.call(&request(json!(20), "tools/list", &Value::Null));
        assert!(listed.json()["result"].is_object());
        for id in [21, 22] {
            assert_eq!(search(&server, id)["error"], timed_out(), "{fault}");
        }
        assert!(search(&server, 23)["result"].is_object(), "{fault}");
        server.stop().expect(0).says(&["60.00 s of faults were counted and not waited for"]);
        assert!(began.elapsed() < AT_ONCE);
        let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
        let receipt: Value = serde_json::from_str(&receipt).unwrap();
        let faults = &receipt["recovery"]["faults"];
        let time = |fault: usize, name: &str| faults[fault][name].as_f64().unwrap();
        for (fault, recovered) in [(0, 60_000.0), (1, 30_000.0)] {
            let detected = time(fault, "time_to_detection_ms");
            assert!((30_000.0..31_000.0).contains(&detected), "{faults}");
            let took = time(fault, "time_to_recovery_ms");
            assert!((recovered..recovered + 1000.0).contains(&took), "{faults}");
        }
    }
}

#[test]
fn budget_is_missed_by_time_that_was_not_waited_for() {
    let scene = scene();
    let server =
        replay(&scene, "hang:once;tool=search", "max_detection_ms=29000,require_clean_timeout");
    assert_eq!(search(&server, 21)["error"], timed_out());
    assert!(search(&server, 22)["result"].is_object());
    server.stop().expect(1).says(&["more than 29000 ms"]);
}

#[test]
fn delay_below_the_limit_passes_and_one_above_is_given_up() {
    let began = Instant::now();
    for (fault, is_answered) in [("slow:20000", true), ("slow:40000", false)] {
        let scene = scene();
        let server = scene.replay(&["--strict", "--fault", fault, "--virtual-time", "30s"]);
        assert_eq!(search(&server, 21)["error"].is_null(), is_answered, "{fault}");
        let counted = if is_answered { "20.00 s" } else { "30.00 s" };
        server.stop().expect(0).says(&[counted]);
    }
    assert!(began.elapsed() < AT_ONCE);
}

#[test]
fn call_that_is_no_tools_is_waited_for() {
    let scene = scene();
    let fault = "hang;method=tools/list";
    let server = scene.replay(&["--strict", "--fault", fault, "--virtual-time", "30s"]);
    let mut client = TcpStream::connect(server.address).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let list = request(json!(7), "tools/list", &Value::Null);
    client.write_all(&[list.head().as_bytes(), list.body_bytes()].concat()).unwrap();
    let error = client.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    drop(client);
    server.stop().expect(0);
}

#[test]
fn delay_above_the_limit_is_a_fault_to_recover_from() {
    let scene = scene();
    let budget = "max_detection_ms=31000,max_recovery_ms=62000";
    let server = replay(&scene, "slow:40000;tool=search;times=1", budget);
    assert_eq!(search(&server, 21)["error"], timed_out());
    assert!(search(&server, 22)["result"].is_object());
    server.stop().expect(0);
    let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    let fault = &receipt["recovery"]["faults"][0];
    assert_eq!(
        (&fault["noticed_by"], &fault["recovered_by"], &fault["only_delays"]),
        (&json!("error"), &json!("same_call"), &json!(false)),
        "{receipt}"
    );
    let server = replay(&scene, "slow:40000;tool=search", budget);
    assert_eq!(search(&server, 21)["error"], timed_out());
    server.stop().expect(1).says(&["not recovered"]);
}
