//! Tests of settings: flags and their environment variables, the receipt, forwarding on a miss,
//! multipart bodies.

use serde_json::Value;

use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Scene, Server, Upstream};

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("live")))
}

#[test]
fn every_flag_has_a_twin_in_the_environment_and_the_flag_wins() {
    let (scene, upstream) = (Scene::new(), upstream());
    let mut bare = command(scene.dir(), &["record"]);
    bare.env("LOOMREC_RECORDING", "run.json")
        .env("LOOMREC_LISTEN", "127.0.0.1:0")
        .env("LOOMREC_UPSTREAM", format!("openai={}", upstream.url()))
        .env("LOOMREC_RECEIPT", "receipt.json");
    let server = Server::spawn(&mut bare);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    assert_eq!(scene.takes().len(), 1);
    assert!(scene.path("receipt.json").exists());
    let mut both = command(scene.dir(), &scene.record_args(&upstream.url(), &["--mode", "all"]));
    both.args(["--listen", "127.0.0.1:0"]).env("LOOMREC_MODE", "none");
    let server = Server::spawn(&mut both);
    server.call(&chat("another")).expect(200);
    server.stop().expect(0);
    let mut none = command(scene.dir(), &scene.record_args(&upstream.url(), &[]));
    let server = Server::spawn(none.args(["--listen", "127.0.0.1:0"]).env("LOOMREC_MODE", "none"));
    server.call(&chat("a third")).expect(422);
    server.stop().expect(1);
}

#[test]
fn a_live_answer_on_a_miss_is_passed_on_and_not_kept() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let before = scene.text();
    let openai = format!("openai={}", upstream.url());
    let server = scene.replay(&["--on-miss", "forward", "--upstream", &openai]);
    server.call(&chat("hi")).expect(200);
    assert_eq!(upstream.requests(), 1);
    assert_eq!(server.call(&chat("new")).expect(200).text(), chat_answer("live"));
    assert_eq!(upstream.requests(), 2);
    server.stop();
    assert_eq!(scene.text(), before);
}

#[test]
fn the_receipt_of_a_recording_counts_calls_tokens_and_cost() {
    let (scene, upstream) = (Scene::new(), upstream());
    let path = scene.path("receipt.json");
    let server = scene.record(&upstream, &["--receipt", path.to_str().unwrap()]);
    server.call(&chat("one")).expect(200);
    server.call(&chat("two")).expect(200);
    server.stop().expect(0);
    let receipt: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(receipt["recorded"], 2, "{receipt}");
    let text = receipt.to_string();
    let digest = {
        use sha2::Digest;
        let hash = sha2::Sha256::digest(scene.text().as_bytes());
        hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    assert!(text.contains(&digest), "{digest} not in {text}");
}

#[test]
fn a_receipt_that_cannot_be_written_is_said_before_anything_runs() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let said = scene.run(&[
        "replay",
        "-r",
        "run.json",
        "--receipt",
        "no/such/folder/receipt.json",
        "--",
        "touch",
        "ran",
    ]);
    said.expect(2).says(&["no/such/folder/receipt.json"]);
    assert!(!scene.path("ran").exists());
}

#[test]
fn an_empty_control_token_is_none() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--control-token", ""]);
    let health = || Call::get("/__loomrec/health").header("x-loomrec-token: ");
    server.call(&health().header("host: evil.example")).expect(403);
    server.call(&health().header("host: localhost")).expect(200);
    server.stop().expect(0);
}

#[test]
fn messages_are_json_lines_when_asked() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--log-format", "json"]);
    server.call(&chat("ho")).expect(422);
    let said = server.stop().expect(1).stderr;
    let lines: Vec<Value> = said.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let names = lines.iter().any(|line| line.to_string().contains("/messages/0/content"));
    assert!(names, "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_setting_takes_each_value_that_its_flag_takes() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let settings = "[replay]\nlatency = \"constant:1\"\non-miss = \"default:hello\"\n";
    std::fs::write(scene.path("loomrec.toml"), settings).unwrap();
    scene.run(&["trust", "--yes"]).expect(0);
    let server = scene.replay(&[]);
    server.call(&chat("hi")).expect(200);
    assert!(server.call(&chat("new")).expect(200).text().contains("hello"));
    server.stop();
    for value in ["constnat:1", "constnat"] {
        let settings = format!("[replay]\nlatency = \"{value}\"\n");
        std::fs::write(scene.path("loomrec.toml"), settings).unwrap();
        let says = format!("latency: \"{value}\" is not one of its values");
        scene.run(&["replay", "-r", "run.json", "--", "true"]).expect(2).says(&[says.as_str()]);
    }
}

