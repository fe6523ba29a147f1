//! Tests of `record --prove`: a program recorded, replayed at once, and both runs compared.

use std::ffi::OsString;

use crate::support::loomrec::{Finished, command, finish};
use crate::support::shape::chat_answer;
use crate::support::{Answer, Scene, Upstream};

/// A program that asks what its argument says, prints the answers, and exits with a code. What it
/// asks or prints may depend on `state`, a file that it makes in its first run.
const PROGRAM: &str = r#"
import json, os, sys, urllib.error, urllib.request
behaviour = sys.argv[1]
is_first = not os.path.exists("state")
open("state", "w").close()

def ask(prompt):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]}
    headers = {"content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        answer = json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        return "error %d" % error.code
    return answer["choices"][0]["message"]["content"]

print(ask("hi"))
if behaviour == "asks-else":
    print(ask("first" if is_first else "second"))
if behaviour == "asks-once":
    print(ask("once more"))
if behaviour == "asks-more" and is_first:
    ask("more")
if behaviour == "prints-else":
    print("run", "one" if is_first else "two")
sys.exit(3 if behaviour == "fails" or (behaviour == "exits-else" and not is_first) else 0)
"#;

/// Records the program with `--prove`.
fn prove(scene: &Scene, upstream: &Upstream, more: &[&str], behaviour: &str) -> Finished {
    let mut args = scene.record_args(&upstream.url(), &["--prove"]);
    args.extend(more.iter().map(OsString::from));
    args.extend(["--", "python3", "-c", PROGRAM, behaviour].map(OsString::from));
    finish(&mut command(scene.dir(), &args), b"")
}

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello")))
}

#[test]
fn a_program_that_repeats_itself_is_proved_and_its_output_is_printed_once() {
    let (scene, upstream) = (Scene::new(), upstream());
    let ended = prove(&scene, &upstream, &["--receipt", "run.receipt"], "same").expect(0);
    assert_eq!(ended.stdout, "Hello\n");
    let told = "loomrec prove: ok: calls replayed without network: 1 · same exit code · same \
                output (6 bytes)";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert_eq!(upstream.requests(), 1);
    // The receipt that was asked for is that of the record.
    let receipt = std::fs::read_to_string(scene.path("run.receipt")).unwrap();
    assert!(receipt.contains("\"command\": \"record\""), "{receipt}");
}

#[test]
fn flags_that_both_commands_have_hold_for_the_replay() {
    let (scene, upstream) = (Scene::new(), upstream());
    let flags = ["--identity-header", "x-tenant", "--quiet", "--journal", "run.jsonl"];
    prove(&scene, &upstream, &flags, "same").expect(0);
    let journal = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    assert!(journal.contains("\"mode\":\"record\"") && !journal.contains("\"mode\":\"replay\""));
}

#[test]
fn what_differs_in_the_replay_is_named_and_fails() {
    for (behaviour, told) in [
        ("asks-else", "calls without a recorded answer: 1"),
        ("asks-more", "takes that no call used: 1"),
        ("prints-else", "line 2 of the output was \"run one\" when recorded, and \"run two\""),
        ("exits-else", "the exit code was 0 when recorded, and 3 when replayed"),
    ] {
        let (scene, upstream) = (Scene::new(), upstream());
        let ended = prove(&scene, &upstream, &[], behaviour).expect(1);
        assert!(ended.stderr.contains("loomrec prove: failed"), "{}", ended.stderr);
        let first = behaviour != "asks-more";
        assert!(!first || ended.stderr.contains(told), "{behaviour}: {}", ended.stderr);
        assert!(scene.recording().exists());
    }
}

#[test]
fn calls_that_the_recording_answers_count_as_replayed() {
    let (scene, upstream) = (Scene::new(), upstream());
    prove(&scene, &upstream, &[], "same").expect(0);
    std::fs::remove_file(scene.path("state")).unwrap();
    let ended = prove(&scene, &upstream, &["--mode", "new_episodes"], "asks-once").expect(0);
    assert!(ended.stderr.contains("calls replayed without network: 2 ·"), "{}", ended.stderr);
    assert_eq!(upstream.requests(), 2);
}

#[test]
fn command_that_removes_unused_takes_works_after_the_proof() {
    let (scene, upstream) = (Scene::new(), upstream());
    prove(&scene, &upstream, &[], "asks-once").expect(0);
    let ended = prove(&scene, &upstream, &[], "same").expect(1);
    let line = ended.stderr.lines().find(|line| line.contains("loomrec prune")).unwrap();
    let words: Vec<&str> = line.split_whitespace().skip_while(|word| *word != "prune").collect();
    scene.run(&words).expect(0);
    assert_eq!(scene.takes().len(), 1);
    let folder = std::path::Path::new(words[words.len() - 2]).parent().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_fails_alike_is_proved_and_keeps_its_exit_code() {
    let (scene, upstream) = (Scene::new(), upstream());
    let ended = prove(&scene, &upstream, &[], "fails").expect(3);
    assert!(ended.stderr.contains("loomrec prove: ok"), "{}", ended.stderr);
}

#[test]
fn only_a_command_and_a_file_on_this_machine_can_be_proved() {
    let (scene, upstream) = (Scene::new(), upstream());
    let record = scene.record_args(&upstream.url(), &["--prove"]);
    let ended = finish(&mut command(scene.dir(), &record), b"").expect(2);
    assert!(ended.stderr.contains("give the command"), "{}", ended.stderr);
    let sessions = ["record", "-r", "recs/{session}.json", "--prove", "--", "true"];
    let ended = scene.run(&sessions).expect(2);
    assert!(ended.stderr.contains("one file on this machine"), "{}", ended.stderr);
}
