//! Tests of `--intercept`: programs that have no base URL.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat_answer, chat_body};
use crate::support::{Answer, Finished, Scene, Upstream};

mod certificates;
mod hosts;
mod tunnels;

/// A program that posts a body to each address that it is given, by the proxy and the authorities
/// that its environment names. `$NAME` is a variable.
const PROGRAM: &str = r#"
import os, sys, urllib.error, urllib.request
body = sys.argv[1].encode()
for url in sys.argv[2:]:
    if url.startswith("$"):
        name, path = url[1:].split("/", 1)
        url = os.environ[name] + "/" + path
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        print(urllib.request.urlopen(request).read().decode())
    except urllib.error.HTTPError as error:
        print(url, error.code, error.read().decode())
    except OSError as error:
        print(url, "failed:", error)
"#;

/// The same call, by the provider's own address and by the base URL.
const DIRECT: &str = "https://api.openai.com/v1/chat/completions";
const BASED: &str = "$OPENAI_BASE_URL/chat/completions";

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("hello")))
}

/// The arguments of a run of `PROGRAM` with these addresses.
fn program(prompt: &str, urls: &[&str]) -> Vec<String> {
    let body = chat_body(prompt).to_string();
    let words = ["--", "python3", "-c", PROGRAM, &body];
    words.iter().chain(urls).map(|word| (*word).to_owned()).collect()
}

/// Records a run of `PROGRAM`.
fn record(scene: &Scene, flags: &[&str], urls: &[&str]) -> Finished {
    let upstream = upstream();
    let mut args = scene.record_args(&upstream.url(), flags);
    args.extend(["--receipt", "receipt.json"].map(Into::into));
    args.extend(program("hi", urls).into_iter().map(Into::into));
    finish(&mut command(scene.dir(), &args), b"")
}

fn replaying(scene: &Scene, flags: &[&str], urls: &[&str]) -> Command {
    let mut args = scene.replay_args(flags);
    args.extend(["--receipt", "receipt.json"].map(Into::into));
    args.extend(program("hi", urls).into_iter().map(Into::into));
    command(scene.dir(), &args)
}

/// Replays a run of `PROGRAM`.
fn replay(scene: &Scene, flags: &[&str], urls: &[&str]) -> Finished {
    finish(&mut replaying(scene, flags, urls), b"")
}

fn receipt(scene: &Scene) -> Value {
    serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap()
}

#[test]
fn recordings_of_either_way_replay_in_the_other_and_their_keys_are_equal() {
    let ways = [(&["--intercept"][..], DIRECT), (&[][..], BASED)];
    let mut names = Vec::new();
    for (flags, url) in ways {
        let scene = Scene::new();
        let ended = record(&scene, flags, &[url]).expect(0).says(&["1 recorded"]);
        assert!(ended.stdout.contains("hello"), "{}", ended.stdout);
        assert!(!ended.stderr.contains("went around"), "{}", ended.stderr);
        for (flags, url) in ways {
            let flags = [&["--strict", "--fail-unused"], flags].concat();
            let ended = replay(&scene, &flags, &[url]).expect(0).says(&["1 served"]);
            assert!(ended.stdout.contains("hello"), "{}", ended.stdout);
        }
        names.push(scene.takes().remove(0).0);
    }
    assert_eq!(names[0], names[1]);
}

#[test]
fn both_ways_of_one_program_use_the_same_takes() {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT, BASED]).expect(0).says(&["2 recorded"]);
    let ended = replay(&scene, &["--strict", "--intercept"], &[BASED, DIRECT, DIRECT]).expect(1);
    let ended = ended.says(&["2 served", "1 missed"]);
    assert!(ended.stdout.contains("422"), "{}", ended.stdout);
}

#[test]
fn replay_without_interception_stays_as_it_was() {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let ended = replay(&scene, &["--strict"], &[DIRECT]).expect(1);
    ended.says(&["1 connection to api.openai.com went around loomrec, and got 403"]);
}

