//! Tests of invalid files and flags for `rerecord` and `replay --pending`.

use std::time::{Duration, Instant};

use super::{KEY, prepared, rerecord, speaker};
use crate::support::gate::PATIENCE;
use crate::support::loomrec::{Process, command, finish};
use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

fn recorded() -> Scene {
    let scene = Scene::new();
    scene.recorded(&speaker("old"), &[chat("hi")]);
    scene
}

fn deep(open: &str, close: &str) -> String {
    open.repeat(100_000) + &close.repeat(100_000)
}

#[test]
fn file_that_is_none_is_told_with_its_name_in_every_role() {
    let scene = recorded();
    let good = std::fs::read_to_string(scene.recording()).unwrap();
    let upstream = speaker("new");
    for text in [
        String::new(),
        good[..good.len() / 2].to_owned(),
        "[]".to_owned(),
        "{\"a\": 1}".to_owned(),
        "{\"_loomrec\": {\"format\": \"9.0\"}}".to_owned(),
        format!("{{\"_version\":2,\"a\":{}}}", deep("[", "]")),
        "\u{0}\u{1}\u{2}".to_owned(),
    ] {
        std::fs::write(scene.path("bad.json"), &text).unwrap();
        for args in [
            &["bad.json", "--yes"][..],
            &["run.json", "--yes", "--pending", "bad.json"],
            &["run.json", "--yes", "-o", "bad.json"],
        ] {
            let told = finish(&mut prepared(&scene, &upstream, args), b"");
            // A recording with bad entries is still a recording, though not one for this role.
            let codes = if args.len() > 2 { &[2, 4][..] } else { &[4] };
            assert!(codes.contains(&told.code), "{args:?}: {}", told.stderr);
            assert!(told.stderr.contains("bad.json"), "{args:?}: {}", told.stderr);
        }
        let told = scene.run(&["replay", "-r", "run.json", "--pending", "bad.json"]);
        assert!([2, 4].contains(&told.code));
        assert!(told.stderr.contains("bad.json"), "{}", told.stderr);
        assert_eq!(std::fs::read_to_string(scene.path("bad.json")).unwrap(), text);
    }
    assert_eq!(upstream.requests(), 0);
    rerecord(&scene, &upstream, &["gone.json"], 4).says(&["gone.json"]);
    rerecord(&scene, &upstream, &["run.json", "--pending", "gone.json"], 4).says(&["gone.json"]);
    rerecord(&scene, &upstream, &[], 2);
    rerecord(&scene, &upstream, &["--pending", "gone"], 2)
        .says(&["loomrec rerecord FILE --pending"]);
}

#[test]
fn receipt_that_is_none_is_told_with_its_name() {
    let scene = recorded();
    let upstream = speaker("new");
    for text in [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "{\"command\": \"replay\"}".to_owned(),
        "{\"command\": \"replay\", \"drifted\": \"1\"}".to_owned(),
        "{\"command\": \"record\", \"drifted\": 1}".to_owned(),
        deep("{\"a\":", "}"),
        deep("[", "]"),
    ] {
        std::fs::write(scene.path("receipt.json"), text).unwrap();
        let args = ["run.json", "--drifted", "receipt.json"];
        rerecord(&scene, &upstream, &args, 4).says(&["receipt.json"]);
    }
    // A sparse file, which must not be read into memory.
    let file = std::fs::File::create(scene.path("receipt.json")).unwrap();
    file.set_len(1 << 30).unwrap();
    rerecord(&scene, &upstream, &["run.json", "--drifted", "receipt.json"], 4)
        .says(&["receipt.json"]);
    std::fs::write(scene.path("receipt.json"), "{\"command\": \"replay\", \"drifted\": 0}")
        .unwrap();
    let args = ["run.json", "--drifted", "receipt.json"];
    rerecord(&scene, &upstream, &args, 0).says(&["nothing drifted"]);
}

