//! Tests of invalid handshakes of WebSockets: they are refused so that a program falls back to HTTP,
//! and do not fail a run that went on over HTTP.

use serde_json::Value;

use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Scene, Upstream};

/// The handshake of a WebSocket, of a version before RFC 6455.
fn handshake(path: &str) -> Call {
    Call::get(path)
        .header("connection: Upgrade")
        .header("upgrade: websocket")
        .header("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-version: 8")
}

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello")))
}

fn receipt(scene: &Scene) -> Value {
    serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap()
}

/// The outcomes in the journal, in its order.
fn outcomes(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["outcome"].as_str().unwrap().to_owned()).collect()
}

const FILES: [&str; 4] = ["--journal", "run.jsonl", "--receipt", "receipt.json"];
const NOTICE: &str =
    "the program asked for a WebSocket with a handshake that is not one of RFC 6455, and got 426";
const NOTE: &str = "requests for a WebSocket, which got 426 so that the program makes its calls \
                    over HTTP: 2";

#[test]
fn websocket_gets_426_on_a_connection_that_goes_on_and_does_not_fail_the_run() {
    let (scene, upstream) = (Scene::new(), upstream());
    let call = |more: &[&str]| {
        let args = [&FILES[..], more].concat();
        let server = match more.first() {
            None => scene.record(&upstream, &args),
            Some(_) => scene.replay(&args),
        };
        let mut client = server.connect();
        for path in ["/openai/v1/responses", "/openai/v1/realtime?model=gpt-realtime"] {
            let refused = client.exchange(&handshake(path)).expect(426);
            assert_eq!(refused.header("upgrade"), Some("HTTP/1.1"));
            assert_eq!(refused.header("connection"), Some("Upgrade"));
            assert_eq!(refused.header("x-loomrec-error"), Some("UnsupportedTransport"));
            let message = "UnsupportedTransport: this is no handshake of RFC 6455, version 13, over \
                           HTTP/1.1: correct it, or make this call over HTTP";
            assert_eq!(refused.json()["error"]["message"], message);
        }
        client.exchange(&chat("hi")).expect(200);
        let ended = server.stop().expect(0).says(&["2 refused as WebSocket", NOTE]);
        assert_eq!(ended.stderr.matches(NOTICE).count(), 1, "{}", ended.stderr);
        assert_eq!(outcomes(&scene)[..2], ["upgrade_refused", "upgrade_refused"]);
        let receipt = receipt(&scene);
        assert_eq!((&receipt["refused"], &receipt["refused_upgrades"]), (&0.into(), &2.into()));
        assert_eq!((&receipt["verdict"], &receipt["notes"][0]), (&"ok".into(), &NOTE.into()));
    };
    call(&[]);
    assert_eq!((upstream.requests(), scene.takes().len()), (1, 1));
    call(&["--strict", "--fail-unused"]);
    // Such a run shows which takes are needed.
    for flags in [["--unused", "receipt.json"], ["--journal", "run.jsonl"]] {
        let recording = scene.recording();
        let args = ["prune", recording.to_str().unwrap(), flags[0], flags[1]];
        scene.run(&args).expect(0);
    }
}

#[test]
fn run_in_which_only_a_websocket_was_asked_for_fails() {
    let (scene, upstream) = (Scene::new(), upstream());
    let why = "the program asked for a WebSocket (requests: 1), got 426, and made no call over \
               HTTP; switch its WebSocket transport off";
    let server = scene.record(&upstream, &[]);
    server.call(&handshake("/openai/v1/responses")).expect(426);
    server.stop().expect(1).says(&[&format!("nothing was recorded: {why}")]);
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--strict"]);
    server.call(&handshake("/openai/v1/responses")).expect(426);
    server.stop().expect(1).says(&[&format!("nothing was tested: {why}")]);
}

/// A command that asks for a WebSocket, and makes its call over HTTP when that is refused.
const FALLS_BACK: &str = r#"
import json, os, urllib.error, urllib.request
base = os.environ["OPENAI_BASE_URL"]
offer = {"connection": "Upgrade", "upgrade": "websocket"}
try:
    urllib.request.urlopen(urllib.request.Request(base + "/responses", None, offer))
except urllib.error.HTTPError as error:
    print(error.code)
body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
headers = {"content-type": "application/json"}
request = urllib.request.Request(base + "/chat/completions", json.dumps(body).encode(), headers)
print(urllib.request.urlopen(request).status)
"#;

#[test]
fn command_that_falls_back_to_http_is_recorded_and_replayed_with_exit_code_0() {
    let (scene, upstream) = (Scene::new(), upstream());
    for mut args in [scene.record_args(&upstream.url(), &[]), scene.replay_args(&["--strict"])] {
        // urllib sends a connection header of its own, and the offer all the same.
        args.extend(["--", "python3", "-c", FALLS_BACK].map(Into::into));
        let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
        assert_eq!(ended.stdout, "426\n200\n", "{}", ended.stderr);
        assert!(ended.stderr.contains("1 refused as WebSocket"), "{}", ended.stderr);
    }
}

#[test]
fn tunnels_and_websockets_of_web_pages_are_refused_calls() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--receipt", "receipt.json"]);
    server.call(&chat("hi")).expect(200);
    server.call(&Call::new("CONNECT", "api.openai.com:443")).expect(501);
    server.call(&handshake("/openai/v1/responses").header("upgrade: other")).expect(426);
    let page = handshake("/openai/v1/responses").header("origin: https://evil.example");
    server.call(&page).expect(403);
    server.stop().expect(1).says(&["2 refused", "1 refused as WebSocket", "calls refused: 2"]);
    let receipt = receipt(&scene);
    assert_eq!((&receipt["refused"], &receipt["refused_upgrades"]), (&2.into(), &1.into()));
}
