//! Tests of lists of pending changes, and of what is printed without a terminal.

use serde_json::{Value, json};

use super::sample::{accepted_letters, sample};
use crate::support::Scene;

#[test]
fn what_is_pending_is_told_and_checked() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["review", "--check"]).expect(0).stdout, "nothing is pending\n");
    let scene = sample();
    // Another program's files with such names are ignored.
    std::fs::write(scene.path("other.new"), "not json").unwrap();
    std::fs::write(scene.path("big.pending"), "{}").unwrap();
    let said = scene.run(&["review", "--list"]).expect(0).stdout;
    assert!(
        said.contains("4 changes wait")
            && said
                .contains("greet  anthropic messages claude-sonnet-4-20250514  rerecorded: hi\n"),
        "{said}"
    );
    assert!(!said.contains("other") && !said.contains("big"), "{said}");
    scene.run(&["review", "--check"]).expect(1);
    scene.run(&["review", "run.json", "--check"]).expect(1);
    let told_of = scene.run(&["review", "--list", "run.json", "--json"]).expect(0).stdout;
    let told_of: Value = serde_json::from_str(&told_of).unwrap();
    assert_eq!(
        (&told_of["pending"], &told_of["files"][0]["new"]),
        (&json!(4), &json!("run.json.new"))
    );
    let states: Vec<&str> = told_of["files"][0]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["replaces", "replaces", "replaces", "adds"]);
    std::fs::create_dir(scene.path("recordings")).unwrap();
    for name in ["run.json", "run.json.new"] {
        std::fs::rename(scene.path(name), scene.path("recordings").join(name)).unwrap();
    }
    let said = scene.run(&["review", "--list"]).expect(0).stdout;
    assert!(said.contains("loomrec review recordings/run.json"), "{said}");
}

#[test]
fn changes_of_a_recording_that_is_gone_do_not_hide_others() {
    let scene = sample();
    std::fs::copy(scene.path("run.json.new"), scene.path("gone.json.new")).unwrap();
    let said = scene.run(&["review", "--check"]).expect(1);
    assert!(said.stdout.contains("loomrec review run.json"), "{}", said.stdout);
    said.says(&["gone.json.new", "gone.json does not exist"]);
}

#[test]
fn changes_that_cannot_be_read_are_not_taken_for_none() {
    let scene = sample();
    let text = std::fs::read_to_string(scene.path("run.json.new")).unwrap();
    std::fs::write(scene.path("run.json.new"), &text[..text.len() / 2]).unwrap();
    scene.run(&["review", "--check"]).expect(4).says(&["run.json.new", "cut"]);
}

#[test]
fn what_is_printed_for_no_terminal_is_plain_and_exact() {
    let scene = sample();
    let said = scene.run(&["review", "run.json"]).expect(0).stdout;
    assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");
    for part in [
        "change 1 of 4, rerecorded\n",
        "      - Rain, alas.\n",
        "  loomrec review run.json --accept greet\n  loomrec review run.json --reject greet\n",
        "only in run.json.new\n",
        "/messages/0/content: \"One more\"",
        "all of them: loomrec review run.json --accept, or loomrec review run.json --reject\n",
    ] {
        assert!(said.contains(part), "{part:?} is not in:\n{said}");
    }
    // Each printed command works.
    let accepts: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("  loomrec review run.json --accept "))
        .collect();
    assert_eq!(accepts.len(), 4);
    for key in accepts {
        scene.run(&["review", "run.json", "--accept", key]).expect(0);
    }
    assert_eq!(accepted_letters(&scene), "aa..aa");
}
