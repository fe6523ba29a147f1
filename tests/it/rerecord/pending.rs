//! Tests of missed calls: kept, sent live, and reported with what to do.

use serde_json::{Value, json};

use super::{KEY, entries, json_of, prepared, rerecord, speaker};
use crate::support::loomrec::finish;
use crate::support::shape::{chat, chat_body, chat_streamed, message};
use crate::support::{Call, Scene, Server};

const PENDING: &str = ".loomrec/run.json.pending";

/// Replays calls with `--pending`, and exits with `code`.
#[track_caller]
fn replayed(scene: &Scene, calls: &[Call], code: i32) -> String {
    let server = scene.replay(&["--pending", "--receipt", "receipt.json"]);
    for call in calls {
        server.call(call);
    }
    server.stop().expect(code).stderr
}

fn recorded(calls: &[Call]) -> Scene {
    let scene = Scene::new();
    scene.recorded(&speaker("old"), calls);
    scene
}

/// A pending call: its prompt, its reason, and the prompt and number of the take it replaces.
type Waits = (String, String, Option<(String, u64)>);

/// All pending calls.
fn waiting(scene: &Scene) -> Vec<Waits> {
    let told = |(_, entry): (String, Value)| {
        let pending = &entry["pending"];
        let replaces = pending["replaces"]["name"].as_str().map(|name| {
            let own = entries(scene, "run.json").into_iter().find(|(known, _)| known == name);
            let prompt = own.unwrap().1["request"]["body"]["messages"][0]["content"].clone();
            (prompt.as_str().unwrap().to_owned(), pending["replaces"]["take"].as_u64().unwrap())
        });
        assert_eq!(entry.get("response"), None);
        let prompt = entry["request"]["body"]["messages"][0]["content"].as_str().unwrap();
        (prompt.to_owned(), pending["reason"].as_str().unwrap().to_owned(), replaces)
    };
    entries(scene, PENDING).into_iter().map(told).collect()
}

fn drifted(prompt: &str, old: &str, take: u64) -> Waits {
    (prompt.to_owned(), "drifted".to_owned(), Some((old.to_owned(), take)))
}

#[test]
fn missed_requests_wait_for_the_three_commands() {
    let scene = recorded(&[chat("weather in Paris"), chat("fine"), chat("bread recipes, please")]);
    let calls = [
        chat("weather in Oslo"),
        chat("fine"),
        chat(
            "something else altogether, and so long that nothing of the recorded ones is in it, not one word of them",
        ),
    ];
    let told = replayed(&scene, &calls, 1);
    for line in [
        "2 calls wait in ",
        ".loomrec/run.json.pending; if the change is meant:",
        "run.json --pending\n",
        "  loomrec review ",
        "  git commit ",
    ] {
        assert!(told.contains(line), "{line:?}: {told}");
    }
    let seen = waiting(&scene);
    assert_eq!(seen[0], drifted("weather in Oslo", "weather in Paris", 1));
    assert_eq!((seen[1].1.as_str(), &seen[1].2), ("unknown", &None));
    let receipt: Value =
        serde_json::from_str(&std::fs::read_to_string(scene.path("receipt.json")).unwrap())
            .unwrap();
    assert_eq!(receipt["pending"], json!({"path": scene.path(PENDING), "calls": 2}));
    // Only these are fetched.
    let upstream = speaker("new");
    let done = json_of(&rerecord(&scene, &upstream, &["--pending", PENDING, "--yes", "--json"], 0));
    assert_eq!((&done["kept"], &done["new_calls"], upstream.requests()), (&json!(2), &json!(1), 2));
    // They come in any order.
    let new = entries(&scene, "run.json.new");
    let drifted = new.iter().find(|(_, entry)| entry["pending"]["reason"] == "drifted").unwrap();
    let waited = &entries(&scene, PENDING)[0].1;
    assert_eq!(drifted.1["pending"]["replaces"], waited["pending"]["replaces"]);
    assert_eq!(drifted.1["request"], waited["request"]);
    rerecord(&scene, &upstream, &["--pending", PENDING, "run.json"], 0)
        .says(&["there is nothing to send"]);
}

