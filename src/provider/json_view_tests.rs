use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::anthropic::messages;
use crate::cohere;
use crate::gemini::{embed, generate};
use crate::openai::{chat, embeddings, responses};

/// Random documents made of names and values that the readers look for.
fn document() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "choices",
        "index",
        "message",
        "content",
        "text",
        "type",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "model",
        "finish_reason",
        "stop_reason",
        "input",
        "output",
        "candidates",
        "parts",
        "functionCall",
        "args",
        "usageMetadata",
        "promptTokenCount",
        "embedding",
        "data",
        "é\n",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!(7)),
        prop::sample::select(vec!["text", "tool_use", "message", "function_call", "{\"b\":1}"])
            .prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6).prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(members.collect())
            }),
        ]
    })
}

fn borrowed(text: &str) -> Json<'_> {
    loomrec_identity::parse(text.as_bytes()).unwrap()
}

proptest! {
    #[test]
    fn borrowed_and_owned_documents_are_read_alike(value in document()) {
        let text = value.to_string();
        let value: Value = serde_json::from_str(&text).unwrap();
        let json = borrowed(&text);
        prop_assert_eq!(json.to_owned_value().to_string(), text.clone());
        prop_assert_eq!(chat::read_body(&json), chat::read_body(&value));
        prop_assert_eq!(responses::read_body(&json), responses::read_body(&value));
        prop_assert_eq!(messages::read_body(&json), messages::read_body(&value));
        prop_assert_eq!(embeddings::read_body(&json), embeddings::read_body(&value));
        prop_assert_eq!(embed::read_body(&json), embed::read_body(&value));
        prop_assert_eq!(cohere::chat::read_body(&json), cohere::chat::read_body(&value));
        prop_assert_eq!(cohere::embed::read_body(&json), cohere::embed::read_body(&value));
        prop_assert_eq!(generate::merge_chunks(&[json]), generate::merge_chunks(&[value]));
    }
}

#[test]
fn members_are_owned_in_the_order_they_were_written_in() {
    let text = r#"{"z":1.50,"a":{"y":[],"\u0062":-0,"":1E5},"é":"\n"}"#;
    let owned = borrowed(text).to_owned_value();
    assert_eq!(owned, serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(owned.to_string(), r#"{"z":1.50,"a":{"y":[],"b":-0,"":1e+5},"é":"\n"}"#);
}

#[test]
fn a_body_that_holds_a_name_twice_is_read_as_before() {
    let body = br#"{"model":"a","model":"b","choices":[]}"#;
    let answer = read_json(body, |json| chat::read_body(json), chat::read_body).unwrap();
    assert_eq!(answer.model.as_deref(), Some("b"));
}
