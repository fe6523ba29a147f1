//! Tests of TLS on the listener: `--tls-cert` and `--tls-key`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rcgen::KeyPair;

use crate::support::loomrec::{command, command_with_files, finish};
use crate::support::shape::{CHAT, chat, chat_answer, chat_streamed};
use crate::support::tls::Authority;
use crate::support::tls_client::TlsClient;
use crate::support::{Answer, Call, Client, End, Gate, Scene, Server, Upstream};

/// A scene with one recorded call, and the flags for TLS.
fn recorded() -> (Scene, [String; 4]) {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Recorded")));
    scene.recorded(&upstream, &[chat("Hello")]);
    let flags = tls_flags(&scene);
    (scene, flags)
}

fn tls_flags(scene: &Scene) -> [String; 4] {
    let [certificate, key] = Authority::trusted().write_server(scene.dir());
    ["--tls-cert".to_owned(), certificate, "--tls-key".to_owned(), key]
}

fn replay(scene: &Scene, flags: &[String], more: &[&str]) -> Server {
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
    scene.replay(&flags)
}

fn connect(server: &Server) -> TlsClient {
    TlsClient::connect(server.address, Authority::trusted())
}

#[test]
fn certificate_or_key_that_is_wrong_is_one_clear_line_before_listening() {
    let (scene, [_, certificate, _, key]) = recorded();
    let other = scene.path("other.pem").display().to_string();
    fs::write(&other, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let damaged = scene.path("damaged.pem").display().to_string();
    fs::write(&damaged, "-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n").unwrap();
    let absent = scene.path("absent.pem").display().to_string();
    for (flags, says) in [
        (vec!["--tls-cert", &certificate], "--tls-cert needs --tls-key"),
        (vec!["--tls-key", &key], "--tls-key needs --tls-cert"),
        (vec!["--tls-cert", &absent, "--tls-key", &key], "--tls-cert: failed to read"),
        (vec!["--tls-cert", &certificate, "--tls-key", &absent], "--tls-key: failed to read"),
        (vec!["--tls-cert", &key, "--tls-key", &key], "holds no certificate"),
        (vec!["--tls-cert", &damaged, "--tls-key", &key], "cannot be read"),
        (vec!["--tls-cert", &certificate, "--tls-key", &certificate], "holds no private key"),
        (
            vec!["--tls-cert", &certificate, "--tls-key", &other],
            "is not the key of the certificate",
        ),
    ] {
        let mut args = scene.replay_args(&flags);
        args.extend(["--listen".into(), "127.0.0.1:0".into()]);
        let ended = finish(&mut command(scene.dir(), &args), b"").expect(2).says(&[says]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn calls_are_recorded_and_replayed_over_tls() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Over TLS")));
    let flags = tls_flags(&scene);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = scene.record(&upstream, &flags);
    let (answer, end) = connect(&server).last_call(&chat("Hello"));
    assert!(answer.contains("Over TLS"), "{answer}");
    // The end is announced, so that no client takes it for a cut.
    assert_eq!(end, End::Complete);
    server.stop().expect(0).says(&["listening on https://", "1 recorded"]);
    let server = scene.replay(&[&flags[..], &["--strict"]].concat());
    let mut client = connect(&server);
    client.send(&chat("Hello"));
    client.until("Over TLS");
    // The connection stays open between calls.
    let (health, _) = client.last_call(&Call::get("/__loomrec/health"));
    assert!(health.contains(&format!(r#""url":"https://{}""#, server.address)), "{health}");
    server.stop().expect(0).says(&["1 served"]);
}

#[test]
fn variables_have_the_https_url() {
    let (scene, flags) = recorded();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let printed = finish(
        &mut command(scene.dir(), &scene.replay_args(&[&flags[..], &["--print-env"]].concat())),
        b"",
    );
    assert!(
        printed.expect(0).stdout.contains("OPENAI_BASE_URL='https://127.0.0.1:4141/openai/v1'")
    );
    let mut args = scene.replay_args(&[&flags[..], &["--allow-empty"]].concat());
    args.extend(["--", "sh", "-c", "echo $OPENAI_BASE_URL"].map(Into::into));
    let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
    assert!(ended.stdout.starts_with("https://127.0.0.1:"), "{}", ended.stdout);
}

#[test]
fn plain_http_gets_a_refusal_and_tls_to_a_plain_port_ends_at_once() {
    let (scene, flags) = recorded();
    let server = replay(&scene, &flags, &[]);
    let refused = Client::call(server.address, &chat("Hello")).expect(400);
    assert_eq!(refused.header("x-loomrec-error"), Some("TlsNeeded"));
    assert!(refused.text().contains("https://"));
    // Bytes that are neither end the connection.
    let mut odd = Client::connect(server.address);
    odd.write([0x80, 0x00, 0xff, 0x0a, 0x00, 0x01]);
    let began = Instant::now();
    odd.everything();
    assert!(began.elapsed() < Duration::from_secs(5));
    server.stop().expect(0);
    let server = scene.replay(&[]);
    let mut client = Client::connect(server.address);
    client.write([&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 506]].concat());
    let (answer, _) = client.everything();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    server.stop().expect(1).says(&["it begins with TLS", "1 refused"]);
}

#[test]
fn handshakes_that_never_end_delay_no_call_and_are_ended() {
    let (scene, flags) = recorded();
    let server = replay(&scene, &flags, &["--client-timeout", "1"]);
    // Half of them say nothing, the others send the begin of a handshake.
    let mut waiting: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            if number % 2 == 0 {
                stream.write_all(&[0x16, 3, 1, 2, 0, 1, 0]).unwrap();
            }
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    let (answer, _) = connect(&server).last_call(&chat("Hello"));
    assert!(answer.contains("Recorded"), "{answer}");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    for stream in &mut waiting {
        let mut rest = Vec::new();
        // A reset is an end, too.
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    server.stop().expect(0);
}

#[test]
fn connections_in_a_handshake_count_and_do_not_outlive_the_run() {
    let (scene, flags) = recorded();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let args = scene.replay_args(&[&flags[..], &["--listen", "127.0.0.1:0"]].concat());
    let server = Server::spawn(&mut command_with_files(67, scene.dir(), &args));
    let held: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let mut above = connect(&server);
    let (refused, _) = above.last_call(&chat("Hello"));
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    let began = Instant::now();
    server.stop().expect(1).says(&["calls refused: 1"]);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(held);
}

#[test]
fn recorded_cut_is_a_cut_of_the_connection_under_tls() {
    let events = Answer::stream().chunk("data: 1\n\n");
    for (answer, expected) in
        [(events.clone().reset(), End::Reset), (events.clone().truncate(), End::Closed)]
    {
        let scene = Scene::new();
        let upstream = Upstream::always(answer);
        scene.recorded(&upstream, &[chat_streamed("Hello")]);
        let flags = tls_flags(&scene);
        let server = replay(&scene, &flags, &[]);
        let (answer, end) = connect(&server).last_call(&chat_streamed("Hello"));
        assert!(answer.ends_with("data: 1\n\n\r\n"), "{answer:?}");
        assert_eq!(end, expected);
        server.stop().expect(0);
    }
}

#[test]
fn fault_of_a_connection_strikes_over_tls() {
    let (scene, flags) = recorded();
    for (fault, expected) in
        [("connection_reset;times=1", End::Reset), ("connection_drop;times=1", End::Closed)]
    {
        let server = replay(&scene, &flags, &["--fault", fault]);
        let (answer, end) = connect(&server).last_call(&chat("Hello"));
        assert_eq!((answer.as_str(), end), ("", expected), "{fault}");
        let (answer, _) = connect(&server).last_call(&chat("Hello"));
        assert!(answer.contains("Recorded"), "{answer}");
        server.stop().expect(0);
    }
    // One that strikes before the first request strikes before the handshake.
    let server = replay(&scene, &flags, &["--fault", "connection_reset;connection=1"]);
    assert_eq!(Client::connect(server.address).silence(), End::Reset);
    let (answer, _) = connect(&server).last_call(&chat("Hello"));
    assert!(answer.contains("Recorded"), "{answer}");
    server.stop().expect(0);
}

#[test]
fn stream_keeps_its_pieces_over_tls() {
    let (scene, gate) = (Scene::new(), Gate::default());
    let answer = Answer::stream().chunk("data: 1\n\n").wait(&gate).chunk("data: 2\n\n").end();
    let upstream = Upstream::always(answer);
    let flags = tls_flags(&scene);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = scene.record(&upstream, &flags);
    let mut client = connect(&server);
    client.send(&Call::post(CHAT, chat_streamed("Hello").body_bytes()));
    client.until("data: 1");
    gate.open();
    client.until("data: 2");
    drop(client);
    server.stop().expect(0).says(&["1 recorded"]);
}
