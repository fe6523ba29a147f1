use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{CallCredentials, Placeholders, Redactor};
use crate::Chunk;
use loomrec_provider::Framing;

const EMAIL: &str = "EMAIL=[a-z]+@[a-z]+";

fn redactor() -> Redactor {
    Redactor::new(&[EMAIL.to_owned(), "ID=id-[0-9]+".to_owned()]).unwrap()
}

/// Returns a request as it is stored, and its placeholders.
fn stored(body: &Value) -> (Value, Placeholders) {
    let mut placeholders = Placeholders::default();
    let text = body.to_string();
    let none = CallCredentials::default();
    let clean = redactor().redact_body("", text.as_bytes(), &none, &mut placeholders);
    (serde_json::from_slice(&clean).unwrap(), placeholders)
}

/// Returns the text of an answer as it is stored.
fn answered(text: &str, placeholders: &mut Placeholders) -> String {
    let body = json!({"choices": [{"message": {"content": text}}]}).to_string();
    let none = CallCredentials::default();
    let clean = redactor().redact_body("", body.as_bytes(), &none, placeholders);
    let clean: Value = serde_json::from_slice(&clean).unwrap();
    clean["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

fn asked(texts: &[String]) -> Value {
    let message = |text| json!({"role": "user", "content": text});
    let messages: Vec<Value> = texts.iter().map(message).collect();
    json!({"model": "m", "messages": messages, "user": "z@z", "system": "ask b@b"})
}

#[test]
fn values_are_numbered_by_their_first_appearance_and_equal_ones_alike() {
    let body = json!({"messages": ["a@x and b@x", "b@x, a@x, id-7"]});
    let (body, mut placeholders) = stored(&body);
    let expected = json!(["<EMAIL:1> and <EMAIL:2>", "<EMAIL:2>, <EMAIL:1>, <ID:1>"]);
    assert_eq!(body["messages"], expected);
    let answer = answered("to c@x and a@x about id-8", &mut placeholders);
    assert_eq!(answer, "to <EMAIL:3> and <EMAIL:1> about <ID:2>");
}

#[test]
fn a_placeholder_that_came_back_is_the_value_it_stands_for() {
    let real = asked(&["I am a@x".into(), "Hello a@x".into()]);
    let replayed = asked(&["I am a@x".into(), "Hello <EMAIL:3>".into()]);
    assert_eq!(stored(&real).0["messages"][0]["content"], "I am <EMAIL:3>");
    assert_eq!(stored(&real).0, stored(&replayed).0);
}

#[test]
fn a_pattern_leaves_placeholders_as_they_are() {
    let wide = Redactor::new(&["NAME=[A-Z]+".to_owned()]).unwrap();
    let none = CallCredentials::default();
    let once = wide.redact_bytes(b"x ABC y <NAME:7>", &none).into_owned();
    assert_eq!(once, b"x <NAME:1> y <NAME:7>");
    assert_eq!(&*wide.redact_bytes(&once, &none), once);
}

#[test]
fn a_value_in_several_deltas_has_one_placeholder() {
    let event = |text: &str| format!("data: {}\n\n", json!({"delta": {"text": text}}));
    let events = [event("to a@"), event("xy and "), event("b@xy, a@xy")];
    let chunk = |text: &String| Chunk { at_ms: 1.0, data: Bytes::from(text.clone()) };
    let mut chunks: Vec<Chunk> = events.iter().map(chunk).collect();
    let (none, mut placeholders) = (CallCredentials::default(), Placeholders::default());
    let sse = Some(Framing::Sse);
    redactor().redact_payload(sse, "", &mut chunks, &none, &mut placeholders);
    let expected = [event("to <EMAIL:1>"), event(" and "), event("<EMAIL:2>, <EMAIL:1>")];
    let left: Vec<Bytes> = chunks.into_iter().map(|chunk| chunk.data).collect();
    assert_eq!(left, expected);
}

#[test]
fn values_are_not_printed() {
    let (_, placeholders) = stored(&json!(["a@x"]));
    assert_eq!(format!("{placeholders:?}"), "Placeholders(1)");
}

/// Returns an answer that repeats words of the conversation and adds new ones (`e@x` for `a@x`).
/// The program learns the new ones only from the answer.
fn answer_to(conversation: &[String], text: &str) -> String {
    let said = conversation.join(" ");
    text.split(' ')
        .map(|word| match word.split_once('@') {
            Some((name, rest)) if !said.contains(&format!("{name}@")) => {
                let own = char::from(name.as_bytes()[0] + 4);
                format!("{own}@{rest}")
            }
            _ => word.replace("id-", "no-"),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec("(hi|[a-d]@x|id-[1-3]|[ab]@x, [cd]@x)", 1..4)
        .prop_map(|words| words.join(" and "))
}

proptest! {
    /// The program sends back each answer: with the value in record, with the placeholder in
    /// replay. Both must give the same request at each turn.
    #[test]
    fn a_conversation_has_the_same_keys_in_record_and_replay(
        turns in prop::collection::vec((text(), text()), 1..6),
    ) {
        let (mut recorded, mut replayed) = (Vec::new(), Vec::new());
        for (question, answer) in turns {
            recorded.push(question.clone());
            replayed.push(question);
            let (left, mut placeholders) = stored(&asked(&recorded));
            let (right, _) = stored(&asked(&replayed));
            prop_assert_eq!(&left, &right);
            let answer = answer_to(&recorded, &answer);
            replayed.push(answered(&answer, &mut placeholders));
            recorded.push(answer);
        }
    }

    #[test]
    fn two_values_never_become_one(texts in prop::collection::vec(text(), 1..5)) {
        let body = asked(&texts);
        let (clean, placeholders) = stored(&body);
        let mut back = clean.to_string();
        for ((name, value), number) in &placeholders.numbers {
            let name = ["EMAIL", "ID"][*name];
            let value = std::str::from_utf8(value).unwrap();
            back = back.replace(&format!("<{name}:{number}>"), value);
        }
        prop_assert_eq!(back, body.to_string());
    }

    #[test]
    fn the_order_of_members_changes_nothing(one in text(), other in text(), last in text()) {
        let body = format!(r#"{{"b":"{one}","a":{{"d":"{other}","c":"{last}"}},"input":"{one}"}}"#);
        let turned =
            format!(r#"{{"input":"{one}","a":{{"c":"{last}","d":"{other}"}},"b":"{one}"}}"#);
        let none = CallCredentials::default();
        let key = |body: &str| {
            let mut placeholders = Placeholders::default();
            let clean = redactor().redact_body("", body.as_bytes(), &none, &mut placeholders);
            let json: Value = serde_json::from_slice(&clean).unwrap();
            json
        };
        prop_assert_eq!(key(&body), key(&turned));
    }

    #[test]
    fn a_second_time_there_is_nothing_to_do(texts in prop::collection::vec(text(), 1..5)) {
        let (once, _) = stored(&asked(&texts));
        prop_assert_eq!(&stored(&once).0, &once);
    }
}
