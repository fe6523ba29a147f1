//! Tests of `edit`: an answer changed by hand in an editor, checked on return, and named from then
//! on.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::loomrec::{Finished, command, finish};
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Scene, Upstream};

fn recorded() -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.text().contains("\"stream\":true") {
        true => Answer::events(&chat_events(&["sunny", " day"])),
        false => Answer::json(200, chat_answer("It is sunny.")),
    });
    scene.recorded(&upstream, &[chat("hi"), chat("hi"), chat_streamed("ho")]);
    scene
}

/// Runs `edit` with an editor.
fn edit(scene: &Scene, key: &str, editor: &str) -> Finished {
    let mut edit: Command = command(scene.dir(), &["edit", "run.json", key]);
    finish(edit.env("EDITOR", editor), b"")
}

/// The key of the take that asks this, cut as `ls` shows it.
fn key(scene: &Scene, prompt: &str) -> String {
    let takes = scene.takes();
    let asks = |entry: &Value| entry["request"]["body"]["messages"][0]["content"] == prompt;
    let (name, _) = takes.iter().find(|(_, entry)| asks(entry)).unwrap();
    name.split('#').next().unwrap()[..12].to_owned()
}

#[test]
fn edited_answer_is_replayed_with_its_summary_and_named_wherever_it_counts() {
    let scene = recorded();
    let before = scene.json();
    let ended =
        edit(&scene, &format!("{}#2", key(&scene, "hi")), "sed -i s/sunny/rainy/").expect(0);
    assert!(ended.stderr.contains("#2: edited in run.json"), "{}", ended.stderr);
    let answers = scene.replayed(&["--strict"], &[chat("hi"), chat("hi"), chat_streamed("ho")], 0);
    assert_eq!(answers[0].text(), chat_answer("It is sunny."));
    assert_eq!(answers[1].text(), chat_answer("It is rainy."));
    let edited = scene.takes().into_iter().find(|(_, entry)| entry.get("edited_at").is_some());
    let (_, entry) = edited.unwrap();
    assert_eq!(entry["content"], "It is rainy.");
    let verified = scene.run(&["verify", "run.json", "--strict"]).expect(0);
    assert!(verified.stdout.contains("the answer was edited by hand at 2"), "{}", verified.stdout);
    let shown = scene.run(&["show", "run.json", &format!("{}#2", key(&scene, "hi"))]).expect(0);
    assert!(shown.stdout.contains("edited by hand"), "{}", shown.stdout);
    let replay = scene.run(&["replay", "-r", "run.json", "--allow-empty", "--", "true"]).expect(0);
    assert!(
        replay.stderr.contains("takes whose answers were edited by hand: 1"),
        "{}",
        replay.stderr
    );
    // All else is as it was.
    let after = scene.json();
    let same = |file: &Value| file.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(same(&before), same(&after));
}

#[test]
fn chunks_of_a_stream_around_the_change_keep_their_times() {
    let scene = recorded();
    let chunks = |scene: &Scene| {
        let takes = scene.takes();
        let (_, entry) = takes.iter().find(|(_, it)| !it["response"]["chunks"].is_null()).unwrap();
        entry["response"]["chunks"].as_array().unwrap().clone()
    };
    let before = chunks(&scene);
    edit(&scene, &key(&scene, "ho"), "sed -i s/sunny/rainy/").expect(0);
    let after = chunks(&scene);
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before[0], after[0], "the time of a chunk");
        assert_eq!(before[1].as_str().unwrap().replace("sunny", "rainy"), after[1]);
    }
    let answers = scene.replayed(&["--strict"], &[chat_streamed("ho")], 0);
    assert!(answers[0].text().contains("\"content\":\"rainy\""), "{}", answers[0].text());
}

