//! Tests of the hidden folder beside a recording: a recorded program, and git, see the recording and
//! nothing else of loomrec's, in the recorded run and in its replay.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::loomrec::{command, finish};
use crate::support::shape::chat_answer;
use crate::support::{Answer, Finished, Scene, Upstream};

/// A program that puts the tree of its folder, and what git says of it, into its prompt.
const LOOK: &str = r#"
import json, os, subprocess, urllib.request
seen = sorted(name for name in os.listdir(".") + os.listdir("recordings") if name != ".git")
status = subprocess.run(["git", "status", "--short", "-uall"], capture_output=True, text=True)
prompt = "\n".join(seen) + "\n" + status.stdout.replace("?? recordings/agent.json\n", "")
body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
headers = {"content-type": "application/json", "authorization": "Bearer k"}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
urllib.request.urlopen(request).read()
print(prompt)
"#;

const FILE: &str = "recordings/agent.json";

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("hello")))
}

fn git(folder: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let mut command = Command::new("git");
    let done = command.current_dir(folder).args(identity).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// A repository with a commit.
fn repository() -> Scene {
    let scene = Scene::new();
    git(scene.dir(), &["init", "-q"]);
    fs::write(scene.path("main.py"), LOOK).unwrap();
    git(scene.dir(), &["add", "."]);
    git(scene.dir(), &["commit", "-qm", "program"]);
    scene
}

fn record(scene: &Scene, upstream: &Upstream, words: &[&str]) -> Finished {
    let openai = format!("openai={}", upstream.url());
    let args = ["record", "--allow-empty", "-r", FILE, "--upstream", &openai, "--"];
    finish(&mut command(scene.dir(), &[&args[..], words].concat()), b"")
}

fn replay(folder: &Path) -> Finished {
    let args = ["replay", "--strict", "-r", FILE, "--", "python3", "main.py"];
    finish(&mut command(folder, &args), b"")
}

#[test]
fn program_and_git_see_the_same_in_the_recorded_run_and_in_a_clone() {
    let (scene, upstream) = (repository(), upstream());
    let seen = record(&scene, &upstream, &["python3", "main.py"]).expect(0).stdout;
    assert_eq!(seen, ".loomrec\nagent.json\nmain.py\nrecordings\n\n");
    // As the run has left it, and in a clone on another machine.
    assert_eq!(replay(scene.dir()).expect(0).stdout, seen);
    assert_eq!(git(scene.dir(), &["status", "--short", "-uall"]), "?? recordings/agent.json\n");
    git(scene.dir(), &["add", "."]);
    git(scene.dir(), &["commit", "-qm", "recording"]);
    let clone = scene.path("clone");
    git(scene.dir(), &["clone", "-q", ".", "clone"]);
    assert_eq!(replay(&clone).expect(0).stdout, seen);
    assert_eq!(
        git(&clone, &["status", "--short", "-uall", "--ignored"]),
        "!! recordings/.loomrec/.gitignore\n"
    );
}

#[test]
fn recording_is_there_from_the_start_and_gone_if_nothing_was_recorded() {
    let (scene, upstream) = (repository(), upstream());
    let ended = record(&scene, &upstream, &["ls", "-A", "recordings"]).expect(0);
    assert_eq!(ended.stdout, ".loomrec\nagent.json\n");
    assert!(!scene.path(FILE).exists());
    // A command that cannot be started leaves nothing either.
    record(&scene, &upstream, &["./no-such-command"]).expect(127);
    assert!(!scene.path(FILE).exists());
    // A recording that was there stays as it is.
    record(&scene, &upstream, &["python3", "main.py"]).expect(0);
    let text = fs::read(scene.path(FILE)).unwrap();
    record(&scene, &upstream, &["true"]).expect(0);
    assert_eq!(fs::read(scene.path(FILE)).unwrap(), text);
}

#[test]
fn calls_are_kept_when_the_program_removes_every_file_that_git_ignores() {
    let (scene, upstream) = (repository(), upstream());
    let clean = "python3 main.py && git clean -fdxq -e agent.json && mkdir -p recordings && \
                 touch new && python3 main.py";
    record(&scene, &upstream, &["sh", "-c", clean]);
    let text = fs::read_to_string(scene.path(FILE)).unwrap();
    assert!(text.contains("\\nnew\\n"), "the call after it is kept: {text}");
    let status = git(scene.dir(), &["status", "--short", "-uall"]);
    assert_eq!(status, "?? new\n?? recordings/agent.json\n");
}

#[test]
fn files_of_an_older_loomrec_are_merged_and_the_next_ones_are_hidden() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    server.call(&crate::support::shape::chat("left in the log")).expect(200);
    server.process.signal("KILL");
    server.process.wait().expect(-9);
    for suffix in [".log", ".run", ".lock"] {
        let old = scene.path(&format!("run.json{suffix}"));
        fs::rename(scene.hidden(suffix), old).unwrap();
    }
    fs::remove_dir_all(scene.path(".loomrec")).unwrap();
    scene.run(&["replay", "--strict", "-r", "run.json"]).expect(4).says(&["verify --fix run.json"]);
    assert!(scene.run(&["ls", "run.json"]).expect(0).stdout.contains("left in the log"));
    let server = scene.record(&upstream, &[]);
    server.call(&crate::support::shape::chat("next")).expect(200);
    assert!(scene.hidden(".log").exists());
    let beside: Vec<_> =
        fs::read_dir(scene.dir()).unwrap().map(|at| at.unwrap().file_name()).collect();
    assert!(
        !beside.iter().any(|name| name.to_string_lossy().starts_with("run.json.")),
        "{beside:?}"
    );
    server.stop().expect(0);
    assert_eq!(scene.takes().len(), 2);
}
