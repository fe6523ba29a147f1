//! Two sessions, or two processes, that record into one file: the second one is refused when it
//! begins.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{begin, control, echo, end, entries, files, in_session, said};
use crate::support::{Scene, Server};

#[test]
fn second_session_that_records_into_a_file_is_refused_when_it_begins() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &["--sessions-by-control"]);
    let other = scene.record(&upstream, &["--sessions-by-control"]);
    for has_call in [false, true] {
        begin(&server, &json!({ "prefix": "one", "recording": "a.json" }));
        if has_call {
            server.call(&in_session("one", "First")).expect(200);
        }
        for (server, mode) in [(&server, "record"), (&server, "new"), (&other, "record")] {
            let body = json!({ "prefix": "two", "recording": "a.json", "mode": mode });
            let refused = control(server, "session", &body, 409);
            let why = refused["error"].as_str().unwrap();
            assert!(why.contains("another session records there"), "{why}");
        }
        // Another file is free, and so is this one for those that replay.
        begin(&server, &json!({ "prefix": "three", "recording": "b.json" }));
        end(&server, "three", false);
        // The discard of a failed test works, and leaves nothing.
        assert_eq!(end(&server, "one", false)["kept"], false);
        assert_eq!(files(&scene, "recordings"), [""; 0]);
        // The other process may record now.
        begin(&other, &json!({ "prefix": "two", "recording": "a.json" }));
        control(&server, "session", &json!({ "prefix": "one", "recording": "a.json" }), 409);
        end(&other, "two", false);
    }
    begin(&server, &json!({ "prefix": "one", "recording": "a.json" }));
    server.call(&in_session("one", "Kept")).expect(200);
    assert_eq!(end(&server, "one", true)["kept"], true);
    assert_eq!(entries(&scene, "recordings/a.json").len(), 1);
    assert_eq!(files(&scene, "recordings"), ["a.json"]);
    server.stop().expect(0);
    other.stop().expect(0);
}

#[test]
fn session_of_a_call_does_not_record_into_a_file_that_a_framework_has_begun() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    let refused = server.call(&in_session("a", "Mixed in")).expect(400);
    assert!(refused.text().contains("another session records there"), "{}", refused.text());
    server.call(&in_session("gw0", "Own")).expect(200);
    assert_eq!(end(&server, "gw0", true)["kept"], true);
    assert_eq!(entries(&scene, "recordings/a.json").len(), 1);
    // The other way around: a framework's session while a call's session records.
    server.call(&in_session("b", "First")).expect(200);
    control(&server, "session", &json!({ "prefix": "gw0", "recording": "b.json" }), 409);
    server.stop().expect(1);
}

#[test]
fn file_of_a_session_that_was_killed_is_free_again() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &["--sessions-by-control"]);
    begin(&server, &json!({ "prefix": "one", "recording": "a.json" }));
    server.call(&in_session("one", "Lost")).expect(200);
    server.process.signal("KILL");
    server.process.wait();
    let server = scene.record(&upstream, &["--sessions-by-control"]);
    begin(&server, &json!({ "prefix": "one", "recording": "a.json" }));
    server.call(&in_session("one", "Kept")).expect(200);
    assert_eq!(end(&server, "one", true)["kept"], true);
    assert_eq!(entries(&scene, "recordings/a.json").len(), 1);
    server.stop().expect(0);
}

#[test]
fn sessions_that_replay_share_a_file() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &["--sessions-by-control"]);
    begin(&server, &json!({ "prefix": "one", "recording": "a.json" }));
    server.call(&in_session("one", "First")).expect(200);
    end(&server, "one", true);
    server.stop().expect(0);
    let server = scene.replay(&["--sessions-by-control"]);
    for prefix in ["one", "two"] {
        begin(&server, &json!({ "prefix": prefix, "recording": "a.json" }));
    }
    for prefix in ["one", "two"] {
        assert_eq!(said(&server.call(&in_session(prefix, "First")).expect(200)), "re: First");
        end(&server, prefix, true);
    }
    server.stop().expect(0);
}

#[test]
fn folder_or_link_in_the_place_of_a_recording_is_refused_when_a_session_begins() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    server.call(&in_session("real", "First")).expect(200);
    server.stop().expect(0);
    fs::write(scene.path("outside.json"), fs::read(scene.path("recordings/real.json")).unwrap())
        .unwrap();
    fs::create_dir(scene.path("recordings/folder.json")).unwrap();
    for (link, target) in [
        ("inside.json", "real.json"),
        ("out.json", "../outside.json"),
        ("none.json", "missing.json"),
    ] {
        symlink(target, scene.path("recordings").join(link)).unwrap();
    }
    let before = files(&scene, "recordings");
    let links = ["inside.json", "out.json", "none.json"];
    let server = scene.record(&upstream, &[]);
    for mode in ["record", "new"] {
        for name in links.into_iter().chain(["folder.json"]) {
            let body = json!({ "prefix": "gw0", "recording": name, "mode": mode });
            // A name that leads out of the folder is refused before anything is looked at.
            let status = if name == "out.json" { 400 } else { 422 };
            let refused = control(&server, "session", &body, status);
            let why = refused["error"].as_str().unwrap();
            assert!(why.contains("symbolic link") || why.contains("names a folder"), "{why}");
        }
    }
    server.call(&in_session("inside", "By a call")).expect(400);
    server.stop();
    let server = scene.replay(&[]);
    for name in links {
        let body = json!({ "prefix": "gw0", "recording": name });
        control(&server, "session", &body, if name == "out.json" { 400 } else { 422 });
        let prefix = name.trim_end_matches(".json");
        server.call(&in_session(prefix, "First")).expect(400);
    }
    server.stop();
    assert_eq!(files(&scene, "recordings"), before);
}

#[test]
fn two_servers_of_one_folder_record_different_files_at_one_time() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let servers: [Server; 2] =
        [(); 2].map(|()| scene.record(&upstream, &["--sessions-by-control"]));
    for (server, name) in servers.iter().zip(["a", "b"]) {
        begin(server, &json!({ "prefix": name, "recording": format!("{name}.json") }));
    }
    for (server, name) in servers.iter().zip(["a", "b"]) {
        server.call(&in_session(name, "Own")).expect(200);
        assert_eq!(end(server, name, true)["kept"], true);
    }
    assert_eq!(files(&scene, "recordings"), ["a.json", "b.json"]);
    for server in servers {
        server.stop().expect(0);
    }
}
