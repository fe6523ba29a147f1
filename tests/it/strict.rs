//! Tests of `replay --strict`: what no recording, no environment and no settings can weaken, and
//! the settings that a replay reports.

mod faults;
mod members;
mod settings;
mod summaries;
mod weakening;

use serde_json::{Value, json};

use crate::support::loomrec::command;
use crate::support::shape::{CHAT, chat, chat_answer, chat_body, message};
use crate::support::{Answer, Call, Finished, Scene, Server, Upstream};

const HI: &str = "3fa1e9653c6dc8faf7fdaff60ddc57555f47b1affc7602d625e58fa7a4523a7c";

/// The call whose hash is [`HI`].
fn hi() -> Call {
    Call::post(CHAT, r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#)
}

fn step(call: Call) -> Call {
    call.header("x-loomrec-step-id: plan")
}

fn recorded(more: &[&str]) -> Scene {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let server = scene.record(&upstream, more);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    scene
}

fn written(file: &Value) -> Scene {
    let scene = Scene::new();
    scene.write(file.to_string());
    scene
}

/// Changes the recording as the author of a pull request could.
fn edited(scene: &Scene, change: impl FnOnce(&mut Value)) {
    let mut file = scene.json();
    change(&mut file);
    scene.write(file.to_string());
}

/// Replays these calls in this environment; returns how the run ended, and its receipt.
fn replayed(
    scene: &Scene,
    more: &[&str],
    environment: &[(&str, &str)],
    calls: &[(Call, u16)],
) -> (Finished, Value) {
    let mut process = command(scene.dir(), &scene.replay_args(more));
    process.args(["--listen", "127.0.0.1:0", "--receipt", "receipt.json"]);
    let server = Server::spawn(process.envs(environment.iter().copied()));
    for (call, status) in calls {
        let answer = server.call(call);
        assert_eq!(answer.status, *status, "{}", answer.text());
    }
    let ended = server.stop();
    let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
    (ended, serde_json::from_slice(&receipt).unwrap())
}

#[test]
fn a_take_of_a_file_without_metadata_is_served_once_under_strict() {
    let scene = written(&json!({"_version": 2, HI: {"content": "yes"}}));
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &[(hi(), 200), (hi(), 422)]);
    let ended = ended.expect(1);
    assert!(!ended.stderr.contains("repeats"), "{}", ended.stderr);
    assert_eq!(receipt["in_force"]["repeat"], json!([]));
    // AgentLoom's way applies without --strict, and is reported.
    let (ended, receipt) = replayed(&scene, &[], &[], &[(hi(), 200), (hi(), 200)]);
    ended.expect(0).says(&["run.json repeats: last (it has no _loomrec)"]);
    assert_eq!(receipt["in_force"]["repeat"][0]["policy"], "last");
}

#[test]
fn a_step_entry_that_shows_no_request_is_refused_under_strict_unless_that_is_allowed() {
    let scene = written(&json!({"_version": 2, "plan": {"content": "yes"}}));
    let says =
        ["run.json", "\"plan\"", "neither `request` nor `request_hash`", "--allow-unchecked"];
    scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
    let calls = [(step(chat("anything")), 200)];
    let allowed = ["--strict", "--allow-unchecked"];
    let (ended, receipt) = replayed(&scene, &allowed, &[], &calls);
    ended.expect(0).says(&[
        "in force: entries that cannot be checked: 1",
        "1 answered by 1 entries that cannot be checked",
    ]);
    assert_eq!(receipt["in_force"]["unchecked"], json!({"entries": 1, "calls": 1}));
    // Without --strict it answers, and that is reported as well.
    let (ended, _) = replayed(&scene, &[], &[], &[(step(message("anything")), 200)]);
    ended.expect(0).says(&["1 answered by 1 entries that cannot be checked"]);
}

#[test]
fn an_entry_with_a_hash_alone_is_checked_by_it() {
    let scene = written(&json!({"_version": 2, "plan": {"content": "y", "request_hash": HI}}));
    let calls = [(step(chat("another")), 422), (step(hi()), 200)];
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &calls);
    assert!(!ended.expect(1).stderr.contains("cannot be checked"));
    assert_eq!(receipt["in_force"]["unchecked"]["entries"], 0);
}

#[test]
fn an_entry_that_shows_another_request_than_it_answers_is_refused_under_strict() {
    let scene = recorded(&[]);
    let key = scene.takes()[0].0.clone();
    // A reviewer reads "harmless", but the entry still answers "hi".
    edited(&scene, |file| {
        file[&key]["request"]["body"]["messages"][0]["content"] = json!("harmless");
    });
    let says = ["run.json", &key[..12], "answers another request than the one it shows"];
    scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
    edited(&scene, |file| {
        let mut entry = file.as_object_mut().unwrap().remove(&key).unwrap();
        entry.as_object_mut().unwrap().remove("request");
        entry["request_hash"] = json!("ab".repeat(32));
        file[&key] = entry;
    });
    let says = ["under a hash that differs from its `request_hash`"];
    scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
}

