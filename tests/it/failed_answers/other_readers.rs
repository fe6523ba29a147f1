//! Tests of the readers that the table does not show: the journal, metrics, `show`, costs; and of
//! answers that look odd and are good.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::gate::PATIENCE;
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Scene, Server, Upstream};

const OVERLOADED: &str = "data: {\"error\": {\"message\": \"Overloaded\", \"code\": 529}}\n\n";

/// A stream that breaks off with an error event.
fn broken() -> Answer {
    let events = chat_events(&["Hel", "lo."]);
    Answer::stream().chunk(&events[0]).chunk(&events[1]).chunk(OVERLOADED).end()
}

fn control(server: &Server, path: &str) -> String {
    server.call(&Call::get(&format!("/__loomrec/{path}")).header("host: localhost")).text()
}

fn journal_line(scene: &Scene) -> Value {
    let text = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn error_event_after_status_200_is_told_by_journal_metrics_show_and_cost() {
    let scene = Scene::new();
    let upstream = Upstream::always(broken());
    let server = scene.record(&upstream, &["--journal", "run.jsonl", "--keep-failures"]);
    server.call(&chat_streamed("hi")).expect(200);
    // A call is over when its answer has been sent.
    let until = Instant::now() + PATIENCE;
    let metrics = loop {
        let metrics = control(&server, "metrics");
        if metrics.contains("{outcome=\"failed\"} 1") || Instant::now() > until {
            break metrics;
        }
    };
    for (outcome, count) in
        [("complete", 0), ("failed", 1), ("unfinished", 0), ("not_an_answer", 0)]
    {
        let series = format!("loomrec_answers_total{{outcome=\"{outcome}\"}} {count}");
        assert!(metrics.contains(&series), "{series}: {metrics}");
    }
    server.stop().expect(0);
    let reason = "the provider reported an error: Overloaded";
    let line = journal_line(&scene);
    assert_eq!((&line["status"], &line["end"]), (&json!(200), &json!("complete")));
    // A journal holds no words of an answer.
    let own = "the provider reported an error";
    assert_eq!((&line["answer"], &line["answer_reason"]), (&json!("failed"), &json!(own)));
    let sum = scene.run(&["stats", "run.jsonl", "--json"]).expect(0).stdout;
    assert_eq!(serde_json::from_str::<Value>(&sum).unwrap()["failed"], 1, "{sum}");
    let shown = scene.run(&["show", "run.json", &scene.takes().remove(0).0]).expect(0).stdout;
    assert!(shown.contains(&format!("failed: {reason}")), "{shown}");
    let listed = scene.run(&["ls", "run.json"]).expect(0).stdout;
    assert!(listed.contains("failed"), "{listed}");
    let verified = scene.run(&["verify", "--strict", "run.json"]).expect(0);
    let told = format!("{}{}", verified.stdout, verified.stderr);
    assert!(told.contains(&format!("the call failed: {reason}")), "{told}");
}

#[test]
fn replay_serves_a_failed_stream_byte_for_byte_and_its_journal_says_what_it_is() {
    let scene = Scene::new();
    let came = scene.recorded(&Upstream::always(broken()), &[chat_streamed("hi")]);
    let server = scene.replay(&["--strict", "--journal", "run.jsonl"]);
    let again = server.call(&chat_streamed("hi")).expect(200);
    assert_eq!(again.chunks, came[0].chunks);
    server.stop().expect(0);
    let line = journal_line(&scene);
    assert_eq!((&line["outcome"], &line["answer"]), (&json!("served"), &json!("failed")));
}

#[test]
fn run_with_one_good_call_among_failed_streams_is_ok_and_counts_them() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.text().contains("good") {
        true => Answer::events(&chat_events(&["Hello."])),
        false => broken(),
    });
    let server = scene.record(&upstream, &[]);
    server.call(&chat_streamed("bad")).expect(200);
    server.call(&chat_streamed("good")).expect(200);
    let told = "2 recorded, 1 of them failed with an error of the provider";
    server.stop().expect(0).says(&[told]);
    let stats = scene.run(&["stats", "run.json", "--json"]).expect(0).stdout;
    assert_eq!(serde_json::from_str::<Value>(&stats).unwrap()["all"]["failed"], 1, "{stats}");
}

