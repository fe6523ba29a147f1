//! Tests of tunnels through the listener of a server, as its clients see them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::{DIRECT, record};
use crate::support::gate::PATIENCE;
use crate::support::shape::{chat, chat_answer, chat_body};
use crate::support::tls_client::TlsClient;
use crate::support::{Answer, Call, Client, Received, Scene, Server, Upstream};

/// A server that answers a recorded call, and the certificate to trust.
struct InterceptingServer {
    server: Server,
    authority: String,
}

impl InterceptingServer {
    fn start(scene: &Scene, flags: &[&str]) -> Self {
        let server = scene.replay(&[&["--intercept"], flags].concat());
        let folder = format!(".local/state/loomrec/authority/{}", server.address.port());
        let authority = std::fs::read_to_string(scene.path(&folder).join("ca.pem")).unwrap();
        Self { server, authority }
    }

    /// Sends the head of a CONNECT, and returns the connection with the head of the answer.
    fn connect(&self, head: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).unwrap_or(0) == 0 {
                break;
            }
            answer.push(byte[0]);
        }
        (stream, String::from_utf8(answer).unwrap())
    }

    /// Opens a tunnel, and makes TLS in it for `name`.
    fn tunnel(&self, name: &str) -> TlsClient {
        let (stream, answer) = self.connect("CONNECT api.openai.com:443 HTTP/1.1");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        TlsClient::over(stream, &self.authority, name)
    }
}

fn recorded() -> Scene {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    scene
}

/// The recorded call as it goes through a tunnel.
fn call(target: &str, host: &str) -> Call {
    Call::post(target, chat_body("hi").to_string()).header(&format!("host: {host}"))
}

#[test]
fn server_answers_tunnels_tls_and_plain_calls_at_one_port() {
    let scene = recorded();
    let server = InterceptingServer::start(&scene, &["--strict", "--repeat", "error"]);
    let mut tunnel = server.tunnel("api.openai.com");
    tunnel.send(&call("/v1/chat/completions", "api.openai.com"));
    tunnel.until("hello");
    // The same connection, with the take used up.
    let (again, _) = tunnel.last_call(&call("/v1/chat/completions", "API.openai.com:443"));
    assert!(again.starts_with("HTTP/1.1 422 ") && again.contains("exhausted"), "{again}");
    let stream = TcpStream::connect(server.server.address).unwrap();
    let (over_tls, _) =
        TlsClient::over(stream, &server.authority, "127.0.0.1").last_call(&chat("hi"));
    assert!(over_tls.contains("exhausted"), "{over_tls}");
    Client::call(server.server.address, &chat("hi")).expect(422);
    server.server.stop().expect(1).says(&["1 served", "3 missed"]);
}

#[test]
fn tunnel_has_no_control_paths_and_no_other_host() {
    let scene = recorded();
    let server = InterceptingServer::start(&scene, &["--allow-unchecked"]);
    let get = |target: &str, host: &str| {
        let call = Call::get(target).header(&format!("host: {host}"));
        server.tunnel("api.openai.com").last_call(&call).0
    };
    let health = get("/__loomrec/health", "api.openai.com");
    assert!(health.starts_with("HTTP/1.1 422 "), "{health}");
    for (target, host) in [
        ("/v1/models", "api.anthropic.com"),
        ("/__loomrec/health", "127.0.0.1"),
        ("https://api.anthropic.com/v1/models", "api.openai.com"),
    ] {
        let refused = get(target, host);
        assert!(refused.starts_with("HTTP/1.1 421 ") && refused.contains("OtherHost"), "{refused}");
    }
    server.server.stop().expect(1);
}

#[test]
fn addresses_in_answers_lead_back_into_tunnels() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request: &Received| {
        let text = request.text();
        let address = match () {
            () if text.contains("first") => {
                format!("http://{}/v1/next", request.header("host").unwrap())
            }
            () if text.contains("second") => "https://api.openai.com/v1/next".to_owned(),
            () if text.contains("third") => "/v1/next".to_owned(),
            () => "https://elsewhere.example/v1/next".to_owned(),
        };
        let headers = ["content-type: application/json", &format!("location: {address}")];
        Answer::whole(200, &headers, chat_answer("hello"))
    });
    let prompts = ["first", "second", "third", "fourth"];
    scene.recorded(&upstream, &prompts.map(chat));
    let server = InterceptingServer::start(&scene, &[]);
    let mut tunnel = server.tunnel("api.openai.com");
    let mut location = |prompt: &str| {
        let call = Call::post("/v1/chat/completions", chat_body(prompt).to_string());
        tunnel.send(&call.header("host: api.openai.com"));
        let head = tunnel.until("\r\n\r\n");
        let line = head.lines().find_map(|line| line.strip_prefix("location: "));
        let found = line.map(str::to_owned);
        if !head.contains("hello") {
            tunnel.until("hello");
        }
        found
    };
    let here = Some("https://api.openai.com/v1/next".to_owned());
    let expected = [here.clone(), here, Some("/v1/next".to_owned()), None];
    assert_eq!(prompts.map(&mut location), expected);
    server.server.stop();
}