#[test]
fn rules_that_leave_nothing_of_a_request_are_refused_under_strict() {
    let scene = recorded(&["--ignore", "/messages"]);
    let says = ["run.json", "answers any question", "`ignore` rules of its file"];
    scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
    let (ended, receipt) = replayed(&scene, &[], &[], &[(chat("anything"), 200)]);
    ended.expect(0).says(&["ignored: /messages (", "run.json)", "1 answered by 1 entries"]);
    assert_eq!(receipt["in_force"]["unchecked"], json!({"entries": 1, "calls": 1}));
    let whole = recorded(&[]);
    for (ignore, says) in [
        (json!([""]), "selects the whole body"),
        (json!(vec!["/a"; 257]), "a list of at most 256 JSON pointers"),
    ] {
        edited(&whole, |file| file["_loomrec"]["identity"]["ignore"] = ignore);
        for args in [&["replay", "-r", "run.json", "--", "true"][..], &["ls", "run.json"]] {
            whole.run(args).expect(4).says(&["run.json", says]);
        }
    }
}

#[test]
fn every_rule_in_force_is_told_by_the_line_the_verdict_and_the_receipt() {
    let scene = recorded(&["--ignore", "/metadata/run_id"]);
    let flags = ["--strict", "--ignore", "/user", "--redact", "canary-[0-9]+"];
    let mut body = chat_body("hi");
    body["user"] = json!("someone");
    body["metadata"] = json!({"run_id": "7"});
    let calls = [(Call::post(CHAT, body.to_string()), 422)];
    let (ended, receipt) = replayed(&scene, &flags, &[], &calls);
    let said = ended.expect(1).stderr;
    let told = said.lines().filter(|line| line.contains("in force: ")).collect::<Vec<_>>();
    assert_eq!(told.len(), 2, "{said}");
    for line in told {
        for part in ["/user (--ignore)", "/metadata/run_id (", "run.json)", "1 redaction pattern"] {
            assert!(line.contains(part), "{part} not in {line}");
        }
    }
    let in_force = &receipt["in_force"];
    assert_eq!(in_force["ignore"][0], json!({"pointer": "/user", "from": "--ignore"}));
    assert_eq!(in_force["ignore"][1]["pointer"], "/metadata/run_id");
    assert_eq!((&in_force["redact"], &in_force["strict"]), (&json!(1), &json!(true)));
}

#[test]
fn a_recording_run_that_answers_from_its_recording_tells_what_is_in_force() {
    let scene = recorded(&["--ignore", "/user"]);
    let upstream = Upstream::always(Answer::json(200, chat_answer("y")));
    let file = scene.recording().display().to_string();
    for mode in ["none", "new_episodes", "once"] {
        let receipt = ["--mode", mode, "--receipt", "receipt.json", "--redact", "P-[0-9]+"];
        let server = scene.record(&upstream, &receipt);
        server.call(&chat("hi")).expect(200);
        let told = format!("in force: ignored: /user ({file}) · 1 redaction pattern");
        let run = Call::get("/__loomrec/run").header("host: localhost");
        let run = server.call(&run).expect(200).json();
        assert_eq!(run["in_force"], format!("loomrec: {told}"));
        server.stop().expect(0).says(&[&format!("loomrec: {told}")]);
        let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
        let receipt: Value = serde_json::from_slice(&receipt).unwrap();
        let expected = json!([{"pointer": "/user", "from": file}]);
        assert_eq!(receipt["in_force"]["ignore"], expected, "{mode}");
    }
    assert_eq!(upstream.requests(), 0);
    // If no call is answered from a recording, nothing is in force.
    let server = scene.record(&upstream, &["--mode", "all", "--ignore", "/user"]);
    server.call(&chat("hi")).expect(200);
    assert!(!server.stop().expect(0).stderr.contains("in force"));
    let doctor = scene.run(&["doctor", "run.json"]).stdout;
    assert!(doctor.contains("rules of identity in force: /user"), "{doctor}");
}

#[test]
fn nothing_is_said_of_rules_where_there_are_none() {
    let scene = recorded(&[]);
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &[(chat("hi"), 200)]);
    assert!(!ended.expect(0).stderr.contains("in force"));
    assert_eq!(receipt["in_force"]["ignore"], json!([]));
}

