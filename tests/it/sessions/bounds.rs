//! The bounds of sessions: their number, their idle time, and what a server holds of them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{begin, control, echo, end, entries, files, in_session};
use crate::support::{Call, Scene, Server};

/// How many sessions one server has in its life.
const MANY: usize = 1000;

/// Returns the number of open files of a process.
fn open_files(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.process.pid())).unwrap().count()
}

/// Returns the number of threads of a process, and its resident memory in KiB.
fn threads_and_memory(server: &Server) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.pid())).unwrap();
    let number = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (number("Threads:"), number("VmRSS:"))
}

#[test]
fn idle_session_ends_and_its_next_call_opens_it_again() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &["--session-idle", "1"]);
    server.call(&in_session("one", "First")).expect(200);
    let began = Instant::now();
    while !files(&scene, "recordings").contains(&"one.json".to_owned())
        || files(&scene, "recordings").len() > 1
    {
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", files(&scene, "recordings"));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(began.elapsed() > Duration::from_millis(900), "{:?}", began.elapsed());
    server.call(&in_session("one", "Second")).expect(200);
    server.stop().expect(0).says(&["2 sessions", "2 recorded"]);
    assert_eq!(entries(&scene, "recordings/one.json").len(), 2);
}

#[test]
fn server_holds_nothing_of_sessions_that_have_ended() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &["--sessions-by-control"]);
    let mut client = server.connect();
    let mut at_first = None;
    for number in 0..MANY {
        begin(
            &server,
            &json!({ "prefix": "gw0", "recording": format!("{}/{number}.json", number % 7) }),
        );
        client.exchange(&in_session("gw0", &format!("Prompt {number}"))).expect(200);
        let ended = end(&server, "gw0", true);
        assert_eq!((&ended["kept"], &ended["receipt"]["recorded"]), (&json!(true), &json!(1)));
        if number == 100 {
            at_first = Some((open_files(&server), threads_and_memory(&server)));
        }
    }
    let (files_before, (threads_before, memory_before)) = at_first.unwrap();
    let (threads, memory) = threads_and_memory(&server);
    assert!(open_files(&server) <= files_before + 4, "{} files", open_files(&server));
    assert!(threads <= threads_before + 4, "{threads} threads, {threads_before} before");
    // What it may keep is the list of ended sessions, and the journal's latest lines. The allocator
    // keeps up to 20 MiB more where threads change on a busy machine. A session that stayed open
    // would hold some 200 KiB, and a thousand of them ten times this limit.
    assert!(memory < memory_before + 40 * 1024, "{memory} KiB, {memory_before} before");
    server.stop().expect(0);
}

#[test]
fn thousand_sessions_at_most_are_open_at_once_and_each_receipt_is_right() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    for number in 0..3 {
        begin(&server, &json!({ "prefix": "gw0", "recording": format!("{number}.json") }));
        for call in 0..=number {
            server.call(&in_session("gw0", &format!("Prompt {call}"))).expect(200);
        }
        end(&server, "gw0", true);
    }
    server.stop().expect(0);
    let server = scene.replay(&[]);
    let (_, before) = threads_and_memory(&server);
    let mut client = server.connect();
    for number in 0..MANY {
        let recording = format!("{}.json", number % 3);
        begin(&server, &json!({ "prefix": format!("w{number}"), "recording": recording }));
        client.exchange(&in_session(&format!("w{number}"), "Prompt 0")).expect(200);
    }
    let all = server.call(&Call::get("/__loomrec/sessions")).expect(200).json();
    assert_eq!(all["open"].as_array().unwrap().len(), MANY);
    let (_, memory) = threads_and_memory(&server);
    assert!(memory - before < 200 * 1024, "{} KiB for a thousand sessions", memory - before);
    check_limit(&server);
    for number in 0..MANY {
        let receipt = end(&server, &format!("w{number}"), true)["receipt"].clone();
        let unused: &Value = &receipt["unused"];
        assert_eq!((&receipt["served"], unused), (&json!(1), &json!(number % 3)), "{number}");
    }
    drop(client);
    let began = Instant::now();
    while open_files(&server) > 40 {
        assert!(began.elapsed() < Duration::from_secs(30), "{} files", open_files(&server));
        std::thread::sleep(Duration::from_millis(50));
    }
    // A call was refused.
    server.stop().expect(1);
}

/// Checks that no further session opens until one ends. A begin that is refused takes no place.
#[track_caller]
fn check_limit(server: &Server) {
    let more = json!({ "prefix": "more", "recording": "0.json" });
    let refused = control(server, "session", &more, 503);
    assert!(refused["error"].as_str().unwrap().contains("which is the limit"), "{refused}");
    server.call(&in_session("1", "Prompt 0")).expect(503);
    end(server, "w0", true);
    control(server, "session", &json!({ "prefix": "wrong", "mode": "record" }), 403);
    begin(server, &json!({ "prefix": "w0", "recording": "0.json" }));
    server.call(&in_session("w0", "Prompt 0")).expect(200);
}

#[test]
fn takes_that_are_too_old_fail_their_session() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    server.call(&in_session("one", "Hello")).expect(200);
    server.stop().expect(0);
    let path = scene.path("recordings/one.json");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("\"recorded_at\": \"20").unwrap() + "\"recorded_at\": \"20".len();
    fs::write(&path, format!("{}20{}", &text[..at], &text[at + 2..])).unwrap();
    let server = scene.replay(&["--max-age", "1d:fail"]);
    server.call(&in_session("one", "Hello")).expect(200);
    server.stop().expect(1).says(&["session one:", "recorded more than 1 d ago"]);
}

#[test]
fn session_whose_name_looks_like_a_key_is_refused() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    let key = format!("sk-ant-api03-{}", "Ab12".repeat(8));
    for body in [
        json!({ "prefix": key }),
        json!({ "prefix": "a", "name": key }),
        json!({ "prefix": "a", "recording": format!("{key}.json") }),
    ] {
        let refused = control(&server, "session", &body, 400).to_string();
        assert!(refused.contains("looks like a credential") && !refused.contains(&key));
    }
    server.call(&in_session(&key, "hi"));
    server.stop();
    for (path, bytes) in scene.files() {
        assert!(!path.to_string_lossy().contains(&key), "{}", path.display());
        assert!(!String::from_utf8_lossy(&bytes).contains(&key), "{}", path.display());
    }
}
