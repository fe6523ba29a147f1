//! Tests of when the client of a fault has noticed it.

use serde_json::Value;

use super::stage::{Stage, recorded, sample};
use crate::support::shape::chat;
use crate::support::{Client, End};

/// A client that keeps what it got, does not close its side, and never makes the call again.
#[track_caller]
fn noticed_at_once(name: &str, fault: &str, by: &str, at_least_ms: f64) {
    let stage = Stage::replay(&[]);
    let mut client = stage.server.connect();
    client.send(&sample(name).with(fault));
    let journal = stage.journal_with(|line| line["outcome"] == "noticed");
    let line = |outcome: &str| journal.iter().find(|it| it["outcome"] == outcome).unwrap();
    assert_eq!(line("noticed")["by"], by, "{name} {fault}");
    let at = |outcome: &str| line(outcome)["at_ms"].as_f64().unwrap();
    let took = at("noticed") - at("fired");
    assert!((at_least_ms..at_least_ms + 900.0).contains(&took), "{name} {fault}: {took} ms");
    drop(client);
    let over = stage.end(0);
    assert_eq!(over.receipt["faults"]["fired"], 1, "{name} {fault}");
}

#[test]
fn the_end_of_a_connection_by_loomrec_is_noticed() {
    for fault in ["connection_reset", "connection_drop", "disconnect"] {
        noticed_at_once("chat", fault, "cut", 0.0);
    }
    noticed_at_once("chat", "timeout:120", "cut", 119.0);
    noticed_at_once("chat", "hang:120", "cut", 119.0);
    noticed_at_once("chat", "wrong_length:10", "cut", 0.0);
    for name in ["chat", "chat stream", "gemini array", "converse stream"] {
        noticed_at_once(name, "stream_truncate", "cut", 0.0);
        noticed_at_once(name, "stream_truncate;raise=close", "cut", 0.0);
    }
}

#[test]
fn a_whole_answer_that_a_fault_broke_is_noticed_when_it_is_sent() {
    for fault in ["malformed", "malformed_response", "bad_encoding", "partial_response"] {
        noticed_at_once("chat", fault, "sent", 0.0);
        noticed_at_once("chat stream", fault, "sent", 0.0);
    }
    noticed_at_once("chat", "wrong_length:-10", "sent", 0.0);
    noticed_at_once("chat stream", "stream_truncate:3;raise=clean_eof", "sent", 0.0);
    for how in ["broken_data", "duplicated", "dropped", "missing_terminator"] {
        noticed_at_once("chat stream", &format!("stream_garble:2;how={how}"), "sent", 0.0);
    }
}

#[test]
fn a_hang_that_only_the_end_of_the_run_ends_is_never_noticed() {
    for (name, fault) in
        [("chat", "hang"), ("chat", "timeout:60000"), ("chat stream", "stream_stall:1")]
    {
        let stage = Stage::replay(&["--recovery", "max_detection_ms=100"]);
        let mut client = stage.server.connect();
        client.send(&sample(name).with(fault));
        stage.journal_with(|line| line["outcome"] == "fired");
        let over = stage.end(1);
        let fault = &over.receipt["recovery"]["faults"][0];
        assert_eq!(fault["noticed_by"], Value::Null, "{name} {fault}");
        drop(client);
    }
}

#[test]
fn a_retry_after_a_pause_is_no_hang() {
    let budget = "max_detection_ms=300,require_clean_timeout";
    let flags = ["--fault", "connection_reset;times=1", "--recovery", budget];
    let stage = Stage::of(recorded(), &flags);
    assert_eq!(stage.silent(&chat("complete")).end, End::Reset);
    // The backoff of an SDK.
    std::thread::sleep(std::time::Duration::from_millis(400));
    stage.call(&chat("complete")).expect(200);
    let over = stage.end(0);
    let fault = &over.receipt["recovery"]["faults"][0];
    assert!(fault["user_visible_hang_ms"].as_f64().unwrap() < 200.0, "{fault}");
    assert!(fault["time_to_recovery_ms"].as_f64().unwrap() >= 399.0, "{fault}");
}

/// A call that hangs once, and the client that waits for it.
fn hanging() -> (Stage, Client) {
    let budget = ["--fault", "hang;times=1", "--recovery", "max_detection_ms=60000"];
    let stage = Stage::of(recorded(), &budget);
    let mut client = stage.server.connect();
    client.send(&chat("complete"));
    stage.journal_with(|line| line["outcome"] == "fired");
    (stage, client)
}

#[test]
fn equal_call_beside_one_that_hangs_is_no_retry() {
    let (stage, client) = hanging();
    stage.call(&chat("complete")).expect(200);
    std::thread::sleep(std::time::Duration::from_millis(1_300));
    drop(client);
    stage.journal_with(|line| line["outcome"] == "noticed");
    stage.end(1).finished.says(&["not recovered"]);
}

#[test]
fn equal_call_of_a_client_that_has_left_is_a_retry() {
    let (stage, client) = hanging();
    drop(client);
    stage.call(&chat("complete")).expect(200);
    stage.journal_with(|line| line["outcome"] == "recovered");
    let over = stage.end(0);
    let fault = &over.receipt["recovery"]["faults"][0];
    assert_eq!(
        (&fault["noticed_by"], &fault["recovered_by"]),
        (&"left".into(), &"same_call".into())
    );
}
