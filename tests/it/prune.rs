//! Tests of `prune`: unneeded takes are removed, and nothing else.

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, message, message_answer};
use crate::support::{Answer, Call, Scene, Server, Upstream};

fn upstream() -> Upstream {
    Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("Bonjour.")),
        _ => Answer::json(200, chat_answer("Hello.")),
    })
}

fn step(prompt: &str) -> Call {
    chat(prompt).header("x-loomrec-step-id: plan")
}

/// A recording of several calls, one of them made three times.
fn sample() -> Scene {
    let scene = Scene::new();
    let again = [chat("again"), chat("again"), chat("again")];
    let others = [chat("one"), message("two"), step("turn one"), step("turn two")];
    scene.recorded(&upstream(), &[&again[..], &others].concat());
    scene
}

/// Replays calls, and leaves a receipt and a journal.
fn replay(scene: &Scene, name: &str, calls: &[Call], more: &[&str], code: i32) {
    let (receipt, journal) = (format!("{name}.receipt"), format!("{name}.jsonl"));
    let args = [&["--receipt", &receipt, "--journal", &journal], more].concat();
    scene.replayed(&args, calls, code);
}

/// The output of `prune --json`.
fn json_output(scene: &Scene, more: &[&str]) -> Value {
    let output = scene.run(&[&["prune", "run.json", "--json"], more].concat()).expect(0);
    serde_json::from_str(&output.stdout).unwrap()
}

fn keys(output: &Value, list: &str) -> Vec<String> {
    let short = |take: &Value| {
        let key = take["key"].as_str().unwrap();
        let numbered = key.rsplit_once('#').map_or("", |(_, number)| number);
        if key.len() > 60 { format!("hash#{numbered}") } else { key.to_owned() }
    };
    output[list].as_array().unwrap().iter().map(short).collect()
}

#[test]
fn takes_that_no_run_used_go() {
    let scene = sample();
    let before = scene.text();
    replay(&scene, "a", &[chat("again"), chat("again"), chat("one"), step("turn two")], &[], 0);
    replay(&scene, "b", &[message("two"), chat("again")], &["--fail-unused"], 1);
    let dry = json_output(&scene, &["--unused", "a.receipt", "--unused", "b.receipt"]);
    assert_eq!(keys(&dry, "pruned"), ["hash#3", "plan"]);
    assert_eq!((&dry["applied"], &dry["takes"]), (&json!(false), &json!(7)));
    assert_eq!(scene.text(), before, "a dry run changed it");
    let args = ["prune", "run.json", "--unused", "a.receipt", "--unused", "b.receipt", "--apply"];
    let said = scene.run(&args).expect(0);
    assert!(said.stdout.contains("2 of 7 takes pruned"), "{}", said.stdout);
    let left = [chat("again"), chat("again"), chat("one"), message("two"), step("turn two")];
    scene.replayed(&["--fail-unused"], &left, 0);
    let lines: Vec<&str> = before.lines().collect();
    let kept = scene.text();
    let added = kept.lines().filter(|line| !lines.contains(line)).count();
    // The list of two turns is now a single turn, indented one level less.
    assert!(added < 40 && kept.len() < before.len(), "{kept}");
    assert_eq!(scene.names(), ["a.jsonl", "a.receipt", "b.jsonl", "b.receipt", "run.json"]);
    // The receipts are for the recording before that.
    scene.run(&args).expect(2).says(&["SHA-256", "replay it again"]);
}

#[test]
fn journal_tells_of_names() {
    let scene = sample();
    replay(&scene, "a", &[chat("again"), message("two"), step("turn two")], &[], 0);
    let dry = json_output(&scene, &["--journal", "a.jsonl"]);
    assert_eq!(keys(&dry, "pruned"), ["hash#"]);
    assert_eq!(dry["pruned"][0]["call"], "openai chat");
}

#[test]
fn line_that_is_no_served_call_is_named_by_its_place() {
    let scene = sample();
    std::fs::write(scene.path("a.jsonl"), "{\"v\":1,\"outcome\":\"missed\"}\n").unwrap();
    let ended = scene.run(&["prune", "run.json", "--journal", "a.jsonl"]).expect(2);
    ended.says(&["a.jsonl, line 1: a call was missed"]);
}

