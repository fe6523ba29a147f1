//! Tests of the guard: connections of a wrapped command that go around loomrec.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;

use rcgen::CertificateParams;
use serde_json::{Value, json};

use crate::support::gate::PATIENCE;
use crate::support::loomrec::{Process, command, finish};
use crate::support::proxy::ProxyServer;
use crate::support::shape::chat_answer;
use crate::support::socks::SocksServer;
use crate::support::tls::{Authority, REMOTE_HOST, trusted_config};
use crate::support::{Answer, Call, Client, End, Finished, Scene, Upstream};

/// A program that makes a call to loomrec, and requests the addresses that it is given.
const AROUND: &str = r#"
import json, os, sys, urllib.request
def get(url, body=None):
    headers = {"content-type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(url, body, headers)).read().decode()
body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]}
get(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode())
for url in sys.argv[1:]:
    try:
        print(url, "said", get(url))
    except OSError as error:
        print(url, "failed:", error)
"#;

/// A command that says which proxy it has, and ends when its input does.
const WAIT: &str = "echo \"proxy $HTTPS_PROXY $https_proxy.\"; exec cat";

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("hello")))
}

/// A scene whose recording holds the call of `AROUND`.
fn recorded() -> Scene {
    let (scene, upstream) = (Scene::new(), upstream());
    let args = [
        scene.record_args(&upstream.url(), &["--"]),
        ["python3", "-c", AROUND].map(Into::into).to_vec(),
    ];
    finish(&mut command(scene.dir(), &args.concat()), b"").expect(0);
    scene
}

fn replaying(scene: &Scene, flags: &[&str], words: &[&str]) -> Command {
    let args = scene.replay_args(&[flags, &["--receipt", "receipt.json", "--"], words].concat());
    command(scene.dir(), &args)
}

/// Runs `AROUND` with these addresses in a replay.
fn replay_around(scene: &Scene, flags: &[&str], urls: &[&str]) -> Finished {
    let words = [&["python3", "-c", AROUND], urls].concat();
    finish(&mut replaying(scene, flags, &words), b"")
}

fn receipt(scene: &Scene) -> Value {
    serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap()
}

#[test]
fn call_to_a_providers_own_host_fails_the_replay_and_is_refused() {
    let scene = recorded();
    let (openai, azure) = ("https://api.openai.com/v1/models", "https://mine.openai.azure.com/x");
    let ended = replay_around(&scene, &["--strict"], &[openai, openai, azure]).expect(1).says(&[
        "2 connections to api.openai.com went around loomrec, and got 403: have the program use \
         $OPENAI_BASE_URL as its base URL",
        "1 connection to mine.openai.azure.com went around loomrec, and got 403: have the program \
         use $LOOMREC_URL/azure as its base URL",
    ]);
    let why = "403 loomrec replays calls to api.openai.com: use the base URL $OPENAI_BASE_URL";
    assert_eq!(ended.stdout.matches(why).count(), 2, "{}", ended.stdout);
    let receipt = receipt(&scene);
    let escapes = json!([
        { "host": "api.openai.com", "count": 2 },
        { "host": "mine.openai.azure.com", "count": 1 },
    ]);
    assert_eq!(receipt["escapes"], escapes);
    assert_eq!((&receipt["verdict"], &receipt["served"]), (&json!("failed"), &json!(1)));
}

#[test]
fn exit_code_of_a_failed_command_stays() {
    let scene = recorded();
    let words = ["curl", "-sS", "https://API.Anthropic.com./v1/models"];
    let ended = finish(&mut replaying(&scene, &[], &words), b"").expect(56);
    let ended = ended.says(&["1 connection to api.anthropic.com went around loomrec"]);
    assert!(!ended.stderr.contains("nothing was tested"), "{}", ended.stderr);
    assert_eq!(receipt(&scene)["verdict"], "failed");
}

