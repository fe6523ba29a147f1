//! Tests of faults in front of a live upstream: the client gets them, the recording does not.

use serde_json::{Value, json};

use super::stage::{Stage, recorded, sample, samples, streams, upstream};
use crate::support::shape::{chat, chat_answer, chat_streamed};
use crate::support::{Answer, End, Gate, Scene, Upstream};

#[test]
fn a_fault_in_place_of_an_answer_asks_no_upstream_and_records_nothing() {
    let upstream = upstream();
    let stage = Stage::record(&upstream, &[]);
    for sample in samples() {
        for (fault, status) in [("http_error:500", 500), ("drop", 500), ("malformed_response", 200)]
        {
            stage.call(&sample.with(fault)).expect(status);
        }
        for (fault, end) in [
            ("connection_reset", End::Reset),
            ("disconnect", End::Reset),
            ("connection_drop", End::Closed),
            ("timeout:1", End::Closed),
            ("hang:1", End::Closed),
        ] {
            assert_eq!(stage.silent(&sample.with(fault)).end, end, "{fault} {}", sample.name);
        }
    }
    assert_eq!((upstream.requests(), upstream.connections()), (0, 0));
    let Stage { scene, server } = stage;
    let finished = server.stop().expect(0);
    assert!(!scene.recording().exists() || scene.takes().is_empty(), "{}", finished.stderr);
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    assert_eq!((&receipt["recorded"], &receipt["faulted"]), (&json!(0), &json!(88)));
}

/// The bodies of the answers that a recording holds, in any format.
fn served(scene: &Scene) -> Vec<(&'static str, Vec<u8>)> {
    let server = scene.replay(&["--strict"]);
    let answers: Vec<_> = samples()
        .into_iter()
        .map(|sample| (sample.name, server.call(&sample.call).expect(200).body()))
        .collect();
    server.stop().expect(0);
    answers
}

/// Faults that change, cut or only delay an answer: one of each kind.
const CHANGES: [&str; 10] = [
    "slow:5",
    "stream_truncate",
    "stream_truncate;after_bytes=9;raise=close",
    "stream_truncate;raise=clean_eof",
    "slice:50",
    "throttle:1000000",
    "stream_garble:0",
    "wrong_length:5",
    "bad_encoding",
    "malformed",
];

#[test]
fn the_recording_holds_the_true_answer_whatever_the_client_got() {
    let truth: Vec<_> = samples().into_iter().map(|sample| (sample.name, sample.body())).collect();
    std::thread::scope(|scope| {
        for fault in CHANGES {
            let truth = &truth;
            scope.spawn(move || {
                let upstream = upstream();
                let stage = Stage::record(&upstream, &["--fault", fault]);
                for sample in samples() {
                    let mut client = stage.server.connect();
                    client.send(&sample.call);
                    let answer = client.answer().unwrap();
                    let same = (answer.body(), answer.end) == (sample.body(), End::Complete);
                    let delays =
                        ["slow", "slice", "throttle"].iter().any(|it| fault.starts_with(it));
                    // A complete answer has no events to garble, and the length of a stream is
                    // unknown before its end.
                    let cannot = match sample.framing {
                        None => fault.starts_with("stream_garble"),
                        Some(_) => fault.starts_with("wrong_length"),
                    };
                    assert_eq!(
                        same,
                        delays || cannot,
                        "{fault} {}: {}",
                        sample.name,
                        answer.text()
                    );
                }
                assert_eq!(upstream.requests(), samples().len(), "{fault}");
                let Stage { scene, server } = stage;
                server.stop().expect(0);
                assert_eq!(served(&scene), *truth, "{fault}");
            });
        }
    });
}

#[test]
fn what_the_client_gets_of_a_live_stream_goes_out_at_once() {
    let gate = Gate::new();
    let events = crate::support::shape::chat_events(&["one", "two"]);
    let answer = Answer::stream().chunk(&events[0]).chunk(&events[1]).wait(&gate);
    let answer = answer.chunk(events[2..].concat()).end();
    let upstream = Upstream::always(answer);
    let stage = Stage::record(&upstream, &["--fault", "stream_truncate:2;raise=reset"]);
    let mut client = stage.server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    // The upstream holds back the rest. The client has what came before, and the end.
    let answer = client.collect(head);
    assert_eq!((answer.body(), answer.end), (events[..2].concat().into_bytes(), End::Reset));
    gate.open();
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    let take = scene.only_take();
    assert_eq!(take["response"]["end"], "complete");
    assert_eq!(take["content"], "onetwo");
}

#[test]
fn new_episodes_are_recorded_and_old_ones_replayed_under_one_plan() {
    let (scene, upstream) = (recorded(), upstream());
    let before = scene.takes().len();
    let args = ["--mode", "new_episodes", "--fault", "recover_after:1;fault=drop"];
    let server = scene.record(&upstream, &args);
    let (old, new) = (sample("chat").call, crate::support::shape::chat("new"));
    for call in [&old, &new] {
        server.call(call).expect(500);
        server.call(call).expect(200);
    }
    server.stop().expect(0);
    assert_eq!(upstream.requests(), 1);
    assert_eq!(scene.takes().len(), before + 1);
}

#[test]
fn a_rule_that_never_fired_fails_a_recording_too() {
    let upstream = upstream();
    let rule = ["--fault", "nobody=drop"];
    let stage = Stage::record(&upstream, &rule);
    stage.call(&sample("chat").call).expect(200);
    let over = stage.end(1);
    assert_eq!(over.receipt["faults"]["unfired"], json!(["--fault nobody=drop"]));
    let stage = Stage::record(&upstream, &[&rule[..], &["--allow-unfired"]].concat());
    stage.call(&sample("chat").call).expect(200);
    stage.end(0);
}

#[test]
fn the_true_answer_is_kept_when_the_client_leaves_a_stalled_one() {
    let upstream = upstream();
    let stage = Stage::record(&upstream, &["--fault", "stream_stall:1"]);
    for sample in streams() {
        let mut client = stage.server.connect();
        client.send(&sample.call);
        client.head();
        assert_eq!(client.chunk().as_ref(), sample.chunks.first(), "{}", sample.name);
        assert!(client.is_quiet_for(std::time::Duration::from_millis(20)), "{}", sample.name);
    }
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    for (_, take) in scene.takes() {
        assert_eq!(take["response"]["end"], "complete");
    }
    assert_eq!(scene.takes().len(), streams().count());
}

#[test]
fn fault_of_an_entry_that_a_new_answer_replaces_is_named() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    scene.recorded(&upstream, &[chat("hi")]);
    let mut file = scene.json();
    let entries = file.as_object_mut().unwrap().iter_mut();
    for (_, entry) in entries.filter(|(name, _)| !name.starts_with('_')) {
        entry["fault"] = json!({"type": "http_error", "status_code": 503});
    }
    scene.write(file.to_string());
    let server = scene.record(&upstream, &["--receipt", "receipt.json"]);
    server.call(&chat("hi")).expect(200);
    let note = "faults that the replaced takes declared, and the new ones do not: 1";
    let ended = server.stop().expect(0);
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
    assert!(receipt.contains(note), "{receipt}");
    assert_eq!(scene.only_take().get("fault"), None);
    // The next run replaces a take without a fault.
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(0);
    assert!(!ended.stderr.contains("faults"), "{}", ended.stderr);
}
