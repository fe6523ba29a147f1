use std::ops::ControlFlow;

use serde_json::json;

use super::super::exchange::{FoundItem, TextAnswer, TextExchange};
use super::super::{CompanionFiles, ForeignFormat, ReadError, read_with};

fn found(beside: &CompanionFiles, text: &str) -> (Vec<FoundItem>, Result<(), ReadError>) {
    let mut items = Vec::new();
    let done = read_with(ForeignFormat::OpenAiChat, &mut text.as_bytes(), beside, &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    (items, done)
}

fn reason(item: &FoundItem) -> &str {
    match item {
        FoundItem::Left(left) => &left.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn example_is_a_call_with_its_last_message_as_the_answer() {
    let example = json!({ "messages": [
        { "role": "user", "content": "q", "weight": 0 },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "c", "type": "function",
            "function": { "name": "f", "arguments": "{}" } }] } ],
        "tools": [], "parallel_tool_calls": false });
    let beside = CompanionFiles { model: Some("m".to_owned()), ..CompanionFiles::default() };
    let (items, done) = found(&beside, &example.to_string());
    done.unwrap();
    let [FoundItem::Words(words)] = &items[..] else { panic!("{items:?}") };
    let TextExchange { request, said: TextAnswer::Answer(answer), .. } = &**words else {
        panic!("{words:?}")
    };
    let body = r#"{"messages":[{"role":"user","content":"q"}],"model":"m","tools":[],"parallel_tool_calls":false}"#;
    assert_eq!(request.body, body);
    assert_eq!(answer.tool_calls[0].name, "f");
    let (items, _) = found(&CompanionFiles::default(), &example.to_string());
    assert!(reason(&items[0]).contains("--model"));
    let none = json!({ "messages": [{ "role": "user", "content": "q" }] }).to_string();
    assert!(reason(&found(&beside, &none).0[0]).contains("no answer"));
}

#[test]
fn bad_line_is_told_by_its_number() {
    let told = |text: &str| {
        let (_, done) = found(&CompanionFiles::default(), text);
        done.unwrap_err().to_string()
    };
    let good = json!({ "messages": [{ "role": "assistant", "content": "a" }] });
    let cut = told(&format!("{good}\n\n{{\"messages\": [\""));
    assert!(cut.contains("line 3, column 15: EOF"), "{cut}");
    assert!(told("[]").contains("line 1"));
    assert!(told("{\"messages\": 7}").contains("line 1: missing field"));
    assert!(told("{\"messages\": [7]}").contains("a message is not an object"));
    let deep = format!("{{\"messages\": {}", "[".repeat(100_000));
    assert!(told(&deep).contains("recursion limit"));
}
