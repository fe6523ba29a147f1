use proptest::prelude::*;
use serde_json::{Value, json};

use crate::test_calls::{judge, read, to_complete, to_stream, write};
use crate::{Answer, Operation, TokenUsage, ToolCall};

const INTERACTIONS: Operation = Operation::INTERACTIONS;

fn body() -> Value {
    json!({
        "id": "v1_1", "object": "interaction", "status": "requires_action", "model": "gemini-3.5-flash",
        "created": "2026-07-01T10:00:00Z",
        "usage": {"total_input_tokens": 7, "total_output_tokens": 20, "total_thought_tokens": 22,
            "total_cached_tokens": 3, "total_tokens": 49},
        "steps": [
            {"type": "thought", "signature": "s==", "summary": [{"type": "text", "text": "I look it up."}]},
            {"type": "model_output", "content": [{"type": "text", "text": "Hello to you"}]},
            {"type": "function_call", "id": "f1", "name": "sum", "arguments": {"a": 1}}
        ]
    })
}

fn stream(events: &[Value]) -> Vec<u8> {
    let written = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["event_type"].as_str().unwrap())
    };
    (events.iter().map(written).collect::<String>() + "event: done\ndata: [DONE]\n\n").into_bytes()
}

fn events() -> Vec<Value> {
    let delta = |index: u8, delta: Value| json!({"event_type": "step.delta", "index": index, "delta": delta});
    let mut whole = body();
    whole.as_object_mut().unwrap().shift_remove("steps");
    vec![
        json!({"event_type": "interaction.created",
            "interaction": {"id": "v1_1", "status": "in_progress", "model": "gemini-3.5-flash"}}),
        json!({"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": "in_progress"}),
        json!({"event_type": "step.start", "index": 0, "step": {"type": "thought"}}),
        delta(
            0,
            json!({"type": "thought_summary", "content": {"type": "text", "text": "I look it up."}}),
        ),
        delta(0, json!({"type": "thought_signature", "signature": "s=="})),
        json!({"event_type": "step.stop", "index": 0}),
        json!({"event_type": "step.start", "index": 1, "step": {"type": "model_output"}}),
        delta(1, json!({"type": "text", "text": "Hello "})),
        delta(1, json!({"type": "text", "text": "to you"})),
        json!({"event_type": "step.stop", "index": 1}),
        json!({"event_type": "step.start", "index": 2,
            "step": {"type": "function_call", "id": "f1", "name": "sum", "arguments": {}}}),
        delta(2, json!({"type": "arguments_delta", "arguments": "{\"a\":"})),
        delta(2, json!({"type": "arguments_delta", "arguments": "1}"})),
        json!({"event_type": "step.stop", "index": 2}),
        json!({"event_type": "interaction.completed", "interaction": whole}),
    ]
}

#[test]
fn interaction_is_read_complete_and_streamed() {
    let complete = read(INTERACTIONS, false, body().to_string().as_bytes()).unwrap();
    assert_eq!(complete.content, "Hello to you");
    assert_eq!(complete.model.as_deref(), Some("gemini-3.5-flash"));
    assert_eq!(complete.finish_reason.as_deref(), Some("requires_action"));
    let call = &complete.tool_calls[0];
    assert_eq!((call.id.as_str(), call.name.as_str()), ("f1", "sum"));
    assert_eq!(call.arguments, json!({"a": 1}));
    let usage = complete.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (7, 42, 49));
    assert_eq!((usage.reasoning_tokens, usage.cached_tokens), (22, 3));
    assert_eq!(read(INTERACTIONS, true, &stream(&events())), Some(complete));
}

#[test]
fn interaction_is_the_same_in_both_modes() {
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    assert_eq!(value(&to_complete(INTERACTIONS, &stream(&events())).unwrap()), body());
    let split = to_stream(INTERACTIONS, body().to_string().as_bytes(), false).unwrap().concat();
    assert_eq!(value(&to_complete(INTERACTIONS, &split).unwrap()), body());
}

