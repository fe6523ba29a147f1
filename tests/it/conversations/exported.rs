//! Tests of WebSockets in files of other tools: HAR holds them, other formats leave them out by name.

use serde_json::{Value, json};

use super::{OTHER, REALTIME, converse, record_conversation, recording, update, upstream};
use crate::interchange::{entries, run};
use crate::support::Scene;
use crate::support::web_socket::{close, hear, open, say};

fn file(scene: &Scene, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(scene.path(name)).unwrap()).unwrap()
}

#[test]
fn har_holds_a_connection_as_chrome_does_and_gives_it_back() {
    let (scene, upstream) = (Scene::new(), upstream());
    let heard = record_conversation(&scene, &upstream, REALTIME);
    run(&scene, &["export", "--to", "har", "run.json", "-o", "run.har"]).expect(0);
    let har = file(&scene, "run.har");
    let entry = &har["log"]["entries"][0];
    assert_eq!(entry["_resourceType"], "websocket");
    assert_eq!(entry["request"]["url"], "wss://api.openai.com/v1/realtime?model=gpt-realtime");
    let kept = scene.only_take()["messages"].clone();
    let messages = entry["_webSocketMessages"].as_array().unwrap();
    let parts: Vec<_> = messages
        .iter()
        .map(|message| (&message["type"], &message["opcode"], message["data"].as_str().unwrap()))
        .collect();
    let (send, receive) = (&json!("send"), &json!("receive"));
    let text = |value: &Value| value.to_string();
    assert_eq!(
        parts,
        [
            (receive, &json!(1), text(&heard[0]).as_str()),
            (send, &json!(1), &text(&update())),
            (receive, &json!(1), &text(&heard[1])),
            (receive, &json!(1), &text(&heard[2])),
            (send, &json!(2), "AP8="),
            (receive, &json!(2), "AP8="),
        ]
    );
    let gap = messages[1]["time"].as_f64().unwrap() - messages[0]["time"].as_f64().unwrap();
    let recorded = kept[1]["ms"].as_f64().unwrap() - kept[0]["ms"].as_f64().unwrap();
    assert!((gap * 1000.0 - recorded).abs() < 0.01, "{gap} s, {recorded} ms");

    run(&scene, &["import", "run.har", "-o", "back.json"]).expect(0);
    let without_names = |path| {
        let mut held = entries(path);
        // HAR has the headers that were stored, and not the names of others.
        held.iter_mut().for_each(|(_, entry)| {
            entry["request"].as_object_mut().unwrap().remove("other_headers");
        });
        held
    };
    assert_eq!(without_names(&scene.path("back.json")), without_names(&scene.recording()));
    // A file of Chrome has no member of loomrec's own.
    let mut foreign = har.clone();
    foreign["log"]["entries"][0].as_object_mut().unwrap().remove("_loomrec");
    std::fs::write(scene.path("chrome.har"), foreign.to_string()).unwrap();
    std::fs::remove_file(scene.recording()).unwrap();
    let told = run(&scene, &["import", "chrome.har", "-o", "run.json"]).expect(0).stderr;
    assert!(told.contains("how WebSockets ended"), "{told}");
    let server = scene.replay(&["--strict", "--fail-unused"]);
    assert_eq!(converse(&mut open(&server, REALTIME, &[]).unwrap().0), heard);
    server.stop().expect(0);
}

#[test]
fn connection_whose_messages_a_file_lacks_is_lost_by_name() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, REALTIME);
    run(&scene, &["export", "--to", "har", "run.json", "-o", "run.har"]).expect(0);
    let mut har = file(&scene, "run.har");
    har["log"]["entries"][0].as_object_mut().unwrap().remove("_webSocketMessages");
    std::fs::write(scene.path("none.har"), har.to_string()).unwrap();
    let told = run(&scene, &["import", "none.har", "-o", "none.json"]).expect(1).stderr;
    assert!(told.contains("it is a WebSocket, and the file does not hold its messages"), "{told}");
    assert!(!scene.path("none.json").exists());
}

#[test]
fn formats_without_messages_leave_a_connection_out_by_name() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, REALTIME);
    for format in ["vcr", "vcr-json", "agentloom", "aimock", "openai-chat"] {
        let told = run(&scene, &["export", "--to", format, "run.json", "-o", "out"]).stderr;
        assert!(
            told.contains("it is a WebSocket, whose messages only har holds"),
            "{format} {told}"
        );
        let written = std::fs::read_to_string(scene.path("out")).unwrap_or_default();
        assert!(!written.contains("realtime"), "{format}: {written}");
        drop(std::fs::remove_file(scene.path("out")));
    }
}

#[test]
fn keys_in_an_imported_connection_reach_no_file() {
    let secret = "Zq7plainwordsecret";
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &[]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    say(&mut socket, &json!({ "text": " " }));
    hear(&mut socket);
    hear(&mut socket);
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    run(&scene, &["export", "--to", "har", "run.json", "-o", "run.har"]).expect(0);
    let mut har = file(&scene, "run.har");
    let entry = &mut har["log"]["entries"][0];
    entry.as_object_mut().unwrap().remove("_loomrec");
    let protocols = format!("token, {secret}");
    let header = json!({ "name": "sec-websocket-protocol", "value": protocols });
    entry["request"]["headers"].as_array_mut().unwrap().push(header);
    let first = json!({ "text": " ", "xi_api_key": secret });
    entry["_webSocketMessages"][1]["data"] = first.to_string().into();
    entry["_webSocketMessages"][2]["data"] = format!("{{\"heard\": \"{secret}\"}}").into();
    std::fs::write(scene.path("run.har"), har.to_string()).unwrap();
    run(&scene, &["import", "run.har", "-o", "back.json"]).expect(0);
    let text = std::fs::read_to_string(scene.path("back.json")).unwrap();
    assert!(!text.contains(secret) && text.contains("[REDACTED]"), "{text}");
}
