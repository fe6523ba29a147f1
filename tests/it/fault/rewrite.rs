//! Tests of changed answers: cut off by their length, or with a broken tool call.

use loomrec_provider::framing::events;
use loomrec_provider::{Answer as ProviderAnswer, Framing, Operation};
use serde_json::{Value, json};

use super::stage::{Sample, Stage, complete, sample, samples, streams};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Response, Scene, Upstream};

fn operation(sample: &Sample) -> Operation {
    match sample.name.split(' ').next().unwrap_or_default() {
        "chat" => Operation::CHAT_COMPLETIONS,
        "message" => Operation::MESSAGES,
        "gemini" => Operation::GENERATE_CONTENT,
        "ollama" => Operation::OLLAMA_CHAT,
        _ => Operation::CONVERSE,
    }
}

/// The content of an answer.
#[track_caller]
fn read_answer(sample: &Sample, body: &[u8]) -> ProviderAnswer {
    let answer = loomrec_provider::read_answer(operation(sample), sample.framing, body);
    answer.unwrap_or_else(|| panic!("{}: {}", sample.name, String::from_utf8_lossy(body)))
}

/// The provider's word for an answer that was cut off by its length.
fn too_long(sample: &Sample) -> &'static str {
    match operation(sample).as_str() {
        "chat" | "ollama_chat" => "length",
        "generate_content" => "MAX_TOKENS",
        _ => "max_tokens",
    }
}

fn check_media(sample: &Sample, answer: &Response, fault: &str) {
    assert_eq!(answer.header("content-type"), Some(sample.media), "{}", sample.name);
    assert_eq!(answer.header("x-loomrec-fault"), Some(fault), "{}", sample.name);
}

#[test]
fn a_partial_response_says_the_same_and_that_it_was_cut_off() {
    let stage = Stage::replay(&[]);
    for sample in samples() {
        let answer = stage.call(&sample.with("partial_response")).expect(200);
        check_media(&sample, &answer, "partial_response");
        let (truth, now) =
            (read_answer(&sample, &sample.body()), read_answer(&sample, &answer.body()));
        assert_eq!(now.content, truth.content, "{}", sample.name);
        assert_eq!(now.finish_reason.as_deref(), Some(too_long(&sample)), "{}", sample.name);
        assert_eq!(now.usage.is_some(), truth.usage.is_some(), "{}", sample.name);
        let counted = now.usage.unwrap_or_default();
        assert_eq!(counted.completion_tokens, 0, "{}", sample.name);
        assert_eq!(counted.prompt_tokens, truth.usage.unwrap_or_default().prompt_tokens);
        let given = stage.call(&sample.with("partial_response;content=All g\u{f6}")).expect(400);
        assert!(given.text().contains("x-loomrec-fault"), "{}", given.text());
        let given =
            stage.call(&sample.with(r#"partial_response;content="All g\u00f6""#)).expect(200);
        let now = read_answer(&sample, &given.body());
        assert_eq!(now.content, "All g\u{f6}", "{}", sample.name);
        assert_eq!(now.finish_reason.as_deref(), Some(too_long(&sample)), "{}", sample.name);
    }
    stage.end(1);
}

#[test]
fn a_partial_stream_is_a_whole_one_in_its_framing() {
    let stage = Stage::replay(&[]);
    for sample in streams() {
        let answer = stage.call(&sample.with("partial_response")).expect(200);
        let (body, framing) = (answer.body(), sample.framing.unwrap());
        if framing == Framing::Array {
            assert!(answer.json().as_array().is_some_and(|list| !list.is_empty()));
            continue;
        }
        let whole = events(framing, &body).all(|event| event.finished && !event.failed);
        assert!(whole, "{}", sample.name);
        let last = answer.chunks.last();
        if matches!(sample.name, "chat stream" | "message stream") {
            assert_eq!(last, sample.chunks.last(), "{}", sample.name);
        }
    }
    let chat = stage.call(&sample("chat").with("partial_response")).expect(200).json();
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9 });
    assert_eq!(chat["usage"], usage);
    assert_eq!(chat["id"], "chatcmpl-1");
    assert_eq!(chat["choices"][0]["finish_reason"], "length");
    stage.end(0);
}

