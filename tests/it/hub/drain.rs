//! A hub that is asked to stop: open sessions may end, and no further one is opened.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{begin, control, end, in_session, receipt, recorded};
use crate::support::loomrec::Finished;
use crate::support::{Call, Scene, Server};

fn hub(scene: &Scene, more: &[&str]) -> Server {
    scene.replay(&[&["--sessions-by-control", "--receipt", "receipt.json"][..], more].concat())
}

/// Sends SIGTERM, and waits until the hub says how many sessions it waits for.
#[track_caller]
fn terminate(server: &mut Server, waits_for: &str) {
    server.process.signal("TERM");
    server.process.wait_for(waits_for);
}

#[track_caller]
fn is_ready(server: &Server) -> bool {
    let answer = server.call(&Call::get("/__loomrec/ready"));
    assert!([200, 503].contains(&answer.status), "{}", answer.status);
    answer.status == 200
}

#[test]
fn open_sessions_go_on_after_sigterm_and_new_ones_are_refused() {
    let scene = recorded();
    let mut server = hub(&scene, &[]);
    begin(&server, "gw0");
    begin(&server, "gw1");
    server.call(&in_session("gw0", "One")).expect(200);
    assert!(is_ready(&server));
    terminate(&mut server, "waiting up to 25 s for 2 sessions to end");
    // A balancer that asks on a connection of its own sees that no further session is wanted.
    assert!(!is_ready(&server));
    let refused = control(&server, "/__loomrec/session", &json!({ "prefix": "gw2" }), 503);
    assert!(refused["error"].as_str().unwrap().contains("about to stop"), "{refused}");
    server.call(&in_session("gw0", "Two")).expect(200);
    assert_eq!(end(&server, "gw0")["receipt"]["served"], 2);
    server.call(&in_session("gw1", "Twice")).expect(200);
    assert_eq!(end(&server, "gw1")["receipt"]["verdict"], "ok");
    // The last session has ended, and so does the hub.
    let ended = server.process.wait().expect(0);
    assert!(!ended.stderr.contains("was not ended"), "{}", ended.stderr);
    let run = receipt(&scene);
    assert_eq!((&run["sessions"]["opened"], &run["sessions"]["ended"]), (&json!(2), &json!(2)));
}

#[test]
fn session_that_does_not_end_is_ended_with_the_hub_and_named() {
    let scene = recorded();
    let mut server = hub(&scene, &["--drain", "1"]);
    begin(&server, "gw0");
    let began = Instant::now();
    terminate(&mut server, "waiting up to 1 s for 1 session to end");
    let ended = server.process.wait().expect(0);
    assert!(began.elapsed() >= Duration::from_secs(1));
    ended.says(&["session gw0 was not ended"]);
}

#[test]
fn session_that_expires_is_waited_for_no_longer() {
    let scene = recorded();
    let mut server = hub(&scene, &["--drain", "86400", "--session-idle", "1"]);
    begin(&server, "gw0");
    terminate(&mut server, "waiting up to 86400 s for 1 session to end");
    server.process.wait().expect(0).says(&["session gw0 was not ended"]);
}

/// Ends a hub with an open session in a way that must not wait.
#[track_caller]
fn ends_at_once(drain: &str, end: impl FnOnce(&mut Server)) -> Finished {
    let scene = recorded();
    let mut server = hub(&scene, &["--drain", drain]);
    begin(&server, "gw0");
    end(&mut server);
    server.process.wait().expect(0).says(&["session gw0 was not ended"])
}

#[test]
fn interrupt_a_second_signal_and_no_drain_end_a_hub_at_once() {
    let ended = ends_at_once("86400", |server| server.process.signal("INT"));
    assert!(!ended.stderr.contains("waiting up to"), "{}", ended.stderr);
    for second in ["TERM", "INT"] {
        ends_at_once("86400", |server| {
            terminate(server, "a further signal stops now");
            server.process.signal(second);
        });
    }
    let ended = ends_at_once("0", |server| server.process.signal("TERM"));
    assert!(!ended.stderr.contains("waiting up to"), "{}", ended.stderr);
}

#[test]
fn hub_without_sessions_ends_at_once() {
    let scene = recorded();
    let server = hub(&scene, &[]);
    begin(&server, "gw0");
    end(&server, "gw0");
    server.process.signal("TERM");
    let ended = server.process.wait().expect(0);
    assert!(!ended.stderr.contains("waiting up to"), "{}", ended.stderr);
}
