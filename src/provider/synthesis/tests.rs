use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::StreamError;
use crate::{Operation, test_calls};

const PARTS: [AnswerPart<'static>; 5] = [
    AnswerPart::Text("Let me look"),
    AnswerPart::Text(" that up, all of it, at length, in one event. "),
    AnswerPart::Call { id: "call_7", name: "weather", arguments: "" },
    AnswerPart::Arguments { call: 2, text: "{\"city\": \"O" },
    AnswerPart::Arguments { call: 2, text: "slo\"}" },
];

fn bytes(operation: Operation, spoken: &SynthesizedEvents) -> Vec<u8> {
    let frames: Vec<EventFrame> =
        spoken.content.iter().map(|(_, frame)| frame).chain(&spoken.ending).cloned().collect();
    test_calls::format_of(operation, true).framing.write_events(&frames).concat()
}

/// The data of a frame; for a Bedrock model, its own JSON, decoded from base64.
fn told(frame: &EventFrame) -> String {
    let data = frame.data.as_ref().map_or_else(String::new, ToString::to_string);
    let inner = frame.data.as_ref().and_then(|data| STANDARD.decode(data["bytes"].as_str()?).ok());
    inner.map_or(data, |inner| String::from_utf8(inner).unwrap())
}

/// The operations that can be synthesized.
fn operations() -> Vec<Operation> {
    let able = |operation: &Operation| {
        let row = operation.row();
        row.write.is_some() && row.split.is_some()
    };
    Operation::all().filter(able).collect()
}

#[test]
fn the_stream_reads_as_the_whole_does_whatever_is_asked() {
    let rest = Answer { finish_reason: Some("tool_calls".into()), ..Answer::default() };
    let mut said = 0;
    for operation in operations() {
        let format = test_calls::format_of(operation, true);
        let Ok(spoken) = synthesize(&format, &PARTS, &rest, "seed") else { continue };
        let stream = bytes(operation, &spoken);
        let whole =
            super::super::write_answer(&format, &whole_answer(&PARTS, &rest), "seed").unwrap();
        let (streamed, complete) = (
            test_calls::read(operation, true, &stream),
            test_calls::read(operation, false, &whole),
        );
        assert_eq!(streamed, complete, "{operation:?}");
        let answer = streamed.unwrap();
        assert_eq!(answer.content, "Let me look that up, all of it, at length, in one event. ");
        assert_eq!(answer.tool_calls[0].name, "weather", "{operation:?}");
        assert_eq!(answer.tool_calls[0].arguments, json!({"city": "Oslo"}), "{operation:?}");
        assert_eq!(test_calls::ended_well(operation, &stream), Some(true), "{operation:?}");
        for words in ["\"Let me look\"", "\" that up, all of it, at length, in one event. \""] {
            let own = spoken.content.iter().filter(|(_, frame)| told(frame).contains(words));
            assert_eq!(own.count(), 1, "{operation:?}: {words}");
        }
        said += 1;
    }
    assert!(said >= 2, "only {said} operations can be said in parts");
}

#[test]
fn a_stream_that_an_error_ends_is_never_taken_for_a_whole_one() {
    let parts = [AnswerPart::Text("Well, "), AnswerPart::Text("no")];
    for operation in operations() {
        let format = test_calls::format_of(operation, true);
        let spoken = synthesize(&format, &parts, &Answer::default(), "seed").unwrap();
        let whole = bytes(operation, &spoken);
        assert_eq!(test_calls::read(operation, true, &whole).unwrap().content, "Well, no");
        let told =
            StreamError { format: &format, status: 503, kind: None, message: "gone", place: 0 };
        let error = super::super::stream_error(&told);
        let failed = SynthesizedEvents { content: spoken.content, ending: vec![error] };
        let stream = bytes(operation, &failed);
        let complete = test_calls::to_complete(operation, &stream);
        assert_eq!(complete, Err(ModeError::Unended), "{operation:?}");
        let text = String::from_utf8_lossy(&stream).into_owned();
        assert!(text.contains("gone"), "{operation:?}: {text}");
    }
}

