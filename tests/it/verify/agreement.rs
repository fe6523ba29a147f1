//! Tests that `verify` and `redact` find the same: wherever a credential is, both report it,
//! `--fix` removes it, and neither shows it.

use serde_json::{Value, json};

use crate::support::{Answer, Call, Scene, Upstream};

/// A key with a well-known form, which is not in the source as such.
fn key() -> String {
    format!("sk-ant-api03-{}", "a1B2c3D4e5".repeat(4))
}

/// A change to an entry, and to its name.
type Change = fn(&mut Value, &mut String, &str);

const PLACES: [(&str, Change); 14] = [
    ("the step id", |_, name, key| *name = format!("step {key}")),
    ("the model", |entry, _, key| entry["model"] = json!(key)),
    ("the finish reason", |entry, _, key| entry["finish_reason"] = json!(key)),
    ("the upstream", |entry, _, key| entry["upstream"] = json!(key)),
    ("the session", |entry, _, key| entry["session"] = json!(key)),
    ("a field that nobody knows", |entry, _, key| entry["more"] = json!({"a": [key]})),
    ("the name of such a field", |entry, _, key| entry[key] = json!(1)),
    ("the text", |entry, _, key| entry["content"] = json!(key)),
    ("a tool's name", |entry, _, key| {
        entry["tool_calls"] = json!([{"id": "i", "name": key, "arguments": {}}]);
    }),
    ("the method", |entry, _, key| entry["request"]["method"] = json!(key)),
    ("the path", |entry, _, key| {
        entry["request"]["path"] = json!(format!("/v1/files/{}", key.replace('-', "%2D")));
    }),
    ("the query", |entry, _, key| {
        entry["request"]["query"] = json!(format!("note={}", key.replace('-', "%2D")));
    }),
    ("the names of other headers", |entry, _, key| {
        entry["request"]["other_headers"] = json!(format!("x-{key}").to_ascii_lowercase());
    }),
    ("the name of a response header", |entry, _, key| {
        entry["response"]["headers"][format!("x {key}")] = json!("1");
    }),
];

#[test]
fn credential_that_redact_would_remove_is_found_by_verify_at_every_place() {
    let recorded = Scene::new();
    let upstream = Upstream::always(Answer::json(200, r#"{"ok":1}"#));
    recorded.recorded(&upstream, &[Call::get("/openai/v1/files/x")]);
    let (file, (name, entry)) = (recorded.json(), recorded.takes()[0].clone());
    for (place, change) in PLACES {
        let (mut file, mut name, mut entry, was) =
            (file.clone(), name.clone(), entry.clone(), name.clone());
        change(&mut entry, &mut name, &key());
        let map = file.as_object_mut().unwrap();
        map.remove(&was);
        map.insert(name, entry);
        let scene = Scene::new();
        scene.write(serde_json::to_string_pretty(&file).unwrap());
        let would = scene.run(&["redact", "run.json"]).expect(0);
        assert!(
            would.stdout.contains("1 of 1 takes would be redacted"),
            "{place}: {}",
            would.stdout
        );
        let found = scene.run(&["verify", "run.json"]).expect(1);
        assert!(found.stdout.contains("credential"), "{place}: {}", found.stdout);
        let shown = [would.stdout, found.stdout, found.stderr].concat().to_lowercase();
        assert!(!shown.contains(&key().to_lowercase()[14..]), "{place}: {shown}");
        // After the fix, `redact` finds nothing either.
        scene.run(&["verify", "run.json", "--fix=rehash"]).expect(0);
        scene.run(&["verify", "run.json"]).expect(0);
        let clean = scene.run(&["redact", "run.json"]).expect(0);
        assert!(clean.stdout.contains("clean"), "{place}: {}", clean.stdout);
        assert!(!scene.text().to_lowercase().contains(&key().to_lowercase()[14..]), "{place}");
    }
}