#[test]
fn no_variable_weakens_strict() {
    let scene = recorded(&[]);
    std::fs::write(scene.path("answers.json"), r#"{"calls": [{"content": "made up"}]}"#).unwrap();
    let mut body = chat_body("hi");
    body["user"] = json!("someone");
    let changed = Call::post(CHAT, body.to_string());
    let environment = [
        ("LOOMREC_ON_MISS", "default"),
        ("LOOMREC_REPEAT", "last"),
        ("LOOMREC_IGNORE", "/user"),
        ("LOOMREC_SCRIPT", "answers.json"),
    ];
    let calls = [(chat("hi"), 200), (chat("hi"), 422), (changed, 422), (chat("new"), 422)];
    let (ended, receipt) = replayed(&scene, &["--strict"], &environment, &calls);
    ended.expect(1).says(&["set aside by --strict: LOOMREC_SCRIPT, LOOMREC_ON_MISS, \
         LOOMREC_REPEAT, ignore /user (LOOMREC_IGNORE)"]);
    assert_eq!(receipt["in_force"]["set_aside"].as_array().unwrap().len(), 4);
    let mut empty = command(scene.dir(), &scene.replay_args(&["--strict", "--", "true"]));
    let ended = crate::support::loomrec::finish(empty.env("LOOMREC_ALLOW_EMPTY", "1"), b"");
    ended.expect(1).says(&["nothing was tested", "LOOMREC_ALLOW_EMPTY"]);
}

#[test]
fn no_variable_drops_a_query_parameter_under_strict() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let mine = format!("mine={}", upstream.url());
    let server = scene.record(&upstream, &["--upstream", &mine]);
    server.call(&Call::post("/mine/v1/things", "{}")).expect(200);
    server.stop().expect(0);
    let asked = Call::post("/mine/v1/things?customer=b", "{}");
    let environment = [("LOOMREC_CREDENTIAL_PARAM", "customer")];
    let named = ["--strict", "--upstream", "mine=http://127.0.0.1:1"];
    let (ended, receipt) = replayed(&scene, &named, &environment, &[(asked.clone(), 422)]);
    let told = "ignore parameter customer (LOOMREC_CREDENTIAL_PARAM)";
    ended.expect(1).says(&["set aside by --strict: ", told]);
    assert_eq!(receipt["in_force"]["set_aside"], json!([told]));
    // A typed flag applies, and is reported.
    let typed = [&named[..], &["--credential-param", "customer"]].concat();
    let (ended, receipt) = replayed(&scene, &typed, &[], &[(asked, 200)]);
    ended.expect(0).says(&["in force: ignored: parameter customer (--credential-param)"]);
    let expected = json!([{"name": "customer", "from": "--credential-param"}]);
    assert_eq!(receipt["in_force"]["credential_params"], expected);
}

#[test]
fn no_setting_of_the_project_weakens_strict() {
    let scene = recorded(&[]);
    let settings = "ignore = [\"/user\"]\n[replay]\nrepeat = \"cycle\"\non-miss = \"default\"\n\
                    allow-empty = true\n";
    std::fs::write(scene.path("loomrec.toml"), settings).unwrap();
    let mut body = chat_body("hi");
    body["user"] = json!("someone");
    let changed = Call::post(CHAT, body.to_string());
    let calls = [(chat("hi"), 200), (chat("hi"), 422), (changed.clone(), 422), (chat("new"), 422)];
    let (ended, _) = replayed(&scene, &["--strict"], &[], &calls);
    ended.expect(1).says(&["repeat (", "on-miss (", "ignore /user (", "loomrec.toml:1)"]);
    // A typed flag applies, and the rules in the file need no setting.
    let typed = [(changed, 200)];
    replayed(&scene, &["--strict", "--ignore", "/user"], &[], &typed).0.expect(0);
    let scene = recorded(&["--ignore", "/user"]);
    std::fs::write(scene.path("loomrec.toml"), "ignore = [\"/user\"]\n").unwrap();
    let (ended, _) = replayed(&scene, &["--strict"], &[], &typed);
    assert!(!ended.expect(0).stderr.contains("set aside"));
}

#[test]
fn repeats_are_no_part_of_strict() {
    let scene = recorded(&[]);
    for policy in ["last", "cycle"] {
        let args = ["replay", "--strict", "--repeat", policy, "-r", "run.json", "--", "true"];
        scene.run(&args).expect(2).says(&["--strict and --repeat contradict each other"]);
    }
    scene.replayed(&["--strict", "--repeat", "error"], &[chat("hi")], 0).remove(0).expect(200);
}

