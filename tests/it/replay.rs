//! Tests of replaying: no network, the right answer or none, and the report of a run.

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{
    CHAT, chat, chat_answer, chat_body, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, Scene, Upstream};

/// A recording of complete chat calls, each answered with its prompt.
fn recording_of(prompts: &[&str]) -> Scene {
    let scene = Scene::new();
    let answers = prompts.iter().map(|prompt| Answer::json(200, chat_answer(prompt))).collect();
    let calls: Vec<Call> = prompts.iter().map(|prompt| chat(prompt)).collect();
    scene.recorded(&Upstream::script(answers), &calls);
    scene
}

fn content(answer: &crate::support::Response) -> String {
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn replay_opens_no_connection_whatever_is_asked() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    scene.recorded(&upstream, &[chat("hi")]);
    let before = (upstream.connections(), upstream.requests());
    assert_eq!(before, (1, 1));
    let openai = format!("openai={}", upstream.url());
    let bare = upstream.url();
    let server = scene.replay(&["--upstream", &openai, "--upstream", &bare, "--strict"]);
    server.call(&chat("hi")).expect(200);
    for call in [chat("hi"), chat("never recorded"), message("hi"), Call::get("/openai/v1/models")]
    {
        server.call(&call).expect(422);
    }
    server.call(&chat_streamed("hi")).expect(422);
    server.call(&Call::get("/v1/models"));
    server.call(&Call::get("/nowhere/at/all"));
    server.stop().expect(1);
    assert_eq!((upstream.connections(), upstream.requests()), before);
}

#[test]
fn a_replay_is_answered_with_its_origin_named() {
    let scene = recording_of(&["hi"]);
    let (name, _) = scene.takes().remove(0);
    let answer = scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200);
    assert_eq!(answer.header("x-loomrec-matched-by"), Some("request_hash"));
    assert_eq!(answer.header("x-loomrec-entry"), Some(name.as_str()));
}

#[test]
fn a_prompt_is_never_answered_by_another() {
    let scene = recording_of(&["hi there", "say hi", "hi!", "Hi", "hi ", "h", ""]);
    let server = scene.replay(&["--repeat", "cycle"]);
    server.call(&chat("hi")).expect(422);
    server.call(&chat("hi there ")).expect(422);
    for prompt in ["hi there", "say hi", "hi!", "Hi", "hi ", "h", ""] {
        assert_eq!(content(&server.call(&chat(prompt)).expect(200)), prompt);
    }
    server.stop().expect(1);
}

#[test]
fn order_of_keys_and_spaces_in_a_request_do_not_matter() {
    let scene = recording_of(&["hi"]);
    let other = "{ \"messages\": [ {\"content\": \"h\\u0069\", \"role\": \"user\"} ], \"model\": \"gpt-4o-mini\" }";
    scene.replayed(&["--strict"], &[Call::post(CHAT, other)], 0).remove(0).expect(200);
}

#[test]
fn credentials_and_client_noise_do_not_matter() {
    let scene = recording_of(&["hi"]);
    let call = chat("hi").header("authorization: Bearer another").header("user-agent: curl");
    let retry = call.header("x-stainless-retry-count: 2").header("cookie: a=b");
    scene.replayed(&["--strict"], &[retry], 0).remove(0).expect(200);
}

#[test]
fn a_custom_upstream_replays_without_being_named_again() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{\"ok\":1}")));
    let server = scene.record(&upstream, &["--upstream", &format!("mine={}", upstream.url())]);
    server.call(&Call::get("/mine/v1/things")).expect(200);
    server.stop().expect(0);
    assert_eq!(upstream.received()[0].target, "/v1/things");
    let calls = [Call::get("/mine/v1/things")];
    scene.replayed(&["--strict"], &calls, 0).remove(0).expect(200);
}

#[test]
fn bare_paths_go_to_the_single_upstream_and_replay() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{\"ok\":1}")));
    let file = scene.recording();
    let url = upstream.url();
    let args = ["record", "-r", file.to_str().unwrap(), "--upstream", &url];
    let server = crate::support::Server::start(scene.dir(), &args);
    let calls =
        [Call::post("/v1/chat/completions", chat_body("hi").to_string()), Call::get("/odd")];
    calls.iter().for_each(|call| drop(server.call(call).expect(200)));
    server.stop().expect(0);
    let targets: Vec<String> = upstream.received().into_iter().map(|r| r.target).collect();
    assert_eq!(targets, ["/v1/chat/completions", "/odd"]);
    for more in [&["--strict", "--upstream", &url][..], &["--strict"]] {
        let again = scene.replayed(more, &calls, 0);
        again.into_iter().for_each(|answer| drop(answer.expect(200)));
    }
}

