//! `loomrec trust`, and the ways to trust a file in CI.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Project, sha256};
use crate::support::loomrec::{Process, finish};
use crate::support::pty::Terminal;

const ASKING: &str = "[replay]\non-miss = \"default\"\nignore = [\"/user\"]\n";
const REPLAY: [&str; 6] = ["replay", "-r", "run.json", "--allow-empty", "--", "true"];

fn project() -> Project {
    let project = Project::new();
    project.settings(ASKING);
    project
}

#[test]
fn command_shows_what_the_file_asks_for_and_takes_no_silence_for_a_yes() {
    let project = project();
    let ended = project.run(&["trust"]).expect(2);
    assert!(ended.stdout.contains("loomrec.toml:2: on-miss = \"default\""), "{}", ended.stdout);
    assert!(!ended.stdout.contains("ignore"), "{}", ended.stdout);
    assert!(ended.stdout.contains(&sha256(&project.scene.path("loomrec.toml"))));
    ended.says(&["--yes is needed"]);
    project.refuses(&REPLAY, "on-miss");
    project.trust();
    project.run(&REPLAY).expect(0);
    let again = project.run(&["trust"]).expect(0);
    assert!(again.stdout.contains("you trust this file"), "{}", again.stdout);
    let listed = project.run(&["trust", "--list"]).expect(0).stdout;
    let path = project.scene.dir().canonicalize().unwrap().join("loomrec.toml");
    assert!(listed.contains(path.to_str().unwrap()), "{listed}");
    project.run(&["trust", "--forget"]).expect(0);
    project.refuses(&REPLAY, "on-miss");
    let empty = project.run(&["trust", "--list"]).expect(0).stdout;
    assert_eq!(empty, "you trust no settings file and no bucket\n");
}

#[test]
fn question_on_a_terminal_decides() {
    let project = project();
    for (answer, code) in [("\n", 1), ("n\n", 1), ("y\n", 0)] {
        let mut terminal = Terminal::spawn(project.command(&["trust"]), true);
        terminal.wait_for("Trust this file until it changes? [y/N]");
        terminal.types(answer);
        let (ended, shown) = terminal.end();
        assert_eq!(ended, Some(code), "{answer:?}: {shown}");
    }
    project.run(&REPLAY).expect(0);
}

#[test]
fn trust_is_kept_for_the_user_alone_and_outside_of_the_project() {
    let project = project();
    let before = project.scene.names();
    project.trust();
    assert_eq!(project.scene.names(), before);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files: Vec<_> = fs::read_dir(project.store()).unwrap().map(|it| it.unwrap()).collect();
    assert_eq!(files.len(), 1);
    assert_eq!((mode(&project.store()), mode(&files[0].path())), (0o700, 0o600));
    // A file that others can use, as a checkout creates it, is no trust of the user.
    fs::set_permissions(files[0].path(), fs::Permissions::from_mode(0o644)).unwrap();
    project.refuses(&REPLAY, "on-miss");
}

#[test]
fn folder_within_the_project_is_not_taken_for_the_users() {
    let project = project();
    project.trust();
    let stolen = project.scene.path("state");
    fs::rename(project.home.path().join(".local/state/loomrec"), &stolen).unwrap();
    let mut command = project.command(&REPLAY);
    finish(command.env("LOOMREC_STATE", "state"), b"").expect(2).says(&["loomrec trust"]);
    let mut command = project.command(&REPLAY);
    finish(command.env("LOOMREC_STATE", &stolen), b"").expect(0);
}

#[test]
fn ci_trusts_a_file_by_its_hash_alone() {
    let project = project();
    let hash = sha256(&project.scene.path("loomrec.toml"));
    let trusting = |value: &str, code: i32| {
        let mut command = project.command(&REPLAY);
        finish(command.env("LOOMREC_TRUST", value).env_remove("HOME"), b"").expect(code)
    };
    trusting(&hash, 0);
    trusting(&format!("{} sha256:{}", "0".repeat(64), hash.to_uppercase()), 0);
    trusting(&"0".repeat(64), 2).says(&["another content", &hash]);
    trusting("", 2);
    trusting(&hash[..12], 2).says(&["64 hex digits"]);
    let flag = [&["--trust", &hash][..], &REPLAY].concat();
    project.run(&flag).expect(0);
    let behind = [&REPLAY[..4], &["--trust", &hash, "--", "true"]].concat();
    project.run(&behind).expect(0);
    project.settings(&format!("{ASKING}# changed\n"));
    project.run(&flag).expect(2);
    trusting(&hash, 2);
}

#[test]
fn file_cannot_trust_itself() {
    let project = project();
    for (text, why) in [
        (format!("trust = []\n{ASKING}"), "there is no setting \"trust\""),
        (format!("{ASKING}trust = \"x\"\n"), "trust"),
        (format!("{ASKING}[trust]\nyes = true\n"), "there is no table [trust]"),
    ] {
        project.settings(&text);
        project.run(&REPLAY).expect(2).says(&["loomrec.toml:", why]);
    }
}

#[test]
fn home_that_cannot_be_written_is_named_with_the_other_way() {
    let project = project();
    for home in ["/proc", "/dev/null"] {
        let mut command = project.command(&["trust", "--yes"]);
        let ended = finish(command.env("HOME", home), b"").expect(3);
        ended.says(&["failed to keep your trust in", home, "LOOMREC_TRUST="]);
        let mut command = project.command(&REPLAY);
        finish(command.env("HOME", home), b"").expect(2).says(&["loomrec trust"]);
    }
    let mut command = project.command(&["trust", "--yes"]);
    finish(command.env_remove("HOME"), b"").expect(2).says(&["LOOMREC_TRUST"]);
}

#[test]
fn processes_that_trust_at_the_same_time_all_succeed() {
    let project = project();
    let others: Vec<_> = (0..4).map(|number| format!("other{number}.toml")).collect();
    others.iter().for_each(|name| fs::write(project.scene.path(name), ASKING).unwrap());
    let names = others.iter().map(String::as_str).chain(["loomrec.toml"; 4]);
    let processes: Vec<Process> =
        names.map(|name| Process::spawn(&mut project.command(&["trust", "--yes", name]))).collect();
    for process in processes {
        process.wait().expect(0);
    }
    assert_eq!(fs::read_dir(project.store()).unwrap().count(), 5);
    project.run(&REPLAY).expect(0);
    for name in &others {
        project.run(&[&["--config", name][..], &REPLAY].concat()).expect(0);
    }
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let project = Project::new();
    project.settings("[replay]\npublic-url = \"http://a\\u001b[2Kb\\u0007\"\n");
    let ended = project.run(&["trust"]).expect(2);
    let refused = project.run(&REPLAY).expect(2);
    for text in [ended.stdout, ended.stderr, refused.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}
