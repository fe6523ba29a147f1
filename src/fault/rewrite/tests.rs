use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{FaultPoint, ToolFault, ToolReplacement, test_calls};
use loomrec_provider::framing::events;
use loomrec_provider::{Operation, TokenUsage, ToolCall};

/// Calls whose answers can be changed, and whether the answers can call tools.
fn all() -> Vec<(ResponseFormat<'static>, bool)> {
    let of = |operation, framing| test_calls::format_of(operation, "", framing);
    let invoke = |model| ResponseFormat {
        model: Some(model),
        ..of(Operation::INVOKE, Framing::EventStream)
    };
    let first =
        ResponseFormat { target: Some("/v1/chat"), ..of(Operation::COHERE_CHAT, Framing::Lines) };
    vec![
        (of(Operation::CHAT_COMPLETIONS, Framing::Sse), true),
        (
            ResponseFormat { upstream: "groq", ..of(Operation::CHAT_COMPLETIONS, Framing::Sse) },
            true,
        ),
        (
            ResponseFormat { upstream: "mistral", ..of(Operation::CHAT_COMPLETIONS, Framing::Sse) },
            true,
        ),
        (of(Operation::COMPLETIONS, Framing::Sse), false),
        (of(Operation::RESPONSES, Framing::Sse), true),
        (of(Operation::MESSAGES, Framing::Sse), true),
        (of(Operation::GENERATE_CONTENT, Framing::Sse), true),
        (of(Operation::GENERATE_CONTENT, Framing::Array), true),
        (of(Operation::CONVERSE, Framing::EventStream), true),
        (invoke("anthropic.claude"), true),
        (invoke("amazon.nova-lite"), true),
        (invoke("openai.gpt-oss"), true),
        (invoke("meta.llama3"), false),
        (invoke("amazon.titan-text"), false),
        (invoke("mistral.mistral-7b-instruct"), false),
        (invoke("mistral.mistral-large-2407"), true),
        (invoke("us.mistral.pixtral-large"), true),
        (invoke("cohere.command-r"), true),
        (invoke("us.deepseek.r1"), false),
        (invoke("ai21.jamba-1-5-mini"), true),
        (of(Operation::COHERE_CHAT, Framing::Sse), true),
        (first, true),
        (of(Operation::OLLAMA_CHAT, Framing::Lines), true),
        (of(Operation::OLLAMA_GENERATE, Framing::Lines), false),
    ]
}

fn answer(arguments: Option<Value>) -> Answer {
    let call = |arguments| ToolCall { id: "id_1".to_owned(), name: "look".to_owned(), arguments };
    Answer {
        content: "It is sunny.".to_owned(),
        model: Some("the-model".to_owned()),
        usage: Some(TokenUsage {
            prompt_tokens: 7,
            completion_tokens: 5,
            total_tokens: 12,
            ..TokenUsage::default()
        }),
        cost_usd: None,
        finish_reason: None,
        tool_calls: arguments.into_iter().map(call).collect(),
        embeddings: vec![],
    }
}

/// An answer as it is recorded: complete, and as a stream.
fn recorded(format: &ResponseFormat<'_>, answer: &Answer) -> [(Option<Framing>, Vec<u8>); 2] {
    let complete = loomrec_provider::write_answer(format, answer, "seed").unwrap();
    let stream = loomrec_provider::to_stream(format, &complete).unwrap().concat();
    [(None, complete), (Some(format.framing), stream)]
}

fn rewritten(
    fault: &Fault,
    format: &ResponseFormat<'_>,
    framing: Option<Framing>,
    body: &[u8],
) -> Vec<u8> {
    let bodies = rewrite_answer(fault, format, framing, body).unwrap();
    if framing.is_none() {
        assert_eq!(bodies.len(), 1);
    }
    bodies.concat()
}