#[test]
fn a_bare_path_is_recognised_by_its_shape() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.target.contains("messages") {
        true => Answer::json(200, message_answer("a")),
        false => Answer::json(200, chat_answer("o")),
    });
    let anthropic = "anthropic-version: 2023-06-01";
    let body = crate::support::shape::message_body("hi").to_string();
    let calls = [
        Call::post("/v1/chat/completions", chat_body("hi").to_string()),
        Call::post("/v1/messages", &body).header(anthropic),
    ];
    scene.recorded(&upstream, &calls).into_iter().for_each(|r| drop(r.expect(200)));
    let names: Vec<Value> = scene.takes().iter().map(|(_, t)| t["upstream"].clone()).collect();
    assert_eq!(names, ["openai", "anthropic"]);
    // SDKs write the path of Anthropic's messages in three ways, which are equivalent.
    let server = scene.replay(&["--repeat", "last"]);
    for path in ["/anthropic/v1/messages", "/anthropic/messages", "/anthropic/v1/v1/messages"] {
        server.call(&Call::post(path, &body).header(anthropic)).expect(200);
    }
    server.stop().expect(0);
}

#[test]
fn several_recordings_replay_together() {
    let (one, two) = (recording_of(&["one"]), recording_of(&["two"]));
    let second = two.recording();
    let more = ["-r", second.to_str().unwrap(), "--strict", "--fail-unused"];
    let answers = one.replayed(&more, &[chat("two"), chat("one")], 0);
    assert_eq!((content(&answers[0]).as_str(), content(&answers[1]).as_str()), ("two", "one"));
}

#[test]
fn unused_entries_fail_the_run_only_when_asked() {
    let scene = recording_of(&["one", "two"]);
    scene.replayed(&["--strict"], &[chat("one")], 0);
    scene.replayed(&["--strict", "--fail-unused"], &[chat("two"), chat("one")], 0);
    let server = scene.replay(&["--fail-unused"]);
    server.call(&chat("one")).expect(200);
    server.stop().expect(1).says(&["unused"]);
}

#[test]
fn repeat_says_what_a_further_identical_call_gets() {
    let scene = recording_of(&["hi"]);
    let upstream =
        Upstream::script((1..=3).map(|n| Answer::json(200, chat_answer(&n.to_string()))).collect());
    scene.recorded(&upstream, &[chat("hi"), chat("hi"), chat("hi")]);
    let seen = |more: &[&str], code| -> Vec<String> {
        let calls: Vec<Call> = (0..5).map(|_| chat("hi")).collect();
        scene.replayed(more, &calls, code).iter().map(content).collect()
    };
    assert_eq!(seen(&[], 1), ["1", "2", "3", "", ""]);
    assert_eq!(seen(&["--repeat", "error"], 1), ["1", "2", "3", "", ""]);
    assert_eq!(seen(&["--repeat", "last"], 0), ["1", "2", "3", "3", "3"]);
    assert_eq!(seen(&["--repeat", "cycle"], 0), ["1", "2", "3", "1", "2"]);
}

#[test]
fn a_placeholder_answers_a_miss_only_when_asked() {
    let scene = recording_of(&["hi"]);
    let server = scene.replay(&["--on-miss", "default"]);
    let answer = server.call(&chat("unknown")).expect(200);
    assert_eq!(content(&answer), "Mock response");
    assert_eq!(answer.header("x-loomrec-matched-by"), Some("default"));
    let streamed = server.call(&chat_streamed("unknown")).expect(200).text();
    assert!(streamed.contains("Mock") && streamed.ends_with("data: [DONE]\n\n"), "{streamed}");
    let message = server.call(&message("unknown")).expect(200).json();
    assert_eq!(message["content"][0]["text"], "Mock response");
    server.stop();
    scene.replayed(&["--on-miss", "error"], &[chat("unknown")], 1).remove(0).expect(422);
}

