//! Tests of the recording that the settings name: commands find it, and messages name it as the
//! user would.

use std::fs;

use serde_json::Value;

use crate::support::loomrec::{Finished, command, finish};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Server, Upstream};

/// A project whose settings name its recording, of the calls "hi" and "ho".
fn project() -> Scene {
    let scene = Scene::new();
    fs::write(scene.path("loomrec.toml"), "recording = \"recs/agent.json\"\n").unwrap();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    let url = format!("openai={}", upstream.url());
    let args = ["record", "--listen", "127.0.0.1:0", "--upstream", &url];
    let server = Server::spawn(&mut command(scene.dir(), &args));
    server.call(&chat("hi")).expect(200);
    server.call(&chat("ho").header("x-loomrec-step-id: plan")).expect(200);
    server.stop().expect(0).says(&["· recs/agent.json sha256 "]);
    scene
}

/// The key of the call "hi".
fn key(scene: &Scene) -> String {
    let text = fs::read_to_string(scene.path("recs/agent.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    json.as_object().unwrap().keys().find(|key| key.len() == 64).unwrap().clone()
}

fn says(scene: &Scene, args: &[&str], code: i32, part: &str) {
    let ended = scene.run(args).expect(code);
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(told.contains(part), "{args:?}: {told}");
}

#[test]
fn commands_that_take_a_recording_take_that_of_the_settings() {
    let scene = project();
    for (args, code, part) in [
        (&["ls"][..], 0, "2 calls"),
        (&["stats"], 0, "2 calls"),
        (&["verify"], 0, "recs/agent.json: ok, 2 calls"),
        (&["review"], 0, "nothing waits for a review of recs/agent.json"),
        (&["review", "--check"], 0, "nothing is pending"),
        (&["review", "--accept"], 0, "nothing waits for a review of recs/agent.json"),
        (&["review", "--reject"], 0, "nothing waits for a review of recs/agent.json"),
        (&["review", "--list"], 0, "nothing is pending"),
        (&["prune", "--older-than", "1d"], 0, "recs/agent.json: none of its 2 takes"),
        (&["redact"], 0, "recs/agent.json"),
        (&["export", "--to", "har"], 0, "\"log\""),
        (&["rerecord", "--dry-run", "--upstream", "http://127.0.0.1:9"], 0, "OPENAI_API_KEY"),
        (&["show"], 0, "== plan"),
    ] {
        says(&scene, args, code, part);
    }
    // A recording that is named wins.
    fs::copy(scene.path("recs/agent.json"), scene.path("saved.json")).unwrap();
    says(&scene, &["ls", "saved.json"], 0, "2 calls");
    says(&scene, &["ls", "none.json"], 4, "none.json");
}

#[test]
fn only_word_is_a_key_unless_it_names_a_recording() {
    let scene = project();
    let key = key(&scene);
    says(&scene, &["show", &key[..6]], 0, "hi");
    says(&scene, &["show", "plan"], 0, "ho");
    says(&scene, &["show", "--json", "plan"], 0, "\"key\": \"plan\"");
    says(&scene, &["show", "recs/agent.json", "plan"], 0, "ho");
    says(&scene, &["show", "recs/agent.json"], 0, "== plan");
    says(&scene, &["show", "recs/agent.json", "--json"], 2, "holds 2 keys");
    says(&scene, &["prune", "plan"], 0, "1 of 2 takes would be pruned");
    says(&scene, &["prune", "plan", &key[..6]], 0, "2 of 2 takes would be pruned");
    says(&scene, &["prune", "plam", "--apply"], 1, "there is no \"plam\" in recs/agent.json");
    let edited = finish(command(scene.dir(), &["edit", "plan"]).env("EDITOR", "true"), b"");
    edited.expect(0).says(&["plan: nothing was changed"]);
    says(&scene, &["show", "plam"], 1, "there is no \"plam\" in recs/agent.json; near it");
    // What looks like a recording is not searched for among the keys.
    says(&scene, &["show", "agnet.json"], 4, "failed to find the recording agnet.json");
    fs::create_dir(scene.path("plan")).unwrap();
    says(&scene, &["show", "plan"], 0, "ho");
    says(
        &scene,
        &["review", "--accept", "plan"],
        2,
        "nothing waits for a review of recs/agent.json",
    );
    says(
        &scene,
        &["review", "--reject", "plan", &key],
        2,
        "nothing waits for a review of recs/agent.json",
    );
    let plan = ["rerecord", "plan", &key, "--dry-run", "--upstream", "http://127.0.0.1:9"];
    says(&scene, &plan, 0, "2 calls");
    says(&scene, &["rerecord", "plam", "--dry-run"], 1, "plam: there is no such call");
}

#[test]
fn variable_wins_over_the_file_and_paths_are_relative_to_the_folder() {
    let scene = project();
    fs::create_dir_all(scene.path("a/b")).unwrap();
    let within = |args: &[&str]| -> Finished {
        finish(&mut command(&scene.path("a/b"), args), b"").expect(0)
    };
    assert!(within(&["verify"]).stdout.contains("../../recs/agent.json: ok, 2 calls"));
    let told = within(&["config"]).stdout;
    assert!(told.starts_with("settings  ../../loomrec.toml\n"), "{told}");
    assert!(told.contains("../../recs/agent.json"), "{told}");
    let absolute = scene.path("loomrec.toml");
    let told = scene.run(&["config", "--config", absolute.to_str().unwrap()]).expect(0).stdout;
    assert!(told.starts_with("settings  loomrec.toml\n"), "{told}");
    fs::copy(scene.path("recs/agent.json"), scene.path("other.json")).unwrap();
    let mut line = command(scene.dir(), &["verify"]);
    let done = finish(line.env("LOOMREC_RECORDING", "other.json"), b"").expect(0);
    assert!(done.stdout.contains("other.json: ok, 2 calls"), "{}", done.stdout);
    let mut line = command(scene.dir(), &["verify"]);
    let done = finish(line.env("LOOMREC_RECORDING", ""), b"").expect(0);
    assert!(done.stdout.contains("recs/agent.json: ok, 2 calls"), "{}", done.stdout);
}

#[test]
fn several_recordings_serve_only_commands_that_take_several() {
    let scene = project();
    fs::copy(scene.path("recs/agent.json"), scene.path("b.json")).unwrap();
    let text = "[replay]\nrecording = [\"recs/agent.json\", \"b.json\"]\n";
    fs::write(scene.path("loomrec.toml"), text).unwrap();
    says(&scene, &["stats"], 0, "4 calls");
    says(&scene, &["ls"], 2, "<FILE>");
    says(&scene, &["rerecord"], 2, "name the recording: loomrec rerecord FILE");
}

#[test]
fn recording_outside_of_the_project_is_not_changed_unless_it_is_named() {
    let scene = project();
    let inner = scene.path("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("loomrec.toml"), "recording = \"../recs/agent.json\"\n").unwrap();
    let run = |args: &[&str]| finish(&mut command(&inner, args), b"");
    let reviews = [&["review", "--check"][..], &["review", "--list"]];
    let others = [&["ls"][..], &["verify"], &["redact"], &["prune", "--older-than", "1d"]];
    for args in others.into_iter().chain(reviews) {
        run(args).expect(0);
    }
    let prune = ["prune", "--older-than", "1d", "--apply"];
    let others = [&["verify", "--fix"][..], &["redact", "--apply"], &["rerecord", "--yes"]];
    for args in [&["review", "--accept"][..], &["review"], &prune].into_iter().chain(others) {
        run(args).expect(2).says(&["loomrec.toml:1: recording = ", "leads out of the project"]);
    }
    // A key does not name a recording.
    for args in [
        &["review", "--accept", "plan"][..],
        &["review", "--reject", "plan"],
        &["prune", "plan", "--apply"],
        &["edit", "plan"],
        &["rerecord", "plan", "--yes"],
    ] {
        run(args).expect(2).says(&["leads out of the project"]);
    }
    run(&["verify", "--fix", "../recs/agent.json"]).expect(0);
}
