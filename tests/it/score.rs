//! Tests of `journal --recovery`: how well the program recovered, from a journal and a budget.

use serde_json::{Value, json};

use crate::support::Answer;
use crate::support::loomrec::{Finished, command, finish};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Scene, Upstream};

const JOURNAL: &str = include_str!("../../src/run_commands/score/sample.jsonl");
const BUDGET: &str = "max_detection_ms=3000,max_recovery_ms=5000";

/// A scene with a journal in it.
fn scene(journal: &str) -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.path("run.jsonl"), journal).unwrap();
    scene
}

fn score(scene: &Scene, more: &[&str]) -> Finished {
    let without: &[&str] = if more.contains(&"--recovery") { &[] } else { &["--recovery"] };
    scene.run(&[&["journal", "run.jsonl"], more, without].concat())
}

/// The output of `journal --recovery --json`.
fn json_output(ended: &Finished) -> Value {
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn budget_decides_the_exit_code() {
    let scene = scene(JOURNAL);
    let free = score(&scene, &["--json"]).expect(0);
    assert_eq!(
        (&json_output(&free)["passed"], &json_output(&free)["budget"]),
        (&json!(true), &Value::Null)
    );
    let missed = score(&scene, &["--json", "--recovery", BUDGET]).expect(1);
    let missed = json_output(&missed);
    assert_eq!((&missed["passed"], &missed["total"]["missed"]), (&json!(false), &json!(2)));
    let first = score(&scene, &["--recovery", BUDGET]).expect(1);
    assert!(first.stdout.contains("budget MISSED by 2 of 3 faults"), "{}", first.stdout);
}

#[test]
fn budget_in_a_file_is_the_same_in_json_and_yaml() {
    let kept: String = JOURNAL.lines().take(6).map(|line| format!("{line}\n")).collect();
    let scene = scene(&kept);
    std::fs::write(scene.path("b.json"), r#"{"max_detection_ms": 500, "max_recovery_ms": 513}"#)
        .unwrap();
    std::fs::write(scene.path("b.yaml"), "max_detection_ms: 499\nrequire_clean_timeout: true\n")
        .unwrap();
    score(&scene, &["--recovery", "b.json"]).expect(0);
    score(&scene, &["--recovery", "b.yaml"]).expect(1);
}

#[test]
fn time_to_recover_is_a_budget_alone() {
    let scene = scene(JOURNAL);
    let missed = score(&scene, &["--json", "--recovery", "max_recovery_ms=5000"]).expect(1);
    let budget = json!({
        "max_detection_ms": null, "max_recovery_ms": 5000, "require_clean_timeout": false,
    });
    assert_eq!(json_output(&missed)["budget"], budget);
    assert_eq!(json_output(&missed)["total"]["missed"], 2);
}

#[test]
fn junit_is_written_beside_the_verdict() {
    let scene = scene(JOURNAL);
    score(&scene, &["--recovery", BUDGET, "--junit", "out.xml"]).expect(1);
    let xml = std::fs::read_to_string(scene.path("out.xml")).unwrap();
    assert!(xml.contains("tests=\"4\" failures=\"2\""), "{xml}");
    let over = score(&scene, &["--junit", "run.jsonl"]).expect(2);
    assert!(over.stderr.contains("--junit would write over run.jsonl"), "{}", over.stderr);
    assert_eq!(std::fs::read_to_string(scene.path("run.jsonl")).unwrap(), JOURNAL);
}

#[test]
fn fault_that_is_never_recovered_from_fails_without_a_time_limit() {
    let lines = r#"{"outcome":"faulted","fault":{"id":1,"type":"hang"}}
{"outcome":"fired","fault":1,"at_ms":0}
{"outcome":"noticed","fault":1,"by":"left","at_ms":LATE}
"#;
    let scene = scene(&lines.replace("LATE", "10"));
    let ended = score(&scene, &["--recovery", "max_detection_ms=3000"]).expect(1);
    assert!(ended.stdout.contains("fault 1, hang: not recovered\n"), "{}", ended.stdout);
    let recovered = "{\"outcome\":\"recovered\",\"fault\":1,\"at_ms\":9200}\n";
    let late = lines.replace("LATE", "9000") + recovered;
    std::fs::write(scene.path("run.jsonl"), late).unwrap();
    score(&scene, &["--recovery", "max_detection_ms=3000"]).expect(0);
    let strict = "max_detection_ms=3000,require_clean_timeout";
    let ended = score(&scene, &["--recovery", strict]).expect(1);
    assert!(ended.stdout.contains("noticed after 9000 ms, more than 3000 ms"), "{}", ended.stdout);
}

#[test]
fn budget_that_is_none_is_refused() {
    let scene = scene(JOURNAL);
    let refused = |name: &str, text: &str, why: &str| {
        std::fs::write(scene.path(name), text).unwrap();
        let ended = score(&scene, &["--recovery", name]).expect(2);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    };
    refused(
        "b.json",
        "{\"max_detection_ms\": 1, ",
        "--recovery b.json: not plain JSON: failed to read JSON",
    );
    refused("b.json", r#"{"max_detection_ms":1,"max_detection_ms":2}"#, "a key twice");
    refused("b.json", r#"{"max_detection":1}"#, "did you mean \"max_detection_ms\"?");
    let object =
        "expected a budget: an object with max_detection_ms or max_recovery_ms, not a list";
    refused("b.json", "[]", object);
    refused("b.yml", "max_detection_ms: soon\n", "max_detection_ms: expected whole milliseconds");
    refused("b.yml", "a: [", "not YAML");
    for (budget, why) in [
        ("require_clean_timeout=false", "a budget needs max_detection_ms or max_recovery_ms"),
        ("max_recovery_ms=5,require_clean_timeout", "require_clean_timeout needs max_detection_ms"),
    ] {
        let ended = score(&scene, &["--recovery", budget]).expect(2);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
    score(&scene, &["--recovery", "nowhere.json"]).expect(2);
}

#[test]
fn file_that_is_no_journal_is_refused() {
    for (text, why) in [
        ("{\"a\": 1}\n", "run.jsonl, line 1: this is not a line of a journal: it has no outcome"),
        (
            "{\n  \"loomrec\": \"0.1.0\"\n}",
            "run.jsonl: this is the receipt of a run, not a journal: name the file that --journal",
        ),
        ("{\n  \"_version\": 2,\n", "run.jsonl: this is a recording, not a journal"),
        ("{ \"_loomrec\": {} }", "run.jsonl: this is a recording, not a journal"),
        ("hello\n", "line 1: this is not a line of a journal: it is not JSON"),
        (
            "{\"outcome\":\"served\"}\n[]\n",
            "line 2: this is not a line of a journal: it is not an object",
        ),
        ("{\"outcome\":\"served\"}\n{\"out\n{}\n", "line 2"),
        ("{", "line 1"),
        ("\u{0}\u{1}", "line 1"),
    ] {
        let ended = score(&scene(text), &[]).expect(2);
        assert!(ended.stderr.contains(why), "{text:?}: {}", ended.stderr);
    }
    let ended = Scene::new().run(&["journal", "nowhere.jsonl", "--recovery"]).expect(4);
    assert!(ended.stderr.contains("failed to read nowhere.jsonl"), "{}", ended.stderr);
}

#[test]
fn journal_that_was_cut_is_scored_as_far_as_it_goes() {
    let ended = score(&scene(&JOURNAL[..JOURNAL.len() - 9]), &["--json"]).expect(0);
    assert!(ended.stderr.contains("the last line of run.jsonl is cut off"), "{}", ended.stderr);
    assert_eq!(json_output(&ended)["total"]["faults"], 3);
}

#[test]
fn budget_is_missed_when_no_fault_struck() {
    let scene = scene("");
    let ended = score(&scene, &[]).expect(0);
    assert_eq!(ended.stdout, "no fault struck\n");
    score(&scene, &["--recovery", BUDGET]).expect(1);
    let permitted = score(&scene, &["--recovery", BUDGET, "--allow-unfired", "--json"]).expect(0);
    assert_eq!(json_output(&permitted)["outcome"], "not_tested");
}

#[test]
fn marks_of_ones_own_are_scored() {
    let scene = scene("");
    let marks = json!([
        { "name": "dead", "started_ms": 0, "detected_ms": 9000, "recovered_ms": 9200,
          "recovered_by": "fallback" },
        { "name": "gone", "started_ms": 100, "detected_ms": 200 },
    ]);
    std::fs::write(scene.path("marks.json"), format!("\n {marks}")).unwrap();
    let yaml = "- { name: dead, call_start_ms: 0, detected_ms: 9000, recovered_ms: 9200 }\n";
    std::fs::write(scene.path("marks.yaml"), yaml).unwrap();
    let json = scene.run(&["journal", "marks.json", "--recovery", BUDGET, "--json"]);
    let json = json_output(&json.expect(1));
    assert_eq!(json["total"]["user_visible_hang_ms"], 9100.0, "{json:#}");
    assert_eq!((&json["faults"][0]["type"], &json["total"]["missed"]), (&json!("dead"), &json!(2)));
    assert_eq!(json["faults"][0]["recovered_by"], "fallback");
    let loose = "max_detection_ms=3000,max_recovery_ms=10000";
    scene.run(&["journal", "marks.yaml", "--recovery", loose]).expect(0);
    let strict = "max_detection_ms=3000,require_clean_timeout";
    scene.run(&["journal", "marks.yaml", "--recovery", strict]).expect(1);
    std::fs::write(scene.path("marks.json"), r#"[{"started": 1}]"#).unwrap();
    let ended = scene.run(&["journal", "marks.json", "--recovery"]).expect(2);
    assert!(ended.stderr.contains("marks.json: /0/started: unknown field"), "{}", ended.stderr);
}

#[test]
fn an_observation_and_a_budget_of_mcptest_are_read_as_they_are() {
    let scene = scene("");
    let observed = r#"{ "call_start_ms": 0, "detected_ms": 2000, "recovered_ms": 2600,
        "timeout_budget_ms": 1500 }"#;
    std::fs::write(scene.path("seen.json"), observed).unwrap();
    let matcher = "recovery:\n  max_detection_ms: 3000\n  max_recovery_ms: 5000\n";
    std::fs::write(scene.path("budget.yml"), matcher).unwrap();
    let suite = format!("faults: [{{ name: dead, kind: hang }}]\n{matcher}");
    std::fs::write(scene.path("suite.yml"), suite).unwrap();
    for budget in ["budget.yml", "suite.yml"] {
        let args = ["journal", "seen.json", "--recovery", budget, "--json"];
        let report = json_output(&scene.run(&args).expect(0));
        assert_eq!(report["budget"]["max_recovery_ms"], 5000, "{report:#}");
        // The observation's own budget says what is clean.
        assert_eq!(report["faults"][0]["clean_timeout"], false, "{report:#}");
    }
    std::fs::write(scene.path("budget.yml"), "recovery: { max: 1 }\n").unwrap();
    let refused = scene.run(&["journal", "seen.json", "--recovery", "budget.yml"]).expect(2);
    assert!(refused.stderr.contains("budget.yml: /recovery: max: unknown"), "{}", refused.stderr);
    std::fs::write(scene.path("budget.yml"), "faults: []\nrecovery: null\n").unwrap();
    let refused = scene.run(&["journal", "seen.json", "--recovery", "budget.yml"]).expect(2);
    assert!(refused.stderr.contains("budget.yml"), "{}", refused.stderr);
}

#[test]
fn journal_or_marks_may_come_on_stdin() {
    let scored = |input: &str| {
        let scene = Scene::new();
        finish(
            &mut command(scene.dir(), &["journal", "-", "--recovery", "--json"]),
            input.as_bytes(),
        )
    };
    assert_eq!(json_output(&scored(JOURNAL).expect(0))["total"]["faults"], 3);
    assert_eq!(json_output(&scored(r#"[{"started_ms":1}]"#).expect(0))["total"]["faults"], 1);
    let ended = scored("{\"a\":1}\n").expect(2);
    assert!(ended.stderr.contains("-: line 1: this is not a line"), "{}", ended.stderr);
}

#[test]
fn journal_of_a_run_without_faults_is_one() {
    let scene = Scene::new();
    let upstream = Upstream::start(|_| Answer::json(200, chat_answer("Hello.")));
    scene.recorded(&upstream, &[chat("hi")]);
    scene.replayed(&["--journal", "run.jsonl"], &[chat("hi")], 0);
    let ended = score(&scene, &[]).expect(0);
    assert_eq!(ended.stdout, "no fault struck\n");
}
