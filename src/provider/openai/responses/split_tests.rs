use proptest::prelude::*;
use serde_json::{Value, json};

use crate::test_calls::{ended_well, read, to_complete, to_stream};
use crate::{ModeError, Operation};

const RESPONSES: Operation = Operation::RESPONSES;

fn body() -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1760000000, "status": "completed",
        "completed_at": 1760000001, "error": null, "incomplete_details": null,
        "model": "gpt-5-2025-08-07", "parallel_tool_calls": true, "kept": ["as", "it", "is"],
        "output": [
            {"id": "rs_1", "type": "reasoning", "encrypted_content": "abc", "summary": [
                {"type": "summary_text", "text": "I think so."}
            ], "content": [{"type": "reasoning_text", "text": "Hm, well."}]},
            {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
             "phase": "final_answer", "content": [
                {"type": "output_text", "text": "Hello there, ünï", "logprobs": [{"token": "x"}],
                 "annotations": [{"type": "url_citation", "url": "u"}]},
                {"type": "refusal", "refusal": "I can't."},
                {"type": "unheard_of", "text": "kept"}
            ]},
            {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"q": 1}},
            {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1",
             "name": "f", "arguments": "{\"city\": \"Oslo\"}"},
            {"id": "ct_1", "type": "custom_tool_call", "call_id": "call_2", "name": "sh",
             "input": "ls -l"},
            "no item at all"
        ],
        "usage": {
            "input_tokens": 9, "output_tokens": 6, "total_tokens": 15,
            "input_tokens_details": {"cached_tokens": 2},
            "output_tokens_details": {"reasoning_tokens": 1}
        }
    })
}

fn events(body: &Value) -> Vec<Value> {
    let events = to_stream(RESPONSES, body.to_string().as_bytes(), false).unwrap();
    let event = |event: &Vec<u8>| {
        let text = std::str::from_utf8(event).unwrap();
        let (name, data) = text.strip_prefix("event: ").unwrap().split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data["type"], name);
        data
    };
    events.iter().map(event).collect()
}

fn stream(body: &Value) -> Vec<u8> {
    to_stream(RESPONSES, body.to_string().as_bytes(), false).unwrap().concat()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap().strip_prefix("response.").unwrap())
        .collect()
}

#[test]
fn a_response_survives_when_it_goes_both_ways() {
    let back = to_complete(RESPONSES, &stream(&body())).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&back).unwrap(), body());
    let plain = read(RESPONSES, false, body().to_string().as_bytes());
    assert_eq!(read(RESPONSES, true, &stream(&body())), plain);
}

#[test]
fn events_come_in_the_order_that_sdks_put_together() {
    let mut body = body();
    body["output"].as_array_mut().unwrap().drain(4..);
    let events = events(&body);
    let expected = "created in_progress \
        output_item.added reasoning_summary_part.added reasoning_summary_text.delta \
        reasoning_summary_text.delta reasoning_summary_text.delta reasoning_summary_text.done \
        reasoning_summary_part.done content_part.added reasoning_text.delta reasoning_text.delta \
        reasoning_text.done content_part.done output_item.done \
        output_item.added content_part.added output_text.delta output_text.delta \
        output_text.delta output_text.annotation.added output_text.done content_part.done \
        content_part.added refusal.delta refusal.delta refusal.done content_part.done \
        content_part.added content_part.done output_item.done \
        output_item.added output_item.done \
        output_item.added function_call_arguments.delta function_call_arguments.delta \
        function_call_arguments.done output_item.done completed";
    assert_eq!(kinds(&events), expected.split_whitespace().collect::<Vec<_>>());
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], place);
    }
    for place in [0, 1] {
        let opened = &events[place]["response"];
        assert_eq!((&opened["status"], &opened["output"]), (&json!("in_progress"), &json!([])));
        assert_eq!((&opened["usage"], &opened["completed_at"]), (&Value::Null, &Value::Null));
        assert_eq!(opened["id"], "resp_1");
    }
    assert_eq!(events[15]["item"]["content"], json!([]));
    assert_eq!(events[15]["item"]["status"], "in_progress");
    let part = json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
    assert_eq!(events[16]["part"], part);
    let delta = json!({
        "type": "response.output_text.delta", "sequence_number": 17, "item_id": "msg_1",
        "output_index": 1, "content_index": 0, "delta": "Hello ", "logprobs": []
    });
    assert_eq!(events[17], delta);
    let done = &events[events.len() - 3];
    assert_eq!((&done["name"], &done["item_id"]), (&json!("f"), &json!("fc_1")));
    assert_eq!(done["arguments"], "{\"city\": \"Oslo\"}");
    assert_eq!(events.last().unwrap()["response"], body);
}

