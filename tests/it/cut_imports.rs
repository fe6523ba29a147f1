//! Tests of importing files that hold calls only in part: no empty or cut call is imported.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::interchange::{entries, run};
use crate::support::Scene;
use crate::support::loomrec;
use crate::support::memory::measured;
use crate::support::shape::{chat, chat_answer};

const URI: &str = "https://api.openai.com/v1/chat/completions";

const ASKED: &str = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;

/// A cassette of interactions, each with these lines of its request and response.
fn cassette(parts: &[(&str, &str)]) -> String {
    let mut text = String::from("interactions:\n");
    for (request, response) in parts {
        let kind = "headers: {content-type: [application/json]}";
        let _ = write!(
            text,
            "- request:\n    method: POST\n    uri: {URI}\n    {kind}\n    {request}\n  response:\n    \
             {kind}\n    {response}\n"
        );
    }
    text + "version: 1\n"
}

#[test]
fn interaction_without_a_body_or_a_status_is_left_out_by_name_and_the_import_does_not_end_well() {
    let scene = Scene::new();
    let body = format!("body: '{ASKED}'");
    let answer = "status: {code: '200'}\n    body: {string: '{}'}";
    let text = cassette(&[
        (&body, answer),
        (&body, "status: {code: 200}\n    payload: '{}'"),
        ("json_body: {model: gpt-4o-mini}", answer),
        (&body, "status: {code: twohundred}\n    body: {string: '{}'}"),
        (&body, "body: {string: '{}'}"),
        (&body, "status: {code: 204}"),
    ]);
    std::fs::write(scene.path("c.yaml"), text).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "r.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for told in [
        "2 calls to r.json",
        "interaction 2: the file does not hold its response's body",
        "interaction 3: the file does not hold its request's body",
        "interaction 4: its status cannot be read",
        "interaction 5: its status cannot be read",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let statuses: Vec<_> = entries(&scene.path("r.json"))
        .iter()
        .map(|(_, entry)| entry["response"]["status"].clone())
        .collect();
    assert_eq!(statuses, [json!(200), json!(204)]);
}

/// A HAR file of chats with these responses.
fn har(responses: &[Value]) -> String {
    let entries: Vec<Value> = responses
        .iter()
        .map(|response| {
            json!({
                "startedDateTime": "2026-01-01T00:00:00Z", "time": 5,
                "request": {
                    "method": "POST", "url": URI,
                    "headers": [{"name": "content-type", "value": "application/json"}],
                    "postData": {"mimeType": "application/json", "text": ASKED},
                },
                "response": response,
            })
        })
        .collect();
    json!({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}}).to_string()
}

fn answered(status: Value, headers: &[(&str, &str)], size: i64, text: &str) -> Value {
    let kind = [("content-type", "application/json")];
    let all = kind.iter().chain(headers);
    let headers: Vec<Value> =
        all.map(|(name, value)| json!({"name": name, "value": value})).collect();
    let content = json!({"size": size, "mimeType": "application/json", "text": text});
    json!({"status": status, "headers": headers, "content": content})
}

