//! Tests of stand-ins for API keys: a replayed program gets those that the recorded program had, by
//! the names that the recording holds.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::loomrec::{Process, command, finish};
use crate::support::shape::chat_answer;
use crate::support::{Answer, Call, Client, Scene, Upstream};

/// A program that sends a prompt, and then does what a shell does with its input.
const ASK: &str = r#"
import json, os, subprocess, sys, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": sys.argv[1]}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
                                 json.dumps(body).encode(), {"content-type": "application/json"})
urllib.request.urlopen(request).read()
print("answered", flush=True)
sys.exit(subprocess.call(["sh"]))
"#;

/// A value that no file may hold.
const SECRET: &str = "sk-stand-ins-canary-5512";

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("hello")))
}

/// A run of the program that records, with these variables set.
fn recording(scene: &Scene, upstream: &Upstream, prompt: &str, keys: &[&str]) -> Command {
    let mut args = scene.record_args(&upstream.url(), &["--", "python3", "-c", ASK]);
    args.push(prompt.into());
    let mut command = command(scene.dir(), &args);
    command.envs(keys.iter().map(|key| (key, SECRET)));
    command
}

/// A scene whose recording was made by a program that had these variables.
fn recorded(keys: &[&str]) -> Scene {
    let (scene, upstream) = (Scene::new(), upstream());
    finish(&mut recording(&scene, &upstream, "hi", keys), b"").expect(0);
    assert!(!scene.text().contains(SECRET));
    scene
}

/// The names of key variables that the recording states.
fn stated(scene: &Scene) -> Value {
    scene.json()["_loomrec"]["key_variables"].clone()
}

/// The key variables in an environment, as `env` or a shell prints it.
fn keys_in(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|line| line.strip_prefix("export ").unwrap_or(line));
    let names = lines.filter_map(|line| Some(line.split_once('=')?.0));
    names.filter(|name| name.ends_with("_API_KEY")).map(str::to_owned).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The key variables of a replayed program, if these are set already.
fn replayed_keys(scene: &Scene, flags: &[&str], set: &[&str]) -> BTreeSet<String> {
    let args = scene.replay_args(&[&["--allow-empty"], flags, &["--", "env"]].concat());
    let mut command = command(scene.dir(), &args);
    command.envs(set.iter().map(|key| (key, "mine")));
    let ended = finish(&mut command, b"").expect(0);
    for key in set {
        assert!(ended.stdout.contains(&format!("{key}=mine\n")), "{key}: {}", ended.stdout);
    }
    keys_in(&ended.stdout)
}

#[test]
fn program_gets_stand_ins_for_the_keys_that_the_recorded_one_had_and_no_others() {
    let scene = recorded(&["XAI_API_KEY", "OPENAI_API_KEY", "SOME_OTHER_API_KEY"]);
    assert_eq!(stated(&scene), json!(["OPENAI_API_KEY", "XAI_API_KEY"]));
    let both = names(&["OPENAI_API_KEY", "XAI_API_KEY"]);
    for flags in [&[][..], &["--strict"], &["--on-miss", "default"]] {
        assert_eq!(replayed_keys(&scene, flags, &[]), both, "{flags:?}");
    }
    // What the user has set stays as it is.
    let set = replayed_keys(&scene, &[], &["XAI_API_KEY", "GROQ_API_KEY"]);
    assert_eq!(set, names(&["GROQ_API_KEY", "OPENAI_API_KEY", "XAI_API_KEY"]));
    let without = replayed_keys(&scene, &["--no-env", "XAI_API_KEY"], &[]);
    assert_eq!(without, names(&["OPENAI_API_KEY"]));
    let printed = scene.run(&["replay", "-r", "run.json", "--print-env"]).expect(0);
    assert_eq!(keys_in(&printed.stdout), both);
    // `record` without recording is a replay, too.
    let args = scene.record_args("http://127.0.0.1:9", &["--mode", "none", "--allow-empty"]);
    let args = [args, ["--", "env"].map(Into::into).to_vec()].concat();
    let once = finish(&mut command(scene.dir(), &args), b"").expect(0);
    assert_eq!(keys_in(&once.stdout), both);
}

