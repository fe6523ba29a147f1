//! The guard of a server whose sessions a framework begins.

use std::io::{Read, Write};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{begin, echo, end};
use crate::support::{Call, Scene, Server};

/// The URL of the guard that a framework is given.
fn guard(server: &Server) -> Option<String> {
    let call = Call::get("/__loomrec/environment?prefix=gw0");
    let answer = server.call(&call).expect(200).json();
    let proxy = |name: &str| answer["variables"][name].as_str().map(str::to_owned);
    assert_eq!(proxy("HTTPS_PROXY"), proxy("https_proxy"));
    proxy("HTTPS_PROXY")
}

/// Asks a proxy for a connection to a provider. Returns the line of its answer.
fn connect(proxy: &str) -> String {
    let (login, address) = proxy.trim_start_matches("http://").split_once('@').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let (host, login) = ("api.openai.com:443", STANDARD.encode(login));
    let login = format!("proxy-authorization: Basic {login}");
    write!(stream, "CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n{login}\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn tests_of_a_framework_have_the_guard_in_replay_and_their_run_fails_by_it() {
    let scene = Scene::of_sessions();
    let flags = ["--strict", "--sessions-by-control", "--receipt", "receipt.json"];
    let server = scene.replay(&flags);
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    assert_eq!(connect(&guard(&server).unwrap()), "HTTP/1.1 403");
    end(&server, "gw0", true);
    server.stop().expect(1).says(&["1 connection to api.openai.com went around loomrec"]);
    let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!(receipt["escapes"], json!([{ "host": "api.openai.com", "count": 1 }]));
    let without = scene.replay(&["--strict", "--sessions-by-control", "--no-guard"]);
    assert_eq!(guard(&without), None);
    without.stop().expect(0);
    let calls = scene.replay(&["--strict"]);
    assert_eq!(guard(&calls), None);
    calls.stop().expect(0);
}

#[test]
fn a_recording_framework_has_the_guard_unless_it_is_switched_off() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &["--sessions-by-control", "--receipt", "r.json"]);
    connect(&guard(&server).unwrap());
    server.stop();
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(scene.path("r.json")).unwrap()).unwrap();
    assert_eq!(receipt["escapes"], json!([{ "host": "api.openai.com", "count": 1 }]));
    let server = scene.record(&upstream, &["--sessions-by-control", "--no-guard"]);
    assert_eq!(guard(&server), None);
    server.stop();
}
