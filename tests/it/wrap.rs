//! Tests of wrapping a command: its environment, its pipes, its exit code, its signals.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::support::loomrec::{Process, command, finish};
use crate::support::shape::chat_answer;
use crate::support::{Answer, Finished, Scene, Upstream};

/// A program as a user would write it: it sends each prompt and prints the answer.
const ASK: &str = r#"
import json, os, sys, urllib.error, urllib.request
for prompt in sys.argv[1:]:
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    key = os.environ.get("OPENAI_API_KEY", "none")
    headers = {"content-type": "application/json", "authorization": "Bearer " + key}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
    except urllib.error.HTTPError as error:
        print("status", error.code)
"#;

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("hello")))
}

fn wrapped(scene: &Scene, mut args: Vec<OsString>, words: &[&str]) -> Command {
    args.push("--".into());
    args.extend(words.iter().map(OsString::from));
    command(scene.dir(), &args)
}

/// A recording of a command that may make no calls.
fn recording(scene: &Scene, words: &[&str]) -> Command {
    wrapped(scene, scene.record_args("http://127.0.0.1:9", &["--allow-empty"]), words)
}

fn replaying(scene: &Scene, more: &[&str], words: &[&str]) -> Command {
    wrapped(scene, scene.replay_args(more), words)
}

/// A recording of the prompt "hi", made through the wrapped program.
fn recorded() -> Scene {
    let (scene, upstream) = (Scene::new(), upstream());
    let args = scene.record_args(&upstream.url(), &[]);
    let mut command = wrapped(&scene, args, &["python3", "-c", ASK, "hi"]);
    let ended = finish(command.env("OPENAI_API_KEY", "sk-wrap-canary-00112233"), b"").expect(0);
    assert_eq!(ended.stdout, "hello\n");
    let seen = upstream.received()[0].header("authorization").map(str::to_owned);
    assert_eq!(seen.as_deref(), Some("Bearer sk-wrap-canary-00112233"));
    assert!(!scene.text().contains("sk-wrap-canary"));
    scene
}

fn variable(ended: &Finished, name: &str) -> Option<String> {
    let start = format!("{name}=");
    ended.stdout.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
}

#[test]
fn a_program_is_recorded_and_replayed_without_network_or_key() {
    let scene = recorded();
    let mut replay =
        replaying(&scene, &["--strict", "--fail-unused"], &["python3", "-c", ASK, "hi"]);
    let ended = finish(&mut replay, b"").expect(0);
    assert_eq!(ended.stdout, "hello\n");
}

#[test]
fn every_sdks_variable_points_here() {
    let scene = Scene::new();
    let ended = finish(&mut recording(&scene, &["env"]), b"").expect(0);
    let root = variable(&ended, "LOOMREC_URL").unwrap();
    let root = root.trim_end_matches('/');
    assert!(root.starts_with("http://127.0.0.1:"), "{root}");
    let expected = [
        ("OPENAI_BASE_URL", "/openai/v1"),
        ("OPENAI_API_BASE", "/openai/v1"),
        ("ANTHROPIC_BASE_URL", "/anthropic"),
        ("GOOGLE_GEMINI_BASE_URL", "/gemini"),
        ("GROQ_BASE_URL", "/groq"),
        ("GROQ_API_BASE", "/groq/openai/v1"),
        ("CO_API_URL", "/cohere"),
        ("OLLAMA_HOST", "/ollama"),
        ("OPENROUTER_API_BASE", "/openrouter/api/v1"),
    ];
    for (name, path) in expected {
        let value = variable(&ended, name).unwrap_or_else(|| panic!("{name} is not set"));
        assert_eq!(value.trim_end_matches('/'), format!("{root}{path}"), "{name}");
    }
    for name in ["NO_PROXY", "no_proxy"] {
        let value = variable(&ended, name).unwrap();
        let hosts: Vec<&str> = value.split(',').map(str::trim).collect();
        assert!(hosts.contains(&"127.0.0.1") && hosts.contains(&"localhost"), "{value}");
    }
    assert_eq!(variable(&ended, "OPENAI_API_KEY"), None);
}