#[test]
fn a_partial_answer_says_so_in_the_providers_words_and_cost_no_output() {
    let words = ["length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "LENGTH"];
    for (format, calls) in all() {
        let said = answer(calls.then(|| json!({"city": "Paris"})));
        for (framing, body) in recorded(&format, &said) {
            let before = loomrec_provider::read_answer(format.operation, framing, &body).unwrap();
            for content in [None, Some("It is"), Some("")] {
                let fault = Fault::PartialResponse { content: content.map(str::to_owned) };
                let changed = rewritten(&fault, &format, framing, &body);
                let told =
                    loomrec_provider::read_answer(format.operation, framing, &changed).unwrap();
                assert_eq!(
                    told.content,
                    content.unwrap_or("It is sunny."),
                    "{format:?} {framing:?}"
                );
                let reason = told.finish_reason.unwrap();
                assert!(words.contains(&reason.as_str()), "{reason} {format:?}");
                assert_eq!(
                    (told.model, told.tool_calls),
                    (before.model.clone(), before.tool_calls.clone())
                );
                let (was, is) = (before.usage.unwrap_or_default(), told.usage.unwrap_or_default());
                assert_eq!(is.completion_tokens, 0, "{format:?} {framing:?}");
                assert_eq!(
                    (is.prompt_tokens, is.total_tokens),
                    (was.prompt_tokens, was.prompt_tokens)
                );
                assert!(String::from_utf8_lossy(&changed).contains(&ids(&body)));
            }
        }
    }
}

/// The first id in an answer, if it is in plain text.
fn ids(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let id = text.split_once("\"id\":\"").map(|(_, rest)| rest.split('"').next().unwrap());
    id.unwrap_or_default().to_owned()
}

#[test]
fn each_provider_has_its_own_word_for_a_length() {
    let word = |format: ResponseFormat<'_>| {
        let (_, body) = recorded(&format, &answer(None))[0].clone();
        let changed = rewritten(&Fault::PartialResponse { content: None }, &format, None, &body);
        loomrec_provider::read_answer(format.operation, None, &changed)
            .unwrap()
            .finish_reason
            .unwrap()
    };
    let found: Vec<String> = all().into_iter().map(|(format, _)| word(format)).collect();
    let expected = [
        "length",
        "length",
        "length",
        "length",
        "max_output_tokens",
        "max_tokens",
        "MAX_TOKENS",
        "MAX_TOKENS",
        "max_tokens",
        "max_tokens",
        "max_tokens",
        "length",
        "length",
        "LENGTH",
        "length",
        "length",
        "length",
        "MAX_TOKENS",
        "length",
        "length",
        "MAX_TOKENS",
        "MAX_TOKENS",
        "length",
        "length",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_partial_response_of_openai_ends_as_incomplete() {
    let format = test_calls::format_of(Operation::RESPONSES, "", Framing::Sse);
    let [(_, body), (framing, stream)] = recorded(&format, &answer(None));
    let fault = Fault::PartialResponse { content: Some("It".to_owned()) };
    let complete: Value = serde_json::from_slice(&rewritten(&fault, &format, None, &body)).unwrap();
    assert_eq!(complete["status"], "incomplete");
    assert_eq!(complete["incomplete_details"], json!({"reason": "max_output_tokens"}));
    assert_eq!(
        (&complete["usage"]["output_tokens"], &complete["usage"]["total_tokens"]),
        (&json!(0), &json!(7))
    );
    let stream = rewritten(&fault, &format, framing, &stream);
    let last = events(Framing::Sse, &stream).last().unwrap();
    assert_eq!(
        (last.name, last.json_data().unwrap()["response"].clone()),
        (Some("response.incomplete"), complete)
    );
}

#[test]
fn what_was_thought_stays_before_a_text_that_was_not_there() {
    let format = test_calls::format_of(Operation::MESSAGES, "", Framing::Sse);
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let call = json!({"type": "tool_use", "id": "t", "name": "look", "input": {}});
    let body = json!({"id": "m", "content": [thought, call], "stop_reason": "tool_use",
        "unknown": 12345678901234567890_u64});
    let fault = Fault::PartialResponse { content: Some("x".to_owned()) };
    let changed = rewritten(&fault, &format, None, body.to_string().as_bytes());
    let changed: Value = serde_json::from_slice(&changed).unwrap();
    assert_eq!(changed["content"], json!([thought, {"type": "text", "text": "x"}, call]));
    assert_eq!(changed["unknown"], body["unknown"]);
}

fn broken(mode: ToolFault) -> Fault {
    Fault::ToolCallFault { change: ToolCallChange::Broken(mode) }
}

#[test]
fn the_first_tool_call_is_broken_as_it_is_said() {
    let arguments = json!({"city": "Paris", "days": 2});
    for (format, _) in all().into_iter().filter(|(_, calls)| *calls) {
        for (framing, body) in recorded(&format, &answer(Some(arguments.clone()))) {
            let before = loomrec_provider::read_answer(format.operation, framing, &body).unwrap();
            let call = |mode| {
                let changed = rewritten(&broken(mode), &format, framing, &body);
                let mut told =
                    loomrec_provider::read_answer(format.operation, framing, &changed).unwrap();
                let call = told.tool_calls.remove(0);
                let rest = Answer { tool_calls: before.tool_calls.clone(), ..told };
                assert_eq!(rest, before, "{format:?} {framing:?}");
                assert_eq!(call.id, before.tool_calls[0].id);
                (call.name, call.arguments)
            };
            let look = "look".to_owned();
            assert_eq!(call(ToolFault::MissingArgument), (look.clone(), json!({"days": 2})));
            let wrong = json!({"city": ["Paris"], "days": 2});
            assert_eq!(call(ToolFault::WrongType), (look.clone(), wrong));
            let unknown = ("look_unknown".to_owned(), arguments.clone());
            assert_eq!(call(ToolFault::UnknownTool), unknown);
            let cut = json!({"_raw": "{\"city\":\"Par"});
            assert_eq!(call(ToolFault::InvalidJson), (look, cut), "{format:?} {framing:?}");
        }
    }
}

#[test]
fn the_first_tool_call_asks_for_something_else_and_stays_well_formed() {
    let [own, other] = [json!({"city": "Paris"}), json!({"city": "nowhere", "days": [0]})];
    for (format, _) in all().into_iter().filter(|(_, calls)| *calls) {
        for (framing, body) in recorded(&format, &answer(Some(own.clone()))) {
            let before = loomrec_provider::read_answer(format.operation, framing, &body).unwrap();
            for (name, arguments) in [
                (Some("fail"), None),
                (None, other.as_object().cloned()),
                (Some("fail"), other.as_object().cloned()),
            ] {
                let expected = (
                    name.unwrap_or("look").to_owned(),
                    arguments.clone().map_or(own.clone(), Value::Object),
                );
                let name = name.map(str::to_owned);
                let change = ToolCallChange::Replaced(ToolReplacement { name, arguments });
                let fault = Fault::ToolCallFault { change };
                let changed = rewritten(&fault, &format, framing, &body);
                let mut told =
                    loomrec_provider::read_answer(format.operation, framing, &changed).unwrap();
                let call = told.tool_calls.remove(0);
                assert_eq!(call.id, before.tool_calls[0].id);
                assert_eq!((call.name, call.arguments), expected, "{format:?} {framing:?}");
                let rest = Answer { tool_calls: before.tool_calls.clone(), ..told };
                assert_eq!(rest, before, "{format:?} {framing:?}");
            }
        }
    }
}

#[test]
fn arguments_that_come_as_text_in_a_stream_are_cut_there() {
    for (format, slot) in [
        (test_calls::format_of(Operation::MESSAGES, "", Framing::Sse), "/delta/partial_json"),
        (
            test_calls::format_of(Operation::CONVERSE, "", Framing::EventStream),
            "/delta/toolUse/input",
        ),
    ] {
        for (arguments, cut) in [(json!({"city": "Paris"}), "{\"city\":"), (json!({}), "{")] {
            let [_, (framing, stream)] = recorded(&format, &answer(Some(arguments)));
            let changed = rewritten(&broken(ToolFault::InvalidJson), &format, framing, &stream);
            let told: Vec<Value> = events(format.framing, &changed)
                .inspect(|event| assert!(event.finished && !event.failed))
                .filter_map(|event| event.json_data()?.pointer(slot).cloned())
                .collect();
            assert_eq!(told, [json!(cut)]);
        }
    }
}

#[test]
fn arguments_that_are_an_object_give_way_to_text_that_is_cut() {
    let format = test_calls::format_of(Operation::GENERATE_CONTENT, "", Framing::Sse);
    for (framing, body) in recorded(&format, &answer(Some(json!({"city": "Paris"})))) {
        let changed = rewritten(&broken(ToolFault::InvalidJson), &format, framing, &body);
        let text = String::from_utf8(changed).unwrap();
        assert!(text.contains(r#""args":"{\"city\":""#), "{text}");
    }
}

#[test]
fn calls_from_before_there_were_tools_are_broken_too() {
    let format = test_calls::format_of(Operation::CHAT_COMPLETIONS, "", Framing::Sse);
    let body = |message: Value| json!({"choices": [{"index": 0, "message": message}]}).to_string();
    let of = |message: Value, mode| {
        let changed = rewritten(&broken(mode), &format, None, body(message).as_bytes());
        serde_json::from_slice::<Value>(&changed).unwrap()["choices"][0]["message"].take()
    };
    let legacy = json!({"function_call": {"name": "f", "arguments": "{\"a\":1}"}});
    let missing = of(legacy, ToolFault::MissingArgument);
    assert_eq!(missing, json!({"function_call": {"name": "f", "arguments": "{}"}}));
    let custom = json!({"tool_calls": [{"type": "custom", "custom": {"name": "f", "input": "x"}}]});
    let unknown = of(custom, ToolFault::UnknownTool);
    assert_eq!(unknown["tool_calls"][0]["custom"]["name"], "f_unknown");
}

#[test]
fn a_list_of_another_type_is_a_text() {
    let format = test_calls::format_of(Operation::MESSAGES, "", Framing::Sse);
    let [(_, body), _] = recorded(&format, &answer(Some(json!({"days": [1]}))));
    let changed = rewritten(&broken(ToolFault::WrongType), &format, None, &body);
    let told = loomrec_provider::read_answer(format.operation, None, &changed).unwrap();
    assert_eq!(told.tool_calls[0].arguments, json!({"days": "[1]"}));
}

#[test]
fn what_cannot_be_changed_says_why() {
    let format = test_calls::format_of(Operation::CHAT_COMPLETIONS, "", Framing::Sse);
    let why = |fault: &Fault, framing, body: &[u8]| {
        rewrite_answer(fault, &format, framing, body).unwrap_err().to_string()
    };
    let partial = Fault::PartialResponse { content: None };
    let missing = broken(ToolFault::MissingArgument);
    let [(_, plain), (framing, stream)] = recorded(&format, &answer(None));
    let [(_, empty), _] = recorded(&format, &answer(Some(json!({}))));
    assert_eq!(why(&missing, None, &plain), "the answer calls no tool");
    assert_eq!(why(&missing, None, &empty), "the call of the tool look has no argument");
    let none = "the answer is not one of Chat Completions with text";
    assert_eq!(why(&partial, None, br#"{"error": {}}"#), none);
    assert_eq!(why(&partial, None, b"{"), none);
    let cut = why(&partial, framing, &stream[..stream.len() / 2]);
    assert!(cut.contains("is incomplete or ended with an error"), "{cut}");
    let other = Fault::StreamStall { after: FaultPoint::Default, for_ms: None };
    assert!(why(&other, None, &plain).contains("stream_stall"));
    let embeddings = test_calls::format_of(Operation::EMBEDDINGS, "", Framing::Sse);
    let body = br#"{"data": [{"embedding": [1.0]}]}"#;
    let vectors = rewrite_answer(&partial, &embeddings, None, body).unwrap_err();
    assert_eq!(vectors, NotApplicable::NotAnAnswer { operation: "Embeddings" });
}

#[test]
fn elements_that_are_no_objects_are_left_as_they_are() {
    let partial = Fault::PartialResponse { content: Some("x".to_owned()) };
    for (format, calls) in all() {
        let [(_, plain), _] = recorded(&format, &answer(calls.then(|| json!({"a": 1}))));
        let mut body: Value = serde_json::from_slice(&plain).unwrap();
        let lists = body.as_object_mut().unwrap().values_mut().filter_map(Value::as_array_mut);
        lists.for_each(|list| list.extend([json!(0), json!(null), json!("a"), json!([])]));
        drop(rewrite_answer(&partial, &format, None, body.to_string().as_bytes()));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_changed_or_refused(
        noise in prop::collection::vec(any::<u8>(), 0..60),
        text in "[\\[\\]{}\":,a0 ]{0,40}",
        at in any::<prop::sample::Index>(),
    ) {
        let faults = [
            Fault::PartialResponse { content: Some("x".to_owned()) },
            broken(ToolFault::InvalidJson),
            broken(ToolFault::WrongType),
        ];
        for (format, calls) in all() {
            for (framing, mut body) in recorded(&format, &answer(calls.then(|| json!({"a": 1})))) {
                let at = at.index(body.len());
                body.splice(at..at, text.bytes());
                for fault in &faults {
                    drop(rewrite_answer(fault, &format, framing, &body));
                    drop(rewrite_answer(fault, &format, framing, &noise));
                }
            }
        }
    }
}
