//! Tests of the two modes of delivery: a streamed recording answers a complete request, and the
//! reverse. If both were recorded, each answers its own mode.

use serde_json::{Value, json};

use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, gemini, gemini_answer, message, message_answer,
    message_events, message_streamed,
};
use crate::support::{Answer, Call, Scene, Upstream};

/// The JSON of each `data:` line except the end marker.
fn data(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|d| *d != "[DONE]").map(|d| serde_json::from_str(d).unwrap()).collect()
}

#[test]
fn a_streamed_chat_answers_a_complete_request() {
    let (scene, events) = (Scene::new(), chat_events(&["All ", "good", "."]));
    scene.recorded(&Upstream::always(Answer::events(&events)), &[chat_streamed("hi")]);
    let answer = scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json();
    assert_eq!((&body["object"], &body["id"]), (&json!("chat.completion"), &json!("chatcmpl-1")));
    let message = json!({"role": "assistant", "content": "All good."});
    assert_eq!(body["choices"][0]["message"]["role"], message["role"]);
    assert_eq!(body["choices"][0]["message"]["content"], message["content"]);
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
}

#[test]
fn a_complete_chat_answers_a_streamed_request() {
    let (scene, body) = (Scene::new(), chat_answer("All good."));
    scene.recorded(&Upstream::always(Answer::json(200, &body)), &[chat("hi")]);
    let answer = scene.replayed(&["--strict"], &[chat_streamed("hi")], 0).remove(0).expect(200);
    assert!(answer.header("content-type").unwrap().starts_with("text/event-stream"));
    let text = answer.text();
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let chunks = data(&text);
    let said: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(said, "All good.");
    assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"));
    let finishes: Vec<_> =
        chunks.iter().filter_map(|c| c["choices"][0]["finish_reason"].as_str()).collect();
    assert_eq!(finishes, ["stop"]);
}

#[test]
fn a_streamed_message_answers_a_complete_request() {
    let (scene, events) = (Scene::new(), message_events(&["All ", "good."]));
    scene.recorded(&Upstream::always(Answer::events(&events)), &[message_streamed("hi")]);
    let body = scene.replayed(&["--strict"], &[message("hi")], 0).remove(0).expect(200).json();
    assert_eq!((&body["type"], &body["id"]), (&json!("message"), &json!("msg_1")));
    assert_eq!(body["content"], json!([{"type": "text", "text": "All good."}]));
    assert_eq!(
        (&body["stop_reason"], &body["usage"]["input_tokens"]),
        (&json!("end_turn"), &json!(10))
    );
    assert_eq!(body["usage"]["output_tokens"], 5);
}

#[test]
fn a_complete_message_answers_a_streamed_request() {
    let (scene, body) = (Scene::new(), message_answer("All good."));
    scene.recorded(&Upstream::always(Answer::json(200, &body)), &[message("hi")]);
    let answer = scene.replayed(&["--strict"], &[message_streamed("hi")], 0).remove(0).expect(200);
    let text = answer.text();
    assert!(text.starts_with("event: message_start\n"), "{text}");
    let events = data(&text);
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    let said: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(said, "All good.");
}