#[test]
fn tests_of_a_framework_have_the_variables() {
    let scene = Scene::of_sessions();
    let server = scene.replay(&["--intercept", "--strict", "--sessions-by-control"]);
    let begin = r#"{"prefix": "gw0", "recording": "a.json"}"#;
    server.call(&Call::post("/__loomrec/session", begin)).expect(201);
    let answer = server.call(&Call::get("/__loomrec/environment?prefix=gw0")).expect(200).json();
    let variable = |name: &str| answer["variables"][name].as_str().unwrap_or_default().to_owned();
    assert!(variable("HTTPS_PROXY").starts_with("http://loomrec:"), "{answer}");
    assert!(variable("SSL_CERT_FILE").ends_with("bundle.pem"), "{answer}");
    assert!(std::path::Path::new(&variable("NODE_EXTRA_CA_CERTS")).exists());
    server.stop();
}

#[test]
fn invalid_tunnels_are_refused_in_words() {
    let scene = recorded();
    let server = InterceptingServer::start(&scene, &[]);
    let own = server.server.address;
    for (head, status) in [
        (format!("CONNECT {own} HTTP/1.1"), "403"),
        (format!("CONNECT localhost:{} HTTP/1.1", own.port()), "403"),
        ("CONNECT api.openai.com HTTP/1.1".to_owned(), "400"),
        ("CONNECT api.openai.com:99999 HTTP/1.1".to_owned(), "400"),
        ("CONNECT api.openai.com:443 HTTP/2".to_owned(), "400"),
        ("CONNECT api.openai.com:8443 HTTP/1.1".to_owned(), "403"),
        ("COPY /v1/x HTTP/1.1".to_owned(), "400"),
        ("CONNECT api.openai.com:443 HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody".to_owned(), "400"),
        ("CONNECT api.openai.com:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1".to_owned(), "400"),
    ] {
        let (_, answer) = server.connect(&head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
    }
    let (mut stream, _) = server.connect("CONNECT 127.0.0.1:9 HTTP/1.1");
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("add 127.0.0.1 to NO_PROXY"), "{text}");
    // requests and urllib3 send HTTP/1.0 without a Host.
    let (_, answer) = server.connect("CONNECT api.openai.com:443 HTTP/1.0");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    server.server.stop();
}

#[test]
fn failed_handshakes_are_said_once_for_each_host_and_disturb_nobody() {
    let scene = recorded();
    let server = InterceptingServer::start(&scene, &["--receipt", "receipt.json"]);
    let other = InterceptingServer::start(&scene, &[]);
    // A client that does not know the authority.
    for _ in 0..2 {
        let (stream, _) = server.connect("CONNECT api.openai.com:443 HTTP/1.1");
        TlsClient::over(stream, &other.authority, "api.openai.com").fails();
    }
    // Another name than the tunnel's, and no TLS at all.
    let (stream, _) = server.connect("CONNECT api.anthropic.com:443 HTTP/1.1");
    TlsClient::over(stream, &server.authority, "api.openai.com").fails();
    let (mut stream, _) = server.connect("CONNECT api.mistral.ai:443 HTTP/1.1");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    // One that opens a tunnel and leaves is no failure.
    drop(server.connect("CONNECT api.groq.com:443 HTTP/1.1"));
    server.tunnel("api.openai.com").send(&call("/v1/chat/completions", "api.openai.com"));
    let ended = server.server.stop().expect(1).says(&[
        "a connection to api.openai.com failed: its client does not accept loomrec's certificate",
        "2 connections to api.openai.com failed",
        "its client asked for the certificate of api.openai.com",
        "1 connection to api.mistral.ai failed: its client sent something else than a TLS handshake",
    ]);
    assert_eq!(ended.stderr.matches("a connection to api.openai.com failed").count(), 1);
    assert!(!ended.stderr.contains("api.groq.com"), "{}", ended.stderr);
    let receipt: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    assert_eq!(receipt["failed_tunnels"].as_array().unwrap().len(), 3, "{receipt}");
    other.server.stop();
}