#[test]
fn both_names_of_googles_key_get_a_stand_in_if_the_recorded_program_had_both() {
    let google = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];
    let scene = recorded(&google);
    assert_eq!(replayed_keys(&scene, &[], &[]), names(&google));
    assert_eq!(replayed_keys(&scene, &[], &["GEMINI_API_KEY"]), names(&["GEMINI_API_KEY"]));
    let scene = recorded(&["GOOGLE_API_KEY"]);
    assert_eq!(replayed_keys(&scene, &[], &[]), names(&["GOOGLE_API_KEY"]));
}

#[test]
fn another_credential_in_place_of_a_key_gets_a_stand_in_and_the_key_none() {
    let scene = recorded(&["ANTHROPIC_AUTH_TOKEN"]);
    assert_eq!(stated(&scene), json!(["ANTHROPIC_AUTH_TOKEN"]));
    let args = scene.replay_args(&["--allow-empty", "--", "env"]);
    let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
    let token = "ANTHROPIC_AUTH_TOKEN=loomrec-replay-stand-in-0";
    assert!(ended.stdout.contains(token), "{}", ended.stdout);
    assert_eq!(keys_in(&ended.stdout), names(&[]));
}

#[test]
fn recording_that_states_no_keys_gets_those_of_its_own_providers() {
    let scene = recorded(&[]);
    assert_eq!(stated(&scene), Value::Null);
    let openai = names(&["CODEX_API_KEY", "OPENAI_API_KEY"]);
    assert_eq!(replayed_keys(&scene, &[], &[]), openai);
    // A server does not know the environment of its clients.
    let (served, upstream) = (Scene::new(), upstream());
    let server = served.record(&upstream, &[]);
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let body = json!({ "model": "m", "max_tokens": 9, "messages": messages });
    server.call(&Call::post("/anthropic/v1/messages", body.to_string())).expect(200);
    server.stop().expect(0);
    assert_eq!(stated(&served), Value::Null);
    assert_eq!(replayed_keys(&served, &[], &[]), names(&["ANTHROPIC_API_KEY"]));
    let other = served.recording().display().to_string();
    let all: BTreeSet<_> = openai.into_iter().chain(names(&["ANTHROPIC_API_KEY"])).collect();
    assert_eq!(replayed_keys(&scene, &["-r", &other], &[]), all);
}