#[test]
fn upstream_that_the_user_named_is_guarded_too() {
    let scene = recorded();
    let flags = ["--upstream", "gateway=https://gw.invalid/llm"];
    let (gateway, other) = ("https://gw.invalid/llm/x", "https://gw.invalid:8443/x");
    let ended = replay_around(&scene, &flags, &[gateway, other]).expect(1);
    let ended =
        ended.says(&["1 connection to gw.invalid went around loomrec", "$LOOMREC_URL/gateway"]);
    let failed = "https://gw.invalid:8443/x failed: <urlopen error Tunnel connection failed: 502";
    assert!(ended.stdout.contains(failed), "{}", ended.stdout);
}

#[test]
fn record_counts_and_lets_through_by_the_users_proxy_which_loomrec_uses_too() {
    let scene = Scene::new();
    let names = ["api.openai.com", REMOTE_HOST].map(str::to_owned);
    let config = Authority::trusted().server_config(&CertificateParams::new(names).unwrap());
    let upstream = Upstream::always_over(Some(config), Answer::json(200, chat_answer("hello")));
    let proxy = ProxyServer::start(upstream.address());
    let url = format!("https://{REMOTE_HOST}:{}", upstream.address().port());
    let run = |flags: &[&str]| {
        let mut args = scene.record_args(&url, flags);
        args.extend(["--receipt", "receipt.json", "--", "python3", "-c", AROUND].map(Into::into));
        args.push("https://api.openai.com/v1/models".into());
        let mut command = command(scene.dir(), &args);
        command.env("SSL_CERT_FILE", Authority::trusted().write(scene.dir()));
        finish(command.env("https_proxy", format!("http://me:p%40ss@{}", proxy.address())), b"")
    };
    let ended = run(&["--guard"]).expect(0).says(&[
        "loomrec record: ok: 1 recorded",
        "1 connection to api.openai.com went around loomrec, and was not recorded: \
         have the program use $OPENAI_BASE_URL as its base URL",
    ]);
    assert!(ended.stdout.contains("https://api.openai.com/v1/models said {"), "{}", ended.stdout);
    assert_eq!(receipt(&scene)["escapes"], json!([{ "host": "api.openai.com", "count": 1 }]));
    // Loomrec's own call, and the program's: by the same proxy, with its name and password.
    let heads = proxy.heads();
    let lines: Vec<_> = heads.iter().map(|head| head.line.clone()).collect();
    let own = format!("CONNECT {REMOTE_HOST}:{} HTTP/1.1", upstream.address().port());
    assert_eq!(lines, [own.as_str(), "CONNECT api.openai.com:443 HTTP/1.1"]);
    for head in heads {
        assert_eq!(head.all("proxy-authorization"), ["Basic bWU6cEBzcw=="]);
    }
    let ended = run(&[]).expect(0);
    assert!(!ended.stderr.contains("went around"), "{}", ended.stderr);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
}

fn variable<'a>(ended: &'a Finished, name: &str) -> Option<&'a str> {
    let start = format!("{name}=");
    ended.stdout.lines().find_map(|line| line.strip_prefix(&start))
}

