//! An exchange of messages, the second kind of exchange beside one request and one answer, on its
//! way through the commands on recordings, and its replay.

use loomrec_engine::replay::message_script::MessageScript;
use loomrec_recording::{Entry, MessagePayload};
use serde_json::{Value, json};

use crate::support::Scene;

/// A credential that one message holds.
fn secret() -> String {
    format!("sk-ant-api03-{}", "Ab12".repeat(8))
}

/// A recording of one exchange: two messages each way, and the close.
fn recording(asked: &str, token: &str) -> String {
    let messages = json!([
        { "from": "client", "ms": 1.0, "body": { "type": "session.update", "token": token } },
        { "from": "server", "ms": 2.5, "body": { "type": "session.updated" } },
        { "from": "client", "ms": 3.0, "text": asked },
        { "from": "server", "ms": 40.0, "base64": "AP8=" },
        { "from": "server", "ms": 41.0, "close": 1000, "reason": "done" }
    ]);
    let entry = json!({ "content": "", "messages": messages });
    let file = json!({ "_version": 2, "_loomrec": { "format": "1.0" }, "turn": entry });
    serde_json::to_string_pretty(&file).unwrap() + "\n"
}

fn entry(scene: &Scene, name: &str) -> Entry {
    let text = std::fs::read(scene.path(name)).unwrap();
    let file: Value = serde_json::from_slice(&text).unwrap();
    Entry::parse(&file["turn"]).unwrap()
}

#[test]
fn messages_are_verified_redacted_shown_compared_stored_and_replayed() {
    let scene = Scene::new();
    scene.write(recording("umbrella in Paris?", &secret()));
    let name = scene.recording().file_name().unwrap().to_str().unwrap().to_owned();
    let name = name.as_str();

    let found = scene.run(&["verify", name]).expect(1).stdout;
    assert!(found.contains("/messages/0") && found.contains("a credential"), "{found}");
    scene.run(&["redact", name, "--apply"]).expect(0);
    assert!(!std::fs::read_to_string(scene.recording()).unwrap().contains(&secret()));
    let redacted = entry(&scene, name);
    assert_eq!(redacted.messages.len(), 5);

    let shown = scene.run(&["show", name, "turn"]).expect(0).stdout;
    for line in ["umbrella in Paris?", "(2 bytes)", "close 1000 done"] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }

    let other = recording("umbrella in Oslo?", "[REDACTED]");
    std::fs::write(scene.path("other.json"), other).unwrap();
    let differing = scene.run(&["diff", name, "other.json", "--json"]).expect(1).stdout;
    assert!(differing.contains("messages/2") && differing.contains("Oslo"), "{differing}");

    scene
        .run(&["merge", name, "other.json", "--on-conflict", "first", "-o", "merged.json"])
        .expect(0);
    assert_eq!(entry(&scene, "merged.json"), redacted);

    let sent = redacted.messages.clone();
    let mut script = MessageScript::new(sent.clone());
    assert_eq!(script.next_due(), None);
    script.accept_message(&sent[0].payload).unwrap();
    assert_eq!(script.next_due(), Some(&sent[1]));
    let changed = MessagePayload::Text("umbrella in Oslo?".into());
    assert_eq!(script.accept_message(&changed).unwrap_err().index, 2);
    script.accept_message(&sent[2].payload).unwrap();
    assert_eq!(script.next_due(), Some(&sent[3]));
    assert_eq!(script.next_due(), Some(&sent[4]));
    assert!(script.is_at_end());
}