#[test]
fn calls_that_drifted_are_fetched_by_the_receipt_of_their_replay() {
    let scene = recorded(&[chat("weather in Paris")]);
    replayed(&scene, &[chat("weather in Oslo"), chat(&"unlike ".repeat(60))], 1);
    let upstream = speaker("new");
    let done = json_of(&rerecord(
        &scene,
        &upstream,
        &["run.json", "--drifted", "receipt.json", "--yes", "--json"],
        0,
    ));
    assert_eq!((&done["kept"], upstream.requests()), (&json!(1), 1));
    // A receipt does not hold requests.
    let server = scene.replay(&["--receipt", "receipt.json"]);
    server.call(&chat("weather in Oslo"));
    server.stop().expect(1).says(&["replay with --pending"]);
    rerecord(&scene, &upstream, &["run.json", "--drifted", "receipt.json"], 2)
        .says(&["were not kept; replay with --pending, then"]);
}

#[test]
fn nothing_is_left_where_nothing_was_missed() {
    let scene = recorded(&[chat("a"), chat("b")]);
    replayed(&scene, &[chat("other a"), chat("b")], 1);
    assert!(scene.path(PENDING).exists());
    let told = replayed(&scene, &[chat("a"), chat("b")], 0);
    assert!(!scene.path(PENDING).exists() && !told.contains("rerecord"), "{told}");
    assert_eq!(scene.names(), ["receipt.json", "run.json"]);
}

#[test]
fn two_calls_never_stand_in_the_place_of_one_take() {
    let (a, b) = ("the first prompt, which is about bread", "another one, on rivers and lakes");
    let scene = recorded(&[chat(a), chat(b), chat(b)]);
    // The new call comes first and is similar to the second; the others are more similar.
    let calls = [
        chat("another new one, on rivers"),
        chat("the first prompt, which is about rice"),
        chat("another one, on rivers and seas"),
        chat("another one, on rivers and seas"),
        chat("another one, on rivers and seas"),
    ];
    replayed(&scene, &calls, 1);
    let seen = waiting(&scene);
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert_eq!(seen[0].2, None);
    assert_eq!(seen[1], drifted("the first prompt, which is about rice", a, 1));
    assert_eq!(seen[2], drifted("another one, on rivers and seas", b, 1));
    assert_eq!(seen[3], drifted("another one, on rivers and seas", b, 2));
}

#[test]
fn take_that_is_asked_for_later_is_not_replaced() {
    let scene = recorded(&[chat("weather in Paris today")]);
    replayed(&scene, &[chat("weather in Paris tomorrow"), chat("weather in Paris today")], 1);
    assert_eq!(
        waiting(&scene),
        [("weather in Paris tomorrow".to_owned(), "unknown".to_owned(), None)]
    );
}

#[test]
fn step_and_session_stay_and_exhausted_calls_are_further_takes() {
    let step = |call: Call, step: &str| call.header(&format!("x-loomrec-step-id: {step}"));
    let session = |call: Call| call.header("x-loomrec-session: s1");
    let scene =
        recorded(&[step(chat("plan it"), "plan"), session(chat("in a session")), message("hello")]);
    let calls = [
        step(chat_streamed("do another thing, quite unlike"), "plan"),
        session(chat("in this session")),
        message("hello"),
        message("hello"),
    ];
    replayed(&scene, &calls, 1);
    let found = entries(&scene, PENDING);
    assert_eq!(
        (found[0].0.as_str(), &found[0].1["pending"]["replaces"]["name"]),
        ("plan", &json!("plan"))
    );
    assert_eq!(found[1].1["session"], "s1");
    assert_eq!(
        (&found[2].1["pending"]["reason"], found[2].1["pending"].get("replaces")),
        (&json!("exhausted"), None)
    );
    let upstream = speaker("new");
    rerecord(&scene, &upstream, &["--pending", PENDING, "--yes"], 0).says(&["3 new answers"]);
    let new = entries(&scene, "run.json.new");
    let plan = new.iter().find(|(name, _)| name == "plan").unwrap();
    assert!(plan.1["response"]["chunks"].is_array(), "{}", plan.1);
    assert_eq!(new.iter().filter(|(_, entry)| entry["session"] == "s1").count(), 1);
}