#[test]
fn the_placeholder_has_the_text_that_the_user_gives() {
    let scene = recording_of(&["hi"]);
    let server = scene.replay(&["--on-miss", "default:Nothing here."]);
    assert_eq!(content(&server.call(&chat("unknown")).expect(200)), "Nothing here.");
    assert_ne!(content(&server.call(&chat("hi")).expect(200)), "Nothing here.");
    server.stop();
    for args in [&["--on-miss", "error:x"][..], &["--strict", "--on-miss", "default:x"]] {
        let mut line = command(scene.dir(), &scene.replay_args(args));
        finish(&mut line, b"").expect(2).says(&["--on-miss"]);
    }
}

#[test]
fn misses_that_are_answered_all_the_same_are_told_one_by_one_up_to_a_bound() {
    let scene = recording_of(&["hi"]);
    let server = scene.replay(&["--on-miss", "default"]);
    let mut client = server.connect();
    for number in 0..25 {
        let call = chat(&format!("unknown {number}")).header("x-loomrec-step-id: plan");
        client.exchange(&call).expect(200);
    }
    drop(client);
    let said = server.stop().expect(0).stderr;
    let line = "no recorded answer for POST /v1/chat/completions, model gpt-4o-mini, step plan, \
                hash ";
    assert_eq!(said.matches(line).count(), 20, "{said}");
    assert_eq!(said.matches(": the default answer was given\n").count(), 20, "{said}");
    assert_eq!(said.matches("5 more calls had no recorded answer\n").count(), 1, "{said}");
}

#[test]
fn a_miss_that_the_upstream_answers_is_told() {
    let scene = recording_of(&["hi"]);
    let upstream = Upstream::always(Answer::json(200, chat_answer("live")));
    let openai = format!("openai={}", upstream.url());
    let server = scene.replay(&["--on-miss", "forward", "--upstream", &openai]);
    server.call(&chat("hi")).expect(200);
    server.call(&chat("unknown")).expect(200);
    let said = server.stop().stderr;
    assert_eq!(said.matches("no recorded answer for").count(), 1, "{said}");
    assert_eq!(said.matches(": the upstream was asked\n").count(), 1, "{said}");
    assert!(!said.contains("more calls had no"), "{said}");
}

#[test]
fn strict_overrides_the_environment() {
    let scene = recording_of(&["hi"]);
    for (more, status) in [(&[][..], 200), (&["--strict"][..], 422)] {
        let mut command = command(scene.dir(), &scene.replay_args(more));
        command.args(["--listen", "127.0.0.1:0"]).env("LOOMREC_ON_MISS", "default");
        let server = crate::support::Server::spawn(&mut command);
        server.call(&chat("unknown")).expect(status);
        server.stop();
    }
}

#[test]
fn an_ignored_pointer_is_no_part_of_identity() {
    let body = |run: &str, prompt: &str| {
        let mut body = chat_body(prompt);
        body["metadata"] = json!({"run_id": run, "kind": "test"});
        Call::post(CHAT, body.to_string())
    };
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let server = scene.record(&upstream, &["--ignore", "/metadata/run_id"]);
    server.call(&body("one", "hi")).expect(200);
    server.stop().expect(0);
    assert_eq!(scene.json()["_loomrec"]["identity"]["ignore"], json!(["/metadata/run_id"]));
    scene.replayed(&["--strict"], &[body("two", "hi")], 0).remove(0).expect(200);
    scene.replayed(&[], &[body("one", "ho")], 1).remove(0).expect(422);
}

#[test]
fn a_star_in_an_ignored_pointer_is_every_element() {
    let body = |ids: [&str; 2], prompt: &str| {
        let mut body = chat_body("first");
        body["messages"] = json!([
            {"role": "user", "content": "first", "id": ids[0]},
            {"role": "user", "content": prompt, "id": ids[1]},
        ]);
        Call::post(CHAT, body.to_string())
    };
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let server = scene.record(&upstream, &["--ignore", "/messages/*/id"]);
    server.call(&body(["a", "b"], "hi")).expect(200);
    server.stop().expect(0);
    let identity = json!({"version": 3, "ignore": ["/messages/*/id"]});
    assert_eq!(scene.json()["_loomrec"]["identity"], identity);
    scene.run(&["verify", "run.json"]).expect(0);
    let server = scene.replay(&["--strict"]);
    let missed = server.call(&body(["c", "d"], "ho")).expect(422).text();
    assert!(missed.contains("/messages/1/content") && !missed.contains("/id"), "{missed}");
    server.call(&body(["c", "d"], "hi")).expect(200);
    server.stop().expect(1).says(&["in force: ignored: /messages/*/id"]);
    // Under a rule that names only one of the places, the call is missed.
    let scene = Scene::new();
    scene.recorded(&upstream, &[body(["a", "b"], "hi")]);
    let calls = [body(["c", "d"], "hi")];
    scene.replayed(&["--ignore", "/messages/0/id"], &calls, 1).remove(0).expect(422);
    scene.replayed(&["--ignore", "/messages/*/id"], &calls, 0).remove(0).expect(200);
    scene.run(&["replay", "-r", "run.json", "--ignore", "/*"]).expect(2).says(&["every member"]);
}

