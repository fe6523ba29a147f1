//! Tests of folders that are named where a recording belongs: each command says what is wrong, and
//! changes nothing.

use std::fs;

use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Finished, Scene, Upstream, run};

/// What every message says.
const SAID: &str = "names a folder";

/// A scene with a recording, the same in another format, and a folder with a recording in it.
fn scene() -> Scene {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    scene.recorded(&upstream, &[chat("a")]);
    scene.run(&["export", "--to", "har", "run.json", "-o", "run.har"]).expect(0);
    fs::create_dir(scene.path("agent")).unwrap();
    fs::copy(scene.recording(), scene.path("agent/a.json")).unwrap();
    scene
}

/// Runs a command line with `DIR` for a folder. Nothing may change.
#[track_caller]
fn refused(scene: &Scene, line: &str, folder: &str, code: i32) -> Finished {
    let before = scene.files();
    let line = line.replace("DIR", folder);
    let ended = run(scene.dir(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.code, code, "{line}: {}{}", ended.stdout, ended.stderr);
    assert!(scene.files() == before, "{line} has changed something");
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(told.contains(SAID) && told.contains(folder), "{line}: {told}");
    assert!(!told.contains("listening"), "{line}: {told}");
    ended
}

#[test]
fn folder_that_is_read_as_a_recording_is_refused() {
    let scene = scene();
    for line in [
        "replay -r DIR -- true",
        "replay -r run.json -r DIR -- true",
        "ls DIR",
        "show DIR",
        "stats DIR",
        "diff DIR run.json",
        "diff run.json DIR",
        "noise DIR run.json",
        "verify DIR",
        "verify DIR --fix",
        "merge -o merged.json DIR run.json",
        "merge --git run.json DIR run.json",
        "prune DIR --upstream openai --apply",
        "redact DIR --redact x --apply",
        "ui DIR",
        "export --to har DIR",
        "push DIR s3://bucket/agent",
    ] {
        for folder in ["agent", "agent/"] {
            refused(&scene, line, folder, 4);
        }
    }
    refused(&scene, "doctor DIR", "agent", 1);
    let rerecord = scene.run(&["rerecord", "agent", "--yes"]).expect(2);
    rerecord.says(&["agent is a folder: `loomrec rerecord agent --pending`"]);
}

#[test]
fn folder_that_is_to_be_written_as_a_recording_is_refused() {
    let scene = scene();
    for line in [
        "record -r DIR -- true",
        "record -r DIR --mode none -- true",
        "merge -o DIR run.json run.json --force",
        "import run.har -o DIR --force",
        "pull s3://bucket/agent -o DIR",
        "rerecord run.json --yes -o DIR",
        "replay -r run.json --pending DIR -- true",
        "export run.json --to har -o DIR",
    ] {
        for folder in ["agent", "agent/", "new/"] {
            refused(&scene, line, folder, 2);
        }
    }
    let told = refused(&scene, "record -r DIR -- true", "agent", 2);
    told.says(&["-r agent/agent.json, or -r 'agent/{session}.json' for a recording for each"]);
    let told = refused(&scene, "import run.har -o DIR", "agent/", 2);
    told.says(&["name a file in it, such as agent/agent.json"]);
}

#[test]
fn folder_that_the_settings_name_is_refused() {
    for folder in ["agent", "agent/", "new/"] {
        let scene = scene();
        fs::write(scene.path("loomrec.toml"), format!("recording = \"{folder}\"\n")).unwrap();
        refused(&scene, "record -- true", folder, 2).says(&["loomrec.toml:1: recording = "]);
        refused(&scene, "replay -- true", folder, 4);
        refused(&scene, "ls", folder, 4);
    }
}
