//! Tests of project settings and variables: under `--strict` none of them answers a call, lets one
//! bypass the replay, or makes a run succeed that would not.

use serde_json::json;

use super::{recorded, replayed};
use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

const RAW: &str = r#"malformed_response;raw="{\"made\":\"up\"}""#;

fn plan(scene: &crate::support::Scene) {
    let rule = json!({"name": "made up", "fault": {"type": "partial_response"}});
    std::fs::write(scene.path("plan.json"), json!({"rules": [rule]}).to_string()).unwrap();
}

#[test]
fn faults_of_the_settings_are_set_aside_under_strict() {
    let scene = recorded(&[]);
    plan(&scene);
    let settings = format!(
        "faults = [\"plan.json\"]\n[replay]\nfault = ['{RAW}']\n\
         chaos = [\"1=slow:1\"]\nallow-unfired = true\n"
    );
    std::fs::write(scene.path("loomrec.toml"), settings).unwrap();
    let calls = [(chat("hi"), 200), (chat("hi"), 422)];
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &calls);
    ended.expect(1).says(&["set aside by --strict: faults (", "loomrec.toml:1)", "fault ("]);
    assert_eq!(receipt["in_force"]["set_aside"].as_array().unwrap().len(), 4);
    // Without --strict the project's faults apply.
    let (_, receipt) = replayed(&scene, &[], &[], &[(chat("hi"), 200)]);
    assert_eq!(receipt["faults"]["fired"], 1);
}

#[test]
fn faults_of_variables_are_set_aside_under_strict() {
    let scene = recorded(&[]);
    plan(&scene);
    let variables =
        [("LOOMREC_FAULTS", "plan.json"), ("LOOMREC_FAULT", RAW), ("LOOMREC_CHAOS", "1=slow:1")];
    let calls = [(chat("hi"), 200), (chat("hi"), 422)];
    let (ended, receipt) = replayed(&scene, &["--strict"], &variables, &calls);
    let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    ended.expect(1).says(&names);
    assert_eq!(receipt["faults"], json!(null));
    // A typed fault applies, and leaves the take to the next attempt.
    let calls = [(chat("hi"), 503), (chat("hi"), 200)];
    let typed = ["--strict", "--fault", "recover_after:1;fault=http_error:503"];
    replayed(&scene, &typed, &variables[..1], &calls).0.expect(0);
}

#[test]
fn permission_for_a_fault_not_to_come_must_be_typed_under_strict() {
    let scene = recorded(&[]);
    let calls = [(chat("hi"), 200)];
    let fault = ["--strict", "--fault", "another-step=timeout:1"];
    let allowed = [("LOOMREC_ALLOW_UNFIRED", "1")];
    let (ended, _) = replayed(&scene, &fault, &allowed, &calls);
    ended.expect(1).says(&["never happened", "set aside by --strict: LOOMREC_ALLOW_UNFIRED"]);
    let typed = [&fault[..], &["--allow-unfired"]].concat();
    replayed(&scene, &typed, &[], &calls).0.expect(0);
}

#[test]
fn no_setting_leaves_the_command_to_a_live_upstream_under_strict() {
    let scene = recorded(&[]);
    std::fs::write(scene.path("loomrec.toml"), "no-env = [\"OPENAI_BASE_URL\"]\n").unwrap();
    let told = |more: &[&str], variables: &[(&str, &str)]| {
        let cmd =
            ["--allow-empty", "--", "sh", "-c", "echo to=$OPENAI_BASE_URL,$ANTHROPIC_BASE_URL"];
        let args = [more, &cmd].concat();
        let mut process = command(scene.dir(), &scene.replay_args(&args));
        let process = process.env_remove("OPENAI_BASE_URL").env_remove("ANTHROPIC_BASE_URL");
        finish(process.envs(variables.iter().copied()), b"").expect(0)
    };
    let ended = told(&["--strict"], &[("LOOMREC_NO_ENV", "ANTHROPIC_BASE_URL")]);
    assert!(ended.stdout.contains("to=http://127.0.0.1:"), "{}", ended.stdout);
    assert!(ended.stdout.contains(",http://127.0.0.1:"), "{}", ended.stdout);
    ended.says(&["no-env OPENAI_BASE_URL (", "no-env ANTHROPIC_BASE_URL (LOOMREC_NO_ENV)"]);
    let ended = told(&["--strict", "--no-env", "OPENAI_BASE_URL"], &[]);
    assert!(ended.stdout.contains("to=,http"), "{}", ended.stdout);
}

#[test]
fn rule_that_leaves_nothing_of_a_question_is_named_while_it_is_recorded() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
    let says = ["answers any question", "delete the file, and record without that rule"];
    // The file keeps its rule, so a recording without the flag has it too.
    for flags in [&["--ignore", "/messages"][..], &[]] {
        let server = scene.record(&upstream, flags);
        server.call(&chat("hi")).expect(200);
        let ended = server.stop().expect(0);
        ended.says(&["entries that `replay --strict` refuses: 1", says[0], says[1]]);
        scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
    }
    std::fs::remove_file(scene.path("run.json")).unwrap();
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(0);
    assert!(!ended.stderr.contains("refuses"), "{}", ended.stderr);
    replayed(&scene, &["--strict"], &[], &[(chat("hi"), 200)]).0.expect(0);
}

#[test]
fn redaction_that_leaves_nothing_of_a_question_is_refused_under_strict() {
    for pattern in [".+", r"\S+", "TEXT=.+"] {
        let scene = recorded(&["--redact", pattern]);
        std::fs::write(scene.path("loomrec.toml"), format!("redact = ['{pattern}']\n")).unwrap();
        scene.run(&["trust", "--yes"]).expect(0);
        let says = ["answers any question", "redaction"];
        scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
        let verified = scene.run(&["verify", "--strict", "run.json"]).expect(1);
        assert!(verified.stdout.contains("answers any question"), "{}", verified.stdout);
    }
    // A name that is redacted within a question leaves the rest of it.
    let scene = recorded(&["--redact", "^h"]);
    let asked = scene.takes()[0].1["request"]["body"]["messages"][0]["content"].clone();
    assert_eq!(asked, "[REDACTED]i");
    replayed(&scene, &["--strict", "--redact", "^h"], &[], &[(chat("hi"), 200)]).0.expect(0);
}