#[test]
fn a_remote_listener_is_allowed_only_when_said() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let args = scene.replay_args(&["--listen", "0.0.0.0:0", "--allow-remote"]);
    let server = Server::spawn(&mut command(scene.dir(), &args));
    server.process.signal("INT");
    server.process.wait().expect(0);
}

/// An upload as an SDK sends it, with this boundary.
fn upload(boundary: &str, file: &[u8]) -> Call {
    let head = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
         --{boundary}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\
         content-type: audio/wav\r\n\r\n"
    );
    let body = [head.as_bytes(), file, format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
    let media = format!("content-type: multipart/form-data; boundary={boundary}");
    Call::new("POST", "/openai/v1/audio/transcriptions").header(&media).body(body)
}

#[test]
fn a_multipart_body_is_known_by_its_parts_and_not_its_boundary() {
    let (scene, upstream) = (Scene::new(), upstream());
    let sound = [0_u8, 255, 13, 10, 1, 2];
    scene.recorded(&upstream, &[upload("0123456789abcdef", &sound)]);
    let sent = &upstream.received()[0];
    assert!(sent.body.windows(sound.len()).any(|window| window == sound));
    let other = "----formdata-undici-012345678901";
    scene.replayed(&["--strict"], &[upload(other, &sound)], 0).remove(0).expect(200);
    scene.replayed(&[], &[upload(other, b"another sound")], 1).remove(0).expect(422);
}

#[test]
fn a_server_without_a_terminal_writes_no_live_line() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(0);
    assert_eq!(ended.stdout, "");
    assert!(!ended.stderr.contains('\u{1b}') && !ended.stderr.contains('\r'), "{:?}", ended.stderr);
}

#[test]
fn the_demo_runs_the_whole_loop() {
    let scene = Scene::new();
    let ended = finish(&mut command(scene.dir(), &["demo", "--keep", "demo.json"]), b"").expect(0);
    let said = ended.stdout + &ended.stderr;
    for part in ["RecordingMismatchError", "/messages/"] {
        assert!(said.contains(part), "{part} not in {said}");
    }
    scene.run(&["ls", "demo.json"]).expect(0);
    scene.run(&["demo"]).expect(0);
    let left: Vec<_> = scene.files().into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [scene.path("demo.json")]);
}

#[test]
fn a_typed_fallback_stands_above_a_forward_in_the_environment() {
    let scene = Scene::new();
    let upstream = upstream();
    scene.recorded(&upstream, &[chat("hi")]);
    let live = format!("openai={}", upstream.url());
    let args = scene.replay_args(&["--on-miss", "default", "--upstream", &live]);
    let mut replay = command(scene.dir(), &args);
    replay.args(["--listen", "127.0.0.1:0"]).env("LOOMREC_ON_MISS", "forward");
    let server = Server::spawn(&mut replay);
    let answer = server.call(&chat("other")).expect(200);
    assert!(answer.text().contains("Mock response"), "{}", answer.text());
    server.stop().expect(0);
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn a_model_that_costs_nothing_is_not_called_unpriced() {
    let (scene, upstream) = (Scene::new(), upstream());
    let ollama = format!("ollama={}", upstream.url());
    let receipt = scene.path("receipt.json");
    let args = ["--upstream", &ollama, "--receipt", receipt.to_str().unwrap()];
    let server = scene.record(&upstream, &args);
    let body = crate::support::shape::chat_body("hi").to_string();
    server.call(&Call::post("/ollama/v1/chat/completions", body)).expect(200);
    server.stop().expect(0);
    let receipt: Value = serde_json::from_slice(&std::fs::read(receipt).unwrap()).unwrap();
    assert_eq!(receipt["recorded"], 1, "{receipt}");
    assert!(receipt["tokens"]["output"].as_u64().unwrap() > 0, "{receipt}");
    assert_eq!(receipt["unpriced_models"], serde_json::json!({}), "{receipt}");
}
