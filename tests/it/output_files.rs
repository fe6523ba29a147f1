//! Tests of a run's output files, and of the files that they may replace.

use std::fs;

use crate::support::loomrec::{Process, command};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

fn recorded() -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hi")));
    scene.recorded(&upstream, &[chat("hi")]);
    scene
}

const REPLAY: [&str; 6] = ["replay", "--allow-empty", "-r", "run.json", "--", "true"];

#[test]
fn an_output_of_the_settings_stays_in_the_project() {
    let (scene, home) = (recorded(), Scene::new());
    let key = home.path("id_ed25519");
    fs::write(&key, "PRIVATE KEY\n").unwrap();
    std::os::unix::fs::symlink(home.dir(), scene.path("link")).unwrap();
    let up = format!("../{}/new", home.dir().file_name().unwrap().to_str().unwrap());
    for name in ["receipt", "journal", "pending", "junit"] {
        for place in [key.to_str().unwrap(), "link/id_ed25519", "link/new", &up, "no/../../new"] {
            fs::write(scene.path("loomrec.toml"), format!("[replay]\n{name} = {place:?}\n"))
                .unwrap();
            let says = ["loomrec.toml:2", name, "leads out of the project"];
            scene.run(&REPLAY).expect(2).says(&says);
        }
    }
    let place = home.path("new.json");
    let settings = format!("[record]\nrecording = {:?}\n", place.to_str().unwrap());
    fs::write(scene.path("loomrec.toml"), settings).unwrap();
    scene.run(&["record", "--", "true"]).expect(2).says(&["leads out of the project"]);
    assert_eq!(home.names(), ["id_ed25519"]);
    assert_eq!(fs::read_to_string(&key).unwrap(), "PRIVATE KEY\n");
    // Within the project, and on the command line, any path is allowed.
    fs::create_dir(scene.path("out")).unwrap();
    fs::write(scene.path("loomrec.toml"), "receipt = \"out/receipt.json\"\n").unwrap();
    scene.run(&REPLAY).expect(0);
    assert!(scene.path("out/receipt.json").exists());
    let there = home.path("receipt.json");
    let typed = ["replay", "--allow-empty", "--receipt", there.to_str().unwrap()];
    scene.run(&[&typed[..], &REPLAY[2..]].concat()).expect(0);
    assert!(there.exists());
}

#[test]
fn an_output_replaces_only_what_a_run_has_written() {
    let scene = recorded();
    for flag in ["--receipt", "--journal"] {
        let file = scene.path("out");
        let args = [&["replay", "--allow-empty", flag, "out"], &REPLAY[2..]].concat();
        for text in ["PRIVATE KEY\n", "{}", "{\"v", "loomrec"] {
            fs::write(&file, text).unwrap();
            scene.run(&args).expect(2).says(&["out", "not written there"]);
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        // An empty file, and that of an earlier run, may be replaced.
        fs::write(&file, "").unwrap();
        scene.run(&args).expect(0);
        scene.run(&args).expect(0);
        fs::remove_file(&file).unwrap();
    }
    let recorded = scene.text();
    let args = [&["replay", "--allow-empty", "--receipt", "run.json"], &REPLAY[2..]].concat();
    scene.run(&args).expect(2);
    assert_eq!(scene.text(), recorded);
}

#[test]
fn a_journal_of_an_earlier_run_gives_way() {
    let scene = recorded();
    for _ in 0..2 {
        let args = ["--journal", "run.jsonl", "--receipt", "receipt.json"];
        scene.replayed(&args, &[chat("hi")], 0).remove(0).expect(200);
        assert_eq!(fs::read_to_string(scene.path("run.jsonl")).unwrap().lines().count(), 1);
    }
}

#[test]
fn an_output_replaces_no_file_that_the_command_reads() {
    let scene = recorded();
    scene.run(&["export", "--to", "har", "run.json", "-o", "run.har"]).expect(0);
    std::os::unix::fs::symlink("run.json", scene.path("link.json")).unwrap();
    let (recording, har) = (scene.text(), fs::read(scene.path("run.har")).unwrap());
    for line in [
        "export --to har run.json -o run.json --force",
        "export --to har run.json -o link.json --force",
        "import run.har -o run.har --force",
        "import . -o run.har --force",
    ] {
        let ended = scene.run(&line.split(' ').collect::<Vec<_>>()).expect(2);
        ended.says(&["is read here itself: name another file"]);
    }
    assert_eq!((scene.text(), fs::read(scene.path("run.har")).unwrap()), (recording, har));
}

#[test]
fn no_receipt_stays_of_a_command_that_was_not_found() {
    let scene = recorded();
    for name in ["record", "replay"] {
        let args = [name, "-r", "run.json", "--receipt", "run.receipt", "--", "./no-command"];
        scene.run(&args).expect(127);
        assert!(!scene.path("run.receipt").exists(), "{name}");
    }
}

#[test]
fn an_interrupted_export_leaves_no_file() {
    let scene = recorded();
    let (take, mut file) = (scene.only_take(), scene.json());
    for number in 0..5000 {
        file[format!("step-{number}")] = take.clone();
    }
    scene.write(file.to_string());
    let is_temporary = |name: &String| name.starts_with(".export.");
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let args = ["export", "--to", "har", "run.json", "-o", "run.har"];
        let mut export = Process::spawn(&mut command(scene.dir(), &args));
        while !scene.names().iter().any(is_temporary) {
            assert!(!export.has_ended(), "it ended: {}", export.stderr());
        }
        export.signal(signal);
        export.wait().expect(code);
        assert_eq!(scene.names(), ["run.json"], "{signal}");
    }
}
