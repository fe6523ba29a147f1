//! Tests of what counts in the identity of a call.

use serde_json::{Value, json};

use super::scene::{ENDPOINT, post, record, recorded, request, tool_call, tools};
use crate::support::{Call, Scene};
use loomrec_identity::{IdentityRules, KeyForm, RequestKey, RequestParts};

/// A call with everything that a request can have.
fn whole(change: impl FnOnce(&mut Value)) -> Call {
    let mut body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "search",
            "arguments": { "words": ["loom", 1, 1.5, true, null], "deep": { "_meta": { "a": 1 } } },
            "requestState": "s",
            "inputResponses": { "q": { "action": "accept" } },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "a", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": { "roots": { "listChanged": true } },
                "io.modelcontextprotocol/logLevel": "info",
                "own": 5,
                "progressToken": 1,
                "traceparent": "00-1",
            },
        },
    });
    change(&mut body);
    post(&body.to_string())
}

/// Each place of a body that holds a value, as a JSON pointer.
fn leaves(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, inner)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            leaves(inner, &format!("{place}/{name}"), found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, inner)| {
            leaves(inner, &format!("{place}/{at}"), found);
        }),
        _ => found.push(place.to_owned()),
    }
}

/// Returns how the call ends in a replay of its own: the exit code, and the answer.
fn replayed(scene: &Scene, call: &Call) -> (Value, bool) {
    let server = scene.replay(&["--strict"]);
    let answer = server.call(call).expect(200).json();
    let finished = server.stop();
    let is_miss = answer["error"]["code"] == 422;
    finished.expect(i32::from(is_miss));
    (answer, is_miss)
}

#[test]
fn each_value_of_a_call_counts_except_what_a_client_makes_anew() {
    let scene = recorded(&tools(), &[whole(|_| {})]);
    let mut places = Vec::new();
    leaves(&serde_json::from_slice(whole(|_| {}).body_bytes()).unwrap(), "", &mut places);
    let meta = "/params/_meta/";
    let mut hits = Vec::new();
    for place in &places {
        let other = match place.as_str() {
            "/jsonrpc" => continue,
            "/method" => json!("tools/list"),
            _ => json!("other"),
        };
        let call = whole(|body| *body.pointer_mut(place).unwrap() = other);
        if !replayed(&scene, &call).1 {
            hits.push(place.as_str());
        }
    }
    let expected = [
        "/id",
        "/params/_meta/io.modelcontextprotocol~1clientInfo/name",
        "/params/_meta/io.modelcontextprotocol~1clientInfo/version",
        "/params/_meta/progressToken",
        "/params/_meta/traceparent",
    ];
    assert_eq!(hits, expected);
    assert!(places.len() > 15 && places.iter().any(|place| place.starts_with(meta)));
}

#[test]
fn headers_that_say_what_the_body_says_do_not_count() {
    let scene = recorded(&tools(), &[tool_call(json!(0), "search", json!({}))]);
    let again = tool_call(json!("x"), "search", json!({}))
        .header("mcp-protocol-version: 2025-11-25")
        .header("mcp-session-id: another")
        .header("mcp-method: tools/call")
        .header("mcp-name: search");
    assert!(!replayed(&scene, &again).1);
    let elsewhere = Call::post("/tools/other", again.body_bytes());
    assert!(replayed(&scene, &elsewhere).1, "the path counts");
    let server = scene.replay(&["--strict", "--upstream=tools2=http://127.0.0.1:9"]);
    let path = ENDPOINT.replace("tools", "tools2");
    let answer = server.call(&Call::post(&path, again.body_bytes())).expect(200);
    assert_eq!(answer.json()["error"]["code"], 422, "the upstream counts");
    server.stop().expect(1);
}