#[test]
fn program_gets_stand_ins_for_all_keys_if_nothing_tells_which_it_needs() {
    let scene = Scene::new();
    scene.write(r#"{"_version": 2, "step": {"content": "hello"}}"#);
    let args = scene.replay_args(&["--allow-empty", "--", "env"]);
    let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
    let variable = |name: &str| {
        let start = format!("{name}=");
        ended.stdout.lines().find_map(|line| line.strip_prefix(&start))
    };
    for (name, start, length) in [
        ("OPENAI_API_KEY", "sk-proj-loomrec-replay-stand-in-0", 164),
        ("CODEX_API_KEY", "sk-proj-loomrec-replay-stand-in-0", 164),
        ("ANTHROPIC_API_KEY", "sk-ant-api03-loomrec-replay-stand-in-0", 108),
        ("GEMINI_API_KEY", "AIzaSy-loomrec-replay-stand-in-0", 39),
        ("GROQ_API_KEY", "gsk_loomrecReplayStandIn0", 56),
        ("XAI_API_KEY", "xai-loomrecReplayStandIn0", 84),
        ("OPENROUTER_API_KEY", "sk-or-v1-0", 73),
    ] {
        let key = variable(name).unwrap_or_else(|| panic!("{name} is not set"));
        assert!(key.starts_with(start), "{name}: {key}");
        assert_eq!((key.len(), key.ends_with("00")), (length, true), "{name}: {key}");
    }
    assert_eq!(variable("GOOGLE_API_KEY"), None);
}

#[test]
fn recorders_of_one_recording_each_add_the_keys_of_their_programs() {
    let (scene, upstream) = (Scene::new(), upstream());
    let begin = |prompt: &str, key: &str| {
        let (input, pipe) = std::io::pipe().unwrap();
        let mut command = recording(&scene, &upstream, prompt, &[key]);
        let mut process = Process::spawn(command.stdin(Stdio::from(input)));
        process.wait_for("answered");
        (process, pipe)
    };
    let (first, first_input) = begin("one", "OPENAI_API_KEY");
    let (second, second_input) = begin("two", "XAI_API_KEY");
    let (third, third_input) = begin("three", "GROQ_API_KEY");
    // A recorder that is killed has stated its keys with its first call.
    second.signal("KILL");
    drop((second_input, third_input));
    second.wait();
    third.wait().expect(0);
    drop(first_input);
    first.wait().expect(0);
    assert_eq!(scene.takes().len(), 3);
    let all = ["GROQ_API_KEY", "OPENAI_API_KEY", "XAI_API_KEY"];
    assert_eq!(stated(&scene), json!(all));
    // A later run adds its own, too.
    finish(&mut recording(&scene, &upstream, "one", &["DEEPSEEK_API_KEY"]), b"").expect(0);
    let all = [&["DEEPSEEK_API_KEY"], &all[..]].concat();
    assert_eq!(stated(&scene), json!(all));
    assert_eq!(replayed_keys(&scene, &[], &[]), names(&all));
}

#[test]
fn keys_of_a_killed_recorder_are_in_its_log() {
    let (scene, upstream) = (recorded(&["XAI_API_KEY"]), upstream());
    let (input, pipe) = std::io::pipe().unwrap();
    let mut command = recording(&scene, &upstream, "more", &["OPENAI_API_KEY"]);
    let mut process = Process::spawn(command.stdin(Stdio::from(input)));
    process.wait_for("answered");
    process.signal("KILL");
    drop(pipe);
    process.wait();
    assert_eq!(stated(&scene), json!(["XAI_API_KEY"]));
    scene.run(&["verify", "--fix", "run.json"]).expect(0);
    assert_eq!(stated(&scene), json!(["OPENAI_API_KEY", "XAI_API_KEY"]));
    let both = names(&["OPENAI_API_KEY", "XAI_API_KEY"]);
    assert_eq!(replayed_keys(&scene, &[], &[]), both);
}

#[test]
fn keys_stay_stated_whatever_changes_the_recording() {
    let scene = recorded(&["OPENAI_API_KEY", "XAI_API_KEY"]);
    let expected = json!(["OPENAI_API_KEY", "XAI_API_KEY"]);
    std::fs::copy(scene.recording(), scene.path("copy.json")).unwrap();
    for (args, result) in [
        (&["redact", "run.json", "--redact", "hello", "--apply"][..], "run.json"),
        (
            &["merge", "run.json", "copy.json", "-o", "merged.json", "--on-conflict", "first"],
            "merged.json",
        ),
    ] {
        scene.run(args).expect(0);
        let text = std::fs::read(scene.path(result)).unwrap();
        let text: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(text["_loomrec"]["key_variables"], expected, "{args:?}");
        scene.run(&["verify", result]).expect(0);
    }
    // A merge has those of all.
    let other = recorded(&["GROQ_API_KEY"]).text();
    std::fs::write(scene.path("other.json"), other).unwrap();
    let merge = ["merge", "run.json", "other.json", "-o", "all.json", "--on-conflict", "first"];
    scene.run(&merge).expect(0);
    let text: Value =
        serde_json::from_slice(&std::fs::read(scene.path("all.json")).unwrap()).unwrap();
    let all = json!(["GROQ_API_KEY", "OPENAI_API_KEY", "XAI_API_KEY"]);
    assert_eq!(text["_loomrec"]["key_variables"], all);
}

#[test]
fn names_in_a_strangers_recording_set_no_other_variable() {
    let scene = recorded(&["OPENAI_API_KEY"]);
    let state = |names: Value| {
        let mut file = scene.json();
        file["_loomrec"]["key_variables"] = names;
        scene.write(format!("{file:#}"));
    };
    let hostile = ["PATH", "LD_PRELOAD", "BASH_ENV", "HTTPS_PROXY", "x=y", "", "A\u{0}B"];
    state(json!([&hostile[..], &["XAI_API_KEY"]].concat()));
    let args = scene.replay_args(&["--strict", "--no-guard", "--allow-empty", "--", "env"]);
    let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
    assert_eq!(keys_in(&ended.stdout), names(&["XAI_API_KEY"]));
    for name in ["LD_PRELOAD=", "BASH_ENV=", "HTTPS_PROXY=", "x=", "stand-in:"] {
        assert!(!ended.stdout.lines().any(|line| line.starts_with(name)), "{name}");
    }
    // They stay as they are: a newer version may know more of them.
    let upstream = upstream();
    finish(&mut recording(&scene, &upstream, "more", &["GROQ_API_KEY"]), b"").expect(0);
    let kept = scene.json()["_loomrec"]["key_variables"].as_array().unwrap().len();
    assert_eq!(kept, hostile.len() + 2);
    for (wrong, found) in [
        (json!("OPENAI_API_KEY"), "another string"),
        (json!([7]), "a list"),
        (json!({ "OPENAI_API_KEY": "x" }), "an object"),
        (json!(vec!["OPENAI_API_KEY"; 257]), "a list"),
    ] {
        state(wrong.clone());
        let ended = scene.run(&["replay", "-r", "run.json", "--", "true"]).expect(4);
        let at = "/_loomrec/key_variables";
        assert!(ended.stderr.contains(at), "{wrong} {found}: {}", ended.stderr);
        assert_ne!(scene.run(&["verify", "run.json"]).code, 0);
    }
}

#[test]
fn sessions_and_control_calls_give_the_same_stand_ins() {
    let (scene, upstream) = (Scene::of_sessions(), upstream());
    let ask = "OPENAI_BASE_URL=$LOOMREC_URL/@one/openai/v1 exec python3 -c \"$0\" hi";
    let args = scene.record_args(&upstream.url(), &["--", "sh", "-c", ask, ASK]);
    let mut record = command(scene.dir(), &args);
    finish(record.env("XAI_API_KEY", SECRET), b"").expect(0);
    let found: Vec<_> = std::fs::read_dir(scene.path("recordings")).unwrap().collect();
    assert!(!found.is_empty());
    let xai = names(&["XAI_API_KEY"]);
    assert_eq!(replayed_keys(&scene, &[], &[]), xai);
    let variables = |server: &crate::support::Server| {
        let answer = Client::call(server.address, &Call::get("/__loomrec/environment"));
        let answer: Value = serde_json::from_str(&answer.expect(200).text()).unwrap();
        let names = answer["variables"].as_object().unwrap().keys().cloned();
        names.filter(|name| name.ends_with("_API_KEY")).collect::<BTreeSet<_>>()
    };
    let server = scene.replay(&["--sessions-by-control"]);
    assert_eq!(variables(&server), xai);
    server.stop();
    let one = recorded(&["GROQ_API_KEY", "OPENAI_API_KEY"]);
    let server = one.replay(&["--sessions-by-control"]);
    assert_eq!(variables(&server), names(&["GROQ_API_KEY", "OPENAI_API_KEY"]));
    server.stop();
    let empty = Scene::of_sessions();
    let server = empty.replay(&["--sessions-by-control"]);
    assert!(variables(&server).len() > 10);
    server.stop();
}
