//! The parts of a call: its takes, its mismatch, what is missing.

use serde_json::json;

use super::*;
use loomrec_recording::{
    ChunkLayout, RecordedRequest, RecordedResponse, ResponseEnd, ResponsePayload,
};

fn request(body: &str) -> Entry {
    let request = RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        query: "a=b".into(),
        headers: vec![("content-type".into(), "application/json".into())],
        body: body.to_owned().into(),
        ..RecordedRequest::default()
    };
    Entry { request: Some(request), ..Entry::default() }
}

fn entry(status: u16, body: &str, end: ResponseEnd) -> Entry {
    let data = body.to_owned().into();
    let chunks = vec![loomrec_recording::Chunk { at_ms: 5.0, data }];
    let payload = ResponsePayload::new(ChunkLayout::Whole, chunks);
    let asked = request(r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#);
    let response = Some(RecordedResponse {
        status,
        reason: None,
        headers: Vec::new(),
        trailers: Vec::new(),
        payload,
        end,
    });
    Entry { response, content: Some("summed up".into()), ..asked }
}

#[test]
fn a_take_is_told_with_its_request_and_its_answer() {
    let answer = r#"{"choices":[{"message":{"role":"assistant","content":"yes"}}]}"#;
    let entry = entry(200, answer, ResponseEnd::Complete);
    let told =
        InspectedCall { seq: Some(3), entry: Some(&entry), ..InspectedCall::default() }.to_json();
    assert_eq!(told["request"]["path"], "/v1/chat/completions?a=b");
    assert_eq!(told["request"]["headers"], json!([["content-type", "application/json"]]));
    assert_eq!(told["request"]["settings"], json!([["model", "m"]]));
    assert_eq!(told["request"]["messages"][0]["parts"][0]["text"], "hi");
    assert_eq!(told["request"]["messages"][0]["as_before"], false);
    assert_eq!(told["continues"], json!(null));
    assert_eq!(told["answer"]["messages"][0]["parts"][0]["text"], "yes");
    assert_eq!(told["answer"]["bytes"], answer.len());
    assert_eq!((&told["answer"]["chunks"], &told["why_no_bodies"]), (&json!(null), &json!(null)));
    let names: Vec<&String> = told.as_object().unwrap().keys().collect();
    let expected = [
        "v",
        "seq",
        "line",
        "request",
        "answer",
        "exchanged",
        "mismatch",
        "nearest_request",
        "fault",
        "why_no_bodies",
        "continues",
    ];
    assert_eq!(names, expected);
}

#[test]
fn an_error_and_a_cut_are_said() {
    let failed = entry(429, r#"{"error":{"message":"slow down"}}"#, ResponseEnd::Complete);
    let told = InspectedCall { entry: Some(&failed), ..InspectedCall::default() }.to_json();
    assert_eq!(told["answer"]["error"], "slow down");
    assert_eq!(told["answer"]["messages"][0]["parts"][0]["text"], "summed up");
    let cut = entry(200, "{}", ResponseEnd::ClientAbort);
    let told = InspectedCall { entry: Some(&cut), ..InspectedCall::default() }.to_json();
    assert!(told["answer"]["error"].as_str().unwrap().contains("never served"), "{told:#}");
}

#[test]
fn a_mismatch_has_its_differences_on_its_first_level() {
    let mismatch = json!({ "reason": "drifted", "message": "why", "remedy": "do", "other": 1,
        "nearest": { "entry": "a", "take": 1, "recording": "r.json",
                     "differences": [{ "pointer": "/a", "recorded": "1", "now": "2" }] } });
    let (now, near) = (request("{}"), request("[]"));
    let line = json!({ "mismatch": mismatch });
    let call =
        InspectedCall { line, entry: Some(&now), nearest: Some(&near), ..InspectedCall::default() };
    let told = call.to_json();
    let expected = json!({ "reason": "drifted", "message": "why",
        "nearest": { "entry": "a", "take": 1, "recording": "r.json" },
        "differences": [{ "pointer": "/a", "recorded": "1", "now": "2" }], "remedy": "do" });
    assert_eq!(told["mismatch"], expected);
    assert_eq!(
        (&told["request"]["text"], &told["nearest_request"]["text"]),
        (&json!("{}"), &json!("[]"))
    );
    assert_eq!(told["answer"], json!(null));
}

#[test]
fn what_an_entry_does_not_hold_is_explained() {
    let plain = Entry { content: Some("said".into()), ..Entry::default() };
    let told = InspectedCall { entry: Some(&plain), ..InspectedCall::default() }.to_json();
    assert_eq!(told["answer"]["messages"][0]["parts"][0]["text"], "said");
    assert!(told["why_no_bodies"].as_str().unwrap().contains("no request"), "{told:#}");
    let fault = Entry { fault: Some(json!({ "type": "timeout" })), ..Entry::default() };
    let told = InspectedCall { entry: Some(&fault), ..InspectedCall::default() }.to_json();
    assert_eq!(told["fault"]["type"], "timeout");
    assert!(told["why_no_bodies"].as_str().unwrap().contains("fault"), "{told:#}");
}

#[test]
fn messages_of_the_earlier_call_are_told_from_new_ones() {
    let say = |text: &str| json!({ "role": "user", "content": text });
    let long = "x".repeat(700_000);
    let earlier =
        request(&json!({ "system": "s", "messages": [say("a"), say(&long)] }).to_string());
    let body = json!({ "system": "s", "messages": [say("a"), say(&long), say(&long)] });
    let now = request(&body.to_string());
    let continued = ContinuedCall { earlier: 0, turn: 2, is_stored: false };
    let earlier = Some(EarlierCall { continued, seq: 7, entry: &earlier });
    let told = InspectedCall { entry: Some(&now), earlier, ..InspectedCall::default() }.to_json();
    let continues = json!({ "seq": 7, "stored": false, "left_out": 0 });
    assert_eq!(told["continues"], continues);
    let messages = told["request"]["messages"].as_array().unwrap();
    let as_before: Vec<&Value> = messages.iter().map(|message| &message["as_before"]).collect();
    assert_eq!(as_before, [true, true, true, false]);
    // The limit cuts what was seen before, not what is new.
    assert_eq!(messages[3]["parts"][0]["text"].as_str().unwrap().len(), long.len());
    assert!(messages[2]["parts"][0]["text"].as_str().unwrap().ends_with("more bytes)"));
}