/// A recording of one tool call, which answers any call.
fn tools() -> Scene {
    let scene = Scene::new();
    scene.write(
        json!({ "_version": 2, "tool": {
            "content": "", "finish_reason": "tool_calls",
            "usage": { "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 },
            "tool_calls": [{ "id": "call_1", "name": "get_weather",
                "arguments": { "city": "Paris", "days": 3 } }] } })
        .to_string(),
    );
    scene
}

/// The first tool call of an answer: name and arguments.
fn called(sample: &Sample, body: &[u8]) -> (String, Value) {
    let answer = read_answer(sample, body);
    assert_eq!(answer.tool_calls.len(), 1, "{}: {:?}", sample.name, answer.tool_calls);
    let call = &answer.tool_calls[0];
    (call.name.clone(), call.arguments.clone())
}

#[test]
fn a_tool_call_can_be_made_to_fail_for_each_provider() {
    let fault = json!({ "type": "tool_call_fault", "name": "get_weather",
        "arguments": { "city": "nowhere" } });
    let beside = tools().json()["tool"].as_object().unwrap().clone();
    let mut once = fault.clone();
    once["times"] = 1.into();
    let beside: Value = beside.into_iter().chain([("fault".to_owned(), once)]).collect();
    let scene = Scene::new();
    let entries = json!({ "_version": 2, "alone": { "fault": fault }, "beside": beside });
    scene.write(entries.to_string());
    let stage = Stage::of(scene, &["--repeat", "last"]);
    let failing = ("get_weather".to_owned(), json!({ "city": "nowhere" }));
    let whole = ("get_weather".to_owned(), json!({ "city": "Paris", "days": 3 }));
    for (number, sample) in samples().into_iter().enumerate() {
        let ask = |step: &str| {
            // In a session of its own, so that each sample is a first attempt.
            let session = format!("x-loomrec-session: {number}");
            let call = sample.call.clone().header(&session);
            let call = call.header(&format!("x-loomrec-step-id: {step}"));
            called(&sample, &stage.call(&call).expect(200).body())
        };
        // A workflow can tell the call apart by its arguments, and its tool fails on them.
        for _ in 0..2 {
            assert_eq!(ask("alone"), failing, "{}", sample.name);
        }
        assert_eq!(ask("beside"), failing, "{}", sample.name);
        assert_eq!(ask("beside"), whole, "{}", sample.name);
    }
    stage.end(0);
}

#[test]
fn a_tool_call_is_broken_in_each_way_for_each_provider() {
    let stage = Stage::of(tools(), &["--repeat", "last"]);
    let whole = json!({ "city": "Paris", "days": 3 });
    for sample in samples() {
        let with = |fault: &str| {
            let call = sample.call.clone().header("x-loomrec-step-id: tool");
            match fault {
                "" => stage.call(&call).expect(200).body(),
                _ => {
                    let call = call.header(&format!("x-loomrec-fault: tool_call_fault{fault}"));
                    let answer = stage.call(&call).expect(200);
                    assert_eq!(answer.header("x-loomrec-fault"), Some("tool_call_fault"));
                    answer.body()
                }
            }
        };
        let (name, weather) = (sample.name, "get_weather".to_owned());
        assert_eq!(called(&sample, &with("")), (weather.clone(), whole.clone()), "{name}");
        let unknown = ("get_weather_unknown".to_owned(), whole.clone());
        assert_eq!(called(&sample, &with(":unknown_tool")), unknown, "{name}");
        let missing = (weather.clone(), json!({ "days": 3 }));
        assert_eq!(called(&sample, &with(":missing_argument")), missing, "{name}");
        let wrong = (weather.clone(), json!({ "city": ["Paris"], "days": 3 }));
        assert_eq!(called(&sample, &with(";mode=wrong_type")), wrong, "{name}");
        let (broken, arguments) = called(&sample, &with(":invalid_json"));
        assert_eq!(broken, weather, "{name}");
        // A reader keeps arguments that are no object as they are.
        let raw = arguments["_raw"].as_str().unwrap_or_else(|| panic!("{name}: {arguments}"));
        assert!(serde_json::from_str::<Value>(raw).is_err(), "{name}: {raw}");
    }
    stage.end(0);
}

#[test]
fn what_cannot_be_changed_so_stays_and_is_warned_of() {
    let scene = Scene::new();
    let answers = vec![Answer::json(200, chat_answer("words")), Answer::json(429, "{\"error\":1}")];
    scene.recorded(&Upstream::script(answers), &[chat("words"), chat("error")]);
    let stage = Stage::of(scene, &[]);
    let with =
        |prompt: &str, fault: &str| chat(prompt).header(&format!("x-loomrec-fault: {fault}"));
    let words = stage.call(&with("words", "tool_call_fault")).expect(200);
    assert_eq!(words.text(), chat_answer("words"));
    assert_eq!(words.header("x-loomrec-fault"), None);
    let error = stage.call(&with("error", "partial_response")).expect(429);
    assert_eq!(error.text(), "{\"error\":1}");
    let over = stage.end(1);
    let warnings = over.warnings();
    assert!(
        warnings.contains("tool_call_fault") && warnings.contains("calls no tool"),
        "{warnings}"
    );
    assert!(warnings.contains("partial_response (partial_response)"), "{warnings}");
    assert_eq!((over.count("tool_call_fault").1, over.count("partial_response").1), (0, 0));
    assert_eq!(over.receipt["faults"]["fired"], 0);
}

#[test]
fn a_live_answer_is_changed_for_the_client_and_true_in_the_recording() {
    let upstream = super::stage::upstream();
    let stage = Stage::record(&upstream, &["--fault", "partial_response"]);
    for sample in complete().chain(streams()) {
        let answer = stage.call(&sample.call).expect(200);
        let now = read_answer(&sample, &answer.body());
        assert_eq!(now.finish_reason.as_deref(), Some(too_long(&sample)), "{}", sample.name);
    }
    let Stage { scene, server } = stage;
    server.stop().expect(0);
    let replay = scene.replay(&["--strict"]);
    for sample in samples() {
        let answer = replay.call(&sample.call).expect(200);
        assert_eq!(answer.body(), sample.body(), "{}", sample.name);
    }
    replay.stop().expect(0);
}

#[test]
fn a_compressed_answer_is_opened_before_it_is_changed() {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(chat_answer("All good.").as_bytes()).unwrap();
    let headers = ["content-type: application/json", "content-encoding: gzip"];
    let upstream = Upstream::always(Answer::whole(200, &headers, packed.finish().unwrap()));
    let scene = Scene::new();
    scene.recorded(&upstream, &[chat("hi")]);
    let stage = Stage::of(scene, &[]);
    let call =
        chat("hi").header("accept-encoding: gzip").header("x-loomrec-fault: partial_response");
    let answer = stage.call(&call).expect(200);
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.json()["choices"][0]["finish_reason"], "length");
    stage.end(0);
}
