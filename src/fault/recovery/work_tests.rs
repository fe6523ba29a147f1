use loomrec_provider::{RequestHead, recognise_request};
use serde_json::{Value, json};

use super::*;

/// A call of a test.
struct Sample {
    session: Option<&'static str>,
    step: Option<&'static str>,
    upstream: &'static str,
    path: &'static str,
    body: Value,
}

impl Sample {
    fn work(&self) -> Option<WorkIdentity> {
        let model = self.body["model"].as_str();
        let call = recognise_request(&RequestHead {
            method: "POST",
            path: self.path,
            query: "",
            headers: &[],
            body_model: model,
            body_stream: None,
            has_messages: false,
            rpc: None,
        });
        WorkIdentity::from_call(&WorkFacts {
            session: self.session,
            step: self.step,
            upstream: self.upstream,
            provider: call.provider,
            model: call.model.as_deref(),
            operation: call.operation,
            body: self.body.to_string().as_bytes(),
        })
    }

    fn of(self, session: Option<&'static str>, step: Option<&'static str>) -> Self {
        Self { session, step, ..self }
    }
}

fn chat(model: &str, messages: Value) -> Sample {
    let body = json!({ "model": model, "messages": messages, "temperature": 0.2 });
    let (upstream, path) = ("openai", "/v1/chat/completions");
    Sample { session: None, step: None, upstream, path, body }
}

fn message(model: &str, system: &str, messages: Value) -> Sample {
    let body = json!({ "model": model, "system": system, "messages": messages, "max_tokens": 9 });
    let (upstream, path) = ("anthropic", "/v1/messages");
    Sample { session: None, step: None, upstream, path, body }
}

fn gemini(system: &str, text: &str) -> Sample {
    let body = json!({
        "systemInstruction": { "parts": [{ "text": system }] },
        "contents": [{ "role": "user", "parts": [{ "text": text }] }],
    });
    let (upstream, path) = ("gemini", "/v1beta/models/gemini-2.5-flash:generateContent");
    Sample { session: None, step: None, upstream, path, body }
}

fn asked(system: &str, text: &str) -> Value {
    json!([{ "role": "system", "content": system }, { "role": "user", "content": text }])
}

fn means(from: &Sample, to: &Sample) -> Option<RecoveryMeans> {
    let (from, to) = (from.work().unwrap(), to.work().unwrap());
    let forth = from.means_of(&to);
    assert_eq!(forth, to.means_of(&from));
    forth
}

fn falls_back(from: &Sample, to: &Sample) -> bool {
    means(from, to) == Some(RecoveryMeans::Fallback)
}

#[test]
fn same_conversation_at_another_place_is_the_same_work() {
    let from = chat("gpt-4o", asked("Be brief.", "Weather?"));
    assert!(falls_back(&from, &chat("gpt-4o-mini", asked("Be brief.", "Weather?"))));
    let parts = json!([{ "role": "user", "content": [{ "type": "text", "text": "Weather?" }] }]);
    assert!(falls_back(&from, &message("claude", "Be brief.", parts)));
    assert!(falls_back(&from, &gemini("Be brief.", "Weather?")));
    let elsewhere = Sample { upstream: "azure", ..chat("gpt-4o", asked("Be brief.", "Weather?")) };
    assert!(falls_back(&from, &elsewhere));
}

#[test]
fn same_conversation_in_another_step_or_with_other_settings_is_the_same_work() {
    let ask = || chat("gpt-4o", asked("Be brief.", "Weather?"));
    let mut other = ask();
    other.body["temperature"] = 0.9.into();
    assert_eq!(means(&ask(), &other), Some(RecoveryMeans::OtherSettings));
    let step = |step| ask().of(None, Some(step));
    assert_eq!(means(&step("first"), &step("second")), Some(RecoveryMeans::OtherStep));
    assert_eq!(means(&step("first"), &ask()), Some(RecoveryMeans::OtherStep));
    let (first, mut second) = (step("first"), step("second"));
    second.body["temperature"] = 0.9.into();
    assert_eq!(means(&first, &second), Some(RecoveryMeans::OtherStep));
    let bye = chat("gpt-4o", asked("Be brief.", "Bye")).of(None, Some("second"));
    assert_eq!(means(&first, &bye), None);
    let instructed = chat("gpt-4o", asked("Be long.", "Weather?"));
    assert_eq!(means(&first, &instructed.of(None, Some("second"))), None);
}

#[test]
fn other_question_is_other_work() {
    let from = || chat("gpt-4o", asked("Be brief.", "Weather?"));
    for other in [
        asked("Be brief.", "Weather"),
        asked("Classify.", "Weather?"),
        json!([{ "role": "user", "content": "Weather?" }]),
        json!([{ "role": "system", "content": "Be brief." }, { "role": "assistant", "content": "Weather?" }]),
    ] {
        assert_eq!(means(&from(), &chat("gpt-4o-mini", other.clone())), None, "{other}");
    }
    // The boundary between messages counts.
    let user = |texts: [&str; 2]| {
        texts.map(|text| json!({ "role": "user", "content": text })).to_vec().into()
    };
    assert!(!falls_back(&chat("a", user(["ab", "c"])), &chat("b", user(["a", "bc"]))));
    assert!(falls_back(&chat("a", user(["ab", "c"])), &chat("b", user(["ab", "c"]))));
}

