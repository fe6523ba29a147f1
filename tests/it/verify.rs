//! Tests of `verify`: all problems in recordings, and which are fixed.

mod agreement;
mod hostile;
mod mend;

use serde_json::{Value, json};

use crate::support::shape::{
    CHAT, chat, chat_answer, chat_body, chat_events, chat_streamed, gemini, gemini_answer, message,
    message_answer, message_events, message_streamed,
};
use crate::support::{Answer, Call, Scene, Upstream};

/// A provider's key, assembled here so that no source scanner finds it.
fn key() -> String {
    ["sk-", "proj-", "Zq3vT9xLw2Rk8mNb5cHs7dJf4gPa6yUe1oIt0lXz"].concat()
}

/// A recording of each kind of call, complete and streamed, with steps and takes.
fn sample() -> Scene {
    let upstream = Upstream::start(|request| {
        let streamed = request.text().contains("\"stream\":true");
        match request.target.as_str() {
            "/v1/messages" if streamed => Answer::events(&message_events(&["Bon", "jour."])),
            "/v1/messages" => Answer::json(200, message_answer("Bonjour.")),
            target if target.contains("generateContent") => {
                Answer::json(200, gemini_answer("Guten Tag."))
            }
            _ if streamed => Answer::events(&chat_events(&["Hel", "lo."])),
            _ => Answer::json(200, chat_answer("Hello.")),
        }
    });
    let scene = Scene::new();
    let plan = || chat("plan").header("x-loomrec-step-id: plan");
    let calls = [
        chat("one"),
        chat("one"),
        chat_streamed("two"),
        message("three"),
        message_streamed("four"),
        gemini("generateContent", "five"),
        plan(),
        plan(),
    ];
    scene.recorded(&upstream, &calls);
    scene
}

/// The output of `verify --json` for the recording, which is its only file.
#[track_caller]
fn json_output(scene: &Scene, more: &[&str], code: i32) -> Value {
    let args = [&["verify", "run.json", "--json"], more].concat();
    let ended = scene.run(&args).expect(code);
    let output: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(output["ok"], code == 0);
    output["files"][0].clone()
}

/// The problems, as `kind key pointer`.
fn places(output: &Value) -> Vec<String> {
    let problems = output["problems"].as_array().unwrap();
    let text = |problem: &Value, name: &str| problem[name].as_str().unwrap_or("-").to_owned();
    let place = |problem: &Value| {
        let key = text(problem, "key");
        let key = if key.len() > 64 || key.len() == 64 { &key[..4] } else { &key };
        format!("{} {key} {}", text(problem, "kind"), text(problem, "pointer"))
    };
    problems.iter().map(place).collect()
}

/// Changes the recording as a person would, in an editor.
fn edit(scene: &Scene, from: &str, to: &str) {
    let text = scene.text();
    assert!(text.contains(from), "{from:?} not in\n{text}");
    scene.write(text.replacen(from, to, 1));
}

#[test]
fn what_a_recorder_writes_is_clean_and_is_left_alone() {
    let scene = sample();
    let before = scene.files();
    let ended = scene.run(&["verify", "--strict", "run.json"]).expect(0);
    assert_eq!(ended.stdout, "run.json: ok, 8 calls\n");
    assert_eq!(scene.run(&["verify", "-q", "run.json"]).expect(0).stdout, "");
    let output = json_output(&scene, &["--strict", "--fix"], 0);
    assert_eq!((&output["entries"], &output["mended"]), (&json!(8), &json!([])));
    assert!(scene.files() == before, "a clean recording was changed");
}

#[test]
fn every_problem_is_told_with_its_place_and_what_helps() {
    let scene = sample();
    for (from, to) in [
        ("\"Hello.\",\n    \"model\"", "\"Goodbye.\",\n    \"model\""),
        ("\"one\"", "\"another\""),
        ("\"finish_reason\": \"end_turn\"", "\"finsh_reason\": \"end_turn\""),
        ("data: [DONE]", "data: {}"),
        ("\"finish_reason\\\":\\\"stop\\\"", "\"finish_reason\\\":null"),
    ] {
        edit(&scene, from, to);
    }
    let output = json_output(&scene, &[], 1);
    let found = places(&output).join("\n");
    for part in ["answer", "/content", "hash", "/request_hash", "field", "/finsh_reason"] {
        assert!(found.contains(part), "{part} not in\n{found}");
    }
    let text = scene.text();
    let lines: Vec<&str> = text.lines().collect();
    for problem in output["problems"].as_array().unwrap() {
        let pointer = problem["pointer"].as_str().unwrap();
        let name = pointer.rsplit('/').next().unwrap();
        let Some(line) = problem["line"].as_u64() else {
            assert_eq!(problem["key"], Value::Null);
            continue;
        };
        let line = lines[line as usize - 1];
        // A missing field is reported where its entry begins.
        let missing = line.contains(problem["key"].as_str().unwrap());
        let here = line.contains(&format!("\"{name}\"")) || line.contains("data: ");
        assert!(here || missing, "{problem} is not at {line:?}");
        assert!(!problem["remedy"].as_str().unwrap().is_empty(), "{problem}");
    }
    let human = scene.run(&["verify", "run.json"]).expect(1).stdout;
    assert!(human.contains("(is `finish_reason` meant?)"), "{human}");
    assert!(human.lines().last().unwrap().contains("in 8 calls"), "{human}");
}