#[test]
fn what_the_user_set_is_kept_or_followed() {
    let (scene, upstream) = (Scene::new(), upstream());
    let args = scene.record_args("http://127.0.0.1:9", &["--no-env", "ANTHROPIC_BASE_URL"]);
    // Without the flag, so that the variable decides.
    let args: Vec<OsString> =
        args.into_iter().filter(|arg| !arg.to_string_lossy().starts_with("openai=")).collect();
    let at = args.iter().position(|arg| arg == "--upstream").unwrap();
    let args = [&args[..at], &args[at + 1..]].concat();
    let script = format!("env; python3 -c '{}' hi", ASK.replace('\'', "\""));
    let mut command = wrapped(&scene, args, &["sh", "-c", &script]);
    command
        .env("NO_PROXY", "corp.example")
        .env("ANTHROPIC_BASE_URL", "https://left.alone")
        .env("OPENAI_BASE_URL", format!("{}/gateway/v1", upstream.url()));
    let ended = finish(&mut command, b"").expect(0);
    let no_proxy = variable(&ended, "NO_PROXY").unwrap();
    assert!(no_proxy.contains("corp.example") && no_proxy.contains("127.0.0.1"), "{no_proxy}");
    assert_eq!(variable(&ended, "ANTHROPIC_BASE_URL").as_deref(), Some("https://left.alone"));
    assert!(variable(&ended, "OPENAI_BASE_URL").unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!(upstream.received()[0].target, "/gateway/v1/chat/completions");
    let mut replay = replaying(&scene, &["--strict"], &["python3", "-c", ASK, "hi"]);
    finish(&mut replay, b"").expect(0);
}

#[test]
fn the_commands_pipes_and_arguments_are_its_own() {
    let scene = Scene::new();
    let script = r#"cat; echo "to stderr" >&2; printf '%s\n' "$@""#;
    let words = ["sh", "-c", script, "name", "--mode", "-r", "a b", "--", "é"];
    let ended = finish(&mut recording(&scene, &words), b"from\0stdin\n").expect(0);
    assert_eq!(ended.stdout, "from\0stdin\n--mode\n-r\na b\n--\né\n");
    assert!(ended.stderr.contains("to stderr\n"), "{}", ended.stderr);
}

#[test]
fn the_commands_exit_code_is_passed_on() {
    let scene = recorded();
    let exits = [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)];
    for (script, code) in exits {
        finish(&mut recording(&scene, &["sh", "-c", script]), b"").expect(code);
        let mut replay = replaying(&scene, &["--allow-empty"], &["sh", "-c", script]);
        finish(&mut replay, b"").expect(code);
    }
    let ended = finish(&mut recording(&scene, &["no-such-command-here"]), b"");
    assert!(ended.code != 0 && ended.stderr.contains("no-such-command-here"), "{}", ended.stderr);
}

#[test]
fn a_miss_fails_the_run_even_if_the_program_swallows_it() {
    let scene = recorded();
    let ask = ["python3", "-c", ASK, "hi", "other"];
    let ended = finish(&mut replaying(&scene, &[], &ask), b"").expect(1);
    assert_eq!(ended.stdout, "hello\nstatus 422\n");
    ended.says(&["/messages/0/content", "other"]);
    let script = format!("python3 -c '{}' other; exit 7", ASK.replace('\'', "\""));
    finish(&mut replaying(&scene, &[], &["sh", "-c", &script]), b"").expect(7);
}

#[test]
fn unused_entries_fail_a_wrapped_run_only_when_asked() {
    let (scene, upstream) = (Scene::new(), upstream());
    let args = scene.record_args(&upstream.url(), &[]);
    finish(&mut wrapped(&scene, args, &["python3", "-c", ASK, "hi", "ho"]), b"").expect(0);
    let one = ["python3", "-c", ASK, "hi"];
    finish(&mut replaying(&scene, &[], &one), b"").expect(0);
    finish(&mut replaying(&scene, &["--fail-unused"], &one), b"").expect(1).says(&["unused"]);
}

#[test]
fn a_replay_that_served_nothing_is_not_green() {
    let scene = recorded();
    let got = "OPENAI_BASE_URL, OPENAI_API_BASE: a base URL in its code wins over these, and a test \
               runner may clear the environment\n";
    let silent = "nothing was tested (--allow-empty permits that): the command made no call here. \
                  It got ";
    let ended = finish(&mut replaying(&scene, &[], &["true"]), b"").expect(1);
    ended.says(&[&format!("{silent}{got}")]);
    finish(&mut replaying(&scene, &["--allow-empty"], &["true"]), b"").expect(0);
    let failed = "nothing was tested: the command ended with 3 before it made a call here. If its \
                  calls went elsewhere: it got ";
    let ended = finish(&mut replaying(&scene, &[], &["sh", "-c", "exit 3"]), b"").expect(3);
    ended.says(&[&format!("{failed}{got}")]);
}

/// Starts `script` wrapped, signals only loomrec once the script is ready, and returns the end.
fn signalled(scene: &Scene, name: &str, script: &str) -> Finished {
    let mut command = recording(scene, &["sh", "-c", script]);
    let mut process = Process::spawn(command.stdin(Stdio::null()));
    process.wait_for("ready");
    process.signal(name);
    process.wait()
}