#[test]
fn take_that_was_edited_after_its_answer_was_fetched_is_a_conflict() {
    let scene = recorded(&[chat("hi")]);
    rerecord(&scene, &speaker("new"), &["run.json", "--yes"], 0).says(&["1 new answer"]);
    scene.write(scene.text().replace("old", "HANDMADE"));
    let edited = scene.text();
    assert!(edited.contains("HANDMADE"), "{edited}");
    scene.run(&["review", "run.json", "--accept"]).expect(1).says(&["1 change is in conflict"]);
    assert_eq!(scene.text(), edited);
    scene.run(&["review", "run.json", "--accept", "--force"]).expect(0);
    assert!(!scene.text().contains("HANDMADE"));
}

#[test]
fn take_of_another_session_is_not_replaced() {
    let of =
        |prompt: &str, session: &str| chat(prompt).header(&format!("x-loomrec-session: {session}"));
    let (paris, oslo) = (of("weather in Paris today", "t1"), of("weather in Oslo today", "t2"));
    let scene = recorded(&[paris.clone(), oslo.clone()]);
    let rome = of("weather in Rome today", "t1");
    replayed(&scene, &[paris.clone(), rome.clone()], 1);
    assert_eq!(waiting(&scene), [("weather in Rome today".to_owned(), "unknown".to_owned(), None)]);
    rerecord(&scene, &speaker("new"), &["--pending", PENDING, "--yes"], 0).says(&["1 new answer"]);
    scene.run(&["review", "run.json", "--accept"]).expect(0);
    scene.replayed(&["--strict", "--fail-unused"], &[paris, rome, oslo], 0);
}