#[test]
fn only_a_guarded_command_gets_a_proxy() {
    let scene = recorded();
    let run = |flags: &[&str]| {
        let mut replay = replaying(&scene, &[flags, &["--allow-empty"]].concat(), &["env"]);
        replay.env("HTTPS_PROXY", "http://mine.invalid:1").env("NO_PROXY", "corp.example");
        finish(&mut replay, b"").expect(0)
    };
    let guarded = run(&[]);
    for name in ["HTTPS_PROXY", "https_proxy"] {
        let url = variable(&guarded, name).unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        assert_ne!(Some(url), variable(&guarded, "LOOMREC_URL"));
    }
    for name in ["NO_PROXY", "no_proxy"] {
        assert_eq!(variable(&guarded, name), Some("corp.example,127.0.0.1,localhost"));
    }
    let chosen = run(&["--no-env", "https_proxy"]);
    assert!(variable(&chosen, "HTTPS_PROXY").unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!(variable(&chosen, "https_proxy"), None);
    let off = run(&["--no-guard"]);
    assert_eq!(variable(&off, "HTTPS_PROXY"), Some("http://mine.invalid:1"));
    assert_eq!(variable(&off, "https_proxy"), None);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
    let mut args = scene.record_args("http://127.0.0.1:9", &["--allow-empty", "--", "env"]);
    args[2] = "other.json".into();
    let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
    assert_eq!(variable(&ended, "HTTPS_PROXY"), None);
}

#[test]
fn settings_choose_the_guard_and_strict_sets_them_aside() {
    let scene = recorded();
    std::fs::write(scene.path("loomrec.toml"), "guard = true\nno-guard = true\n").unwrap();
    scene.run(&["trust", "--yes"]).expect(0);
    let openai = "https://nowhere.openai.azure.com/";
    replay_around(&scene, &[], &[openai]).expect(0);
    let ended = replay_around(&scene, &["--strict"], &[openai]).expect(1);
    ended.says(&["no-guard (loomrec.toml:2)", "1 connection to nowhere.openai.azure.com"]);
    std::fs::remove_file(scene.path("loomrec.toml")).unwrap();
    let mut replay = replaying(&scene, &["--strict"], &["python3", "-c", AROUND, openai]);
    finish(replay.env("LOOMREC_NO_GUARD", "1"), b"").expect(1).says(&["LOOMREC_NO_GUARD"]);
    replay_around(&scene, &["--strict", "--no-guard"], &[openai]).expect(0);
}

/// A replay whose command waits, so that a test can be a client of its guard.
struct GuardedRun {
    process: Process,
    guard: SocketAddr,
    /// The URL of the guard.
    url: String,
    /// The command's input.
    input: std::io::PipeWriter,
}

impl GuardedRun {
    fn start(scene: &Scene, environment: &[(&str, String)]) -> Self {
        let mut command = replaying(scene, &["--allow-empty"], &["sh", "-c", WAIT]);
        let (reader, input) = std::io::pipe().unwrap();
        command.envs(environment.iter().map(|(name, value)| (name, value))).stdin(reader);
        let mut process = Process::spawn(&mut command);
        let said = process.wait_for("proxy http");
        let line = said.lines().find_map(|line| line.strip_prefix("proxy ")).unwrap();
        let (url, same) = line.trim_end_matches('.').split_once(' ').unwrap();
        assert_eq!(url, same);
        let address = url.trim_start_matches("http://").rsplit('@').next().unwrap();
        Self { process, guard: address.parse().unwrap(), url: url.to_owned(), input }
    }

    fn end(self) -> Finished {
        drop(self.input);
        self.process.wait()
    }

    /// A tunnel to an address.
    fn tunnel(&self, to: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(self.guard).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
            .write_all(format!("CONNECT {to} HTTP/1.1\r\nhost: {to}\r\n\r\n").as_bytes())
            .unwrap();
        let expected = b"HTTP/1.1 200 Connection established\r\n\r\n";
        let mut head = vec![0; expected.len()];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head, expected);
        stream
    }
}

/// A server that reads to the end of each connection, and then sends it all back.
fn echo() -> SocketAddr {
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
    let run = GuardedRun::start(&scene, &[]);
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    exchange(run.tunnel(echo), &bytes);
    std::thread::scope(|scope| {
        for number in 0..100_u8 {
            let run = &run;
            scope.spawn(move || exchange(run.tunnel(echo), &[number; 10_000]));
        }
    });
    run.end().expect(0);
}