#[test]
fn flags_that_cannot_be_are_refused_before_anything_is_sent() {
    let scene = recorded();
    let upstream = speaker("new");
    for args in [
        &["--set", "model"][..],
        &["--set", "/messages/7/content=x"],
        &["--upstream", "openai=nowhere"],
        &["--redact", "("],
        &["ab"],
        &["--pending", "a", "--drifted", "b"],
        &["--prices", "none.json"],
    ] {
        let args = [&["run.json", "--yes"], args].concat();
        rerecord(&scene, &upstream, &args, 2);
    }
    assert_eq!((upstream.requests(), scene.names()), (0, vec!["run.json".to_owned()]));
}

#[test]
fn calls_that_hold_no_request_or_have_nowhere_to_go_are_named() {
    let scene = recorded();
    let mut json = scene.json();
    let entry = json.as_object().unwrap().values().next_back().unwrap().clone();
    json["plain"] = serde_json::json!({"content": "said"});
    for (name, upstream) in [("cloud", "azure"), ("signed", "bedrock"), ("own", "mine")] {
        json[name] = entry.clone();
        json[name]["upstream"] = upstream.into();
    }
    scene.write(json.to_string());
    let args = ["rerecord", "run.json", "plain", "cloud", "signed", "own"];
    let flags = ["--yes", "--upstream", "bedrock=http://127.0.0.1:1"];
    let mut command = command(scene.dir(), &[&args[..], &flags].concat());
    finish(command.env("OPENAI_API_KEY", KEY), b"").expect(2).says(&[
        "plain: its request is not recorded",
        "cloud: upstream azure has no public address",
        "signed: there is no key for bedrock: set AWS_BEARER_TOKEN_BEDROCK; requests that are signed",
        "own: upstream mine has no public address",
        "no call can be sent",
    ]);
}

#[test]
fn text_of_an_upstream_cannot_reach_the_terminal_as_it_is() {
    let scene = recorded();
    let upstream =
        Upstream::always(Answer::json(400, "{\"error\":{\"message\":\"a\\u001b[31mb\\u202ec\"}}"));
    let told = rerecord(&scene, &upstream, &["run.json", "--yes"], 1);
    assert!(!told.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", told.stderr);
    let told = rerecord(&scene, &upstream, &["run.json", "--yes", "--json"], 1);
    assert!(!told.stdout.contains(['\u{1b}', '\u{202e}']), "{:?}", told.stdout);
}

/// The peak memory of a run with `args` in kB; the run must succeed.
#[track_caller]
fn most_memory(scene: &Scene, upstream: &Upstream, args: &[&str]) -> u64 {
    let mut process = Process::spawn(&mut prepared(scene, upstream, args));
    let (mut most, until) = (0, Instant::now() + 2 * PATIENCE);
    while !process.has_ended() && Instant::now() < until {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid()));
        let status = status.unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    process.wait().expect(0);
    most
}

#[test]
fn memory_does_not_grow_with_the_recording() {
    let scene = Scene::new();
    let word = "word ".repeat(100_000);
    let call = |n: usize| Call::post(CHAT, chat_body(&format!("{n} {word}")).to_string());
    scene.recorded(&speaker("old"), &[call(0)]);
    let mut json = scene.json();
    let entry = scene.only_take();
    for n in 0..240 {
        json[format!("step{n}")] = entry.clone();
    }
    scene.write(json.to_string());
    let upstream = Upstream::forgetful(|_| Answer::json(200, chat_answer("new")));
    let most = most_memory(&scene, &upstream, &["run.json", "--yes"]);
    // The file and the new one have 120 MB each.
    assert!(most > 0 && most < 116_000, "{most} kB");
}

#[test]
fn answer_that_is_too_large_is_left_out() {
    let scene = recorded();
    let args = ["run.json", "--yes", "--max-body", "10"];
    rerecord(&scene, &speaker("new"), &args, 1).says(&["--max-body"]);
    assert_eq!(scene.names(), ["run.json"]);
}
