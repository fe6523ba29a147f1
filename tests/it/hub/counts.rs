//! The metrics of a hub's sessions.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{begin, control, end, in_session, recorded};
use crate::support::{Call, Server};

/// The value of a metric of sessions.
#[track_caller]
fn metric(server: &Server, name: &str) -> u64 {
    let text = server.call(&Call::get("/metrics")).expect(200).text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
}

/// How many sessions are open, and how many have begun, ended, expired and been refused.
#[track_caller]
fn counts(server: &Server) -> [u64; 5] {
    let event =
        |event: &str| metric(server, &format!("loomrec_sessions_total{{event=\"{event}\"}}"));
    let open = metric(server, "loomrec_sessions_open");
    [open, event("begun"), event("ended"), event("expired"), event("refused")]
}

#[test]
fn sessions_are_counted_by_what_became_of_them() {
    let scene = recorded();
    let server = scene.replay(&["--sessions-by-control", "--session-idle", "1"]);
    assert_eq!(counts(&server), [0; 5]);
    begin(&server, "gw0");
    begin(&server, "gw1");
    control(&server, "/__loomrec/session", &json!({ "prefix": "gw2", "mode": "record" }), 400);
    server.call(&in_session("gw0", "One")).expect(200);
    assert_eq!(counts(&server), [2, 2, 0, 0, 1]);
    end(&server, "gw0");
    assert_eq!(counts(&server), [1, 2, 1, 0, 1]);
    // The other one is left.
    let until = Instant::now() + Duration::from_secs(20);
    while counts(&server) != [0, 2, 2, 1, 1] {
        assert!(Instant::now() < until, "{:?}", counts(&server));
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop().expect(0);
}

#[test]
fn server_without_sessions_counts_none() {
    let server = recorded().replay(&[]);
    assert_eq!(counts(&server), [0; 5]);
    server.stop().expect(0);
}