#[test]
fn older_revision_is_read_by_its_outputs() {
    let old = json!({"status": "completed", "outputs": [{"type": "text", "text": "Hi"}]});
    assert_eq!(read(INTERACTIONS, false, old.to_string().as_bytes()).unwrap().content, "Hi");
    let old = stream(&[
        json!({"event_type": "interaction.start", "interaction": {"status": "in_progress"}}),
        json!({"event_type": "content.delta", "index": 0, "delta": {"type": "text", "text": "Hi"}}),
        json!({"event_type": "interaction.complete", "interaction": {"status": "completed"}}),
    ]);
    assert_eq!(read(INTERACTIONS, true, &old).unwrap().content, "Hi");
}

#[test]
fn cut_stream_and_failed_interaction_are_no_answers() {
    let judge = |body: &[u8], media| judge(INTERACTIONS, media, body).is_failure();
    let (all, events) = (events(), "text/event-stream");
    assert!(!judge(&stream(&all), events));
    let cut: String = String::from_utf8(stream(&all[..9])).unwrap().replace("[DONE]", "");
    assert!(judge(cut.as_bytes(), events));
    assert!(to_complete(INTERACTIONS, &stream(&all[..9])).is_err());
    let error = json!({"event_type": "error", "error": {"code": "x", "message": "no"}});
    assert!(judge(&stream(&[all[0].clone(), error.clone()]), events));
    assert!(to_complete(INTERACTIONS, &stream(&[all[0].clone(), error, all[14].clone()])).is_err());
    assert!(judge(br#"{"id":"v1","status":"failed","steps":[]}"#, "application/json"));
    assert!(!judge(body().to_string().as_bytes(), "application/json"));
}

#[test]
fn interaction_from_words_is_read_back_in_both_modes() {
    let call = ToolCall { id: "f1".to_owned(), name: "sum".to_owned(), arguments: json!({"a": 1}) };
    let usage = TokenUsage {
        prompt_tokens: 7,
        completion_tokens: 20,
        total_tokens: 27,
        reasoning_tokens: 4,
        cached_tokens: 3,
        cache_write_tokens: 0,
    };
    for (tool_calls, found, expected) in [
        (vec![], None, "completed"),
        (vec![], Some("length"), "incomplete"),
        (vec![], Some("budget_exceeded"), "budget_exceeded"),
        (vec![call], Some("stop"), "requires_action"),
    ] {
        let answer = Answer {
            content: "Hello to you".to_owned(),
            model: Some("gemini-3.5-flash".to_owned()),
            usage: Some(usage),
            finish_reason: found.map(str::to_owned),
            tool_calls,
            ..Answer::default()
        };
        let body = write(INTERACTIONS, &answer, "seed").unwrap();
        let answer = Answer { finish_reason: Some(expected.to_owned()), ..answer };
        assert_eq!(read(INTERACTIONS, false, &body), Some(answer.clone()));
        let stream = to_stream(INTERACTIONS, &body, false).unwrap().concat();
        assert_eq!(read(INTERACTIONS, true, &stream), Some(answer));
        assert_eq!(to_complete(INTERACTIONS, &stream).unwrap(), body);
    }
}

#[test]
fn cut_off_interaction_keeps_its_thoughts_and_one_output() {
    let mut whole = body();
    let shape = INTERACTIONS.answer_shape(&whole).unwrap();
    assert_eq!(shape.first_call(&mut whole).unwrap().arguments, "arguments");
    let answer = read(INTERACTIONS, false, body().to_string().as_bytes()).unwrap();
    shape.cut_off(Some("Hel"), &answer, &mut whole);
    assert_eq!(whole["status"], "incomplete");
    assert_eq!(whole["steps"][0], body()["steps"][0]);
    assert_eq!(whole["steps"][1]["content"], json!([{"type": "text", "text": "Hel"}]));
    let usage = &whole["usage"];
    assert_eq!((&usage["total_output_tokens"], &usage["total_tokens"]), (&json!(0), &json!(7)));
}

proptest! {
    #[test]
    fn any_interaction_survives_both_ways(texts in prop::collection::vec(".{0,40}", 0..4)) {
        let part = |text: &String| json!({"type": "model_output", "content": [{"type": "text", "text": text}]});
        let steps: Value = texts.iter().map(part).collect();
        let body = json!({"id": "1", "status": "completed", "steps": steps});
        let split = to_stream(INTERACTIONS, body.to_string().as_bytes(), false).unwrap().concat();
        let merged: Value = serde_json::from_slice(&to_complete(INTERACTIONS, &split).unwrap()).unwrap();
        prop_assert_eq!(merged, body);
    }
}
