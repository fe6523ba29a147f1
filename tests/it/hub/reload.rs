//! SIGHUP: a server reads its certificate again, and a hub its recordings.

use std::fs;

use serde_json::json;

use super::{begin, control, echo, end, in_session, receipt, recorded};
use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::tls::Authority;
use crate::support::tls_client::TlsClient;
use crate::support::{Answer, Call, Scene, Server, Upstream};

/// Replaces the recording of a scene by one with these calls and this answer.
fn record_anew(scene: &Scene, upstream: &Upstream, prompts: &[&str]) {
    let other = Scene::new();
    other.recorded(upstream, &prompts.iter().map(|prompt| chat(prompt)).collect::<Vec<_>>());
    fs::copy(other.recording(), scene.recording()).unwrap();
}

#[track_caller]
fn hang_up(server: &mut Server, says: &str) {
    server.process.signal("HUP");
    server.process.wait_for(says);
}

#[track_caller]
fn reloads(server: &Server) -> [String; 2] {
    let text = server.call(&Call::get("/metrics")).expect(200).text();
    ["ok", "failed"].map(|outcome| {
        let name = format!("loomrec_reloads_total{{outcome=\"{outcome}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).to_owned()
    })
}

#[test]
fn sessions_that_begin_after_sighup_get_the_new_recording() {
    let scene = recorded();
    let mut server = scene.replay(&[
        "--sessions-by-control",
        "--strict",
        "--fail-unused",
        "--receipt",
        "receipt.json",
    ]);
    begin(&server, "old");
    server.call(&in_session("old", "One")).expect(200);
    // An upstream that no recording named before.
    record_anew(
        &scene,
        &Upstream::always(Answer::json(200, chat_answer("New"))),
        &["One", "Third"],
    );
    // Until the signal, sessions get what was read at the start.
    begin(&server, "before");
    assert!(server.call(&in_session("before", "One")).expect(200).text().contains("re: One"));
    let of_start = end(&server, "before")["receipt"]["recordings"][0]["sha256"].clone();
    hang_up(&mut server, "read again: 2 takes");
    begin(&server, "new");
    assert!(server.call(&in_session("new", "One")).expect(200).text().contains("New"));
    server.call(&in_session("new", "Two")).expect(422);
    // A session keeps the takes that it began with.
    assert!(server.call(&in_session("old", "Two")).expect(200).text().contains("re: Two"));
    server.call(&in_session("old", "Third")).expect(422);
    let old = end(&server, "old")["receipt"].clone();
    assert_eq!((&old["served"], &old["missed"]), (&json!(2), &json!(1)));
    assert_eq!(old["recordings"][0]["sha256"], of_start);
    let new = end(&server, "new")["receipt"].clone();
    assert!(new["recordings"][0]["sha256"].is_string());
    assert_ne!(new["recordings"][0]["sha256"], of_start);
    assert_eq!(reloads(&server), ["1", "0"]);
    // The run is judged by the recording that it read last.
    server.stop().expect(1).says(&["1 of 2 takes unused"]);
    assert_eq!(receipt(&scene)["recordings"][0]["sha256"], new["recordings"][0]["sha256"]);
}

#[test]
fn recording_that_cannot_be_read_changes_nothing() {
    let scene = recorded();
    let mut server = scene.replay(&["--sessions-by-control"]);
    let before = fs::read(scene.recording()).unwrap();
    fs::write(scene.recording(), &before[..before.len() / 2]).unwrap();
    hang_up(&mut server, "nothing was read again, and everything stays as it was: ");
    begin(&server, "gw0");
    assert!(server.call(&in_session("gw0", "One")).expect(200).text().contains("re: One"));
    assert_eq!(end(&server, "gw0")["receipt"]["verdict"], "ok");
    assert_eq!(reloads(&server), ["0", "1"]);
    // The hub can still be told to read a whole one.
    fs::write(scene.recording(), before).unwrap();
    hang_up(&mut server, "read again: 4 takes");
    assert_eq!(reloads(&server), ["1", "1"]);
    server.stop().expect(0);
}

#[test]
fn faults_of_a_session_are_checked_against_the_new_recording() {
    let scene = recorded();
    let mut server = scene.replay(&["--sessions-by-control"]);
    record_anew(&scene, &echo(), &["Third"]);
    hang_up(&mut server, "read again: 1 take");
    let body = json!({ "prefix": "gw0", "fault": ["rate_limit"] });
    control(&server, "/__loomrec/session", &body, 201);
    server.call(&in_session("gw0", "Third")).expect(429);
    end(&server, "gw0");
    server.stop().expect(0);
}

/// Sends a call over TLS to a server whose certificate is of this authority.
#[track_caller]
fn answer_over_tls(server: &Server, authority: &Authority) -> String {
    let call = Call::post(CHAT, chat_body("One").to_string());
    TlsClient::connect(server.address, authority).last_call(&call).0
}

/// Replaces the certificate of a server by one of another authority, which its next client needs.
#[track_caller]
fn renew_certificate(scene: &Scene, server: &mut Server) -> Authority {
    let answer = answer_over_tls(server, Authority::trusted());
    assert!(answer.contains("re: One"), "{answer}");
    let renewed = Authority::named("another authority");
    renewed.write_server(scene.dir());
    hang_up(server, "read again: the certificate");
    assert!(answer_over_tls(server, &renewed).contains("re: One"));
    renewed
}

#[test]
fn connections_after_sighup_get_the_new_certificate() {
    let scene = recorded();
    let [certificate, key] = Authority::trusted().write_server(scene.dir());
    let flags = ["--tls-cert", &certificate, "--tls-key", &key, "--repeat", "last"];
    let mut server = scene.replay(&flags);
    let call = Call::post(CHAT, chat_body("One").to_string());
    let mut open = TlsClient::connect(server.address, Authority::trusted());
    open.send(&call);
    open.until("re: One");
    let renewed = renew_certificate(&scene, &mut server);
    // A connection that was open stays so.
    assert!(open.last_call(&call).0.contains("re: One"));
    // A key of another certificate: both stay as they were.
    fs::copy(&certificate, &key).unwrap();
    hang_up(&mut server, "nothing was read again");
    assert!(answer_over_tls(&server, &renewed).contains("re: One"));
    server.stop().expect(0);
}

#[test]
fn recorder_reads_its_certificate_again() {
    let scene = Scene::new();
    let [certificate, key] = Authority::trusted().write_server(scene.dir());
    let flags = ["--tls-cert", certificate.as_str(), "--tls-key", &key];
    let upstream = echo();
    let mut server = scene.record(&upstream, &flags);
    renew_certificate(&scene, &mut server);
    server.stop().expect(0).says(&["2 recorded"]);
}

#[test]
fn sessions_with_recordings_of_their_own_read_them_when_they_begin() {
    let scene = recorded();
    let own = scene.path("{session}.json");
    let args = ["replay", "-r", own.to_str().unwrap(), "--sessions-by-control"];
    let mut server = Server::start(scene.dir(), &args);
    fs::copy(scene.recording(), scene.path("gw0.json")).unwrap();
    hang_up(&mut server, "read again: nothing, since each session reads its recording");
    begin(&server, "gw0");
    server.call(&in_session("gw0", "One")).expect(200);
    end(&server, "gw0");
    server.stop().expect(0);
}
