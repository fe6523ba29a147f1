//! Tests of what a CI system sees: the summary on a job's page, the fields of the receipt, and the
//! commands of the workflows in docs/ci.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;
use serde_json::Value;

use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

/// A scene in which two calls are recorded.
fn recorded() -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    scene.recorded(&upstream, &[chat("Do I need an umbrella in Paris?"), chat("And a coat?")]);
    scene
}

#[test]
fn summary_is_appended_and_shows_what_differs() {
    let scene = recorded();
    std::fs::write(scene.path("page.md"), "# Before\n\n").unwrap();
    let server = scene.replay(&["--summary", "page.md", "--pending", "run.json.pending"]);
    server.call(&chat("And a coat?")).expect(200);
    server.call(&chat("Do I need an umbrella in ``` | <b>?")).expect(422);
    server.stop().expect(1);
    scene.replayed(&["--summary", "page.md"], &[chat("And a coat?")], 0);
    let page = std::fs::read_to_string(scene.path("page.md")).unwrap();
    let (first, second) = page.split_once("### loomrec replay: ok\n").unwrap();
    assert!(
        first.starts_with(
            "# Before\n\n### loomrec replay: failed\n\n\
             | served | missed | of these drifted | takes unused | upstream connections |"
        ),
        "{page}"
    );
    for part in [
        "\n| 1 | 1 | 1 | 1 of 2 | 0 |",
        "\n**What is wrong**\n\n* `calls without a recorded answer: 1`\n",
        "\n**What to do**\n\n* ",
        "\n**drifted**: `POST /v1/chat/completions to openai`\n",
        // A text with backticks cannot end the block that it is in.
        "\n````diff\n@@ /messages/0/content @@\n-\"Do I need an umbrella in Paris?\"\n\
         +\"Do I need an umbrella in ``` | <b>?\"\n````\n",
    ] {
        assert!(first.contains(part), "{part:?} is not in:\n{page}");
    }
    assert!(second.contains("\n| 1 | 0 | 1 of 2 | 0 |"), "{page}");
    assert!(!second.contains("wrong"), "{page}");
}

#[test]
fn summary_of_a_recording_says_what_was_spent() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    let server = scene.record(&upstream, &["--summary", "page.md"]);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    let page = std::fs::read_to_string(scene.path("page.md")).unwrap();
    assert!(page.starts_with("### loomrec record: ok\n\n| recorded | "), "{page}");
    assert!(page.contains("| spent |") && page.contains("run.json`"), "{page}");
}

#[test]
fn summary_has_a_file_of_its_own() {
    let scene = recorded();
    let before = scene.text();
    let same = ["replay", "-r", "run.json", "--summary", "run.json"];
    scene.run(&same).expect(2).says(&["--summary and --recording both name"]);
    let same = ["replay", "-r", "run.json", "--summary", "a", "--receipt", "a"];
    scene.run(&same).expect(2).says(&["both name a"]);
    std::fs::write(scene.path("loomrec.toml"), "summary = '../page.md'\n").unwrap();
    scene.run(&["replay", "-r", "run.json"]).expect(2).says(&["leads out of the project"]);
    assert_eq!(scene.text(), before);
}