#[test]
fn pending_calls_hold_no_key_and_a_killed_replay_leaves_them() {
    let scene = recorded(&[chat("weather in Paris")]);
    let server = scene.replay(&["--pending", PENDING]);
    let said = chat(&format!("weather in Oslo, says {KEY}"))
        .header(&format!("authorization: Bearer {KEY}"));
    server.call(&said);
    server.process.signal("KILL");
    server.process.wait();
    for (path, bytes) in scene.files() {
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", path.display());
    }
    scene.run(&["ls", PENDING]).expect(0).says(&["requests that a replay missed, and no answers"]);
    let upstream = speaker("new");
    // The placeholder in it in place of the key is not sent by default.
    rerecord(&scene, &upstream, &["--pending", PENDING, "--yes"], 2).says(&[
        "its request was redacted",
        "--mode new_episodes",
        "--send-redacted",
    ]);
    assert_eq!(upstream.requests(), 0);
    rerecord(&scene, &upstream, &["--pending", PENDING, "--yes", "--send-redacted"], 0);
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn calls_that_the_recording_holds_by_now_are_left_out() {
    let scene = recorded(&[chat("weather in Paris")]);
    replayed(&scene, &[chat("weather in Oslo"), chat(&"unlike ".repeat(60))], 1);
    scene.recorded(&speaker("old"), &[chat(&"unlike ".repeat(60)), chat("weather in Paris")]);
    let upstream = speaker("new");
    let args = ["--pending", PENDING, "--yes", "--json"];
    rerecord(&scene, &upstream, &args[..3], 1)
        .says(&["the recording has changed since that replay", "every call was left out"]);
    assert_eq!(json_of(&rerecord(&scene, &upstream, &args, 1))["verdict"], "failed");
    assert_eq!(upstream.requests(), 0);
}

/// A chat at each of these targets is recorded at the first, missed at the others for `reason`, sent,
/// and replayed.
#[track_caller]
fn fetched_elsewhere(targets: [&str; 3], reason: &str, shown: &str) {
    let (scene, upstream) = (Scene::new(), speaker("old"));
    let names = ["gw", "two", "three"].map(|name| format!("{name}={}", upstream.url()));
    let flags = names.iter().flat_map(|name| ["--upstream", name.as_str()]);
    let with = |more: &[&'static str]| -> Vec<&str> {
        more.iter().copied().chain(flags.clone()).collect()
    };
    let calls = targets.map(|target| Call::post(target, chat_body("hi").to_string()));
    let server = scene.record(&upstream, &with(&[]));
    server.call(&calls[0]).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&with(&["--pending"]));
    for call in &calls[1..] {
        let told = server.call(call).expect(422).text();
        assert!(told.contains(&reason.replace('_', " ")) && told.contains(shown), "{told}");
    }
    server.stop().expect(1);
    let reasons: Vec<_> = entries(&scene, PENDING)
        .into_iter()
        .map(|(_, entry)| entry["pending"]["reason"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(reasons, [reason, reason]);
    rerecord(&scene, &upstream, &with(&["run.json", "--pending", "--yes"]), 0)
        .says(&["2 new answers"]);
    rerecord(&scene, &upstream, &with(&["run.json", "--pending", "--yes"]), 0)
        .says(&["the new answers (2) are there already"]);
    scene.run(&["review", "run.json", "--accept"]).expect(0);
    let server = scene.replay(&with(&["--strict", "--fail-unused"]));
    for call in &calls {
        server.call(call).expect(200);
    }
    server.stop().expect(0);
}

#[test]
fn call_that_is_recorded_at_another_upstream_only_is_sent() {
    let targets = ["gw", "two", "three"].map(|name| format!("/{name}/v1/chat/completions"));
    fetched_elsewhere(targets.each_ref().map(String::as_str), "other_upstream", "upstream");
}

#[test]
fn call_that_is_recorded_under_another_path_only_is_sent() {
    let targets = ["openai", "groq", "azure"].map(|at| format!("/gw/{at}/v1/chat/completions"));
    let shown = "/openai/v1/chat/completions";
    fetched_elsewhere(targets.each_ref().map(String::as_str), "other_path", shown);
}

#[test]
fn files_that_wait_are_refused_where_they_do_not_belong() {
    let scene = recorded(&[chat("weather in Paris")]);
    replayed(&scene, &[chat("weather in Oslo")], 1);
    let upstream = speaker("new");
    rerecord(&scene, &upstream, &["--pending", PENDING, "--yes"], 0);
    scene.run(&["replay", "-r", PENDING]).expect(2).says(&["loomrec rerecord FILE --pending"]);
    for file in [PENDING, "run.json.new"] {
        let args = ["record", "-r", file, "--listen", "127.0.0.1:0"];
        scene.run(&args).expect(2).says(&["record into another file"]);
        rerecord(&scene, &upstream, &[file], 2);
    }
    rerecord(&scene, &upstream, &["run.json", "--pending", "run.json.new"], 2);
    rerecord(&scene, &upstream, &["run.json", "--pending", PENDING, "-o", PENDING], 2);
    rerecord(&scene, &upstream, &["run.json", "-o", PENDING], 2);
    for file in ["run.json", "run.json.new"] {
        scene.run(&["replay", "-r", "run.json", "--pending", file]).expect(2);
    }
    let args = ["replay", "-r", "run.json", "--pending", "p", "--on-miss", "default"];
    scene.run(&args).expect(2).says(&["--on-miss"]);
    for (file, said) in [(PENDING, "no answers"), ("run.json.new", "wait for their review")] {
        scene.run(&["ls", file]).expect(0).says(&[said]);
        scene.run(&["stats", file]).expect(0).says(&[said]);
    }
    Server::start(scene.dir(), &["replay", "-r", "run.json.new"]).stop().expect(0);
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn calls_whose_key_is_missing_are_left_out_and_named() {
    let scene = recorded(&[chat("a"), message("b"), chat("c")]);
    let upstream = speaker("new");
    let without_key = |args: &[&str]| {
        let mut command = prepared(&scene, &upstream, args);
        finish(command.env_remove("ANTHROPIC_API_KEY"), b"")
    };
    let model = without_key(&["run.json", "--yes", "--model", "claude-sonnet-4-20250514"]);
    model.expect(2).says(&["no call can be sent", "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"]);
    assert_eq!((upstream.requests(), scene.names()), (0, vec!["run.json".to_owned()]));
    // Without a yes they are named, too, and nothing is sent.
    without_key(&["run.json"]).expect(2).says(&["left out", "ANTHROPIC_API_KEY"]);
    assert_eq!(upstream.requests(), 0);
    let said = without_key(&["run.json", "--yes"]).expect(1);
    said.says(&["left out", "ANTHROPIC_API_KEY", "failed: 2 new answers", "1 left out"]);
    let said = json_of(&without_key(&["run.json", "--yes", "--json"]).expect(1));
    assert_eq!((&said["verdict"], &said["already_there"]), (&json!("failed"), &json!(2)));
    assert_eq!((said["left_out"].as_array().unwrap().len(), upstream.requests()), (1, 2));
    rerecord(&scene, &upstream, &["run.json", "--yes"], 0).says(&["1 new answer"]);
}