#[test]
fn replay_fails_by_each_handshake_that_lost_a_call_and_by_no_client_that_left() {
    let scene = recorded();
    let run = |spoil: &dyn Fn(&InterceptingServer)| {
        let server = InterceptingServer::start(&scene, &["--strict"]);
        server.tunnel("api.openai.com").last_call(&call("/v1/chat/completions", "api.openai.com"));
        spoil(&server);
        server.server.stop()
    };
    let connect =
        |server: &InterceptingServer| server.connect("CONNECT api.groq.com:443 HTTP/1.1").0;
    // Waits until loomrec has closed the connection.
    let send = |mut stream: TcpStream, bytes: &[u8]| {
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        drop(stream.read_to_end(&mut Vec::new()));
    };
    let failed = "1 connection to api.groq.com failed: its client";
    let other_name = |server: &InterceptingServer| {
        TlsClient::over(connect(server), &server.authority, "api.openai.com").fails();
    };
    let asked = format!("{failed} asked for the certificate of api.openai.com");
    run(&other_name).expect(1).says(&["1 served", &asked]);
    let no_tls = |server: &InterceptingServer| send(connect(server), b"GET / HTTP/1.1\r\n\r\n");
    run(&no_tls).expect(1).says(&[&format!("{failed} sent something else than a TLS")]);
    let invalid =
        |server: &InterceptingServer| send(connect(server), &[0x16, 3, 1, 0, 4, 9, 0, 0, 0]);
    run(&invalid).expect(1).says(&[&format!("{failed} made an invalid handshake")]);
    let left = |server: &InterceptingServer| send(connect(server), &[0x16, 3, 1, 2]);
    run(&left).expect(0).says(&[&format!("{failed} left during the handshake")]);
}

#[test]
fn client_that_leaves_after_its_handshake_is_counted_and_fails_no_run() {
    let scene = recorded();
    let flags = ["--strict", "--receipt", "receipt.json"];
    let mut server = InterceptingServer::start(&scene, &flags);
    server.tunnel("api.openai.com").last_call(&call("/v1/chat/completions", "api.openai.com"));
    let (stream, _) = server.connect("CONNECT api.groq.com:443 HTTP/1.1");
    TlsClient::over(stream, &server.authority, "api.groq.com").leave();
    let reason = "made no call after its handshake";
    server.server.process.wait_for(reason);
    let note = format!("1 connection to api.groq.com failed: its client {reason}");
    server.server.stop().expect(0).says(&["1 served", &note]);
    let receipt: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    let failed = serde_json::json!([{"host": "api.groq.com", "count": 1, "reason": reason}]);
    assert_eq!((&receipt["failed_tunnels"], &receipt["verdict"]), (&failed, &"ok".into()));
}

#[test]
fn clients_that_never_finish_a_handshake_are_left_and_others_served() {
    let scene = recorded();
    let server = InterceptingServer::start(&scene, &["--client-timeout", "1"]);
    let mut open: Vec<_> =
        (0..20).map(|_| server.connect("CONNECT api.openai.com:443 HTTP/1.1").0).collect();
    // Some begin their handshake.
    for stream in open.iter_mut().step_by(2) {
        stream.write_all(&[0x16, 3, 1, 2]).unwrap();
    }
    open.extend((0..5).map(|_| TcpStream::connect(server.server.address).unwrap()));
    let mut tunnel = server.tunnel("api.openai.com");
    tunnel.send(&call("/v1/chat/completions", "api.openai.com"));
    tunnel.until("hello");
    for stream in &mut open {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        assert!(stream.read_to_end(&mut rest).is_ok() || !rest.is_empty());
    }
    server.server.stop();
}

#[test]
fn hosts_of_refused_tunnels_are_counted_one_by_one_up_to_a_limit() {
    let scene = recorded();
    let server = InterceptingServer::start(&scene, &["--receipt", "receipt.json"]);
    for number in 0..1100 {
        let (_, answer) = server.connect(&format!("CONNECT h{number}.example:443 HTTP/1.1"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    let ended = server.server.stop();
    let said = ended.stderr.matches("a connection to ").count();
    assert!(said <= 1001, "{said}");
    let receipt: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    let hosts = receipt["refused_hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 1001);
    let rest = hosts.iter().find(|host| host["host"] == "other hosts").unwrap();
    assert_eq!(rest["count"], 100);
}

#[test]
fn callers_from_elsewhere_need_the_token_for_tunnels() {
    let scene = recorded();
    let Some(own) = other_address() else { return };
    let mut flags = vec!["--intercept", "--allow-remote"];
    let connect = |address: std::net::SocketAddr, login: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "CONNECT api.openai.com:443 HTTP/1.1\r\n{login}\r\n\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    for (token, login, status) in [
        (None, "x: y", "403"),
        (Some("secret-token"), "x: y", "407"),
        (Some("secret-token"), "loomrec:wrong", "407"),
        (Some("secret-token"), "loomrec:secret-token", "200"),
    ] {
        flags.truncate(2);
        flags.extend(token.iter().flat_map(|token| ["--control-token", token]));
        let mut args = scene.replay_args(&flags);
        args.extend(["--listen".into(), format!("{own}:0").into()]);
        let server = Server::spawn(&mut crate::support::loomrec::command(scene.dir(), &args));
        let login = match login.contains(": ") {
            true => login.to_owned(),
            false => format!("proxy-authorization: Basic {}", BASE64_STANDARD.encode(login)),
        };
        assert_eq!(connect(server.address, &login), format!("HTTP/1.1 {status}"), "{login}");
        server.stop();
    }
}

/// An address of this machine that is not of its loopback interface.
fn other_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}
