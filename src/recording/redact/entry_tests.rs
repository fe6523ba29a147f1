use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::{Chunk, ChunkLayout, RecordedRequest, RecordedResponse, ResponseEnd, ResponsePayload};
use serde_json::json;

const SECRET: &str = "hunter-2222-secret";

fn redactor() -> Redactor {
    Redactor::new(&["hunter-[0-9]+-secret".to_owned()]).unwrap()
}

/// Returns an entry with the secret in each of these parts.
fn entry(asked: &str, chunks: &[&str], media: &str) -> Entry {
    let chunk = |data: &&str| Chunk { at_ms: 1.0, data: data.as_bytes().to_vec().into() };
    let request = RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        query: String::new(),
        headers: vec![("content-type".into(), "application/json".into())],
        other_headers: Default::default(),
        packed: None,
        body: format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{asked}"}}]}}"#)
            .into(),
    };
    let response = RecordedResponse {
        status: 200,
        reason: None,
        headers: vec![("content-type".into(), media.into())],
        trailers: Vec::new(),
        payload: ResponsePayload::new(ChunkLayout::Chunks, chunks.iter().map(chunk).collect()),
        end: ResponseEnd::Complete,
    };
    let (_, key) = request.recognise_with_key(&IdentityRules::default());
    Entry {
        content: Some(String::new()),
        request_hash: Some(key),
        request: Some(request),
        response: Some(response),
        ..Entry::default()
    }
}

fn cleaned(entry: &Entry) -> CleanedEntry {
    let name = EntryName::Hash(entry.request_hash.clone().unwrap());
    redactor().redact_entry(&name, entry, &IdentityRules::default())
}

fn event(words: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": words}}]}))
}

#[test]
fn clean_entry_stays_as_it_is() {
    let plain = entry("hello", &[&event("Hi"), "data: [DONE]\n\n"], "text/event-stream");
    let CleanedEntry { name, entry, changed, left } = cleaned(&plain);
    assert_eq!((entry, changed, left), (plain.clone(), Vec::new(), None));
    assert_eq!(name, EntryName::Hash(plain.request_hash.unwrap()));
}

#[test]
fn key_is_that_of_the_request_that_is_left() {
    let secret = entry(SECRET, &[&event("Hi")], "text/event-stream");
    let same = entry("[REDACTED]", &[&event("Hi")], "text/event-stream");
    let clean = cleaned(&secret);
    assert_eq!(clean.changed, [EntryPart::Request]);
    assert_eq!(clean.entry, same);
    assert_eq!(clean.name, EntryName::Hash(same.request_hash.unwrap()));
    // A second redaction changes nothing.
    let again = redactor().redact_entry(&clean.name, &clean.entry, &IdentityRules::default());
    assert_eq!((again.entry, again.changed), (clean.entry, Vec::new()));
}

#[test]
fn secret_across_chunks_goes_and_the_text_is_read_anew() {
    let whole = event(&format!("It is {SECRET}."));
    let (one, other) = whole.split_at(whole.find("2222").unwrap());
    let mut said = entry("hello", &[one, other], "text/event-stream");
    said.content = Some(format!("It is {SECRET}."));
    said.tool_calls = Vec::new();
    let clean = cleaned(&said);
    assert_eq!((clean.changed, clean.left), (vec![EntryPart::Answer], None));
    assert_eq!(clean.entry.content.as_deref(), Some("It is [REDACTED]."));
    let response = clean.entry.response.unwrap();
    assert_eq!(response.payload.chunks().len(), 2);
    assert!(!String::from_utf8_lossy(&response.payload.joined_bytes()).contains("hunter"));
}

#[test]
fn secret_that_is_spread_over_events_is_removed_from_each() {
    let (one, other) = SECRET.split_at(9);
    let mut said = entry("hello", &[&event(one), &event(other)], "text/event-stream");
    said.content = Some(SECRET.to_owned());
    let clean = cleaned(&said);
    assert_eq!((clean.changed, clean.left), (vec![EntryPart::Answer], None));
    assert_eq!(clean.entry.content.as_deref(), Some("[REDACTED]"));
    let chunks = clean.entry.response.unwrap().payload.into_chunks();
    assert_eq!(
        (&chunks[0].data, &chunks[1].data),
        (&event("[REDACTED]").into(), &event("").into())
    );
}

#[test]
fn secret_goes_from_wherever_else_an_entry_holds_it() {
    let mut plain = Entry {
        content: Some(SECRET.into()),
        session: Some(SECRET.into()),
        model: Some(SECRET.into()),
        fault: Some(json!({"type": "http_error", "body": SECRET})),
        ..Entry::default()
    };
    plain.extra.insert("note".into(), json!([SECRET, {"deep": SECRET}]));
    let name = EntryName::from_step_id(&format!("step {SECRET}")).unwrap();
    let clean = redactor().redact_entry(&name, &plain, &IdentityRules::default());
    let parts = [EntryPart::StepId, EntryPart::AnswerText, EntryPart::OtherFields];
    assert_eq!(clean.changed, parts);
    assert_eq!(clean.name, EntryName::from_step_id("step [REDACTED]").unwrap());
    let text = format!("{:?}", clean.entry);
    assert!(!text.contains("hunter"), "{text}");
}

#[test]
fn compressed_answer_that_cannot_be_read_is_kept_and_told() {
    let mut coded = entry("hello", &["\u{1f}odd"], "application/json");
    if let Some(response) = &mut coded.response {
        response.headers.push(("content-encoding".into(), "odd".into()));
    }
    let clean = cleaned(&coded);
    assert_eq!(clean.left, Some(UnkeptReason::Compressed));
    assert_eq!(clean.entry, coded);
}

#[test]
fn compressed_answer_is_looked_into_to_its_end_or_not_kept() {
    let mut plain = vec![b' '; 50_000];
    plain.extend_from_slice(SECRET.as_bytes());
    let mut chunks = vec![Chunk { at_ms: 1.0, data: packed(&plain).into() }];
    let mut headers = vec![("content-encoding".to_owned(), "gzip".to_owned())];
    let came = RawResponse {
        operation: Operation::OTHER,
        status: 200,
        headers: &mut headers,
        chunks: &mut chunks,
        placeholders: &mut Placeholders::default(),
    };
    let kept = redactor().redact_answer(came, &CallCredentials::default(), 40_000);
    assert_eq!((kept.map(drop), chunks), (Err(UnkeptReason::TooLarge), Vec::new()));
}

#[test]
fn compressed_request_is_looked_into() {
    let plain = entry(SECRET, &["ok"], "text/plain");
    let mut coded = plain.clone();
    if let Some(request) = &mut coded.request {
        request.set_stored_body(packed(&request.body).into());
        assert!(request.packed.is_some());
    }
    let (plain, coded) = (cleaned(&plain), cleaned(&coded));
    assert_eq!(coded.changed, [EntryPart::Request]);
    assert_eq!((coded.entry.request, coded.name), (plain.entry.request, plain.name));
}

fn packed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}
