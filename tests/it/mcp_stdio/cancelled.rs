//! Tests of requests that their client cancels.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{StdioClient, answers, bridge, call, read_lines, said, scene};
use crate::support::Scene;

fn cancel(id: u32) -> Value {
    let params = json!({ "requestId": id, "reason": "McpError: Request timed out" });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

/// Waits until the server has got a call of a tool.
fn wait_for_call(scene: &Scene) {
    let until = Instant::now() + Duration::from_secs(30);
    while !read_lines(scene, "received").contains(&"tools/call".to_owned()) {
        assert!(Instant::now() < until, "the server has got no call");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn hung_call_that_its_client_cancels_gets_no_made_up_answer() {
    let scene = scene();
    let mut client = StdioClient::start(&mut bridge(&scene, &["record"]));
    client.send(&call(1, "silent", 1));
    wait_for_call(&scene);
    client.send(&cancel(1));
    assert_eq!(client.ask(&call(2, "echo", 2)), said(2, "echo", 2));
    let ended = client.close().expect(0);
    assert!(ended.stderr.contains("2 recorded"), "{}", ended.stderr);
    // The call that was given up may be written after the next.
    let mut statuses: Vec<Option<u64>> =
        scene.takes().iter().map(|(_, take)| take["response"]["status"].as_u64()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [Some(200), Some(202)]);

    let mut client = StdioClient::start(&mut bridge(&scene, &["replay", "--strict"]));
    assert_eq!(client.ask(&call(1, "silent", 1))["error"]["code"], 422);
    client.send(&cancel(1));
    assert_eq!(client.ask(&call(2, "echo", 2)), said(2, "echo", 2));
    client.close().expect(1).says(&["2 served · 1 missed"]);
}

#[test]
fn answer_to_a_call_that_its_client_cancelled_is_recorded_as_given_up() {
    let scene = scene();
    for mode in [&["record"][..], &["replay", "--strict"]] {
        let mut client = StdioClient::start(&mut bridge(&scene, mode));
        client.send(&call(1, "late", 5));
        client.wait_for("notifications/message");
        // The server answers after this all the same.
        client.send(&cancel(1));
        assert_eq!(client.ask(&call(2, "echo", 2)), said(2, "echo", 2));
        let ended = client.close().expect(0);
        assert!(answers(&ended).iter().all(|message| message["id"] != 1), "{}", ended.stdout);
    }
    let left: Vec<bool> =
        scene.takes().iter().map(|(_, take)| take["client_left"].is_object()).collect();
    assert_eq!(left.iter().filter(|left| **left).count(), 1, "{}", scene.text());
}