#[test]
fn a_text_that_is_no_answer_is_kept_and_changes_nothing() {
    let scene = recorded();
    let text = scene.text();
    let ended = edit(&scene, &key(&scene, "hi"), "sed -i '$d'").expect(2);
    assert!(ended.stderr.contains("not JSON: EOF"), "{}", ended.stderr);
    let (_, path) = ended.stderr.trim().rsplit_once(" is in ").unwrap();
    assert!(std::fs::read_to_string(path).unwrap().contains("It is sunny."), "{path}");
    std::fs::remove_file(path).unwrap();
    let failed = edit(&scene, &key(&scene, "hi"), "false").expect(2);
    assert!(failed.stderr.contains("the editor \"false\" failed"), "{}", failed.stderr);
    let same = edit(&scene, &key(&scene, "hi"), "true").expect(0);
    assert!(same.stderr.contains("nothing was changed"), "{}", same.stderr);
    edit(&scene, "ffff0000", "true").expect(1);
    edit(&scene, &format!("{}#3", key(&scene, "hi")), "true").expect(1);
    let none = scene.run(&["edit", "run.json", &key(&scene, "hi")]).expect(2);
    assert!(none.stderr.contains("set EDITOR to a command"), "{}", none.stderr);
    assert_eq!(scene.text(), text);
}

#[test]
fn a_secret_that_is_typed_into_an_answer_does_not_reach_the_recording() {
    let scene = recorded();
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    edit(&scene, &key(&scene, "hi"), &format!("sed -i s/sunny/{secret}/")).expect(0);
    assert!(!scene.text().contains(secret), "{}", scene.text());
}

/// The path of the user's text that a failure names.
fn kept_text(failed: &Finished) -> String {
    let (_, path) = failed.stderr.trim().rsplit_once(" is in ").unwrap();
    path.to_owned()
}

#[test]
fn text_in_another_encoding_is_kept_too() {
    let scene = recorded();
    let text = scene.text();
    for (editor, says) in [
        ("printf 'caf\\351' >", "failed to read the edited text"),
        ("sed -i s/sunny/rainy/ \"$1\"; exit 3; :", "exit status: 3"),
    ] {
        let failed = edit(&scene, &key(&scene, "hi"), editor).expect(2);
        let path = kept_text(&failed.says(&[says, "the recording is as it was"]));
        assert!(!std::fs::read(&path).unwrap().is_empty(), "{path}");
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(scene.text(), text);
}

#[test]
fn text_is_kept_if_a_recorder_comes_while_the_editor_is_open() {
    let scene = recorded();
    for name in ["up", "go"] {
        let made = Command::new("mkfifo").arg(scene.path(name)).status().unwrap();
        assert!(made.success());
    }
    let mut command = command(scene.dir(), &["edit", "run.json", &key(&scene, "hi")]);
    command.env("EDITOR", "echo > up; cat go; sed -i s/sunny/rainy/");
    let edit = std::thread::spawn(move || finish(&mut command, b""));
    std::fs::read(scene.path("up")).unwrap();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    let server = scene.record(&upstream, &[]);
    std::fs::write(scene.path("go"), "").unwrap();
    let failed = edit.join().unwrap().expect(5);
    server.stop();
    let path = kept_text(&failed);
    assert!(std::fs::read_to_string(&path).unwrap().contains("It is rainy."), "{path}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn interrupt_while_the_editor_is_open_is_for_the_editor() {
    let scene = recorded();
    edit(&scene, &key(&scene, "hi"), "kill -INT $PPID; sed -i s/sunny/rainy/").expect(0);
    assert!(scene.text().contains("It is rainy."), "{}", scene.text());
}

#[test]
fn edited_answer_is_served_whole_although_its_recorded_client_left() {
    for (end, is_whole) in [("complete", true), ("client_abort", false)] {
        let scene = recorded();
        let name = key(&scene, "ho");
        let mut file = scene.json();
        let mut entries = file.as_object_mut().unwrap().iter_mut();
        let (_, entry) = entries.find(|(known, _)| known.starts_with(&name)).unwrap();
        entry["client_left"] = json!({"ms": 5.0, "bytes": 30});
        entry["response"]["end"] = end.into();
        scene.write(file.to_string());
        edit(&scene, &name, "sed -i s/sunny/overcast/").expect(0);
        let takes = scene.takes();
        let (_, entry) = takes.iter().find(|(known, _)| known.starts_with(&name)).unwrap();
        let whole = chat_events(&["overcast", " day"]).concat();
        match is_whole {
            true => assert_eq!(entry.get("client_left"), None),
            // Its client is held at the end of the text.
            false => assert_eq!(entry["client_left"]["bytes"], whole.len()),
        }
        if is_whole {
            let answers = scene.replayed(&["--strict"], &[chat_streamed("ho")], 0);
            assert_eq!(answers[0].text(), whole);
        }
    }
}
