//! Tests of the state of a repository in the requests of a known agent: that of the start of a run, and
//! those that a sub-agent or a second process finds later.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat_answer, message_answer};
use crate::support::{Answer, Finished, Scene, Upstream};

/// What all agents begin with: a call, and what it prints.
const CALL: &str = r#"
import json, os, subprocess, sys, urllib.error, urllib.request
def call(base, path, agent, body):
    headers = {"content-type": "application/json", "x-api-key": "none", "user-agent": agent}
    request = urllib.request.Request(os.environ[base] + path, json.dumps(body).encode(), headers)
    try:
        print(urllib.request.urlopen(request).headers.get("x-loomrec-bound"))
    except urllib.error.HTTPError as error:
        print(error.code)
"#;

/// An agent that writes the state of its repository into a prompt: that of its start, that after it
/// has written a file, and the first one again. `lie` is a state that the repository never had.
const AGENT: &str = r#"
def git(*words):
    return subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True).stdout.rstrip("\n")
def state():
    return git("status", "--short") or "(clean)", git("log", "--oneline", "-n", "5")
def ask(state):
    text = ("<system-reminder>\nAs you answer the user's questions, you can use this.\n\nStatus:\n%s"
            "\n\nRecent commits:\n%s\n\nClaude Code attached this context." % state)
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [
        {"type": "text", "text": text}, {"type": "text", "text": "Go."}]}]}
    call("ANTHROPIC_BASE_URL", "/v1/messages", "claude-cli/2.1.332 (external, cli)", body)
first = state()
ask(first)
open("made.txt", "w").write("made")
ask(("?? lie.txt", first[1]) if sys.argv[1:] == ["lie"] else state())
ask(first)
"#;

/// An agent that writes the tree of its folder into a prompt, as Gemini CLI does. `lie` is a tree that
/// the folder never had.
const TREE_AGENT: &str = r#"
files = sorted((name for name in os.listdir() if os.path.isfile(name)), key=str.lower)
if sys.argv[1:] == ["lie"]:
    files[0] = "lie.txt"
tree = "".join("├───%s\n" % name for name in files) + "├───.git/...\n└───.loomrec/"
text = ("<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n"
        "- **Workspace Directories:**\n  - %s\n- **Directory Structure:**\n\nShowing up to 200 items "
        "(files + folders). Folders or files indicated with ... contain more items not shown, were "
        "ignored, or the display limit (200 items) was reached.\n\n%s/\n%s\n\n\n</session_context>"
        % (os.getcwd(), os.getcwd(), tree))
body = {"contents": [{"role": "user", "parts": [{"text": text}]}, {"role": "user", "parts": [{"text": "Go."}]}]}
call("GOOGLE_GEMINI_BASE_URL", "/v1beta/models/gemini-2.5-pro:generateContent", "GeminiCLI/0.61.0", body)
open("made.txt", "w").write("made")
"#;

/// An agent that writes the state of its repository and the tree of its folder into one request, as
/// Qwen Code does.
const BOTH_AGENT: &str = r#"
def git(*words):
    printed = subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True).stdout.strip()
    return "git: " + (printed or "(clean)").replace("\n", "\ngit: ")
files = sorted((name for name in os.listdir() if os.path.isfile(name)), key=str.lower)
tree = "".join("├───%s\n" % name for name in files) + "├───.git/...\n└───.loomrec/"
state = "git: Status:\n%s\ngit: Recent commits:\n%s" % (git("status", "--short"), git("log", "--oneline", "-n", "5"))
system = "You are Qwen Code, an interactive agent.\n```\n%s\n```" % state
user = ("<system-reminder>\nThis is the Qwen Code.\n\nShowing up to 20 items:\n\n%s/\n%s\n</system-reminder>"
        % (os.getcwd(), tree))
body = {"model": "m", "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]}
call("OPENAI_BASE_URL", "/chat/completions", "QwenCode/0.24.4 (linux)", body)
"#;

/// A repository with one commit and these untracked files.
fn repository(scene: &Scene, name: &str, message: &str, untracked: &[&str]) -> PathBuf {
    let folder = scene.path(name);
    std::fs::create_dir_all(&folder).unwrap();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&folder).args(["-c", "user.name=A", "-c", "user.email=a@b.c"]);
        assert!(git.args(words).status().unwrap().success(), "git {words:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(folder.join("README.md"), message).unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", message]);
    for file in untracked {
        std::fs::write(folder.join(file), "").unwrap();
    }
    folder
}

fn run(scene: &Scene, folder: &Path, args: &[&str], said: &[&str]) -> Finished {
    let agent = scene.path("agent.py");
    std::fs::write(&agent, [CALL, AGENT].concat()).unwrap();
    run_agent(&agent, folder, &scene.recording(), args, said)
}

