//! Tests of `import` and `export` for formats that keep words, lines or spans: files of AgentLoom,
//! aimock, and OpenAI's examples.

use serde_json::{Value, json};

use crate::interchange::{entries, feed, recorded, run};
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed, message};
use crate::support::{Answer, Scene, Upstream};

/// Two chats, one of them streamed.
fn chats() -> Scene {
    let upstream = Upstream::start(|request| match request.text().contains("\"stream\":true") {
        true => Answer::events(&chat_events(&["Hel", "lo ☃"])),
        false => Answer::json(200, chat_answer("Grüße")),
    });
    let scene = Scene::new();
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi"));
    server.call(&chat_streamed("hello, hi"));
    server.stop();
    scene
}

#[track_caller]
fn replays(scene: &Scene) {
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let answer = server.call(&chat("hi"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("Grüße"), "{}", answer.text());
    assert!(server.call(&chat_streamed("hello, hi")).text().contains("data: "));
    server.stop().expect(0);
}

#[test]
fn examples_come_back_as_answers_in_words() {
    let scene = chats();
    let ran = run(&scene, &["export", "--to", "openai-chat", "run.json", "-o", "c.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(scene.path("c.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["messages"][1]["role"], "assistant");
    let model = entries(&scene.path("run.json"))[0].1["request"]["body"]["model"].clone();
    let model = model.as_str().unwrap();
    let ran = run(&scene, &["import", "c.jsonl", "--model", model, "-o", "back.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    std::fs::rename(scene.path("back.json"), scene.path("run.json")).unwrap();
    replays(&scene);
}

#[test]
fn fixtures_answer_the_requests_that_are_given() {
    let scene = chats();
    let ran = run(&scene, &["export", "--to", "aimock", "run.json", "-o", "f.json", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let held: Value =
        serde_json::from_slice(&std::fs::read(scene.path("f.json")).unwrap()).unwrap();
    // "hi" also matches the other prompt, which must therefore come first.
    assert_eq!(held["fixtures"][0]["match"]["userMessage"], "hello, hi");
    let ran = run(&scene, &["import", "f.json", "--requests", "run.json", "-o", "back.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    std::fs::rename(scene.path("back.json"), scene.path("run.json")).unwrap();
    replays(&scene);
    let rule = json!({ "fixtures": [{ "match": { "userMessage": "a" }, "response": { "content": "b" } }] });
    std::fs::write(scene.path("rule.json"), rule.to_string()).unwrap();
    let ran = run(&scene, &["import", "rule.json", "-o", "none.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("fixture 1: it is a rule"), "{}", ran.stderr);
}

#[test]
fn chaos_of_a_fixture_happens_to_its_imported_call() {
    let scene = chats();
    let fixture = json!({ "match": { "userMessage": "hi" }, "response": { "content": "Grüße" },
        "chaos": { "dropRate": 1 } });
    std::fs::write(scene.path("f.json"), json!({ "fixtures": [fixture] }).to_string()).unwrap();
    let ran = run(&scene, &["import", "f.json", "--requests", "run.json", "-o", "back.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let held = entries(&scene.path("back.json"));
    assert!(held.iter().all(|(_, entry)| entry["chaos"] == json!({ "drop": 1.0 })), "{held:?}");
    std::fs::rename(scene.path("back.json"), scene.path("run.json")).unwrap();
    let server = scene.replay(&["--strict"]);
    assert_eq!(server.call(&chat("hi")).expect(500).json()["error"]["code"], "chaos_drop");
    server.stop();
}

#[test]
fn agentloom_gets_what_it_can_replay_and_its_file_becomes_a_recording() {
    let scene = recorded();
    let ran = run(&scene, &["export", "--to", "agentloom", "run.json", "-o", "a.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("an error (status 429) as an empty answer"), "{}", ran.stderr);
    let text = std::fs::read_to_string(scene.path("a.json")).unwrap();
    let held: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&held["_version"], held.get("_loomrec")), (&json!(2), None));
    assert_eq!(held["greet"]["content"], "Grüße");
    assert!(held["greet"].get("request").is_none());
    // It stands again under its hash, and a chat under its own.
    let hash = held["greet"]["request_hash"].as_str().unwrap();
    assert_eq!(
        (&held[hash]["content"], &held[hash]["alias_of"]),
        (&json!("Grüße"), &json!("greet"))
    );
    let ran = run(&scene, &["import", "a.json", "-o", "run.json", "--force"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("by their step id and their hash"), "{}", ran.stderr);
    let server = scene.replay(&["--strict"]);
    let greet = |prompt: &str| server.call(&message(prompt).header("x-loomrec-step-id: greet"));
    assert!(greet("anything").expect(422).text().contains("drifted"));
    let answer = greet("hi");
    assert!(answer.text().contains("Grüße"), "{}", answer.text());
    server.stop().expect(1);
}

#[test]
fn turns_of_a_step_are_a_list_for_agentloom_and_back() {
    let scene = Scene::new();
    let text = r#"{"_version": 2, "a": [{"content": "1"}, {"content": "2"}, {"content": "3"}], "b": {"content": "4"}}"#;
    std::fs::write(scene.path("a.json"), text).unwrap();
    assert_eq!(run(&scene, &["import", "a.json", "-o", "r.json"]).code, 0);
    let ran = run(&scene, &["export", "--to", "agentloom", "r.json"]);
    let held: Value = serde_json::from_str(&ran.stdout).unwrap();
    let said = |value: &Value| value["content"].clone();
    let turns: Vec<_> = held["a"].as_array().unwrap().iter().map(said).collect();
    assert_eq!((turns, said(&held["b"])), (vec![json!("1"), json!("2"), json!("3")], json!("4")));
    std::fs::write(scene.path("old.json"), r#"{"_version": 1, "a": {}}"#).unwrap();
    let old = run(&scene, &["import", "old.json", "-o", "n.json"]);
    assert_eq!(old.code, 4);
    assert!(old.stderr.contains("version 1") && old.stderr.contains("record"), "{}", old.stderr);
}

#[test]
fn file_that_cannot_be_read_is_named_with_the_place() {
    let scene = Scene::new();
    let deep = "[".repeat(100_000);
    for (format, text, told) in [
        ("agentloom", "", "EOF"),
        ("aimock", "{\"fixtures\": [{\"match\": {}, ", "line 1"),
        ("openai-chat", "\n\n{\"messages\": \"x\"}", "line 3"),
        ("openai-chat", &format!("{{\"messages\": {deep}"), "recursion limit"),
        ("agentloom", "{\"a\": {}, \"a\": {}}", "twice"),
        ("aimock", "{\"fixtures\": [], \"fixtures\": []}", "twice"),
    ] {
        std::fs::write(scene.path("file.json"), text).unwrap();
        let ran = run(&scene, &["import", "--from", format, "file.json", "-o", "r.json"]);
        assert_eq!(ran.code, 4, "{format}: {}", ran.stderr);
        assert!(ran.stderr.contains("file.json: "), "{format}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{format}: {told}: {}", ran.stderr);
        assert!(ran.stderr.len() < 1000 && !scene.path("r.json").exists());
    }
    std::fs::write(scene.path("a.json"), "{\"_version\": 2, \"a\": {\"content\": \"b\"}}").unwrap();
    let unused = run(&scene, &["import", "a.json", "--requests", "x", "-o", "r.json"]);
    assert_eq!(unused.code, 2, "{}", unused.stderr);
}

#[test]
fn memory_is_bounded_when_one_thing_has_no_end() {
    for (head, what) in [
        ("{\"_version\": 2, \"a\": {\"content\": \"", "agentloom"),
        ("{\"fixtures\": [{\"match\": {\"userMessage\": \"", "aimock"),
        ("{\"messages\": [{\"role\": \"", "openai-chat"),
    ] {
        let (code, said, peak) = feed(head, &"x".repeat(1 << 20), false);
        assert_eq!(code, 4, "{what}: {said}");
        assert!(said.contains("one exchange takes more than 128 MiB"), "{what}: {said}");
        assert!(peak < 700 << 10, "{what}: {peak} kB");
    }
    let line =
        format!("{}\n", json!({ "messages": [{ "role": "user", "content": "y".repeat(2000) }] }))
            .repeat(200);
    let (code, said, peak) = feed("", &line, true);
    assert_eq!(code, 1, "{said}");
    assert!(peak < 100 << 10, "{peak} kB");
}