#[test]
fn connections_above_the_limit_wait_and_the_end_of_a_run_ends_all() {
    let (scene, echo) = (recorded(), echo());
    let run = GuardedRun::start(&scene, &[]);
    let mut open: Vec<_> = (0..256).map(|_| run.tunnel(echo)).collect();
    let mut waiting = Client::connect(run.guard);
    waiting.write(format!("CONNECT {echo} HTTP/1.1\r\n\r\n"));
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
    let run = GuardedRun::start(&scene, &[]);
    let silent: Vec<_> = (0..50).map(|_| Client::connect(run.guard)).collect();
    for garbage in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n".as_slice(),
        b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
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
    exchange(run.tunnel(echo), b"still here");
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
    let answer = Client::call(run.guard, &call).expect(200);
    assert_eq!(answer.text(), chat_answer("hello"));
    let received = upstream.received().remove(0);
    assert_eq!((received.target.as_str(), received.text().as_str()), ("/x?y=1", "a body"));
    assert_eq!(received.header("proxy-connection"), None);
    let refused =
        Client::call(run.guard, &Call::post("https://api.openai.com/v1/x", "b".repeat(9999)));
    let refused = refused.expect(403).text();
    assert!(refused.contains("Give it the base URL $OPENAI_BASE_URL"), "{refused}");
    run.end().expect(1).says(&["1 connection to api.openai.com went around loomrec"]);
    assert_eq!(proxy.heads().len(), 1);
}

#[test]
fn password_of_the_users_proxy_is_needed_for_the_guard_too() {
    let (scene, echo) = (recorded(), echo());
    let proxy = ProxyServer::start(echo);
    let address = format!("http://me:p%40ss@{}", proxy.address());
    let run = GuardedRun::start(&scene, &[("HTTPS_PROXY", address)]);
    assert_eq!(run.url, format!("http://me:p%40ss@{}", run.guard));
    let connect = |header: &str| {
        let mut client = Client::connect(run.guard);
        client.write(format!("CONNECT far.example:443 HTTP/1.1\r\n{header}\r\n"));
        client.head()
    };
    for wrong in ["", "proxy-authorization: Basic bWU6bm8=\r\n"] {
        let head = connect(wrong);
        let asks = head.header("proxy-authenticate") == Some("Basic realm=\"proxy\"");
        assert!(head.line.contains(" 407 ") && asks, "{}", head.line);
    }
    assert_eq!(proxy.heads().len(), 0);
    assert!(connect("Proxy-Authorization: basic bWU6cEBzcw==\r\n").line.contains(" 200 "));
    assert_eq!(proxy.heads()[0].line, "CONNECT far.example:443 HTTP/1.1");
    run.end().expect(0);
}

#[test]
fn tunnels_go_through_a_socks_proxy_too() {
    let (scene, proxy) = (recorded(), SocksServer::start(echo()));
    let address = format!("socks5h://me:p%40ss@{}", proxy.address());
    let run = GuardedRun::start(&scene, &[("ALL_PROXY", address)]);
    let mut client = Client::connect(run.guard);
    let login = "proxy-authorization: Basic bWU6cEBzcw==";
    client.write(format!("CONNECT far.example:993 HTTP/1.1\r\n{login}\r\n\r\n"));
    assert!(client.head().line.contains(" 200 "));
    assert_eq!(proxy.asked(), ["me:p@ss far.example:993"]);
    run.end().expect(0);
}

#[test]
fn host_that_cannot_be_reached_gets_502_with_the_reason() {
    let scene = recorded();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = GuardedRun::start(&scene, &[]);
    let mut client = Client::connect(run.guard);
    let answer = client.exchange(&Call::new("CONNECT", &free.to_string())).expect(502);
    assert_eq!(answer.head.line, "HTTP/1.1 502 failed to connect to 127.0.0.1");
    let (text, expected) = (answer.text(), format!("failed to connect to {free}: "));
    assert!(text.starts_with(&expected) && text.contains("refused"), "{text}");
    run.end().expect(0);
}

#[test]
fn program_that_only_calls_loomrec_is_not_disturbed() {
    let scene = recorded();
    replay_around(&scene, &["--strict", "--fail-unused"], &[]).expect(0);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
}
