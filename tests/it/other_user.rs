//! Tests of another user of this machine: it gets no recorded prompt or answer from the control
//! paths, and cannot steer a run.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::json;

use crate::support::chance::skipped;
use crate::support::loomrec::{Process, command, finish};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Scene, Server, Upstream};

/// A user that is nobody's.
const OTHER: &str = "65534";

/// Whether this process may act as another user. In CI it must.
fn may_change_user(test: &str) -> bool {
    let ended = as_other("true").status();
    let may = ended.is_ok_and(|status| status.success());
    let is_ci = std::env::var_os("CI").is_some();
    assert!(may || !is_ci, "{test}: setpriv is not there, or this user may not change its user");
    if !may {
        skipped(test, "setpriv is not there, or this user may not change its user");
    }
    may
}

/// A shell command of another user.
fn as_other(script: &str) -> Command {
    let mut command = Command::new("setpriv");
    let user = [format!("--reuid={OTHER}"), format!("--regid={OTHER}")];
    command.args(user).arg("--clear-groups").args(["bash", "-c", script]).current_dir("/");
    command
}

/// A request in the words of bash's printf.
fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n{headers}\
         content-length: {length}\\r\\n\\r\\n{}",
        body.replace('"', "\\\"")
    )
}

/// Sends a request as another user. Returns the answer.
#[track_caller]
fn call_as_other(address: SocketAddr, request: &str) -> String {
    let port = address.port();
    let script =
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf \"{request}\" >&3; timeout 30 cat <&3");
    let ended = finish(&mut as_other(&script), b"").expect(0);
    ended.stdout
}

/// The endpoints that a server names, each as a method and a path.
fn endpoints(server: &Server) -> Vec<(String, String)> {
    let reply = server.call(&Call::get("/__loomrec/no-such-endpoint"));
    let listed = reply.json()["endpoints"].as_array().unwrap().clone();
    let mut endpoints = Vec::new();
    for line in &listed {
        let (methods, path) = line.as_str().unwrap().rsplit_once(' ').unwrap();
        let path = path.split(['[', '?']).next().unwrap();
        for method in methods.split(", ") {
            endpoints.push((method.to_owned(), path.to_owned()));
        }
    }
    assert!(endpoints.len() > 15, "{listed:?}");
    endpoints
}

fn recorded() -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("the secret answer")));
    scene.recorded(&upstream, &[chat("the secret prompt")]);
    scene
}

#[test]
fn another_user_gets_nothing_from_any_control_path_but_the_probes() {
    if !may_change_user("another_user_gets_nothing") {
        return;
    }
    let scene = recorded();
    let server = scene.replay(&[]);
    server.call(&chat("the secret prompt")).expect(200);
    server.call(&Call::post("/__loomrec/session", "{\"prefix\": \"s\"}")).expect(201);
    let mut paths = endpoints(&server);
    let of_session = |(method, path): &(String, String)| {
        path.starts_with("/__loomrec/").then(|| (method.clone(), format!("/@s{path}")))
    };
    paths.extend(paths.iter().filter_map(of_session).collect::<Vec<_>>());
    let mut refused = 0;
    for (method, path) in &paths {
        let got = call_as_other(server.address, &request(method, path, "", "{\"prefix\":\"s\"}"));
        let is_probe = ["/live", "/ready"].iter().any(|probe| path.ends_with(probe));
        match is_probe {
            true => assert!(got.starts_with("HTTP/1.1 200 "), "{method} {path}: {got}"),
            false => {
                let is_outside = got.starts_with("HTTP/1.1 403 ") && !got.contains("secret");
                assert!(is_outside, "{method} {path}: {got}");
                assert!(got.contains("--control-token"), "{method} {path}: {got}");
                refused += 1;
            }
        }
    }
    assert!(refused > 25, "{refused}");
    // The user that runs it gets them.
    server.call(&Call::get("/__loomrec/health")).expect(200);
    server.call(&Call::get("/__loomrec/")).expect(200);
    server.stop();
}

#[test]
fn another_user_that_does_not_wait_for_the_answer_steers_nothing_either() {
    if !may_change_user("another_user_that_does_not_wait") {
        return;
    }
    let scene = recorded();
    let server = scene.replay(&[]);
    server.call(&chat("the secret prompt")).expect(200);
    let port = server.address.port();
    let reset = request("POST", "/__loomrec/reset", "", "");
    // The socket is closed, with and without a reset, before the call can be looked at.
    let script = format!(
        "for at in $(seq 50); do exec 3<>/dev/tcp/127.0.0.1/{port}; printf \"{reset}\" >&3; \
         exec 3>&-; done"
    );
    finish(&mut as_other(&script), b"").expect(0);
    // A call whose user can be found has its answer after all of them were read.
    server.call(&Call::get("/__loomrec/health")).expect(200);
    server.call(&chat("the secret prompt")).expect(422);
    server.stop().expect(1);
}

#[test]
fn another_user_that_holds_the_token_is_admitted() {
    if !may_change_user("another_user_that_holds_the_token") {
        return;
    }
    let scene = recorded();
    let server = scene.replay(&["--control-token", "sesame"]);
    for (token, status) in [("sesame", 200), ("sesam", 403), ("sesamee", 403), ("", 403)] {
        let header = format!("x-loomrec-token: {token}\\r\\n");
        let got = call_as_other(server.address, &request("GET", "/__loomrec/health", &header, ""));
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{token}: {got}");
    }
    server.stop().expect(0);
}

#[test]
fn another_user_sees_nothing_of_the_files_that_ui_shows() {
    if !may_change_user("another_user_sees_nothing_of_ui") {
        return;
    }
    let scene = recorded();
    let mut process = Process::spawn(&mut command(scene.dir(), &["ui", "run.json"]));
    let said = process.wait_for("loomrec ui: http://");
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let address: SocketAddr = address.parse().unwrap();
    for path in ["", "run", "call?seq=1", "questions?seq=1", "journal?since=0"] {
        let got = call_as_other(address, &request("GET", &format!("/__loomrec/{path}"), "", ""));
        assert!(got.starts_with("HTTP/1.1 403 ") && !got.contains("secret"), "{path}: {got}");
    }
    process.signal("INT");
    process.wait().expect(0);
}

#[test]
fn another_user_may_make_calls_and_learns_nothing_from_a_miss() {
    if !may_change_user("another_user_may_still_make_calls") {
        return;
    }
    let scene = recorded();
    let server = scene.replay(&[]);
    let body = json!({
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "the secret prompt"}],
    });
    let header = "content-type: application/json\\r\\n";
    let call = request("POST", "/openai/v1/chat/completions", header, &body.to_string());
    let got = call_as_other(server.address, &call);
    assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
    // A miss names what the recording holds, but not to another user.
    let drifted = body.to_string().replace("the secret prompt", "another prompt");
    let call = request("POST", "/openai/v1/chat/completions", header, &drifted);
    let got = call_as_other(server.address, &call);
    assert!(got.starts_with("HTTP/1.1 422 "), "{got}");
    assert!(!got.contains("secret") && got.contains("no recorded answer"), "{got}");
    let own = server.call(&chat("another prompt")).expect(422);
    assert!(own.text().contains("secret"), "{}", own.text());
    server.stop().expect(1);
}
