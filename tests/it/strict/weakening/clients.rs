//! Every control endpoint, every member of a session's beginning, and every header that tells loomrec
//! something: tried between the calls of a strict replay, with and without `--allow-control`.

use std::collections::BTreeSet;
use std::path::Path;

use loomrec_proxy::server::session::SESSION_MEMBERS;
use loomrec_proxy::server::{CLIENT_HEADERS, COMPAT_ENDPOINTS, CONTROL_ENDPOINTS};
use regex::Regex;
use serde_json::{Value, json};

use super::{Stage, recorded_calls, unrecorded_calls};
use crate::support::loomrec::command;
use crate::support::{Call, Finished, Server};

/// The prefix of the session that the control calls are about.
const PREFIX: &str = "gw0";

/// Makes a call of the stage, with a session's prefix in front of its path.
fn as_call(call: &Value, prefix: &str) -> Call {
    let text = |name: &str| call[name].as_str().unwrap().to_owned();
    let beta = format!("openai-beta: {}", call["headers"]["openai-beta"].as_str().unwrap());
    Call::post(&format!("{prefix}{}", text("path")), text("body")).header(&beta)
}

/// Returns a value for a member of a session's beginning.
fn member_value(name: &str) -> Value {
    match name {
        "prefix" | "name" => json!(PREFIX),
        "recording" => json!("run.json"),
        "mode" => json!("replay"),
        "faults" => json!({ "rules": [{ "name": "x", "fault": { "type": "partial_response" } }] }),
        "fault" => json!([r#"malformed_response;raw="{\"made\":\"up\"}""#]),
        "seed" => json!(1),
        "recovery" => json!("max_detection_ms=60000"),
        "ignore" => json!(["/messages"]),
        "ignore_headers" => json!(["openai-beta"]),
        "normalize" => json!(["user: umbrella in /city/Paris {{uuid}}"]),
        "vars" => json!({ "city": "/city/Oslo" }),
        other => panic!("there is no value to try for the member {other}"),
    }
}

/// Returns the bodies to try for an endpoint.
fn bodies(method: &str, path: &str) -> Vec<Value> {
    match (method, path) {
        ("POST", "/__loomrec/session") => {
            let plain = json!({ "prefix": PREFIX });
            let with = |member: &str| {
                let mut body = plain.clone();
                body[member] = member_value(member);
                body
            };
            SESSION_MEMBERS.iter().map(|member| with(member.name)).collect()
        }
        ("POST", "/__loomrec/session/vars") => {
            vec![json!({ "prefix": PREFIX, "vars": member_value("vars") })]
        }
        ("POST", "/__loomrec/session/end") => vec![json!({ "prefix": PREFIX })],
        ("POST", "/__loomrec/chaos") => vec![json!({ "malformed": 1.0 })],
        ("POST", "/__aimock/chaos") => vec![json!({ "malformedRate": 1 })],
        _ => vec![Value::Null],
    }
}

/// A run between whose calls a client asks for something.
struct Asked {
    /// The calls that were answered although they were not recorded, and answers that were changed.
    weakened: Vec<String>,
    /// The status of what was asked for.
    status: u16,
    finished: Finished,
    receipt: Value,
}

impl Asked {
    /// Returns how the run is weaker than a strict one.
    fn weakened(&self) -> Vec<String> {
        let green = (self.finished.code == 0).then(|| "exit code 0".to_owned());
        self.weakened.iter().cloned().chain(green).collect()
    }

    /// Whether the verdict and the receipt name what was asked for.
    fn names(&self, what: &str) -> bool {
        let control = self.receipt["in_force"]["control"].as_array();
        let is_it = |entry: &Value| entry["asked"].as_str().unwrap().contains(what);
        let said = self.finished.stderr.contains("changed by clients (--allow-control): ");
        said && control.is_some_and(|all| all.iter().any(is_it))
    }
}

/// Which recordings a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recordings {
    One,
    OfSessions,
}

/// Makes recorded calls, has `ask` ask for something, and makes calls that are not recorded.
fn run(
    stage: &Stage,
    recordings: Recordings,
    more: &[&str],
    ask: impl FnOnce(&Server) -> u16,
) -> Asked {
    let named = match recordings {
        Recordings::One => "run.json",
        Recordings::OfSessions => "recordings/{session}.json",
    };
    let line = ["replay", "--strict", "-r", named, "--receipt", "receipt.json"];
    let line = [&line[..], &["--upstream", "mine=http://127.0.0.1:1", "--metrics-compat"], more];
    let line = [&line.concat()[..], &["--listen", "127.0.0.1:0"]].concat();
    let server = Server::spawn(&mut command(stage.dir(), &line));
    let in_session = format!("/@{PREFIX}");
    let mut weakened = Vec::new();
    let check = |calls: &[Value], prefix: &str, weakened: &mut Vec<String>| {
        for call in calls {
            let label = call["label"].as_str().unwrap();
            let answer = server.call(&as_call(call, prefix));
            let recorded = stage.answers.iter().find(|(known, _)| known == label);
            match recorded {
                None if answer.status < 400 => weakened.push(format!("{label} was answered")),
                Some((_, text)) if answer.status < 400 && answer.text() != *text => {
                    weakened.push(format!("{label} got another answer: {}", answer.text()));
                }
                _ => {}
            }
        }
    };
    // In a session of its own, each take is served once more, and `again` is not one too many.
    let drifted = unrecorded_calls().split_off(1);
    if recordings == Recordings::One {
        check(&recorded_calls(), "", &mut weakened);
    }
    let status = ask(&server);
    if recordings == Recordings::One {
        check(&unrecorded_calls(), "", &mut weakened);
    }
    check(&recorded_calls(), &in_session, &mut weakened);
    check(&drifted, &in_session, &mut weakened);
    let end = json!({ "prefix": PREFIX }).to_string();
    server.call(&Call::post("/__loomrec/session/end", end).header("host: localhost"));
    let finished = server.stop();
    let receipt = std::fs::read(stage.scene.path("receipt.json")).unwrap();
    Asked { weakened, status, finished, receipt: serde_json::from_slice(&receipt).unwrap() }
}

/// Begins a session before a control call that needs one.
fn begin(server: &Server, path: &str) {
    if ["/__loomrec/session/vars", "/__loomrec/session/end"].contains(&path) {
        let body = json!({ "prefix": PREFIX, "name": PREFIX }).to_string();
        server.call(&Call::post("/__loomrec/session", body).header("host: localhost"));
    }
}

fn stage() -> Stage {
    let stage = Stage::new();
    std::fs::create_dir(stage.scene.path("recordings")).unwrap();
    for name in [PREFIX, "run"] {
        let copy = stage.scene.path(&format!("recordings/{name}.json"));
        std::fs::copy(stage.scene.path("run.json"), copy).unwrap();
    }
    stage
}

#[test]
fn no_control_call_weakens_a_strict_replay_unless_a_typed_flag_allows_it() {
    let stage = stage();
    let (mut tried, mut refused) = (0, 0);
    let endpoints = CONTROL_ENDPOINTS.iter().chain(&COMPAT_ENDPOINTS);
    let endpoints: Vec<_> = endpoints.collect();
    for endpoint in &endpoints {
        for body in bodies(endpoint.method, endpoint.path) {
            for recordings in [Recordings::One, Recordings::OfSessions] {
                tried += 1;
                let text = if body.is_null() { String::new() } else { body.to_string() };
                let ask = |server: &Server| {
                    begin(server, endpoint.path);
                    let call = Call::new(endpoint.method, endpoint.path).body(&text);
                    server.call(&call.header("host: localhost")).status
                };
                let name = format!("{} {} {text} ({recordings:?})", endpoint.method, endpoint.path);
                let asked = run(&stage, recordings, &[], ask);
                let weakened = asked.weakened();
                let said = &asked.finished.stderr;
                assert!(weakened.is_empty(), "{name}: {weakened:?}\n{said}");
                assert!(asked.receipt["in_force"]["strict"].as_bool().unwrap(), "{name}");
                refused += u32::from(asked.status == 403);
                let allowed = run(&stage, recordings, &["--allow-control"], ask);
                let weakened = allowed.weakened();
                let path = endpoint.path;
                let is_named = allowed.names(path)
                    || body.as_object().is_some_and(|members| {
                        members.keys().any(|name| allowed.names(&format!("{name} of a session")))
                    });
                let said = &allowed.finished.stderr;
                assert!(weakened.is_empty() || is_named, "{name}: {weakened:?}\n{said}");
                assert!(allowed.status < 300 || asked.status != 403 || !is_named, "{name}\n{said}");
            }
        }
    }
    println!(
        "control endpoints: {}, members of a session: {}, control calls tried: {tried}, \
        refused: {refused}",
        endpoints.len(),
        SESSION_MEMBERS.len()
    );
    assert!(refused >= 20, "{refused}");
}

#[test]
fn no_header_of_a_call_weakens_a_strict_replay_unless_a_typed_flag_allows_it() {
    let stage = stage();
    let values = |name: &str| match name {
        "x-loomrec-session" => vec!["x-loomrec-session: other"],
        "x-loomrec-step-id" => vec!["x-loomrec-step-id: plan"],
        "x-loomrec-workflow" => vec!["x-loomrec-workflow: other"],
        "x-loomrec-token" => vec!["x-loomrec-token: token"],
        "x-test-id" => vec!["x-test-id: t"],
        "x-loomrec-fault" => {
            vec![r#"x-loomrec-fault: malformed_response;raw="{}""#, "x-loomrec-fault: slow:1"]
        }
        "x-loomrec-chaos-" => vec![
            "x-loomrec-chaos-malformed: 1",
            "x-loomrec-chaos-drop: 1",
            "x-loomrec-chaos-fault: 1=slow:1",
        ],
        "x-loomrec-bridge" => vec!["x-loomrec-bridge: aB3", "x-loomrec-bridge: ../run.json"],
        "x-aimock-chaos-" => vec!["x-aimock-chaos-malformed: 1", "x-aimock-chaos-drop: 1"],
        other => panic!("there is no value to try for the header {other}"),
    };
    let mut tried = 0;
    for header in CLIENT_HEADERS {
        for line in values(header.name) {
            tried += 1;
            let ask = |server: &Server| {
                let calls = [recorded_calls(), unrecorded_calls()].concat();
                let calls = calls.iter().map(|call| (call, as_call(call, "").header(line)));
                let mut worst = 0;
                for (call, sent) in calls {
                    let answer = server.call(&sent);
                    let label = call["label"].as_str().unwrap();
                    let is_recorded = stage
                        .answers
                        .iter()
                        .any(|(known, text)| known == label && answer.text() == *text);
                    // Each session gets each take, and the verdict says so.
                    let is_of_session = header.name == "x-loomrec-session" && label == "recorded";
                    if answer.status < 400 && !is_recorded && !is_of_session {
                        worst = worst.max(answer.status);
                    }
                }
                worst
            };
            let asked = run(&stage, Recordings::One, &[], ask);
            let weakened = asked.weakened();
            assert!(weakened.is_empty(), "{line}: {weakened:?}\n{}", asked.finished.stderr);
            assert_eq!(asked.status, 0, "{line}\n{}", asked.finished.stderr);
            let allowed = run(&stage, Recordings::One, &["--allow-control"], ask);
            let is_named = allowed.names(&format!("header {}", header.name));
            let is_weaker = !allowed.weakened().is_empty() || allowed.status != 0;
            assert!(!is_weaker || is_named, "{line}\n{}", allowed.finished.stderr);
        }
    }
    println!(
        "headers that tell loomrec something: {}, values tried: {tried}",
        CLIENT_HEADERS.len()
    );
}

#[test]
fn every_header_of_loomrec_in_the_source_is_in_the_table() {
    // What answers carry.
    let of_answers = [
        "x-loomrec-matched-by",
        "x-loomrec-bound",
        "x-loomrec-entry",
        "x-loomrec-error",
        "x-loomrec-fault-rule",
        "x-loomrec-",
    ];
    let pattern = Regex::new(r#""(x-(?:loomrec|aimock|test)-[a-z-]*)""#).unwrap();
    let mut found = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap();
                found.extend(pattern.captures_iter(code).map(|found| found[1].to_owned()));
            }
        }
    }
    let is_known = |name: &str| {
        let table = CLIENT_HEADERS.iter();
        table.into_iter().any(|header| match header.is_prefix {
            true => name.starts_with(header.name) || header.name == format!("{name}chaos-"),
            false => name == header.name,
        }) || of_answers.contains(&name)
    };
    let unknown: Vec<&String> = found.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(found.len() >= 8, "{found:?}");
}
