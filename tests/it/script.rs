//! Tests of scripts: answers written by hand, call by call, for any provider.

mod form;

use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::{Value, json};

use crate::support::shape::{CHAT, chat, chat_answer, chat_streamed, message, message_streamed};
use crate::support::{Answer, Call, Finished, Scene, Server, Upstream};

/// A script in its own scene.
struct Scripted {
    scene: Scene,
}

impl Scripted {
    fn new(name: &str, text: &str) -> Self {
        let scene = Scene::new();
        std::fs::write(scene.path(name), text).unwrap();
        Self { scene }
    }

    fn of(script: &Value) -> Self {
        Self::new("script.json", &script.to_string())
    }

    #[track_caller]
    fn serve(&self, name: &str, more: &[&str]) -> Server {
        let mut args = vec!["replay", "--script", name, "--receipt", "receipt.json"];
        args.extend(more);
        Server::start(self.scene.dir(), &args)
    }

    #[track_caller]
    fn start(&self, more: &[&str]) -> Server {
        self.serve("script.json", more)
    }

    fn receipt(&self) -> Value {
        let text = std::fs::read_to_string(self.scene.path("receipt.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[track_caller]
    fn refused(name: &str, text: &str) -> Finished {
        let scripted = Self::new(name, text);
        scripted.scene.run(&["replay", "--script", name]).expect(2)
    }
}

/// The first block of a language in docs/scripts.md.
fn example(language: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scripts.md");
    let text = std::fs::read_to_string(path).unwrap();
    let block = Regex::new(&format!("(?s)```{language}\n(.*?)```")).unwrap();
    block.captures(&text).expect("an example")[1].to_owned()
}

fn content_of(answer: &Value) -> &Value {
    &answer["choices"][0]["message"]["content"]
}

#[test]
fn the_documents_example_answers_as_it_says_it_does() {
    let scripted = Scripted::new("script.json", &example("json"));
    let server = scripted.start(&["--strict"]);
    let answer = server.call(&chat("anything")).expect(200);
    assert_eq!(answer.header("x-loomrec-matched-by"), Some("script"));
    assert_eq!(answer.header("x-loomrec-entry"), Some("script#1"));
    let body = answer.json();
    assert_eq!(content_of(&body), "Let me look that up.");
    let call = &body["choices"][0]["message"]["tool_calls"][0];
    assert_eq!((&call["id"], &call["function"]["name"]), (&json!("call_1"), &json!("weather")));
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(body["usage"]["total_tokens"], 21);
    let stream = server.call(&message_streamed("anything")).expect(200).text();
    assert!(stream.contains("It rai") && !stream.contains("message_stop"), "{stream}");
    assert!(stream.contains("event: error\n") && stream.contains("overloaded_error"), "{stream}");
    let empty = server.call(&message("anything")).expect(200).json();
    assert_eq!((&empty["type"], &empty["stop_reason"]), (&json!("message"), &json!("end_turn")));
    server.stop().expect(0).says(&["3 scripted", "0 of 3 script calls left", "1 drained"]);
    let script = json!({"written_by_hand": true, "calls": 3, "unanswered": 0, "left": 0,
        "rules": 0, "unused_rules": [], "not_played": [], "streams": {"drained": 1, "left": 0}});
    assert_eq!(scripted.receipt()["script"], script);
}

#[test]
fn the_documents_example_in_yaml_is_busy_at_first() {
    let scripted = Scripted::new("script.yaml", &example("yaml"));
    let server = scripted.serve("script.yaml", &[]);
    for _ in 0..2 {
        let busy = server.call(&message("x")).expect(503).json();
        assert_eq!((&busy["type"], &busy["error"]["type"]), (&json!("error"), &json!("api_error")));
    }
    let text = server.call(&message("x")).expect(200).json()["content"][0]["text"].clone();
    assert_eq!(text, "Let me look that up.");
    server.stop().expect(0).says(&["3 scripted", "2 of 3 script calls left"]);
}

#[test]
fn a_call_behind_the_end_is_refused_and_fails_the_run() {
    let scripted = Scripted::of(&json!([[{"text": "only"}]]));
    let server = scripted.start(&[]);
    server.call(&chat("x")).expect(200);
    let answer = server.call(&message("x")).expect(422);
    assert_eq!(answer.header("x-loomrec-error"), Some("no_scripted_response"));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    let body = answer.json();
    assert_eq!(body["type"], "error");
    assert!(body["error"]["message"].as_str().unwrap().contains("no scripted response"), "{body}");
    server.stop().expect(1).says(&["calls that the script has no answer for: 1"]);
    assert_eq!(scripted.receipt()["script"]["unanswered"], 1);
}

#[test]
fn each_session_goes_through_the_script_by_itself_and_a_reset_starts_over() {
    let scripted = Scripted::of(&json!([[{"text": "one"}], [{"text": "two"}]]));
    let server = scripted.start(&[]);
    let own = |call: Call| call.header("x-loomrec-session: a");
    let ask = |call: Call| content_of(&server.call(&call).expect(200).json()).clone();
    assert_eq!((ask(chat("x")), ask(own(chat("x")))), (json!("one"), json!("one")));
    assert_eq!((ask(own(chat("x"))), ask(chat("x"))), (json!("two"), json!("two")));
    let in_path = Call::post(&format!("/@a{CHAT}"), r#"{"model":"m","messages":[]}"#);
    server.call(&in_path).expect(422);
    let reset = Call::post("/__loomrec/reset", "").header("host: localhost");
    server.call(&reset).expect(200);
    assert_eq!(ask(own(chat("x"))), "one");
    server.stop().expect(1);
}

#[test]
fn what_is_recorded_is_answered_from_the_recording_and_the_rest_by_the_script() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("recorded")));
    scene.recorded(&upstream, &[chat("known")]);
    std::fs::write(scene.path("s.json"), r#"[[{"text": "scripted"}]]"#).unwrap();
    let script = scene.path("s.json");
    let more = ["--script", script.to_str().unwrap()];
    let answers = scene.replayed(&more, &[chat("other"), chat("known"), chat("other")], 1);
    assert_eq!(content_of(&answers[0].json()), "scripted");
    assert_eq!(content_of(&answers[1].json()), "recorded");
    assert_eq!(answers[2].header("x-loomrec-error"), Some("no_scripted_response"));
}

#[test]
fn calls_that_are_left_fail_the_run_when_all_were_to_be_used() {
    let scripted = Scripted::of(&json!([[], []]));
    let server = scripted.start(&["--fail-unused"]);
    server.call(&chat("x")).expect(200);
    server.stop().expect(1).says(&["calls of the script that no call used: 1"]);
}

#[test]
fn what_is_no_script_is_refused_at_start_with_its_place() {
    Scripted::refused("bad.json", r#"[[{"text": "a"}], [{"txt": "b"}]]"#).says(&[
        "failed to read the script bad.json: call 2, entry 1: ",
        "did you mean \"text\"?",
        "there are: text, tool_call",
    ]);
    Scripted::refused("bad.yaml", "- - text: 5\n").says(&["bad.yaml: call 1, entry 1: text"]);
    Scripted::refused("bad.yml", "- [").says(&["bad.yml: not YAML"]);
    Scripted::refused("cut.json", "[[").says(&["cut.json: not plain JSON"]);
    let scripted = Scripted::of(&json!([]));
    let run = |args: &[&str]| scripted.scene.run(args).expect(2);
    run(&["replay", "--script", "absent.json"]).says(&["absent.json", "No such file"]);
    run(&["replay", "--script", "script.json", "--on-miss", "default"]).says(&["--on-miss"]);
    run(&["replay", "--script", "script.json", "--journal", "script.json"]).says(&["--journal"]);
    run(&["replay"]).says(&["--recording"]);
}

#[test]
fn streams_are_counted_however_they_end() {
    let slow = json!([{"text": "begun"}, {"delay": 600_000}, {"text": "never"}]);
    let scripted = Scripted::of(&json!([[{"text": "whole"}], slow, [{"text": "complete"}]]));
    let server = scripted.start(&[]);
    server.call(&chat_streamed("x")).expect(200);
    let mut client = server.connect();
    client.send(&chat_streamed("x"));
    client.head();
    client.until("begun");
    drop(client);
    server.call(&chat("x")).expect(200);
    // It takes a moment to notice that a client has left.
    let counted = || {
        let health = Call::get("/__loomrec/health").header("host: localhost");
        let health = server.call(&health).expect(200).json();
        health["script_streams"].clone()
    };
    while counted()["left"] == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(counted(), json!({"drained": 1, "left": 1}));
    server.stop().expect(0).says(&["script streams: 1 drained, 1 left by the client"]);
    assert_eq!(scripted.receipt()["script"]["streams"], json!({"drained": 1, "left": 1}));
}

#[test]
fn entries_come_when_they_are_due() {
    let call = json!([{"text": "one"}, {"delay": 600}, {"text": "two"}]);
    let scripted = Scripted::of(&json!([call, call]));
    let server = scripted.start(&[]);
    let (mut client, begun) = (server.connect(), Instant::now());
    client.send(&chat_streamed("x"));
    let head = client.head();
    client.until("one");
    assert!(client.is_quiet_for(Duration::from_millis(50)) || begun.elapsed().as_millis() > 500);
    let rest = client.collect(head).expect(200).text();
    assert!(rest.contains("two") && begun.elapsed() >= Duration::from_millis(600), "{rest}");
    let begun = Instant::now();
    let whole = server.call(&chat("x")).expect(200).json();
    assert_eq!(content_of(&whole), "onetwo");
    assert!(begun.elapsed() >= Duration::from_millis(600));
    server.stop().expect(0);
}

#[test]
fn a_plain_entry_spreads_its_stream_over_its_latency() {
    let scene = Scene::new();
    let entry = json!({"content": "one two three", "model": "m", "latency_ms": 1500.0});
    scene.write(json!({"_version": 2, "plan": entry}).to_string());
    let server = scene.replay(&["--latency", "replay"]);
    let (mut client, begun) = (server.connect(), Instant::now());
    client.send(&chat_streamed("x").header("x-loomrec-step-id: plan"));
    let head = client.head();
    client.until("one");
    assert!(begun.elapsed() >= Duration::from_millis(100), "it came at once");
    assert!(client.is_quiet_for(Duration::from_millis(50)) || begun.elapsed().as_millis() > 700);
    let rest = client.collect(head).expect(200).text();
    assert!(rest.contains("three") && begun.elapsed() >= Duration::from_millis(1500), "{rest}");
    server.stop().expect(0);
}

#[test]
fn interaction_is_made_from_words_whole_and_streamed() {
    let script = json!([
        [{"text": "Hello to you"}, {"tool_call": {"name": "sum", "arguments": {"a": 1}}},
            {"usage": {"prompt_tokens": 7, "completion_tokens": 20, "reasoning_tokens": 4}}],
        [{"text": "Hello "}, {"text": "to you"}, {"tool_call": {"name": "sum", "arguments": {"a": 1}}}],
        [{"text": "It rai"}, {"error": "overloaded"}],
        [{"text": "Cut here"}, {"finish": "length"}],
    ]);
    let scripted = Scripted::of(&script);
    let server = scripted.start(&["--strict"]);
    let asked = |stream: bool| {
        let body = json!({"model": "gemini-3.5-flash", "input": "hi", "stream": stream});
        Call::post("/gemini/v1beta/interactions", body.to_string())
    };
    let whole = server.call(&asked(false)).expect(200).json();
    assert_eq!(
        (&whole["object"], &whole["status"]),
        (&json!("interaction"), &json!("requires_action"))
    );
    assert_eq!(whole["model"], "gemini-3.5-flash");
    let output =
        json!({"type": "model_output", "content": [{"type": "text", "text": "Hello to you"}]});
    assert_eq!(whole["steps"][0], output);
    let call = &whole["steps"][1];
    assert_eq!(
        (&call["type"], &call["name"], &call["arguments"]),
        (&json!("function_call"), &json!("sum"), &json!({"a": 1}))
    );
    let usage = &whole["usage"];
    assert_eq!(
        (&usage["total_output_tokens"], &usage["total_thought_tokens"]),
        (&json!(16), &json!(4))
    );
    let events = |text: &str| -> Vec<Value> {
        let data = text.lines().filter_map(|line| line.strip_prefix("data: {"));
        data.map(|data| serde_json::from_str(&format!("{{{data}")).unwrap()).collect()
    };
    let texts = |events: &[Value]| -> Vec<String> {
        let texts = events.iter().filter_map(|event| event.pointer("/delta/text")?.as_str());
        texts.map(str::to_owned).collect()
    };
    let stream = events(&server.call(&asked(true)).expect(200).text());
    assert_eq!(texts(&stream), ["Hello ", "to you"]);
    let arguments = stream.iter().find_map(|event| event.pointer("/delta/arguments"));
    assert_eq!(arguments, Some(&json!("{\"a\":1}")));
    let last = stream.last().unwrap();
    assert_eq!(
        (&last["event_type"], &last["interaction"]["status"]),
        (&json!("interaction.completed"), &json!("requires_action"))
    );
    let failed = events(&server.call(&asked(true)).expect(200).text());
    assert_eq!(texts(&failed), ["It rai"]);
    let last = failed.last().unwrap();
    assert_eq!(
        (&last["event_type"], &last["error"]["code"]),
        (&json!("error"), &json!("service_unavailable"))
    );
    assert_eq!(server.call(&asked(false)).expect(200).json()["status"], "incomplete");
    server.stop().expect(0);
}