#[test]
fn a_star_in_a_rule_of_an_older_recording_stays_a_key() {
    let scene = recording_of(&["hi"]);
    let mut file = scene.json();
    file["_loomrec"]["identity"]["ignore"] = json!(["/messages/*/content"]);
    scene.write(file.to_string());
    scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200);
    let server = scene.replay(&[]);
    server.call(&chat("ho")).expect(422);
    server.stop().expect(1).says(&["in force: ignored: /messages/~2/content"]);
}

#[test]
fn a_pointer_found_later_needs_no_new_recording() {
    let scene = recording_of(&["hi"]);
    let mut body = chat_body("hi");
    body["user"] = json!("someone");
    let call = [Call::post(CHAT, body.to_string())];
    scene.replayed(&[], &call, 1).remove(0).expect(422);
    let before = scene.text();
    scene.replayed(&["--ignore", "/user"], &call, 0).remove(0).expect(200);
    assert_eq!(scene.text(), before);
}

#[test]
fn the_receipt_counts_what_happened() {
    let scene = recording_of(&["one", "two"]);
    let path = scene.path("receipt.json");
    let server = scene.replay(&["--receipt", path.to_str().unwrap()]);
    server.call(&chat("one")).expect(200);
    server.call(&chat("one")).expect(422);
    server.call(&chat("three")).expect(422);
    server.stop().expect(1).says(&["unused"]);
    let receipt: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let counts = ["served", "missed", "exhausted", "unused", "upstream_connections"];
    let seen: Vec<&Value> = counts.iter().map(|name| &receipt[name]).collect();
    assert_eq!(seen, [1, 2, 1, 1, 0], "{receipt}");
    let two = scene.takes()[1].0.clone();
    assert!(receipt["unused_entries"][0].to_string().contains(&two), "{receipt}");
    assert_ne!(receipt["verdict"], "ok");
    let sent = receipt["mismatches"].to_string();
    assert!(sent.contains("exhausted") && sent.contains("three"), "{sent}");
}

#[test]
fn the_journal_holds_a_line_a_call() {
    let scene = recording_of(&["one"]);
    let path = scene.path("journal.jsonl");
    let server = scene.replay(&["--journal", path.to_str().unwrap()]);
    server.call(&chat("one")).expect(200);
    server.call(&chat("other")).expect(422);
    server.stop().expect(1);
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(text.lines().nth(1).unwrap().contains("unknown"), "{text}");
}

#[test]
fn the_control_endpoints_answer_and_reset_starts_over() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    let control = |method: &str, path: &str| {
        let host = format!("host: {}", server.address);
        server.call(&Call::new(method, &format!("/__loomrec/{path}")).header(&host)).expect(200)
    };
    control("GET", "health");
    server.call(&chat("one")).expect(200);
    server.call(&chat("one")).expect(422);
    control("POST", "reset");
    server.call(&chat("one")).expect(200);
    let mismatches = control("GET", "mismatches").text();
    assert!(mismatches.contains("exhausted"), "{mismatches}");
    let foreign = Call::get("/__loomrec/mismatches").header("host: evil.example");
    assert!(server.call(&foreign).status >= 400);
    let page = Call::new("POST", "/__loomrec/reset").header("origin: https://evil.example");
    server.call(&page.header("host: localhost")).expect(403);
    server.stop().expect(1);
}

#[test]
fn a_stream_is_served_whole_even_when_the_client_is_slow_to_come_back() {
    let (scene, events) = (Scene::new(), chat_events(&["a", "b"]));
    scene.recorded(&Upstream::always(Answer::events(&events)), &[chat_streamed("hi")]);
    let server = scene.replay(&["--repeat", "last"]);
    let mut left = server.connect();
    left.send(&chat_streamed("hi"));
    drop(left);
    let whole = server.call(&chat_streamed("hi")).expect(200);
    assert_eq!(whole.text(), events.concat());
    server.stop().expect(0);
}
