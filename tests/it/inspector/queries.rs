//! Tests of the inspector's queries over calls: search, conversations, comparison, curl.

use super::files::Ui;
use super::*;

/// A path with a query, in which spaces and commas are encoded.
fn query(path: &str, pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={}", value.replace(' ', "+").replace('&', "%26")))
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

#[track_caller]
fn found(ui: &Ui, words: &str) -> Value {
    let answer = ui.call(&get(&query("search", &[("q", words)]))).expect(200).json();
    assert_eq!((&answer["v"], &answer["more"]), (&json!(1), &json!(false)));
    answer["found"].clone()
}

#[test]
fn words_of_answers_are_found_in_a_recording_and_in_its_journal() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.text() {
        text if text.contains("two") => Answer::json(200, chat_answer("take an umbrella")),
        text if text.contains("three") => {
            Answer::json(429, json!({"error": {"message": "slow"}}).to_string())
        }
        _ => Answer::json(200, chat_answer("a coat")),
    });
    scene.recorded(&upstream, &[chat("one"), chat("two"), chat("three")]);
    let ui = Ui::start(&scene, &[scene.name()]);
    assert_eq!(found(&ui, "UMBRELLA"), json!([2]));
    assert_eq!(found(&ui, "umbrella two"), json!([2]));
    assert_eq!(found(&ui, "umbrella one"), json!([]));
    assert_eq!(found(&ui, "slow"), json!([3]));
    let rest = ui.call(&get("search?q=o&after=2")).expect(200).json();
    assert_eq!((&rest["found"], &rest["after"]), (&json!([3]), &json!(3)));
    for wrong in ["search", "search?q=", "search?q=a&after=x", "compare?seq=1", "curl"] {
        let error = ui.call(&get(wrong)).expect(400).json();
        assert!(error["error"].as_str().unwrap().starts_with("say "), "{wrong}: {error}");
    }
    ui.stop();
}

#[test]
fn queries_over_a_run_know_its_calls_and_are_for_those_who_may_look() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("take an umbrella")));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("one")).expect(200);
    server.call(&chat("two")).expect(200);
    details(&server, 2);
    let ask = |path: &str| server.call(&get(path)).expect(200).json();
    assert_eq!(ask("search?q=umbrella")["found"], json!([1, 2]));
    assert_eq!(ask("search?q=umbrella+two")["found"], json!([2]));
    let compared = ask("compare?seq=1,2");
    assert_eq!(compared["same"], false);
    assert_eq!(compared["differences"][0]["place"], "/messages/0/content");
    let command = ask("curl?seq=1")["command"].as_str().unwrap().to_owned();
    assert!(command.contains("${UPSTREAM_API_KEY}"), "{command}");
    assert!(!command.contains("Bearer sk-"), "{command}");
    server.call(&get("curl?seq=9")).expect(404);
    server.call(&get("compare?seq=1,9")).expect(404);
    for path in ["search?q=a", "conversations", "compare?seq=1,2", "curl?seq=1"] {
        let target = format!("/__loomrec/{path}");
        server.call(&Call::get(&target).header("host: evil.example")).expect(403);
        server.call(&get(path).header("origin: https://evil.example")).expect(403);
        server.call(&Call::post(&target, "{}").header("host: localhost")).expect(405);
    }
    server.stop().expect(0);
    let server = scene.replay(&["--control-token", "s3cret"]);
    let host = format!("host: {}", server.address);
    let ask = Call::get("/__loomrec/search?q=umbrella").header(&host);
    assert_eq!(server.call(&ask).expect(403).json()["token_needed"], true);
    server.call(&ask.header("authorization: Bearer s3cret")).expect(200);
    server.stop();
}

#[test]
fn conversations_are_pairs_of_a_call_and_the_one_that_it_continues() {
    let scene = Scene::new();
    let turn = |texts: &[&str]| {
        let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
        let messages = texts.iter().enumerate();
        let messages: Vec<Value> =
            messages.map(|(at, text)| json!({ "role": role(at), "content": text })).collect();
        let body = json!({ "model": "gpt-4o-mini", "messages": messages }).to_string();
        Call::post("/openai/v1/chat/completions", &body)
    };
    let upstream = Upstream::always(Answer::json(200, chat_answer("so")));
    let calls = [
        turn(&["a"]),
        turn(&["b"]),
        turn(&["a", "so", "c"]),
        turn(&["a", "so", "d"]),
        turn(&["a", "so", "c", "so", "e"]),
    ];
    scene.recorded(&upstream, &calls);
    let ui = Ui::start(&scene, &[scene.name()]);
    let mut answer = Value::Null;
    for _ in 0..50 {
        answer = ui.call(&get("conversations")).expect(200).json();
        if answer["more"] == false {
            break;
        }
    }
    let expected =
        json!({ "v": 1, "continues": [[3, 1], [4, 1], [5, 3]], "after": 5, "more": false });
    assert_eq!(answer, expected);
    ui.stop();
}