#[test]
fn receipt_has_the_fields_of_its_page() {
    let scene = recorded();
    scene.replayed(&["--receipt", "receipt.json"], &[chat("And a coat?")], 0);
    let text = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(receipt["receipt_version"], 1);
    let page = read("docs/receipt.md");
    let name = Regex::new("`([a-z_]+)`").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let documented: BTreeSet<String> = rows
        .flat_map(|cell| {
            let cell = format!("`{cell}");
            name.captures_iter(&cell).map(|found| found[1].to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let written: BTreeSet<String> = receipt.as_object().unwrap().keys().cloned().collect();
    assert_eq!(documented, written);
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The commands of a step of the GitHub workflow in docs/ci.md.
fn step(name: &str) -> String {
    let page = read("docs/ci.md");
    let workflow = page.split_once("<!-- workflow -->").unwrap().1.split_once("\n```\n").unwrap().0;
    let step = workflow.split_once(&format!("- name: {name}\n")).unwrap().1;
    let block = step.split_once("run: |\n").unwrap().1;
    let lines = block.lines().take_while(|line| line.starts_with("          "));
    lines.map(|line| format!("{}\n", line.trim_start())).collect()
}

/// A project in a git repository whose `pytest` makes the call in the file `prompt`.
fn project() -> Scene {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("bin")).unwrap();
    let pytest = "#!/bin/sh\nset -e\nexec curl -sf -o answer -H 'content-type: application/json' \
                  --data @prompt \"$OPENAI_BASE_URL/chat/completions\"\n";
    std::fs::write(scene.path("bin/pytest"), pytest).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(scene.path("bin/pytest"), mode).unwrap();
    std::fs::write(scene.path("prompt"), chat("An umbrella in Paris?").body_bytes()).unwrap();
    std::fs::create_dir(scene.path("recordings")).unwrap();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    let url = format!("openai={}", upstream.url());
    let record = "loomrec record -r recordings/agent.json --upstream \"$0\" -- pytest";
    let ran = shell(&scene, &["-c", record, &url]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let git = "git init -q . && git add recordings && \
               git -c user.name=a -c user.email=a@b.c commit -qm one && \
               git update-ref refs/remotes/origin/main HEAD";
    assert!(shell(&scene, &["-c", git]).status.success());
    scene
}

/// Runs bash as a CI system does, with loomrec and the project's programs on the path.
fn shell(scene: &Scene, args: &[&str]) -> Output {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_loomrec"));
    let path = [scene.path("bin"), binary.parent().unwrap().to_owned()];
    let path =
        format!("{}:{}:{}", path[0].display(), path[1].display(), std::env::var("PATH").unwrap());
    Command::new("bash")
        .args(["-e"])
        .args(args)
        .current_dir(scene.dir())
        .env("PATH", path)
        .env("GITHUB_STEP_SUMMARY", scene.path("summary.md"))
        .env("GITHUB_BASE_REF", "main")
        .output()
        .unwrap()
}

#[test]
fn workflow_replays_compares_and_reports() {
    let scene = project();
    let replay = || shell(&scene, &["-c", &step("Replay")]);
    let ran = replay();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let page = std::fs::read_to_string(scene.path("summary.md")).unwrap();
    assert!(page.contains("### loomrec replay: ok"), "{page}");
    assert!(!scene.path("loomrec.pending").exists());

    std::fs::write(scene.path("prompt"), chat("An umbrella in Oslo?").body_bytes()).unwrap();
    assert!(!replay().status.success());
    let page = std::fs::read_to_string(scene.path("summary.md")).unwrap();
    assert!(page.contains("-\"An umbrella in Paris?\"\n+\"An umbrella in Oslo?\""), "{page}");
    for kept in ["loomrec.json", "loomrec.pending"] {
        assert!(scene.path(kept).exists(), "{kept}");
    }

    // The artifact leads to a new answer, and the comment shows it.
    let upstream = Upstream::always(Answer::json(200, chat_answer("Goodbye.")));
    let renew = "loomrec rerecord --yes --upstream \"$0\" \
                 --pending loomrec.pending recordings/agent.json && \
                 loomrec review recordings/agent.json --accept";
    let url = format!("openai={}", upstream.url());
    let ran = shell(&scene, &["-c", &format!("export OPENAI_API_KEY=k; {renew}"), &url]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(replay().status.success());
    let compared = shell(&scene, &["-c", &step("Compare the recording with the base branch")]);
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    let comment = std::fs::read_to_string(scene.path("comment.md")).unwrap();
    assert!(comment.contains("Goodbye."), "{comment}");
}
