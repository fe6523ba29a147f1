//! Tests of the guard: connections of a wrapped command that go around loomrec.

use std::process::Command;

use rcgen::CertificateParams;
use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::proxy::ProxyServer;
use crate::support::shape::chat_answer;
use crate::support::tls::{Authority, REMOTE_HOST};
use crate::support::{Answer, Finished, Scene, Upstream};

mod clients;
mod hosts;
mod recorded_runs;
mod tunnels;

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
         $OPENAI_BASE_URL as its base URL, or give --intercept",
        "1 connection to mine.openai.azure.com went around loomrec, and got 403: have the program \
         use $LOOMREC_URL/azure as its base URL, or give --intercept",
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
    let failed = "https://gw.invalid:8443/x failed: <urlopen error Tunnel connection failed: 403 \
                  failed to connect to gw.invalid";
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
    let ended = run(&[]).expect(0).says(&[
        "loomrec record: ok: 1 recorded",
        "1 connection to api.openai.com went around loomrec, and was not recorded, so a replay will \
         fail: have the program use $OPENAI_BASE_URL as its base URL, or give --intercept",
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
    let ended = run(&["--no-guard"]).expect(0);
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
        assert!(url.starts_with("http://loomrec:") && url.contains("@127.0.0.1:"), "{url}");
        assert_ne!(Some(url), variable(&guarded, "LOOMREC_URL"));
    }
    for name in ["NO_PROXY", "no_proxy"] {
        assert_eq!(variable(&guarded, name), Some("corp.example,127.0.0.1,localhost"));
    }
    let chosen = run(&["--no-env", "https_proxy"]);
    assert!(variable(&chosen, "HTTPS_PROXY").unwrap().starts_with("http://loomrec:"));
    assert_eq!(variable(&chosen, "https_proxy"), None);
    let off = run(&["--no-guard"]);
    assert_eq!(variable(&off, "HTTPS_PROXY"), Some("http://mine.invalid:1"));
    assert_eq!(variable(&off, "https_proxy"), None);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
    let record = |flags: &[&str]| {
        let flags = [&["--allow-empty"], flags, &["--", "env"]].concat();
        let mut args = scene.record_args("http://127.0.0.1:9", &flags);
        args[2] = "other.json".into();
        finish(&mut command(scene.dir(), &args), b"").expect(0)
    };
    let watched = record(&[]);
    assert!(variable(&watched, "HTTPS_PROXY").unwrap().starts_with("http://loomrec:"));
    let quiet = record(&["--no-guard"]);
    assert_eq!(variable(&quiet, "HTTPS_PROXY"), None);
}

#[test]
fn settings_choose_the_guard_and_strict_sets_them_aside() {
    let scene = recorded();
    std::fs::write(scene.path("loomrec.toml"), "no-guard = true\n").unwrap();
    scene.run(&["trust", "--yes"]).expect(0);
    let openai = "https://nowhere.openai.azure.com/";
    replay_around(&scene, &[], &[openai]).expect(0);
    let ended = replay_around(&scene, &["--strict"], &[openai]).expect(1);
    ended.says(&["no-guard (loomrec.toml:1)", "1 connection to nowhere.openai.azure.com"]);
    std::fs::remove_file(scene.path("loomrec.toml")).unwrap();
    let mut replay = replaying(&scene, &["--strict"], &["python3", "-c", AROUND, openai]);
    finish(replay.env("LOOMREC_NO_GUARD", "1"), b"").expect(1).says(&["LOOMREC_NO_GUARD"]);
    replay_around(&scene, &["--strict", "--no-guard"], &[openai]).expect(0);
}

#[test]
fn program_that_only_calls_loomrec_is_not_disturbed() {
    let scene = recorded();
    replay_around(&scene, &["--strict", "--fail-unused"], &[]).expect(0);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
}
