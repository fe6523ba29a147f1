//! Tests of credentials in handshakes and messages: none of them reaches the disk or the output.

use serde_json::json;

use super::{recording, upstream};
use crate::support::Scene;
use crate::support::web_socket::{close, hear, open, say};

#[test]
fn credentials_reach_neither_the_disk_nor_the_output() {
    let secret = "Zq7plainwordsecret";
    let protocols = format!("sec-websocket-protocol: realtime, openai-insecure-api-key.{secret}");
    let token = format!("sec-websocket-protocol: token, {secret}");
    let scene = Scene::new();
    let upstream = upstream();
    for (path, header) in [
        ("/openai/v1/realtime?model=m".to_owned(), protocols.as_str()),
        ("/openai/v1/listen?model=m".to_owned(), &token),
        (format!("/gemini/ws/Live?key={secret}"), "x-a: b"),
        (format!("/openai/v1/other?api-key={secret}"), "x-a: b"),
        (format!("/gemini/ws/Constrained?access_token={secret}"), "x-a: b"),
    ] {
        let server =
            recording(&scene, &upstream, &["--journal", "run.jsonl", "--log-format", "json"]);
        let (mut socket, head) = open(&server, &path, &[header]).unwrap();
        let offered =
            header.split_once(": ").filter(|(name, _)| name.starts_with("sec-")).map(|it| it.1);
        let chosen = offered.map(|offered| offered.split(',').next().unwrap());
        assert_eq!(head.get("sec-websocket-protocol").map(|value| value.to_str().unwrap()), chosen);
        hear(&mut socket);
        say(&mut socket, &json!({ "text": " ", "xi_api_key": secret }));
        hear(&mut socket);
        hear(&mut socket);
        close(&mut socket, 1000, "");
        let said = server.stop().expect(0);
        assert!(!said.stderr.contains(secret) && !said.stdout.contains(secret), "{}", said.stderr);
        // The upstream got it as it was sent.
        let sent = upstream.handshakes().pop().unwrap();
        let got = format!("{} {:?}", sent.uri(), sent.headers().get("sec-websocket-protocol"));
        assert!(got.contains(secret), "{got}");
    }
    for (path, bytes) in scene.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret), "{} holds the secret: {text}", path.display());
    }
    // Another key, or no key, replays it.
    let server = scene.replay(&["--strict"]);
    for (path, header) in [
        (
            "/openai/v1/realtime?model=m",
            "sec-websocket-protocol: realtime, openai-insecure-api-key.x",
        ),
        ("/openai/v1/realtime?model=m", "sec-websocket-protocol: realtime"),
        ("/openai/v1/listen?model=m", "sec-websocket-protocol: token, y"),
        ("/gemini/ws/Live?key=other-key-0123456789", "x-a: b"),
    ] {
        if let Ok((mut socket, _)) = open(&server, path, &[header]) {
            let first = hear(&mut socket);
            if first["type"] == "error" {
                continue;
            }
            say(&mut socket, &json!({ "text": " ", "xi_api_key": "another-key" }));
            assert_eq!(hear(&mut socket)["type"], "echo", "{path}");
            hear(&mut socket);
            close(&mut socket, 1000, "");
        } else {
            panic!("{path}");
        }
    }
    // The second realtime connection has no take left.
    server.stop().expect(1).says(&["1 missed"]);
}
