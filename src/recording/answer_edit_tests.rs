use serde_json::json;

use super::*;

fn response(value: Value) -> Entry {
    Entry::parse(&json!({"content": "", "latency_ms": 12.5, "response": value})).unwrap()
}

/// The reply that an entry's answer makes after `change`.
fn edited(entry: &Entry, change: impl Fn(&str) -> String) -> Result<UpstreamReply, BrokenEdit> {
    let answer = EditableAnswer::of_entry(entry).unwrap();
    answer.reply_with_text(&change(&answer.text))
}

fn stream(events: &[&str]) -> Entry {
    let chunks: Vec<Value> =
        events.iter().enumerate().map(|(at, event)| json!([at as f64 * 10.0, event])).collect();
    response(json!({"status": 200, "headers": {"content-type": "text/event-stream"},
        "end": "complete", "chunks": chunks}))
}

fn told(chunks: &[Chunk]) -> Vec<(f64, &str)> {
    chunks.iter().map(|chunk| (chunk.at_ms, std::str::from_utf8(&chunk.data).unwrap())).collect()
}

#[test]
fn a_document_is_laid_out_and_gets_its_style_and_length_back() {
    let entry = response(json!({"status": 200, "end": "complete",
        "headers": {"content-type": "application/json", "content-length": "24"},
        "body": {"text": "hi", "n": 1.50}}));
    let answer = EditableAnswer::of_entry(&entry).unwrap();
    assert_eq!(answer.text, "{\n  \"text\": \"hi\",\n  \"n\": 1.5\n}\n");
    let reply = edited(&entry, |text| text.replace("hi", "hello")).unwrap();
    assert_eq!(told(&reply.chunks), [(12.5, "{\"text\":\"hello\",\"n\":1.5}")]);
    assert_eq!(reply.headers[1], ("content-length".to_owned(), "24".to_owned()));
    let error = edited(&entry, |text| text.replace("1.5\n}", "1.5,\n}")).unwrap_err();
    assert_eq!(error.line, 4);
}

#[test]
fn the_chunks_of_a_stream_around_the_change_keep_their_bytes_and_times() {
    let events = ["data: {\"a\":1}\n\n", "data: {\"a\":2}\n\n", "data: [DONE]\n\n"];
    let entry = stream(&events);
    let reply = edited(&entry, |text| text.replace("{\"a\":2}", "{\"a\":3}\n\ndata: {\"a\":4}"));
    let expected = [
        (0.0, events[0]),
        (10.0, "data: {\"a\":3}\n\n"),
        (10.0, "data: {\"a\":4}\n\n"),
        (20.0, events[2]),
    ];
    assert_eq!(told(&reply.unwrap().chunks), expected);
    let gone = edited(&entry, |text| text.replace("data: {\"a\":2}\n\n", "")).unwrap();
    assert_eq!(told(&gone.chunks), [(0.0, events[0]), (20.0, events[2])]);
    let same = edited(&entry, str::to_owned).unwrap();
    assert_eq!(same.chunks, entry.response.unwrap().payload.into_chunks());
}

#[test]
fn an_event_that_is_not_json_any_more_is_named_with_its_line() {
    let entry = stream(&["data: {\"a\":1}\n\n", "data: [DONE]\n\n"]);
    let error = edited(&entry, |text| text.replace("1}", "}")).unwrap_err();
    assert_eq!(error.line, 1);
    // The end mark is no JSON, and does not have to be.
    assert!(edited(&entry, |text| text.replace("[DONE]", "[NONE]")).is_ok());
}

#[test]
fn what_is_no_text_cannot_be_edited() {
    let binary = response(json!({"status": 200, "end": "complete",
        "headers": {"content-type": "audio/mpeg"}, "base64": "//79"}));
    assert_eq!(EditableAnswer::of_entry(&binary).unwrap_err(), NotEditable::Binary);
    let plain = Entry::parse(&json!({"content": "words"})).unwrap();
    assert_eq!(EditableAnswer::of_entry(&plain).unwrap_err(), NotEditable::NoResponse);
}
