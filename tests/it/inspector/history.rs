//! The messages that a call repeats of an earlier one.

use super::files::Ui;
use super::*;
use crate::support::conversation::{CHAT_FORM, FORMS, RecordedCalls, text};
use crate::support::shape::CHAT;

/// A chat with these messages, of the user and of the model in turn.
fn conversation(texts: &[&str]) -> Call {
    let role = |at: usize| ["user", "assistant"][at % 2];
    let message = |(at, text): (usize, &&str)| json!({ "role": role(at), "content": text });
    let messages: Vec<Value> = texts.iter().enumerate().map(message).collect();
    Call::post(CHAT, json!({ "model": "gpt-4o-mini", "messages": messages }).to_string())
}

/// For each message of the request, whether the earlier call has it.
fn as_before(told: &Value) -> Vec<bool> {
    let messages = told["request"]["messages"].as_array().unwrap().iter();
    messages.map(|message| message["as_before"].as_bool().unwrap()).collect()
}

/// How a call continues the one before, with nothing left out.
fn continues(seq: u64) -> Value {
    json!({ "seq": seq, "stored": false, "left_out": 0 })
}

#[test]
fn messages_of_a_recording_are_told_from_those_of_the_call_before() {
    for form in &FORMS {
        let calls = RecordedCalls::conversation(form, 60, text);
        let scene = Scene::new();
        scene.write(calls.file());
        let ui = Ui::start(&scene, &[scene.name()]);
        let told = ui.details(60);
        assert_eq!(told["continues"], continues(59), "{}", form.path);
        let flags = as_before(&told);
        let messages = message_texts(&told["request"]);
        let new: Vec<&String> = messages
            .iter()
            .zip(&flags)
            .filter(|(_, before)| !**before)
            .map(|(text, _)| text)
            .collect();
        assert_eq!(new.len(), 2, "{}: {new:?}", form.path);
        assert!(new.contains(&&text(117)) && new.contains(&&text(118)), "{}: {new:?}", form.path);
        let first = ui.details(1);
        assert_eq!(first["continues"], json!(null));
        assert!(as_before(&first).iter().all(|before| !before));
        ui.stop();
    }
}

#[test]
fn messages_of_a_run_and_of_its_journal_are_told_from_those_of_the_call_before() {
    let scene = Scene::new();
    let calls = [
        conversation(&["one"]),
        conversation(&["other"]),
        conversation(&["one", "hi", "two"]),
        conversation(&["other", "hi", "more"]),
    ];
    let check = |told: &Value, earlier: u64| {
        assert_eq!(told["continues"], continues(earlier), "{told:#}");
        assert_eq!(as_before(told), [true, false, false]);
    };
    let upstream = Upstream::always(Answer::json(200, chat_answer("hi")));
    let server = scene.record(&upstream, &[]);
    calls.iter().for_each(|call| drop(server.call(call).expect(200)));
    check(&details(&server, 3), 1);
    check(&details(&server, 4), 2);
    assert_eq!(details(&server, 2)["continues"], json!(null));
    server.stop().expect(0);
    let server = scene.replay(&["--journal", "run.jsonl"]);
    calls.iter().for_each(|call| drop(server.call(call).expect(200)));
    server.call(&conversation(&["one", "hi", "TWO"])).expect(422);
    check(&details(&server, 3), 1);
    check(&details(&server, 4), 2);
    check(&details(&server, 5), 1);
    server.stop().expect(1);
    let ui = Ui::start(&scene, &["run.jsonl", "-r", scene.name()]);
    check(&ui.details(3), 1);
    check(&ui.details(4), 2);
    ui.stop();
}

#[test]
fn message_that_changed_in_the_history_is_new() {
    let mut calls = RecordedCalls::conversation(CHAT_FORM, 20, text);
    let mut texts: Vec<String> = (0..41).map(text).collect();
    texts[6] = "An edited message.".to_owned();
    calls.add(CHAT_FORM, (CHAT_FORM.body)(&texts), "ok");
    let scene = Scene::new();
    scene.write(calls.file());
    let ui = Ui::start(&scene, &[scene.name()]);
    let told = ui.details(21);
    let continues = json!({ "seq": 20, "stored": false, "left_out": 1 });
    assert_eq!(told["continues"], continues);
    let new: Vec<usize> = as_before(&told)
        .iter()
        .enumerate()
        .filter(|(_, before)| !**before)
        .map(|(at, _)| at)
        .collect();
    // The system prompt is the first message.
    assert_eq!(new, [7, 40, 41]);
    ui.stop();
}