#[test]
fn criteria_narrow_each_other() {
    let scene = sample();
    let pruned = |more: &[&str]| json_output(&scene, more)["pruned"].as_array().unwrap().len();
    assert_eq!(pruned(&["--upstream", "anthropic"]), 1);
    assert_eq!(pruned(&["--upstream", "openai"]), 6);
    assert_eq!(pruned(&["--model", "gpt-4o-mini"]), 6);
    assert_eq!(pruned(&["--model", "gpt-4o-mini", "--upstream", "anthropic"]), 0);
    assert_eq!(pruned(&["--older-than", "1d"]), 0);
    assert_eq!(pruned(&["--older-than", "0s", "--upstream", "anthropic"]), 1);
    replay(&scene, "a", &[message("two")], &[], 0);
    assert_eq!(pruned(&["--unused", "a.receipt", "--upstream", "anthropic"]), 0);
    assert_eq!(pruned(&["--unused", "a.receipt", "--model", "gpt-4o-mini"]), 6);
}

#[test]
fn take_stays_when_a_later_one_of_its_call_does() {
    let scene = sample();
    let mut json = scene.json();
    let entries = json.as_object_mut().unwrap();
    let again: Vec<String> =
        entries.keys().filter(|key| entries.contains_key(&format!("{key}#3"))).cloned().collect();
    entries[&again[0]]["recorded_at"] = json!("2001-01-01T00:00:00.000000Z");
    entries["plan"][0]["recorded_at"] = json!("2001-01-01T00:00:00.000000Z");
    let two = entries.keys().next_back().unwrap().clone();
    entries[&two].as_object_mut().map(|entry| entry.shift_remove("recorded_at"));
    let undated = usize::from(two != "plan");
    scene.write(format!("{json:#}\n"));
    let dry = json_output(&scene, &["--older-than", "30d"]);
    assert_eq!(keys(&dry, "pruned"), ["plan"]);
    assert_eq!(keys(&dry, "held"), ["hash#"]);
    assert_eq!(dry["undated"], undated);
    let said = scene.run(&["prune", "run.json", "--older-than", "30d"]).expect(0).stdout;
    assert!(
        said.contains("a later take of the same call does") && said.contains("without --apply")
    );
}

#[test]
fn run_that_does_not_tell_is_refused() {
    let scene = sample();
    let refused = |args: &[&str], says: &[&str]| {
        let all = [&["prune", "run.json", "--apply"], args].concat();
        scene.run(&all).expect(2).says(says);
    };
    let before = scene.text();
    replay(&scene, "missed", &[chat("one"), chat("never recorded")], &[], 1);
    refused(&["--unused", "missed.receipt"], &["missed.receipt", "that run failed"]);
    refused(&["--journal", "missed.jsonl"], &["missed.jsonl, line 2", "a call was missed"]);
    let asked = [chat("one"), chat("never recorded")];
    replay(&scene, "made", &asked, &["--on-miss", "default"], 0);
    refused(&["--unused", "made.receipt"], &["made.receipt", "no recorded answer"]);
    refused(&["--journal", "made.jsonl"], &["made.jsonl, line 2", "no recorded answer"]);
    replay(&scene, "idle", &[], &[], 0);
    refused(&["--unused", "idle.receipt"], &["no call was answered"]);
    refused(&["--journal", "idle.jsonl"], &["no call in it was answered from run.json"]);
    replay(&scene, "fault", &[chat("one")], &["--fault", "http_error:500"], 0);
    refused(&["--unused", "fault.receipt"], &["faults replaced answers"]);
    refused(&["--unused", "run.json"], &["this is not a receipt"]);
    refused(&["--journal", "run.json"], &["run.json, line 1", "not a line of a journal"]);
    refused(&[], &["say which takes to prune"]);
    refused(&["--older-than", "30"], &["30d"]);
    for (text, says) in
        [("", "not a receipt"), ("[[[[", "not a receipt"), ("{\"unused\": 1}", "not a receipt")]
    {
        std::fs::write(scene.path("odd"), text).unwrap();
        refused(&["--unused", "odd"], &["odd", says]);
    }
    let none = scene.run(&["prune", "run.json", "--unused", "none"]).expect(4);
    none.says(&["none"]);
    // The receipt of another recording.
    let other = sample();
    replay(&other, "other", &[chat("one")], &[], 0);
    std::fs::copy(other.path("other.receipt"), scene.path("other.receipt")).unwrap();
    refused(&["--unused", "other.receipt"], &["SHA-256"]);
    assert_eq!(scene.text(), before);
}