fn run_agent(
    agent: &Path,
    folder: &Path,
    recording: &Path,
    args: &[&str],
    said: &[&str],
) -> Finished {
    let words = ["-r", recording.to_str().unwrap()];
    let cmd = ["--", "python3", agent.to_str().unwrap()];
    finish(&mut command(folder, &[&args[..1], &words, &args[1..], &cmd, said].concat()), b"")
}

#[test]
fn states_that_the_repository_has_later_are_values_of_the_run() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let to = format!("anthropic={}", upstream.url());
    let recorded = repository(&scene, "recorded", "Begin", &["note.txt"]);
    run(&scene, &recorded, &["record", "--upstream", &to], &[]).expect(0);
    let takes = scene.takes();
    let statuses: Vec<_> =
        takes.iter().map(|(_, take)| take["run_values"]["git_status"].as_str().unwrap()).collect();
    assert!(statuses.contains(&"?? note.txt"), "{statuses:?}");
    assert!(statuses.contains(&"?? made.txt\n?? note.txt"), "{statuses:?}");
    let other = repository(&scene, "other", "Another one", &[]);
    let ended = run(&scene, &other, &["replay", "--strict"], &[]).expect(0);
    let bound = "git_commits=1, git_status=1";
    assert_eq!(ended.stdout, format!("{bound}\n{bound}\n{bound}\n"));
}

#[test]
fn state_that_the_repository_never_had_is_a_miss() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("fine")));
    let to = format!("anthropic={}", upstream.url());
    let recorded = repository(&scene, "recorded", "Begin", &["note.txt"]);
    let record = ["record", "--upstream", &to];
    run(&scene, &recorded, &record, &[]).expect(0);
    let other = repository(&scene, "other", "Another one", &[]);
    let ended = run(&scene, &other, &["replay", "--strict"], &["lie"]);
    let bound = "git_commits=1, git_status=1";
    assert_eq!(ended.stdout, format!("{bound}\n422\n{bound}\n"), "{}", ended.stderr);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    // In a recorded run, it is no value of the run.
    std::fs::remove_file(scene.recording()).unwrap();
    run(&scene, &recorded, &record, &["lie"]).expect(0);
    let has_status = |take: &serde_json::Value| !take["run_values"]["git_status"].is_null();
    let kept: Vec<bool> = scene.takes().iter().map(|(_, take)| has_status(take)).collect();
    assert_eq!(kept.iter().filter(|kept| **kept).count(), 2, "{kept:?}");
}

#[test]
fn tree_of_the_folder_is_a_value_of_the_run() {
    let scene = Scene::new();
    let answer = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"fine"}]},"finishReason":"STOP"}]}"#;
    let upstream = Upstream::always(Answer::json(200, answer));
    let to = format!("gemini={}", upstream.url());
    let recorded = repository(&scene, "recorded", "Begin", &["note.txt"]);
    let agent = scene.path("agent.py");
    std::fs::write(&agent, [CALL, TREE_AGENT].concat()).unwrap();
    let recording = recorded.join("agent.json");
    run_agent(&agent, &recorded, &recording, &["record", "--upstream", &to], &[]).expect(0);
    std::fs::copy(&recording, scene.recording()).unwrap();
    let takes = scene.takes();
    let tree = takes[0].1["run_values"]["folder_tree"].as_str().unwrap();
    assert_eq!(tree, "├───agent.json\n├───note.txt\n├───README.md\n├───.git/...\n└───.loomrec/");
    // As it was left: the recorded run made a file.
    let replay = |folder: &Path, said: &[&str]| {
        run_agent(&agent, folder, &folder.join("agent.json"), &["replay", "--strict"], said)
    };
    let bound = "folder_tree=1";
    assert!(replay(&recorded, &[]).expect(0).stdout.contains(bound));
    let other = repository(&scene, "other", "Another one", &["a.txt", "b.txt"]);
    std::fs::copy(&recording, other.join("agent.json")).unwrap();
    assert!(replay(&other, &[]).expect(0).stdout.contains(bound));
    // A tree that the folder does not have is a miss.
    let ended = replay(&other, &["lie"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, "422\n"), "{}", ended.stderr);
}

#[test]
fn one_request_may_have_a_value_of_the_start_and_one_of_later() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("fine")));
    let to = format!("openai={}", upstream.url());
    let agent = scene.path("agent.py");
    std::fs::write(&agent, [CALL, BOTH_AGENT].concat()).unwrap();
    let recorded = repository(&scene, "recorded", "Begin", &["note.txt"]);
    let recording = recorded.join("agent.json");
    run_agent(&agent, &recorded, &recording, &["record", "--upstream", &to], &[]).expect(0);
    // loomrec's own folder is in the tree, but it was not at the start.
    let other = repository(&scene, "other", "Another one", &[]);
    std::fs::copy(&recording, other.join("agent.json")).unwrap();
    let replay = ["replay", "--strict"];
    let ended = run_agent(&agent, &other, &other.join("agent.json"), &replay, &[]).expect(0);
    let bound = "git_commits=1, git_status=1, short_folder_tree=1";
    assert!(ended.stdout.contains(bound), "{}", ended.stdout);
}