#[test]
fn signals_reach_the_command_and_its_code_is_passed_on() {
    for name in ["TERM", "INT"] {
        let scene = Scene::new();
        let script =
            format!("trap 'echo caught; exit 9' {name}; echo ready; while :; do sleep 0.05; done");
        let ended = signalled(&scene, name, &script).expect(9);
        assert!(ended.stdout.contains("caught"));
    }
    let scene = Scene::new();
    signalled(&scene, "TERM", "echo ready; exec sleep 60").expect(143);
}

#[test]
fn signals_reach_the_commands_children() {
    let scene = Scene::new();
    let inner =
        "trap 'echo inner > inner.txt; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let script = format!("trap 'wait; exit 5' TERM; sh -c \"{inner}\" & wait; wait; exit 6");
    signalled(&scene, "TERM", &script).expect(5);
    assert_eq!(std::fs::read_to_string(scene.path("inner.txt")).unwrap(), "inner\n");
}

#[test]
fn what_was_recorded_before_a_signal_is_kept() {
    let (scene, upstream) = (Scene::new(), upstream());
    let script = format!("python3 -c '{}' hi; echo ready; sleep 60", ASK.replace('\'', "\""));
    let args = scene.record_args(&upstream.url(), &[]);
    let mut command = wrapped(&scene, args, &["sh", "-c", &script]);
    let mut process = Process::spawn(command.stdin(Stdio::null()));
    process.wait_for("ready");
    process.signal("TERM");
    process.wait().expect(143);
    assert_eq!(scene.takes().len(), 1);
}

#[test]
fn a_miss_shows_in_the_code_of_a_server_that_is_told_to_end() {
    let scene = recorded();
    let code = |prompt: &str, end: &str| {
        let ask = ASK.replace('\'', "\"");
        let script = format!("{end}; python3 -c '{ask}' {prompt}; echo ready; sleep 20 & wait");
        let mut command = replaying(&scene, &["--strict"], &["sh", "-c", &script]);
        let mut process = Process::spawn(command.stdin(Stdio::null()));
        process.wait_for("ready");
        process.signal("TERM");
        process.wait()
    };
    code("hi", ":").expect(143);
    code("hi", "trap 'exit 0' TERM").expect(0);
    for end in [":", "trap 'exit 0' TERM", "trap 'exit 7' TERM"] {
        code("changed", end).expect(1).says(&["1 missed"]);
    }
}

#[test]
fn the_variables_can_be_printed_for_a_shell() {
    let scene = recorded();
    let ended = finish(&mut command(scene.dir(), &scene.replay_args(&["--print-env"])), b"");
    let said = ended.expect(0).stdout;
    assert!(said.contains("export OPENAI_BASE_URL='http://127.0.0.1:4141/openai/v1'\n"), "{said}");
    let script = format!("{said}\necho $ANTHROPIC_BASE_URL");
    let shell = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(shell.stdout, b"http://127.0.0.1:4141/anthropic\n");
}

#[test]
fn a_recording_of_a_command_that_made_no_call_is_not_ok() {
    let scene = Scene::new();
    let args = scene.record_args("http://127.0.0.1:9", &["--receipt", "receipt.json"]);
    let ended = finish(&mut wrapped(&scene, args.clone(), &["true"]), b"").expect(1);
    ended.says(&["failed", "nothing was recorded (--allow-empty permits that)", "OPENAI_BASE_URL"]);
    let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
    let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!(receipt["verdict"], "failed");
    let allowed = [args.clone(), vec!["--allow-empty".into()]].concat();
    let ended = finish(&mut wrapped(&scene, allowed, &["true"]), b"").expect(0);
    ended.says(&["nothing was recorded", "run.json: not written, because nothing was recorded"]);
    let quiet = [args.clone(), vec!["-q".into()]].concat();
    let ended = finish(&mut wrapped(&scene, quiet, &["true"]), b"").expect(1);
    ended.says(&["record: failed", "nothing was recorded (--allow-empty permits that)"]);
    let ended = finish(&mut wrapped(&scene, args, &["sh", "-c", "exit 4"]), b"").expect(4);
    ended.says(&["nothing was recorded: the command ended with 4 before it made a call here."]);
    // If nothing says which upstreams the program calls, few of many variables are named.
    let args = ["record", "-r", "run.json", "--", "true"];
    let said = finish(&mut command(scene.dir(), &args), b"").expect(1).stderr;
    assert!(said.contains("It got OPENAI_BASE_URL, ANTHROPIC_BASE_URL and "), "{said}");
    assert!(said.contains(" more (--print-env prints them): a base URL"), "{said}");
}