#[test]
fn credentials_are_found_and_never_shown() {
    let scene = sample();
    let key = key();
    edit(&scene, "\"three\"", &format!("\"use {key} please\""));
    edit(&scene, "\\\"Bon\\\"", &format!("\\\"{key}\\\""));
    for args in [&["verify", "run.json"][..], &["verify", "run.json", "--json"]] {
        let ended = scene.run(args).expect(1);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains(&key[..12]), "{said}");
    }
    let found = places(&json_output(&scene, &[], 1)).join("\n");
    for part in ["/request/body/messages/0/content", "/response/chunks/"] {
        assert!(found.contains(part), "{part} not in\n{found}");
    }
    assert!(found.contains("secret"), "{found}");
}

#[test]
fn warning_fails_only_if_it_is_asked_to_count() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    scene.recorded(&upstream, &[Call::post(CHAT, chat_body("hi").to_string())]);
    let text = std::fs::read_to_string(scene.path("run.json")).unwrap();
    let text = text.replacen("\"latency_ms\"", "\"latency\": 1, \"latency_ms\"", 1);
    std::fs::write(scene.path("run.json"), text).unwrap();
    let warned = json_output(&scene, &[], 0);
    assert_eq!(warned["errors"], 0, "{warned}");
    let kinds: Vec<_> =
        warned["problems"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["spelling", "field"]);
    assert_eq!(json_output(&scene, &["--strict"], 1)["errors"], warned["warnings"]);
    assert_eq!(scene.run(&["verify", "-q", "run.json"]).expect(0).stdout, "");
}

#[test]
fn several_files_are_all_looked_at() {
    let scene = sample();
    std::fs::copy(scene.recording(), scene.path("good.json")).unwrap();
    std::fs::write(scene.path("cut.json"), &scene.text()[..900]).unwrap();
    edit(&scene, "\"one\"", "\"another\"");
    let all = ["verify", "gone.json", "cut.json", "run.json", "good.json"];
    let ended = scene.run(&all).expect(4);
    for part in
        ["gone.json: ", "cut.json: ", "line ", "run.json:", "good.json: ok, 8 calls", "restore it"]
    {
        assert!(ended.stdout.contains(part), "{part:?} not in\n{}", ended.stdout);
    }
    scene.run(&["verify", "run.json", "good.json"]).expect(1);
    scene.run(&["verify"]).expect(2);
    scene.run(&["verify", "--fix=all", "run.json"]).expect(2);
}

#[test]
fn a_hook_of_git_keeps_a_broken_recording_out() {
    let scene = sample();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_loomrec")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(args);
        command.current_dir(scene.dir()).env("PATH", path).output().unwrap()
    };
    git(&["init", "-q", "."]);
    let page = include_str!("../../docs/commands-on-files.md");
    let hook = page.split_once("<!-- hook -->\n```bash\n").unwrap().1.split_once("```").unwrap().0;
    let place = scene.path(".git/hooks/pre-commit");
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(&place, hook).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&place, mode).unwrap();
    git(&["add", "run.json"]);
    let first = git(&["commit", "-q", "-m", "one"]);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    edit(&scene, "\"one\"", &format!("\"{}\"", key()));
    git(&["add", "run.json"]);
    let second = git(&["commit", "-q", "-m", "two"]);
    assert!(!second.status.success());
    let said = [second.stdout, second.stderr].concat();
    assert!(String::from_utf8_lossy(&said).contains("a credential"));
}

#[test]
fn file_that_is_no_recording_is_told_by_what_it_is() {
    let scene = sample();
    let outputs = ["--receipt", "run.receipt", "--journal", "run.jsonl"];
    scene.replayed(&outputs, &[chat("never recorded")], 1);
    std::fs::write(scene.path("notes.txt"), "these are notes\nof mine\n").unwrap();
    for (name, told) in [
        ("run.receipt", "it is the receipt of a run; name the recording that it is about"),
        ("run.jsonl", "it is the journal of a run; loomrec journal and loomrec ui read it"),
        ("notes.txt", "it begins with \"these are notes\"; name a recording, which"),
    ] {
        let said = scene.run(&["verify", name]).expect(4).stdout;
        let line = format!("{name}: error: failed to read {name}: it is not a recording: {told}");
        assert!(said.starts_with(&line) && said.lines().count() == 1, "{said}");
        assert!(!said.contains("restore"), "{said}");
        // The totals of a journal are those of its calls.
        let commands = ["ls", "replay -r", "stats"];
        for command in commands.iter().filter(|command| (**command, name) != ("stats", "run.jsonl"))
        {
            let args: Vec<&str> = command.split(' ').chain([name]).collect();
            let ended = scene.run(&args).expect(4);
            ended.says(&[&format!("failed to read {name}: it is not a recording: {told}")]);
        }
    }
}
