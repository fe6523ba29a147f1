//! Sessions that are left: they expire, and their number is bounded.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{begin, control, end, in_session, recorded};
use crate::support::shape::{CHAT, chat_streamed};
use crate::support::{Answer, Call, Gate, Scene, Server, Upstream};

fn open(server: &Server) -> usize {
    let shown = server.call(&Call::get("/__loomrec/sessions")).expect(200).json();
    shown["open"].as_array().unwrap().len()
}

/// Waits until so many sessions are open.
#[track_caller]
fn wait_for_open(server: &Server, count: usize) {
    let began = Instant::now();
    while open(server) != count {
        assert!(began.elapsed() < Duration::from_secs(20), "{} are open", open(server));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn session_without_calls_expires_and_is_named() {
    let scene = recorded();
    let server = scene.replay(&["--session-idle", "1", "--sessions-by-control"]);
    begin(&server, "gw0");
    server.call(&in_session("gw0", "One")).expect(200);
    wait_for_open(&server, 0);
    control(&server, "/__loomrec/session/end", &json!({ "prefix": "gw0" }), 404);
    server.call(&in_session("gw0", "One")).expect(400);
    // Its prefix is free, and its takes are unused again.
    begin(&server, "gw0");
    server.call(&in_session("gw0", "One")).expect(200);
    assert_eq!(end(&server, "gw0")["receipt"]["served"], 1);
    server.stop().expect(1).says(&["session gw0 was not ended", "calls refused: 1"]);
}

#[test]
fn session_does_not_expire_while_a_call_streams() {
    let (scene, gate) = (Scene::new(), Gate::new());
    gate.open();
    let slow = Answer::stream().chunk("data: 1\n\n").pause(2500).chunk("data: [DONE]\n\n").end();
    scene.recorded(&Upstream::always(slow), &[chat_streamed("Hello")]);
    let server = scene.replay(&["--session-idle", "1", "--latency", "replay"]);
    begin(&server, "gw0");
    let call = Call::post(&format!("/@gw0{CHAT}"), chat_streamed("Hello").body_bytes());
    let answer = server.call(&call).expect(200);
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
    // The recorded pause is longer than an idle session lives.
    assert_eq!(end(&server, "gw0")["receipt"]["served"], 1);
    server.stop().expect(0);
}