#[test]
fn verify_tells_rules_unchecked_entries_and_repeats() {
    let told = |scene: &Scene, more: &[&str], code: i32| {
        let args = [&["verify", "--json", "run.json"], more].concat();
        let said: Value = serde_json::from_str(&scene.run(&args).expect(code).stdout).unwrap();
        let problems = said["files"][0]["problems"].as_array().unwrap().clone();
        let of = |problem: &Value| [&problem["kind"], &problem["severity"]].map(Value::clone);
        problems.iter().map(of).collect::<Vec<_>>()
    };
    let ruled = recorded(&["--ignore", "/metadata/run_id"]);
    // A declared rule is reported, and is not an error.
    assert_eq!(told(&ruled, &["--strict"], 0), [["rules", "note"]]);
    let human = ruled.run(&["verify", "run.json"]).expect(0).stdout;
    assert!(human.contains("note: /_loomrec/identity: rules of identity: /metadata/run_id"));
    let emptied = recorded(&["--ignore", "/messages"]);
    assert_eq!(told(&emptied, &[], 0), [["rules", "note"], ["unchecked", "warning"]]);
    let plain = written(&json!({"_version": 2, "plan": {"content": "yes"}}));
    let found = told(&plain, &[], 0);
    assert!(found.contains(&["unchecked".into(), "warning".into()]), "{found:?}");
    assert!(found.contains(&["rules".into(), "warning".into()]), "{found:?}");
    let found = told(&plain, &["--strict"], 1);
    assert!(found.contains(&["unchecked".into(), "error".into()]), "{found:?}");
}

#[test]
fn every_rule_of_a_recording_is_named_however_many_there_are() {
    let pointers: Vec<String> = (0..40).map(|number| format!("/metadata/x{number}")).collect();
    let flags: Vec<&str> = pointers.iter().flat_map(|one| ["--ignore", one]).collect();
    let scene = recorded(&flags);
    let (ended, _) = replayed(&scene, &["--strict"], &[], &[(chat("hi"), 200)]);
    let said = ended.expect(0).stderr;
    let told: Vec<_> = said.lines().filter(|line| line.contains("in force: ")).collect();
    assert_eq!(told.len(), 2, "{said}");
    let named = |line: &&str| pointers.iter().all(|one| line.contains(&format!("{one} (")));
    assert!(told.iter().all(|line| named(line) && !line.contains("more")), "{said}");
}

#[test]
fn takes_that_several_sessions_got_are_named_by_a_strict_replay() {
    let scene = recorded(&[]);
    let of = |session: &str| chat("hi").header(&format!("x-loomrec-session: {session}"));
    let calls = [(of("a"), 200), (of("a"), 422), (of("b"), 200), (of("c"), 200)];
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &calls);
    ended.expect(1).says(&["because each session gets each take: 1 (further calls: 2)"]);
    assert_eq!(receipt["in_force"]["served_again"], json!({ "takes": 1, "calls": 2 }));
}

#[test]
fn run_with_recordings_of_sessions_names_what_is_in_force_in_them() {
    let (scene, upstream) = (Scene::of_sessions(), Upstream::always(Answer::json(200, "{}")));
    let server = scene.record(&upstream, &["--ignore", "/user"]);
    let call = chat("hi").header("x-loomrec-session: one");
    server.call(&call).expect(200);
    server.stop().expect(0);
    let begin = json!({ "prefix": "two", "recording": "one.json", "ignore": ["/messages"] });
    let begin = Call::post("/__loomrec/session", begin.to_string()).header("host: localhost");
    let other = chat("other").header("x-loomrec-session: two");
    // Refused, and the call of the session that was not begun misses.
    let calls = [(call.clone(), 200), (begin.clone(), 403), (other.clone(), 422)];
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &calls);
    ended.expect(1).says(&[
        "ignored: /user (",
        "recordings/one.json)",
        "session two: calls without",
    ]);
    assert_eq!(receipt["in_force"]["strict"], true);
    assert_eq!(receipt["in_force"]["control"], json!([]));
    // Allowed by a flag, and named.
    let calls = [(call, 200), (begin, 201), (other, 200)];
    let (ended, receipt) = replayed(&scene, &["--strict", "--allow-control"], &[], &calls);
    ended.expect(0).says(&[
        "weakened by flags: --allow-control",
        "/messages (control call)",
        "changed by clients (--allow-control): ignore of a session",
        "sessions that replayed a recording again: 1",
    ]);
    let asked = json!([{ "asked": "ignore of a session", "times": 1 }]);
    assert_eq!(receipt["in_force"]["control"], asked);
    let rule = json!({ "pointer": "/messages", "from": "control call" });
    assert!(receipt["in_force"]["ignore"].as_array().unwrap().contains(&rule));
}