#[test]
fn tool_calls_survive_the_change_of_mode() {
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}});
    let mut body: Value = serde_json::from_str(&chat_answer("")).unwrap();
    body["choices"][0]["message"] =
        json!({"role": "assistant", "content": null, "tool_calls": [call]});
    body["choices"][0]["finish_reason"] = json!("tool_calls");
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, body.to_string())), &[chat("hi")]);
    let take = scene.only_take();
    let expected = json!([{"id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}]);
    assert_eq!(take["tool_calls"], expected);
    let text =
        scene.replayed(&["--strict"], &[chat_streamed("hi")], 0).remove(0).expect(200).text();
    let deltas: Vec<Value> = data(&text)
        .iter()
        .filter_map(|c| c["choices"][0]["delta"]["tool_calls"].as_array().cloned())
        .flatten()
        .collect();
    let name: String = deltas.iter().filter_map(|d| d["function"]["name"].as_str()).collect();
    let arguments: String =
        deltas.iter().filter_map(|d| d["function"]["arguments"].as_str()).collect();
    assert_eq!((name.as_str(), arguments.as_str()), ("weather", "{\"city\": \"Oslo\"}"));
}

#[test]
fn an_error_answers_both_modes_as_it_is() {
    let (scene, body) = (Scene::new(), "{\"error\":{\"message\":\"no\"}}");
    let upstream = Upstream::always(Answer::json(400, body));
    scene.recorded(&upstream, &[chat_streamed("hi"), chat("ho")]);
    let answers = scene.replayed(&["--strict"], &[chat("hi"), chat_streamed("ho")], 0);
    answers.into_iter().for_each(|answer| assert_eq!(answer.expect(400).text(), body));
}

#[test]
fn each_mode_serves_its_own_when_both_were_recorded() {
    let scene = Scene::new();
    let events = chat_events(&["streamed"]);
    let upstream =
        Upstream::script(vec![Answer::events(&events), Answer::json(200, chat_answer("complete"))]);
    scene.recorded(&upstream, &[chat_streamed("hi"), chat("hi")]);
    assert_eq!(scene.takes().len(), 2);
    let answers = scene.replayed(&["--strict"], &[chat("hi"), chat_streamed("hi")], 0);
    assert_eq!(answers[0].text(), chat_answer("complete"));
    assert_eq!(answers[1].text(), events.concat());
}

#[test]
fn an_answer_whose_mode_cannot_be_changed_is_a_miss_that_says_so() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{\"hi\":1}")));
    scene.recorded(&upstream, &[gemini("generateContent", "hi")]);
    let stream = gemini("streamGenerateContent?alt=sse", "hi");
    let answer = scene.replayed(&[], &[stream], 1).remove(0).expect(422);
    let text = answer.text().to_lowercase();
    assert!(text.contains("cannot be served in the other mode"), "{text}");
}

#[test]
fn lines_of_json_never_answer_a_complete_request() {
    let scene = Scene::new();
    let head = ["content-type: application/x-ndjson", "transfer-encoding: chunked"];
    let lines = Answer::head(200, &head).chunk("{\"done\":false}\n").chunk("{\"done\":true}\n");
    let upstream = Upstream::always(lines.end());
    let ask = |stream: bool| {
        let body = json!({"model": "m", "messages": [], "stream": stream}).to_string();
        Call::post("/ollama/api/chat", body)
    };
    let server = scene.record(&upstream, &["--upstream", &format!("ollama={}", upstream.url())]);
    server.call(&ask(true)).expect(200);
    server.stop().expect(0);
    let answers = scene.replayed(&[], &[ask(true), ask(false)], 1);
    assert_eq!(answers[0].text().lines().count(), 2);
    assert_eq!(answers[1].status, 422, "{}", answers[1].text());
}

#[test]
fn a_gemini_array_answers_every_form() {
    let (scene, verb) = (Scene::new(), "streamGenerateContent");
    let array = format!("[{},\n{}]", gemini_answer("a"), gemini_answer("b"));
    scene.recorded(&Upstream::always(Answer::json(200, &array)), &[gemini(verb, "hi")]);
    let answer = |call: Call| scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
    let events = answer(gemini(&format!("{verb}?alt=sse"), "hi"));
    let expected = ["a", "b"].map(|text| format!("data: {}\n\n", gemini_answer(text)));
    assert_eq!(events.text(), expected.concat());
    let media = events.header("content-type").unwrap_or_default();
    assert!(media.starts_with("text/event-stream"), "{media}");
    let whole: Value =
        serde_json::from_str(&answer(gemini("generateContent", "hi")).text()).unwrap();
    assert_eq!(whole["candidates"][0]["content"]["parts"], json!([{"text": "ab"}]));
    let own = scene.replayed(&["--strict"], &[gemini(verb, "hi")], 0).remove(0).expect(200);
    assert_eq!(own.text(), array);
}