#[test]
fn the_last_event_says_how_the_response_ended() {
    for (status, last) in [("completed", "completed"), ("incomplete", "incomplete")] {
        let mut body = body();
        body["status"] = status.into();
        assert_eq!(kinds(&events(&body)).last(), Some(&last));
        assert!(to_complete(RESPONSES, &stream(&body)).is_ok());
    }
    let mut failed = body();
    failed["status"] = "failed".into();
    assert_eq!(kinds(&events(&failed)).last(), Some(&"failed"));
    assert_eq!(to_complete(RESPONSES, &stream(&failed)), Err(ModeError::Unended));
    for status in ["queued", "in_progress", "cancelled"] {
        let mut body = body();
        body["status"] = status.into();
        let refused = Err(ModeError::Unreadable { operation: "Responses" });
        assert_eq!(to_stream(RESPONSES, body.to_string().as_bytes(), false), refused);
    }
}

#[test]
fn a_response_stream_is_refused_when_it_did_not_end_well() {
    let whole = to_stream(RESPONSES, body().to_string().as_bytes(), false).unwrap();
    let cut = whole[..whole.len() - 1].concat();
    assert_eq!(to_complete(RESPONSES, &cut), Err(ModeError::Unended));
    for error in [
        "event: error\ndata: {\"type\":\"error\",\"code\":null,\"message\":\"no\"}\n\n",
        "data: {\"error\":{\"message\":\"no\"}}\n\n",
        "data: {\"type\":\n\n",
    ] {
        let stream = [&cut[..], error.as_bytes(), &whole[whole.len() - 1]].concat();
        assert_eq!(to_complete(RESPONSES, &stream), Err(ModeError::Unended), "{error}");
    }
    let marked = [&whole.concat()[..], b"data: [DONE]\n\n"].concat();
    assert!(to_complete(RESPONSES, &marked).is_ok());
    let none = Err(ModeError::Unreadable { operation: "Responses" });
    assert_eq!(to_complete(RESPONSES, b"data: {\"choices\":[]}\n\n"), none);
}

#[test]
fn items_are_taken_from_before_the_end_when_it_does_not_say_them_again() {
    let mut said = events(&body());
    said.last_mut().unwrap()["response"]["output"] = json!([]);
    let stream: String = said.iter().map(|event| format!("data: {event}\n\n")).collect();
    let back = to_complete(RESPONSES, stream.as_bytes()).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&back).unwrap(), body());
    let plain = read(RESPONSES, false, body().to_string().as_bytes());
    assert_eq!(read(RESPONSES, true, stream.as_bytes()), plain);
}

proptest! {
    #[test]
    fn any_response_survives_when_it_goes_both_ways(
        items in prop::collection::vec(("message|function_call|odd", "(\\PC|\n){0,60}"), 0..5),
        cut in 0.0..1.0f64, at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let output = items.iter().map(|(kind, text)| match kind.as_str() {
            "message" => json!({"id": "m", "type": kind, "content": [
                {"type": "output_text", "text": text, "annotations": []}]}),
            "function_call" => json!({"type": kind, "call_id": "c", "name": "f", "arguments": text}),
            _ => json!({"type": kind, "text": text}),
        });
        let mut body = body();
        body["output"] = output.collect();
        let stream = stream(&body);
        let back: Value = serde_json::from_slice(&to_complete(RESPONSES, &stream).unwrap()).unwrap();
        prop_assert_eq!(&back, &body);
        let plain = read(RESPONSES, false, body.to_string().as_bytes());
        prop_assert_eq!(read(RESPONSES, true, &stream), plain);
        // Without its complete last event, it has not ended; a mangled stream is still read.
        let part = &stream[..((stream.len() - 3) as f64 * cut) as usize];
        prop_assert_ne!(ended_well(RESPONSES, part), Some(true));
        let _ = read(RESPONSES, true, part);
        let mut mangled = stream.clone();
        mangled[at.index(stream.len())] = byte;
        let _ = (read(RESPONSES, true, &mangled), to_complete(RESPONSES, &mangled));
    }
}
