//! Tests of recordings that were made over one transport, and are replayed over the other.

use serde_json::{Value, json};

use super::scene::{answers, call, converse, initialize, initialized, request, scene};
use crate::mcp::scene::{ENDPOINT, recorded, request as post, tool_call, tools};
use crate::support::Call;

#[test]
fn recording_over_stdio_is_replayed_over_http() {
    let scene = scene();
    let talk = [initialize(), initialized(), call(1, "echo", "loom")];
    let heard = answers(&converse(&scene, &["record"], &talk).expect(0));
    let calls = talk.iter().map(|message| Call::post(ENDPOINT, message.to_string()));
    let calls: Vec<Call> = calls.collect();
    let served = scene.replayed(&["--strict", "--fail-unused"], &calls, 0);
    assert_eq!(served.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 202, 200]);
    assert_eq!([served[0].json(), served[2].json()], heard[..]);
}

#[test]
fn recording_over_http_is_replayed_over_stdio() {
    let given = json!({ "word": "loom" });
    let scene = recorded(
        &tools(),
        &[post(json!(1), "tools/list", &Value::Null), tool_call(json!(2), "search", given.clone())],
    );
    super::scene::write_server(&scene);
    let talk = [request(31, "tools/list", &Value::Null), call(32, "search", given)];
    let heard =
        answers(&converse(&scene, &["replay", "--strict", "--fail-unused"], &talk).expect(0));
    assert_eq!((&heard[0]["id"], &heard[1]["id"]), (&json!(31), &json!(32)));
    let text = heard[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("loom"), "{text}");
    assert_eq!(super::scene::starts(&scene), 0);
}