#[test]
fn upstream_that_the_user_names_is_intercepted_below_the_path_of_its_address() {
    let scene = Scene::new();
    let upstream = upstream();
    // The address of the upstream is its host's; where its calls go is another matter.
    let config = ["--upstream", "gw=https://gw.invalid/llm/v2"];
    let record_of = |flags: &[&str], url: &str| {
        let mut args = vec!["record", "-r", "run.json"];
        args.extend(flags);
        let words = program("hi", &[url]);
        args.extend(words.iter().map(String::as_str));
        let proxy = crate::support::proxy::ProxyServer::start(upstream.address());
        let mut command = command(scene.dir(), &args);
        finish(command.env("https_proxy", proxy.url()), b"")
    };
    // The host cannot be reached over TLS by this proxy: the call is a failed one of this upstream.
    let flags = [&config[..], &["--intercept"]].concat();
    let ended = record_of(&flags, "https://gw.invalid/llm/v2/chat/completions");
    assert!(ended.stdout.contains("502") && ended.stdout.contains("gw"), "{}", ended.stdout);
    let other = record_of(&flags, "https://gw.invalid/elsewhere");
    assert!(other.stdout.contains("421"), "{}", other.stdout);
}

#[test]
fn contradiction_and_flags_without_interception_are_one_clear_line() {
    let scene = Scene::new();
    record(&scene, &[], &[BASED]).expect(0);
    for (flags, says) in [
        (&["--intercept", "--no-guard"][..], "--no-guard"),
        (&["--pass", "a.example"], "--pass a.example: it is for runs with --intercept"),
        (&["--intercept", "--pass", "api.openai.com"], "a provider's or an upstream's host"),
        (&["--intercept", "--pass", "API.anthropic.com:443"], "a provider's"),
        (&["--intercept", "--pass", "https://a.example/"], "give the name of a host"),
        (&["--intercept", "--pass", "a.example:x"], "give the name of a host"),
        (&["--intercept", "--pass", ".example"], "give the name of a host"),
        (&["--intercept", "--pass", "127.0.0.1:8443"], "add the host to NO_PROXY"),
    ] {
        replay(&scene, flags, &[BASED]).expect(2).says(&[says]);
    }
}

#[test]
fn command_has_variables_that_add_and_replace_and_none_that_weakens() {
    let scene = Scene::new();
    record(&scene, &[], &[BASED]).expect(0);
    let mut args =
        scene.replay_args(&["--intercept", "--allow-empty", "--no-env", "GIT_SSL_CAINFO"]);
    args.extend(["--", "env"].map(Into::into));
    let mut command = command(scene.dir(), &args);
    let ended = finish(command.env("NO_PROXY", "mine.example").env("HTTP_PROXY", "http://x"), b"");
    let ended = ended.expect(0);
    let value = |name: &str| {
        let mut lines = ended.stdout.lines().filter_map(|line| line.split_once('='));
        lines.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
    };
    let file = |name: &str| value(name).map(|path| path.rsplit('/').next().unwrap().to_owned());
    for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"] {
        assert_eq!(file(name).as_deref(), Some("bundle.pem"), "{name}");
    }
    for name in ["NODE_EXTRA_CA_CERTS", "DENO_CERT"] {
        assert_eq!(file(name).as_deref(), Some("ca.pem"), "{name}");
    }
    assert_eq!(value("NODE_USE_ENV_PROXY").as_deref(), Some("1"));
    assert_eq!(value("HTTPS_PROXY"), value("https_proxy"));
    assert!(value("NO_PROXY").unwrap().starts_with("mine.example,127.0.0.1"));
    assert_eq!(value("HTTP_PROXY").as_deref(), Some("http://x"));
    for name in ["GIT_SSL_CAINFO", "PIP_CERT", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_OPTIONS"] {
        assert_eq!(value(name), None, "{name}");
    }
    assert!(value("OPENAI_BASE_URL").unwrap().starts_with("http://127.0.0.1:"));
    // The folder is gone with the run.
    let bundle = value("SSL_CERT_FILE").unwrap();
    assert!(!std::path::Path::new(&bundle).parent().unwrap().exists(), "{bundle}");
    assert_eq!(receipt_hosts(&scene), json!([]));
}

/// The hosts of the receipt of the recording.
fn receipt_hosts(scene: &Scene) -> Value {
    receipt(scene)["refused_hosts"].clone()
}
