//! Tests of the guard as its clients see it: tunnels, refusals, and who gets through.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::json;

use super::{receipt, recorded, replaying};
use crate::support::gate::PATIENCE;
use crate::support::loomrec::Process;
use crate::support::proxy::ProxyServer;
use crate::support::shape::chat_answer;
use crate::support::socks::SocksServer;
use crate::support::tls::{Authority, REMOTE_HOST, trusted_config};
use crate::support::wire::Head;
use crate::support::{Answer, Call, Client, End, Finished, Scene, Upstream};

/// A command that says which proxy it has, and ends when its input does.
const WAIT: &str = "echo \"proxy $HTTPS_PROXY $https_proxy.\"; exec cat";

/// A replay whose command waits, so that a test can be a client of its guard.
pub(super) struct GuardedRun {
    process: Process,
    pub(super) guard: SocketAddr,
    /// The header with the name and the password of the guard.
    pub(super) login: String,
    /// The command's input.
    input: std::io::PipeWriter,
}

impl GuardedRun {
    pub(super) fn start(scene: &Scene, environment: &[(&str, String)]) -> Self {
        let mut command = replaying(scene, &["--allow-empty"], &["sh", "-c", WAIT]);
        let (reader, input) = std::io::pipe().unwrap();
        command.envs(environment.iter().map(|(name, value)| (name, value))).stdin(reader);
        let mut process = Process::spawn(&mut command);
        let said = process.wait_for("proxy http");
        let line = said.lines().find_map(|line| line.strip_prefix("proxy ")).unwrap();
        let (url, same) = line.trim_end_matches('.').split_once(' ').unwrap();
        assert_eq!(url, same);
        let (login, address) = url.trim_start_matches("http://").rsplit_once('@').unwrap();
        let login = format!("proxy-authorization: Basic {}", BASE64_STANDARD.encode(login));
        Self { process, guard: address.parse().unwrap(), login, input }
    }

    /// A run whose guard reaches every host through a proxy, which leads to `server`.
    pub(super) fn leading_to(scene: &Scene, server: SocketAddr) -> Self {
        Self::start(scene, &[("ALL_PROXY", ProxyServer::start(server).url())])
    }

    pub(super) fn end(self) -> Finished {
        drop(self.input);
        self.process.wait()
    }

    /// Asks for a tunnel. Returns the head of the answer.
    pub(super) fn connect(&self, to: &str) -> Head {
        let mut client = Client::connect(self.guard);
        client.write(format!("CONNECT {to} HTTP/1.1\r\n{}\r\n\r\n", self.login));
        client.head()
    }

    /// A tunnel to a host that is no provider's.
    fn tunnel(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.guard).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("CONNECT far.example:443 HTTP/1.1\r\n{}\r\n\r\n", self.login);
        stream.write_all(head.as_bytes()).unwrap();
        let expected = b"HTTP/1.1 200 Connection established\r\n\r\n";
        let mut head = vec![0; expected.len()];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head, expected);
        stream
    }
}

/// A server that reads to the end of each connection, and then sends it all back.
pub(super) fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut all = Vec::new();
                if client.read_to_end(&mut all).is_ok() {
                    let _ = client.write_all(&all);
                }
            });
        }
    });
    address
}

fn exchange(mut tunnel: TcpStream, bytes: &[u8]) {
    tunnel.write_all(bytes).unwrap();
    tunnel.shutdown(Shutdown::Write).unwrap();
    let mut back = Vec::new();
    tunnel.read_to_end(&mut back).unwrap();
    assert!(back == bytes, "{} bytes came back of {}", back.len(), bytes.len());
}

#[test]
fn tunnels_pass_every_byte_both_ways_and_each_end_by_itself() {
    let (scene, echo) = (recorded(), echo());
    let run = GuardedRun::leading_to(&scene, echo);
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    exchange(run.tunnel(), &bytes);
    std::thread::scope(|scope| {
        for number in 0..100_u8 {
            let run = &run;
            scope.spawn(move || exchange(run.tunnel(), &[number; 10_000]));
        }
    });
    run.end().expect(0);
}

#[test]
fn connections_above_the_limit_wait_and_the_end_of_a_run_ends_all() {
    let (scene, echo) = (recorded(), echo());
    let run = GuardedRun::leading_to(&scene, echo);
    let mut open: Vec<_> = (0..256).map(|_| run.tunnel()).collect();
    let mut waiting = Client::connect(run.guard);
    waiting.write(format!("CONNECT far.example:443 HTTP/1.1\r\n{}\r\n\r\n", run.login));
    assert!(waiting.is_quiet_for(std::time::Duration::from_millis(200)));
    exchange(open.remove(0), b"done");
    assert!(waiting.begins());
    run.end().expect(0);
    for mut tunnel in open {
        assert!(matches!(tunnel.read(&mut [0]), Ok(0) | Err(_)));
    }
}