#[test]
fn recording_that_is_bad_or_recorded_into_is_left_alone() {
    let scene = sample();
    let upstream = upstream();
    let server = scene.record(&upstream, &[]);
    server.call(&chat("more")).expect(200);
    let args = ["prune", "run.json", "--upstream", "anthropic", "--apply"];
    scene.run(&args).expect(5).says(&["recorded into"]);
    server.stop().expect(0);
    scene.run(&args).expect(0);
    for text in ["", "{", "{\"x\": 1}", "{\"x\": {}, \"x\": {}}"] {
        scene.write(text);
        scene.run(&args).expect(4).says(&["run.json"]);
        assert_eq!(scene.text(), text);
    }
}

#[test]
fn a_journal_that_has_lost_lines_prunes_nothing() {
    let scene = Scene::new();
    let calls: Vec<Call> = (0..60).map(|number| chat(&format!("call {number}"))).collect();
    scene.recorded(&upstream(), &calls);
    let args = scene.replay_args(&["--journal", "j.jsonl", "--listen", "127.0.0.1:0"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", r#"ulimit -f 16; exec "$0" "$@""#, env!("CARGO_BIN_EXE_loomrec")]);
    let server = Server::spawn(shell.args(args).current_dir(scene.dir()));
    calls.iter().for_each(|call| drop(server.call(call).expect(200)));
    server.stop().expect(0).says(&["lines are lost"]);
    let journal = std::fs::read_to_string(scene.path("j.jsonl")).unwrap();
    let lines: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, calls) = lines.split_last().unwrap();
    assert_eq!((&last["outcome"], &last["seq"]), (&json!("skipped"), &json!(60)));
    assert_eq!(last["lines"], 60 - calls.len());
    let before = scene.text();
    let prune = ["prune", "run.json", "--journal", "j.jsonl", "--apply"];
    scene.run(&prune).expect(2).says(&["j.jsonl", "does not have all lines of its run"]);
    // Neither does one with a gap, such as one whose beginning is missing.
    let rest: Vec<&str> = journal.lines().skip(1).take(3).collect();
    std::fs::write(scene.path("j.jsonl"), rest.join("\n") + "\n").unwrap();
    scene.run(&prune).expect(2).says(&["j.jsonl", "does not have all lines of its run"]);
    assert_eq!(scene.text(), before);
}

/// The words of each `loomrec prune` that a run proposes.
fn proposed(said: &str) -> Vec<Vec<&str>> {
    let commands = said.lines().filter_map(|line| line.trim().strip_prefix("loomrec "));
    let prunes = commands.filter(|line| line.starts_with("prune "));
    prunes.map(|line| line.split(' ').map(|word| word.trim_matches('\'')).collect()).collect()
}

#[test]
fn commands_that_a_failed_run_proposes_remove_the_unused_takes() {
    let scene = sample();
    let calls = [chat("again"), chat("again"), chat("one"), step("turn two")];
    let run = |more: &[&str], code: i32| {
        let args = [&["replay", "-r", "run.json", "--fail-unused"], more].concat();
        let server = Server::start(scene.dir(), &args);
        calls.iter().for_each(|call| drop(server.call(call).expect(200)));
        server.stop().expect(code).stderr
    };
    let said = run(&[], 1);
    let next = "to remove them, replay with --receipt run.receipt, then:\n    loomrec prune run.json \
                --unused run.receipt --apply\n";
    assert!(said.contains(next), "{said}");
    // The keys are short, and step ids whole.
    let named = said.lines().find(|line| line.contains("no call asked for: 3: ")).unwrap();
    let (_, keys) = named.rsplit_once(": ").unwrap();
    let mut lengths: Vec<usize> = keys.split(", ").map(str::len).collect();
    lengths.sort_unstable();
    assert!(keys.contains("plan") && lengths == [4, 12, 14], "{named}");
    let said = run(&["--receipt", "my.receipt"], 1);
    assert!(said.contains("to remove them (without --apply, they are only listed):"), "{said}");
    let commands = proposed(&said);
    assert_eq!(commands, [["prune", "run.json", "--unused", "my.receipt", "--apply"]]);
    scene.run(&commands[0]).expect(0);
    run(&[], 0);
}

#[test]
fn unused_takes_of_several_recordings_are_removed_by_their_keys() {
    let scene = sample();
    std::fs::rename(scene.path("run.json"), scene.path("a.json")).unwrap();
    // Both recordings have this call, which is made once.
    scene.recorded(&upstream(), &[chat("other"), chat("never"), chat("one")]);
    let args = ["replay", "-r", "a.json", "-r", "run.json", "--fail-unused"];
    let server = Server::start(scene.dir(), &args);
    server.call(&chat("one")).expect(200);
    server.call(&chat("other")).expect(200);
    let said = server.stop().expect(1).stderr;
    let commands = proposed(&said);
    assert_eq!(commands.len(), 2, "{said}");
    commands.iter().for_each(|command| drop(scene.run(command).expect(0)));
    let left = |name: &str| scene.run(&["ls", name]).expect(0).stdout;
    assert!(left("a.json").contains("\n1 call ") && left("run.json").contains("\n1 call "));
}

#[test]
fn many_unused_takes_of_several_recordings_are_removed_by_their_keys_too() {
    let scene = Scene::new();
    let calls: Vec<Call> = (0..25).map(|number| chat(&format!("call {number}"))).collect();
    // A journal does not tell the two takes of the first call apart.
    scene.recorded(&upstream(), &[&calls[..], &calls[..1]].concat());
    std::fs::copy(scene.path("run.json"), scene.path("a.json")).unwrap();
    let args = ["replay", "-r", "a.json", "-r", "run.json", "--fail-unused"];
    let server = Server::start(scene.dir(), &args);
    server.call(&calls[0]).expect(200);
    let said = server.stop().expect(1).stderr;
    let commands = proposed(&said);
    assert_eq!(commands.len(), 2, "{said}");
    commands.iter().for_each(|command| drop(scene.run(command).expect(0)));
    assert!(scene.takes().is_empty(), "{}", scene.text());
    assert!(scene.run(&["ls", "a.json"]).expect(0).stdout.contains("\n1 call "));
}

#[test]
fn unused_takes_are_not_removed_while_calls_are_missed() {
    let scene = sample();
    let server = scene.replay(&["--fail-unused"]);
    server.call(&chat("another")).expect(422);
    let said = server.stop().expect(1).stderr;
    assert!(said.contains("see to the missed calls first"), "{said}");
    assert!(proposed(&said).is_empty(), "{said}");
}

#[test]
fn one_call_goes_by_its_key() {
    let scene = sample();
    let before = scene.text();
    let keys: Vec<String> = scene.takes().into_iter().map(|(key, _)| key).collect();
    let (again, one) = (keys[0].clone(), keys[3].clone());
    let dry = scene.run(&["prune", "run.json", &one[..8]]).expect(0).stdout;
    assert!(dry.contains("1 of 7 takes would be pruned"), "{dry}");
    assert_eq!(scene.text(), before, "a dry run changed it");
    scene.run(&["prune", "run.json", &one[..8], "--apply"]).expect(0);
    scene.replayed(&[], &[chat("one")], 1);
    // One take goes alone, and those after it move up.
    let second = format!("{}#2", &again[..8]);
    let said = scene.run(&["prune", "run.json", &second, "--apply"]).expect(0).stdout;
    assert!(said.contains("1 of 6 takes pruned"), "{said}");
    scene.replayed(&[], &[chat("again"), chat("again")], 0);
    scene.replayed(&[], &[chat("again"), chat("again"), chat("again")], 1);
    // Without a number, all takes of the call go.
    scene.run(&["prune", "run.json", "plan", &again[..8], "--apply"]).expect(0);
    assert_eq!(scene.takes().len(), 1);
    let left = scene.text();
    scene.run(&["prune", "run.json", "nobody", "--apply"]).expect(1).says(&["there is no"]);
    scene.run(&["prune", "run.json", "abc", "--apply"]).expect(2).says(&["needs 4 digits"]);
    let third = format!("{}#3", &keys[4][..8]);
    scene.run(&["prune", "run.json", &third, "--apply"]).expect(1).says(&["there is 1 take of it"]);
    assert_eq!(scene.text(), left);
}