#[test]
fn sessions_are_apart() {
    let from = |session| chat("gpt-4o", asked("", "Hi")).of(session, None);
    let to = |session| chat("gpt-4o-mini", asked("", "Hi")).of(session, None);
    assert!(falls_back(&from(Some("a")), &to(Some("a"))));
    assert!(!falls_back(&from(Some("a")), &to(Some("b"))));
    assert!(!falls_back(&from(None), &to(Some("a"))));
}

#[test]
fn instructions_may_differ_within_a_step() {
    let from = |step| chat("gpt-4o", asked("You are GPT.", "Hi")).of(None, step);
    let to = |step| chat("gpt-4o-mini", asked("You are small.", "Hi")).of(None, step);
    assert!(falls_back(&from(Some("plan")), &to(Some("plan"))));
    assert!(!falls_back(&from(Some("plan")), &to(Some("answer"))));
    assert!(!falls_back(&from(Some("plan")), &to(None)) && !falls_back(&from(None), &to(None)));
    // A step is no proof by itself: it may have many calls.
    let other = chat("gpt-4o-mini", asked("You are GPT.", "Bye")).of(None, Some("plan"));
    assert!(!falls_back(&from(Some("plan")), &other));
}

#[test]
fn tool_calls_and_results_count_and_their_ids_do_not() {
    let round = |id: &str, city: &str, result: &str| {
        let arguments = json!({ "city": city }).to_string();
        let function = json!({ "name": "weather", "arguments": arguments });
        json!([
            { "role": "user", "content": "Weather?" },
            { "role": "assistant", "content": null,
              "tool_calls": [{ "id": id, "type": "function", "function": function }] },
            { "role": "tool", "tool_call_id": id, "content": result },
        ])
    };
    let from = chat("a", round("1", "Rome", "sunny"));
    assert!(falls_back(&from, &chat("b", round("2", "Rome", "sunny"))));
    assert!(!falls_back(&from, &chat("b", round("1", "Oslo", "sunny"))));
    assert!(!falls_back(&from, &chat("b", round("1", "Rome", "rainy"))));
    let of_claude = json!([
        { "role": "user", "content": "Weather?" },
        { "role": "assistant",
          "content": [{ "type": "tool_use", "id": "t", "name": "weather", "input": { "city": "Rome" } }] },
        { "role": "user",
          "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "sunny" }] },
    ]);
    let mut of_claude = message("claude", "", of_claude);
    of_claude.body.as_object_mut().unwrap().remove("system");
    assert!(falls_back(&from, &of_claude));
}

#[test]
fn images_count() {
    let image = |url: &str| {
        json!([{ "role": "user", "content": [
            { "type": "text", "text": "What is it?" },
            { "type": "image_url", "image_url": { "url": url } },
        ] }])
    };
    let one = "https://a.test/1.png";
    assert!(falls_back(&chat("a", image(one)), &chat("b", image(one))));
    assert!(!falls_back(&chat("a", image(one)), &chat("b", image("https://a.test/2.png"))));
}

#[test]
fn call_without_a_whole_conversation_has_no_work() {
    let none = |path: &'static str, body: Value| {
        let (upstream, session, step) = ("openai", None, None);
        assert_eq!(Sample { session, step, upstream, path, body }.work(), None, "{path}");
    };
    none("/v1/embeddings", json!({ "model": "e", "input": "a" }));
    none("/v1/models", json!({}));
    none("/v1/chat/completions", json!({ "model": "m", "messages": [] }));
    none("/v1/responses", json!({ "model": "m", "input": "a", "previous_response_id": "r" }));
}

#[test]
fn tool_of_another_server_does_the_same_work_with_the_same_arguments_alone() {
    let call = |upstream: &str, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        WorkIdentity::from_call(&WorkFacts {
            session: None,
            step: None,
            upstream,
            provider: Provider::MCP,
            model: None,
            operation: Operation::MCP,
            body: body.to_string().as_bytes(),
        })
    };
    let failed = call("a", "search", json!({ "q": "x" })).unwrap();
    let means = |other: Option<WorkIdentity>| failed.means_of(&other.unwrap());
    assert_eq!(means(call("b", "search", json!({ "q": "x" }))), Some(RecoveryMeans::Fallback));
    assert_eq!(means(call("b", "search", json!({ "q": "y" }))), None);
    assert_eq!(means(call("b", "search", json!({ "q": "x", "n": 1 }))), None);
    assert_eq!(means(call("b", "find", json!({ "q": "x" }))), None);
    assert_eq!(call("b", "search", json!({})), None);
}
