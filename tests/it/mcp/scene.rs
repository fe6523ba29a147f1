//! A server of tools, and calls of it.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::support::{Answer, Call, Received, Scene, Server, Upstream};

/// The path of the server's endpoint, below loomrec.
pub(crate) const ENDPOINT: &str = "/tools/mcp";

/// A request in JSON-RPC.
pub(crate) fn request(id: Value, method: &str, params: &Value) -> Call {
    let mut body = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    if !params.is_null() {
        body["params"] = params.clone();
    }
    post(&body.to_string())
}

/// A call of a tool.
pub(crate) fn tool_call(id: Value, tool: &str, arguments: Value) -> Call {
    request(id, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}

/// A message of this text.
pub(crate) fn post(body: &str) -> Call {
    Call::post(ENDPOINT, body)
        .header("accept: application/json, text/event-stream")
        .header("mcp-session-id: of-the-client")
}

/// A server that answers each request with what it was asked for, under its id.
pub(crate) fn tools() -> Upstream {
    Upstream::start(|request: &Received| {
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return Answer::whole(405, &[], "");
        };
        match &message {
            Value::Array(messages) => {
                let all: Vec<Value> = messages.iter().rev().map(answer).collect();
                Answer::json(200, Value::from(all).to_string())
            }
            one if one.get("id").is_none() => Answer::whole(202, &[], ""),
            one => Answer::whole(
                200,
                &["content-type: application/json", "mcp-session-id: of-the-server"],
                answer(one).to_string(),
            ),
        }
    })
}

fn answer(message: &Value) -> Value {
    let text = format!("{} {}", message["method"], message["params"]);
    match message["params"]["name"].as_str() {
        Some("unknown") => {
            let error = json!({ "code": -32602, "message": "Unknown tool: unknown" });
            json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })
        }
        name => {
            let content = [json!({ "type": "text", "text": text })];
            let result = json!({ "content": content, "isError": name == Some("fails") });
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
        }
    }
}

/// A server that always answers with this body, compressed.
pub(crate) fn compressed(body: &str) -> Upstream {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body.as_bytes()).unwrap();
    let headers = ["content-type: application/json", "content-encoding: gzip"];
    Upstream::always(Answer::whole(200, &headers, encoder.finish().unwrap()))
}

pub(crate) fn record(scene: &Scene, upstream: &Upstream, more: &[&str]) -> Server {
    let upstream = format!("--upstream=tools={}", upstream.url());
    let recording = scene.recording();
    let mut args = vec!["record", "-r", recording.to_str().unwrap(), &upstream];
    args.extend_from_slice(more);
    Server::start(scene.dir(), &args)
}

/// A scene with these calls recorded.
pub(crate) fn recorded(upstream: &Upstream, calls: &[Call]) -> Scene {
    let scene = Scene::new();
    let server = record(&scene, upstream, &[]);
    for call in calls {
        server.call(call);
    }
    server.stop().expect(0);
    scene
}