#[test]
fn har_entry_whose_answer_is_cut_or_missing_is_left_out_by_name_and_the_import_does_not_end_well() {
    let scene = Scene::new();
    let (whole, cut) = (chat_answer("Hello"), r#"{"id":"x","object":"chat.comp"#);
    let size = i64::try_from(whole.len()).unwrap();
    let text = har(&[
        answered(json!(200), &[], size, &whole),
        answered(json!(200), &[("content-length", "5000")], 5000, cut),
        answered(json!(200), &[], 5000, cut),
        answered(json!(200), &[("content-encoding", "br")], 5000, cut),
        Value::Null,
        answered(json!("OK"), &[], size, &whole),
        answered(json!(0), &[], size, &whole),
        json!({"status": 0, "headers": [], "content": {"size": 0}, "_error": "net::ERR_ABORTED"}),
        answered(json!(200), &[("content-encoding", "br"), ("content-length", "9")], size, &whole),
    ]);
    std::fs::write(scene.path("c.har"), text).unwrap();
    let ran = run(&scene, &["import", "c.har", "-o", "r.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for told in [
        "2 calls to r.json",
        "entry 2: its response's body has 29 bytes, and 5000 by its content-length",
        "entry 3: the file holds 29 bytes of its response's body, and says that there were 5000",
        "entry 4: the file holds 29 bytes of its response's body, and says that there were 5000",
        "entry 5: it holds no response",
        "entry 6: its status cannot be read",
        "entry 7: its status cannot be read (0), though it was answered",
        "entry 8: it was never answered (status 0)",
        "6 of the calls could not be imported as they are",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let all = run(&scene, &["import", "c.har", "-o", "all.json", "--any-length"]);
    assert!(all.stderr.contains("5 calls to all.json"), "{}", all.stderr);
}

#[test]
fn call_that_a_browser_aborted_is_told_by_name_and_is_no_loss() {
    let scene = Scene::new();
    let whole = chat_answer("Hello");
    let size = i64::try_from(whole.len()).unwrap();
    let aborted = json!({"status": 0, "headers": [], "content": {"size": 0}, "_error": "aborted"});
    std::fs::write(scene.path("c.har"), har(&[answered(json!(200), &[], size, &whole), aborted]))
        .unwrap();
    let ran = run(&scene, &["import", "c.har", "-o", "run.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("entry 2: it was never answered (status 0)"), "{}", ran.stderr);
    let server = scene.replay(&["--strict"]);
    assert_eq!(server.call(&chat("hi")).text(), whole);
    server.stop();
}

#[test]
fn password_in_an_address_comes_over_nowhere() {
    let password = "hunter2secret99";
    let asked = ASKED.replace("hi", password);
    let answer = chat_answer(&format!("it is {password}"));
    let uri = URI.replace("https://", &format!("https://bob-the-builder:{password}@"));
    let yaml = cassette(&[(
        &format!("body: '{asked}'"),
        &format!("status: {{code: 200}}\n    body: {{string: '{answer}'}}"),
    )]);
    let size = i64::try_from(answer.len()).unwrap();
    let mut entry: Value =
        serde_json::from_str(&har(&[answered(json!(200), &[], size, &answer)])).unwrap();
    entry["log"]["entries"][0]["request"]["postData"]["text"] = asked.clone().into();
    let json = json!({"version": 1, "interactions": [{
        "request": {"method": "POST", "uri": URI, "body": asked,
            "headers": {"content-type": ["application/json"]}},
        "response": {"status": {"code": 200}, "body": {"string": answer},
            "headers": {"content-type": ["application/json"]}},
    }]});
    for (name, text) in
        [("c.yaml", yaml), ("c.har", entry.to_string()), ("c.json", json.to_string())]
    {
        let scene = Scene::new();
        std::fs::write(scene.path(name), text.replace(URI, &uri)).unwrap();
        let ran = loomrec::run(scene.dir(), &["import", name, "-o", "r.json"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let held = std::fs::read_to_string(scene.path("r.json")).unwrap();
        assert!(held.contains("REDACTED") && !held.contains(password), "{name}: {held}");
        assert!(!held.contains("bob-the-builder"), "{name}: {held}");
    }
}

#[test]
fn vector_that_many_texts_would_share_costs_no_memory() {
    let scene = Scene::new();
    let fixture = json!({"fixtures": [{"match": {"inputText": "a"},
        "response": {"embedding": vec![0; 200_000]}}]});
    std::fs::write(scene.path("f.json"), fixture.to_string()).unwrap();
    let asked = json!({"model": "text-embedding-3-small", "input": vec!["a"; 4096]});
    let requests = json!({"version": 1, "interactions": [{
        "request": {"method": "POST", "uri": "https://api.openai.com/v1/embeddings",
            "headers": {"content-type": ["application/json"]}, "body": asked.to_string()},
        "response": {"status": {"code": 200}, "body": {"string": "{}"},
            "headers": {"content-type": ["application/json"]}},
    }]});
    std::fs::write(scene.path("q.json"), requests.to_string()).unwrap();
    run(&scene, &["import", "q.json", "-o", "asked.json"]).expect(0);
    let import = ["import", "f.json", "--requests", "asked.json", "-o", "r.json"];
    let (most, said) = measured(&scene, &import, 1);
    assert!(said.contains("its one vector of 200000 numbers"), "{said}");
    assert!(most < 300 << 10, "{most} kB");
}