#[test]
fn retry_after_a_failed_stream_replaces_the_good_take_together_with_it() {
    let scene = Scene::new();
    let good = |word| Answer::events(&chat_events(&[word]));
    scene.recorded(&Upstream::always(good("first")), &[chat_streamed("hi")]);
    let upstream = Upstream::script(vec![broken(), good("second")]);
    let server = scene.record(&upstream, &[]);
    server.call(&chat_streamed("hi"));
    server.call(&chat_streamed("hi"));
    server.stop().expect(0);
    let contents: Vec<Value> =
        scene.takes().into_iter().map(|(_, take)| take["content"].clone()).collect();
    assert_eq!(contents, [json!("Hel"), json!("second")]);
}

#[test]
fn answers_that_look_odd_and_are_good_are_no_failures() {
    let events = chat_events(&["Hel", "lo."]);
    let done = events.len() - 1;
    let under = |media: &str, events: &[String]| {
        let media = format!("content-type: {media}");
        let head = Answer::head(200, &["transfer-encoding: chunked", &media]);
        events.iter().fold(head, Answer::chunk).end()
    };
    let spoken = chat_events(&["{\"error\": ", "event: error"]);
    for answer in [
        // Only one of the two end marks.
        under("text/event-stream", &events[..done]),
        under("text/event-stream", &[&events[..done - 1], &events[done..]].concat()),
        // Another media type.
        under("application/json", &events),
        under("text/plain; charset=utf-8", &events),
        Answer::whole(200, &["content-type: text/plain"], chat_answer("hi")),
        Answer::whole(200, &[], chat_answer("hi")),
        // Comments and blank lines before.
        under("text/event-stream", &[&[": PROCESSING\n\n".to_owned()][..], &events].concat()),
        Answer::json(200, format!("\n\n\n{}", chat_answer("hi"))),
        // Words of errors in the text.
        under("text/event-stream", &spoken),
        // A protocol that is not known.
        under("text/event-stream", &["data: 1\n\n".to_owned()]),
        // The length is that of the connection.
        Answer::head(200, &["content-type: application/json", "connection: close"])
            .bytes(chat_answer("hi"))
            .close(),
    ] {
        let scene = Scene::new();
        let upstream = Upstream::always(answer);
        let server = scene.record(&upstream, &[]);
        server.call(&chat_streamed("hi"));
        let ended = server.stop();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::head(204, &[]));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi"));
    server.stop().expect(0);
    let page = Answer::whole(200, &["content-type: text/html"], "<html></html>");
    let upstream = Upstream::always(page);
    let server = scene.record(&upstream, &[]);
    server.call(&Call::get("/openai/v1/models"));
    server.stop().expect(0);
}

#[test]
fn replay_and_verify_tell_of_takes_that_had_failed() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.text() {
        text if text.contains("limit") => Answer::json(429, "{\"error\": {\"message\": \"slow\"}}"),
        text if text.contains("broken") => broken(),
        _ => Answer::json(200, chat_answer("hello")),
    });
    let calls = [chat("hi"), chat("limit"), chat("limit"), chat_streamed("broken")];
    let server = scene.record(&upstream, &[]);
    calls.iter().for_each(|call| drop(server.call(call)));
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--receipt", "run.receipt"]);
    calls.iter().for_each(|call| drop(server.call(call)));
    let words = "4 served, 2 of them answered 429, 1 of them failed with an error of the provider";
    server.stop().expect(0).says(&[words]);
    let receipt: Value =
        serde_json::from_str(&std::fs::read_to_string(scene.path("run.receipt")).unwrap()).unwrap();
    assert_eq!(receipt["failed_takes"], json!({ "429": 2, "failed": 1 }));
    assert_eq!(receipt["failed_calls"], json!({}));
    let told = scene.run(&["verify", "run.json"]).expect(0).stdout;
    assert_eq!(told.matches("the call failed: it was answered 429").count(), 2, "{told}");
    assert!(told.contains("the call failed: the provider reported an error: Overloaded"), "{told}");
    scene.run(&["verify", "run.json", "--strict"]).expect(0);
}