#[test]
fn events_of_gemini_answer_a_caller_of_the_array() {
    let (scene, verb) = (Scene::new(), "streamGenerateContent");
    let events = ["a", "b"].map(|text| format!("data: {}\r\n\r\n", gemini_answer(text)));
    scene.recorded(
        &Upstream::always(Answer::events(&events)),
        &[gemini(&format!("{verb}?alt=sse"), "hi")],
    );
    let array = scene.replayed(&["--strict"], &[gemini(verb, "hi")], 0).remove(0).expect(200);
    let expected = format!("[{},\r\n{}]", gemini_answer("a"), gemini_answer("b"));
    assert_eq!(array.text(), expected);
    let media = array.header("content-type").unwrap_or_default();
    assert!(media.starts_with("application/json"), "{media}");
}

#[test]
fn a_gemini_stream_recorded_in_both_forms_serves_each_its_own() {
    let (scene, verb) = (Scene::new(), "streamGenerateContent");
    let array = format!("[{}]", gemini_answer("a"));
    let event = format!("data: {}\n\n", gemini_answer("b"));
    let upstream =
        Upstream::script(vec![Answer::json(200, &array), Answer::events(&[event.as_str()])]);
    let (plain, events) = (gemini(verb, "hi"), gemini(&format!("{verb}?alt=sse"), "hi"));
    scene.recorded(&upstream, &[plain.clone(), events.clone()]);
    let answers = scene.replayed(&["--strict"], &[events, plain], 0);
    assert_eq!((answers[0].text(), answers[1].text()), (event, array));
}

#[test]
fn a_compressed_recording_answers_the_other_mode_in_plain_bytes() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(chat_answer("All good.").as_bytes()).unwrap();
    let headers = ["content-type: application/json", "content-encoding: gzip"];
    let upstream = Upstream::always(Answer::whole(200, &headers, packed.finish().unwrap()));
    let scene = Scene::new();
    scene.recorded(&upstream, &[chat("hi")]);
    let call = chat_streamed("hi").header("accept-encoding: gzip");
    let answer = scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
    assert_eq!(answer.header("content-encoding"), None);
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
}

#[test]
fn an_unfinished_stream_is_no_complete_answer() {
    let (scene, events) = (Scene::new(), chat_events(&["half"]));
    let cut = Answer::stream().chunk(&events[0]).chunk(&events[1]).close();
    scene.recorded(&Upstream::always(cut), &[chat_streamed("hi")]);
    let answer = scene.replay(&[]);
    let seen = answer.call(&chat("hi"));
    assert!(seen.status == 422 || seen.end != crate::support::End::Complete, "{}", seen.text());
    assert!(!seen.text().contains("\"chat.completion\""), "{}", seen.text());
}

#[test]
fn a_take_that_cannot_be_given_in_one_form_is_still_owed_in_its_own() {
    let scene = Scene::new();
    let streamed = Call::post(
        "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        json!({"contents": [{"parts": [{"text": "hi"}]}]}).to_string(),
    );
    let whole = Call::post(
        "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
        json!({"contents": [{"parts": [{"text": "hi"}]}]}).to_string(),
    );
    // A stream without its end is not a complete answer.
    let events = gemini_answer("hello").replace("finishReason", "unfinished");
    let upstream = Upstream::always(Answer::events(&[format!("data: {events}\n\n")]));
    let gemini = format!("gemini={}", upstream.url());
    let recorded = scene.record(&upstream, &["--upstream", &gemini, "--keep-failures"]);
    let live = recorded.call(&streamed).expect(200).text();
    recorded.stop().expect(0);
    let answers = scene.replayed(&[], &[whole, streamed], 1);
    assert_eq!(answers[0].status, 422);
    assert!(answers[0].text().contains("other form"), "{}", answers[0].text());
    assert_eq!((answers[1].status, answers[1].text()), (200, live));
}