#[test]
fn each_part_of_chat_and_messages_is_an_event_of_its_own_and_known_by_it() {
    for operation in [Operation::CHAT_COMPLETIONS, Operation::MESSAGES] {
        let format = test_calls::format_of(operation, true);
        let spoken = synthesize(&format, &PARTS, &Answer::default(), "seed").unwrap();
        let told: Vec<usize> = spoken.content.iter().filter_map(|(part, _)| *part).collect();
        assert!(told.is_sorted(), "{told:?}");
        let events = |part: usize| -> String {
            let own = spoken.content.iter().filter(|(of, _)| *of == Some(part));
            own.map(|(_, frame)| frame.data.as_ref().unwrap().to_string()).collect()
        };
        assert!(events(0).contains("\"Let me look\""), "{}", events(0));
        assert!(events(1).contains("\" that up, all of it, at length, in one event. \""));
        assert!(events(2).contains("\"weather\""), "{}", events(2));
        assert!(events(3).contains(r#""{\"city\": \"O""#), "{}", events(3));
        assert!(events(4).contains(r#""slo\"}""#), "{}", events(4));
        assert_eq!(spoken.content.last().unwrap().0, Some(4));
        assert!(spoken.content.first().unwrap().0.is_none());
        assert!(!spoken.ending.is_empty());
    }
}

#[test]
fn text_that_comes_behind_a_call_is_said_before_it() {
    let parts = [
        AnswerPart::Call { id: "", name: "now", arguments: "{}" },
        AnswerPart::Text("late"),
        AnswerPart::Text(""),
    ];
    let format = test_calls::format_of(Operation::CHAT_COMPLETIONS, false);
    let spoken = synthesize(&format, &parts, &Answer::default(), "seed").unwrap();
    let stream = bytes(Operation::CHAT_COMPLETIONS, &spoken);
    let answer = test_calls::read(Operation::CHAT_COMPLETIONS, true, &stream).unwrap();
    assert_eq!((answer.content.as_str(), answer.tool_calls[0].name.as_str()), ("late", "now"));
    assert_eq!(answer.tool_calls[0].arguments, json!({}));
    let order: Vec<usize> = spoken.content.iter().filter_map(|(part, _)| *part).collect();
    assert_eq!((order[0], *order.last().unwrap()), (1, 0));
}

#[test]
fn an_answer_without_parts_is_all_ending() {
    let format = test_calls::format_of(Operation::MESSAGES, false);
    let spoken = synthesize(&format, &[], &Answer::default(), "seed").unwrap();
    assert!(spoken.content.is_empty() && !spoken.ending.is_empty());
    let stream = bytes(Operation::MESSAGES, &spoken);
    let answer = test_calls::read(Operation::MESSAGES, true, &stream).unwrap();
    assert_eq!((answer.content.as_str(), answer.finish_reason.as_deref()), ("", Some("end_turn")));
}

#[test]
fn arguments_that_are_no_json_are_streamed_as_they_are() {
    let parts = [AnswerPart::Call { id: "c", name: "f", arguments: "{\"a\": " }];
    for operation in [Operation::CHAT_COMPLETIONS, Operation::MESSAGES] {
        let spoken =
            synthesize(&test_calls::format_of(operation, false), &parts, &Answer::default(), "s");
        let stream = bytes(operation, &spoken.unwrap());
        let call = &test_calls::read(operation, true, &stream).unwrap().tool_calls[0];
        assert_eq!(call.arguments, json!({"_raw": "{\"a\": "}), "{operation:?}");
    }
}

proptest! {
    #[test]
    fn any_texts_are_said_as_they_are(
        texts in prop::collection::vec("(?s).{0,30}", 0..6),
        name in ".{1,20}",
        arguments in ".{0,20}",
    ) {
        // Anthropic's input is JSON: a string in quotes is read as its content, and a number or a
        // list loses the spaces around it.
        let is_other_json = |value: Value| !value.is_object();
        prop_assume!(!serde_json::from_str(&arguments).is_ok_and(is_other_json));
        let mut parts: Vec<AnswerPart<'_>> = texts.iter().map(|text| AnswerPart::Text(text)).collect();
        parts.push(AnswerPart::Call { id: "id", name: &name, arguments: &arguments });
        for operation in [Operation::CHAT_COMPLETIONS, Operation::MESSAGES] {
            let format = test_calls::format_of(operation, true);
            let spoken = synthesize(&format, &parts, &Answer::default(), "seed").unwrap();
            let stream = bytes(operation, &spoken);
            let answer = test_calls::read(operation, true, &stream).unwrap();
            prop_assert_eq!(&answer.content, &texts.concat());
            prop_assert_eq!(&answer.tool_calls[0].name, &name);
            let call = ToolCall::from_text("id", &name, &arguments);
            prop_assert_eq!(&answer.tool_calls[0].arguments, &call.arguments);
        }
    }

    #[test]
    fn marks_of_nobody_stay_as_they_are(text in "[\u{f8f0}\u{f8f1}0-9{}\": ]{0,12}") {
        let answer = Answer { model: Some(text.clone()), ..Answer::default() };
        let format = test_calls::format_of(Operation::CHAT_COMPLETIONS, false);
        let spoken = synthesize(&format, &[], &answer, "seed").unwrap();
        prop_assert_eq!(&spoken.ending[0].data.as_ref().unwrap()["model"], &Value::from(text));
    }
}

#[test]
fn a_frame_with_the_last_part_and_the_end_is_split_into_the_two() {
    let last = json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]},
        "finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 3}});
    let (content, end) = split_end(EventFrame::unnamed(last));
    assert_eq!(
        content.data,
        Some(json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}))
    );
    let end = end.unwrap().data.unwrap();
    assert_eq!(end["candidates"][0]["content"]["parts"], json!([{"text": ""}]));
    assert_eq!(end["candidates"][0]["finishReason"], "STOP");
    assert_eq!(end["usageMetadata"]["totalTokenCount"], 3);
    let open = json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": null}],
        "usage": null});
    let open = EventFrame::unnamed(open);
    assert_eq!(split_end(open.clone()), (open, None));
}