#[test]
fn client_that_connects_is_known_by_all_but_the_name_of_its_software() {
    let begin = |client: &str, version: &str, capability: &str| {
        let params = json!({
            "protocolVersion": version,
            "clientInfo": { "name": client, "version": "1" },
            "capabilities": { capability: {} },
        });
        request(json!(0), "initialize", &params)
    };
    let scene = recorded(&tools(), &[begin("one", "2025-11-25", "roots")]);
    assert!(!replayed(&scene, &begin("two", "2025-11-25", "roots")).1);
    assert!(replayed(&scene, &begin("one", "2025-06-18", "roots")).1);
    assert!(replayed(&scene, &begin("one", "2025-11-25", "sampling")).1);
}

#[test]
fn equal_calls_get_their_takes_in_order_and_a_notification_is_another_call() {
    let list = |id: u32| request(json!(id), "tools/list", &Value::Null);
    let scene = recorded(&tools(), &[list(1), list(2)]);
    let takes = scene.takes();
    assert_eq!(takes[1].0, format!("{}#2", takes[0].0));
    let answers = scene.replayed(&["--strict"], &[list(7), list(8), list(9)], 1);
    let ids: Vec<Value> = answers.iter().map(|answer| answer.json()["id"].clone()).collect();
    assert_eq!(ids, [7, 8, 9]);
    assert_eq!(answers[2].json()["error"]["code"], 422);
}

#[test]
fn recording_of_an_earlier_version_is_found_under_other_ids() {
    let call = |id: u32| {
        let call = tool_call(json!(id), "search", json!({ "word": "loom" }));
        call.header("mcp-protocol-version: 2025-11-25")
    };
    let recorded_call = call(1);
    let scene = recorded(&tools(), std::slice::from_ref(&recorded_call));
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let parts = RequestParts {
        form: KeyForm::Tagged { target: "/mcp", delivery: false, known: false },
        method: "POST",
        query: "",
        headers: &headers,
        body: recorded_call.body_bytes(),
    };
    let earlier = RequestKey::from_parts(&parts, &IdentityRules::default());
    let key = scene.takes().remove(0).0;
    assert_ne!(key, earlier.as_str());
    let text = scene.text().replace(&key, earlier.as_str());
    scene.write(text);
    scene.run(&["verify", scene.name()]).expect(0);
    let calls = [call(9), call(10)];
    let answers = scene.replayed(&["--strict"], &calls, 1);
    assert_eq!((&answers[0].json()["id"], answers[0].json()["error"].is_null()), (&json!(9), true));
    assert_eq!(answers[1].json()["error"]["code"], 422, "each take is served once");
}

#[test]
fn path_of_a_known_operation_keeps_its_operation() {
    let scene = Scene::new();
    let upstream = tools();
    let server = record(&scene, &upstream, &[]);
    let chat = r#"{"jsonrpc":"2.0","id":1,"method":"m","model":"x","messages":[]}"#;
    server.call(&Call::post("/tools/v1/chat/completions", chat));
    server.stop();
    let listed = scene.run(&["ls", "--json", scene.name()]).expect(0);
    assert!(listed.stdout.contains(r#""operation": "chat""#), "{}", listed.stdout);
}

#[test]
fn method_and_tool_are_named_wherever_a_call_is_shown() {
    let scene = Scene::new();
    let upstream = tools();
    let server = record(&scene, &upstream, &["--journal", "journal.jsonl"]);
    server.call(&tool_call(json!(1), "search", json!({ "word": "loom" })));
    let metrics = server.call(&Call::get("/__loomrec/metrics")).text();
    server.stop().expect(0);
    let name = "tools/call search";
    assert!(metrics.contains(&format!(r#"provider="mcp",model="{name}""#)), "{metrics}");
    let journal = std::fs::read_to_string(scene.path("journal.jsonl")).unwrap();
    assert!(journal.contains(r#""rpc":"tools/call search""#), "{journal}");
    let ls = scene.run(&["ls", scene.name()]).expect(0).stdout;
    assert!(ls.contains(&format!("tools mcp {name}")), "{ls}");
    let key = scene.takes().remove(0).0;
    let show = scene.run(&["show", scene.name(), &key]).expect(0).stdout;
    assert!(show.contains(&format!("Model Context Protocol {name}")), "{show}");
}