#[test]
fn clients_that_send_nothing_or_garbage_disturb_no_one() {
    let (scene, echo) = (recorded(), echo());
    let run = GuardedRun::leading_to(&scene, echo);
    let silent: Vec<_> = (0..50).map(|_| Client::connect(run.guard)).collect();
    for garbage in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n".as_slice(),
        b"GET / HTTP/1.1\r\n\r\n",
        b"CONNECT nowhere HTTP/1.1\r\n\r\n",
        &[b'x'; 100_000],
    ] {
        let mut client = Client::connect(run.guard);
        client.write(garbage);
        let (answer, end) = client.everything();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(answer.ends_with("a proxy for https connections only\n"), "{answer}");
        assert_eq!(end, End::Closed);
    }
    let mut half = TcpStream::connect(run.guard).unwrap();
    half.write_all(b"CONNECT api.openai.com:443").unwrap();
    drop(half);
    exchange(run.tunnel(), b"still here");
    drop(silent);
    run.end().expect(0);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
}

#[test]
fn request_for_an_https_address_is_sent_over_tls() {
    let scene = recorded();
    let answer = Answer::json(200, chat_answer("hello"));
    let upstream = Upstream::always_over(Some(trusted_config()), answer);
    let proxy = ProxyServer::start(upstream.address());
    let trust = Authority::trusted().write(scene.dir()).display().to_string();
    let run = GuardedRun::start(&scene, &[("ALL_PROXY", proxy.url()), ("SSL_CERT_FILE", trust)]);
    let to = |path: &str| format!("https://{REMOTE_HOST}:{}{path}", upstream.address().port());
    let call = Call::post(&to("/x?y=1"), "a body").header("proxy-connection: keep-alive");
    let call = call.header(&run.login);
    let answer = Client::call(run.guard, &call).expect(200);
    assert_eq!(answer.text(), chat_answer("hello"));
    let received = upstream.received().remove(0);
    assert_eq!((received.target.as_str(), received.text().as_str()), ("/x?y=1", "a body"));
    assert_eq!(received.header("proxy-connection"), None);
    let post = |url: &str| {
        let call = Call::post(url, "b".repeat(9999)).header(&run.login);
        Client::call(run.guard, &call).expect(403).text()
    };
    let refused = post("https://api.openai.com/v1/x");
    assert!(refused.contains("have the program use $OPENAI_BASE_URL as its base URL"), "{refused}");
    // Where the path is seen, it tells a call of a model at any host.
    let refused = post("https://gateway.example/team/chat/completions");
    let advice = "$LOOMREC_URL/NAME (with --upstream NAME=https://gateway.example)";
    assert!(refused.contains(advice), "{refused}");
    run.end().expect(1).says(&[
        "1 connection to api.openai.com went around loomrec",
        "1 connection to gateway.example went around loomrec",
    ]);
    assert_eq!(proxy.heads().len(), 1);
}

#[test]
fn only_who_has_the_password_of_the_run_gets_through_the_guard() {
    let (scene, echo) = (recorded(), echo());
    let proxy = ProxyServer::start(echo);
    let address = format!("http://me:p%40ss@{}", proxy.address());
    let run = GuardedRun::start(&scene, &[("HTTPS_PROXY", address)]);
    let connect = |host: &str, header: &str| {
        let mut client = Client::connect(run.guard);
        client.write(format!("CONNECT {host}:443 HTTP/1.1\r\n{header}\r\n"));
        client.head()
    };
    let cut = format!("{}\r\n", &run.login[..run.login.len() - 1]);
    let longer = format!("{}=\r\n", run.login);
    for wrong in ["", "proxy-authorization: Basic bWU6cEBzcw==\r\n", &cut, &longer] {
        for host in ["far.example", "api.openai.com", "127.0.0.1"] {
            let head = connect(host, wrong);
            let asks = head.header("proxy-authenticate") == Some("Basic realm=\"loomrec\"");
            assert!(head.line.contains(" 407 ") && asks, "{}", head.line);
        }
    }
    assert_eq!(proxy.heads().len(), 0);
    assert!(run.connect("far.example:443").line.contains(" 200 "));
    // The next proxy has its own password from loomrec, and not that of the guard.
    let heads = proxy.heads();
    assert_eq!(heads[0].line, "CONNECT far.example:443 HTTP/1.1");
    assert_eq!(heads[0].all("proxy-authorization"), ["Basic bWU6cEBzcw=="]);
    run.end().expect(0);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
    let second = GuardedRun::start(&scene, &[]);
    assert!(!second.login.starts_with(cut.trim_end()));
    second.end().expect(0);
}

#[test]
fn tunnels_go_through_a_socks_proxy_too() {
    let (scene, proxy) = (recorded(), SocksServer::start(echo()));
    let address = format!("socks5h://me:p%40ss@{}", proxy.address());
    let run = GuardedRun::start(&scene, &[("ALL_PROXY", address)]);
    let mut client = Client::connect(run.guard);
    client.write(format!("CONNECT far.example:993 HTTP/1.1\r\n{}\r\n\r\n", run.login));
    assert!(client.head().line.contains(" 200 "));
    assert_eq!(proxy.asked(), ["me:p@ss far.example:993"]);
    run.end().expect(0);
}

#[test]
fn host_that_cannot_be_reached_gets_403_in_a_replay_with_the_reason() {
    let scene = recorded();
    let run = GuardedRun::start(&scene, &[]);
    let mut client = Client::connect(run.guard);
    let call = Call::new("CONNECT", "nowhere.invalid:443").header(&run.login);
    let answer = client.exchange(&call).expect(403);
    assert_eq!(answer.head.line, "HTTP/1.1 403 failed to connect to nowhere.invalid");
    let text = answer.text();
    assert!(text.starts_with("failed to connect to nowhere.invalid:443: "), "{text}");
    run.end().expect(0);
}
