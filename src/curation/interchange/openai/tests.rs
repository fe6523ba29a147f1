use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::super::exchange::{
    ForeignExchange, FoundItem, ResponseContent, TextAnswer, TextExchange,
};
use super::super::{CompanionFiles, ForeignFormat, ReadError, read_with};
use super::read_requests;

fn found(
    format: ForeignFormat,
    beside: &CompanionFiles,
    text: &str,
) -> (Vec<FoundItem>, Result<(), ReadError>) {
    let mut items = Vec::new();
    let done = read_with(format, &mut text.as_bytes(), beside, &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    (items, done)
}

fn requests(lines: &[Value]) -> CompanionFiles {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    CompanionFiles {
        requests: Some(read_requests(&mut text.as_bytes()).unwrap()),
        ..CompanionFiles::default()
    }
}

fn request(id: &str) -> Value {
    json!({ "custom_id": id, "method": "POST", "url": "/v1/chat/completions",
        "body": { "model": "m", "seed": 12345678901234567890_u64 } })
}

fn answer(id: &str) -> Value {
    json!({ "id": "b", "custom_id": id, "error": null,
        "response": { "status_code": 200, "request_id": "r", "body": { "a": 1 } } })
}

fn reason(item: &FoundItem) -> &str {
    match item {
        FoundItem::Left(left) => &left.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn answer_of_a_batch_is_joined_to_its_request() {
    let beside = requests(&[request("b"), request("a")]);
    let (items, done) = found(ForeignFormat::OpenAiBatch, &beside, &format!("\n{}\n", answer("a")));
    done.unwrap();
    let [FoundItem::Exchange(exchange)] = &items[..] else { panic!("{items:?}") };
    let ForeignExchange { request, response, place, .. } = &**exchange;
    assert_eq!(place, "line 2");
    assert_eq!(request.url, "https://api.openai.com/v1/chat/completions");
    assert_eq!(request.body, r#"{"model":"m","seed":12345678901234567890}"#);
    assert_eq!(response.content, ResponseContent::Plain(r#"{"a":1}"#.into()));
}

#[test]
fn answer_without_a_request_is_left_out() {
    let beside = requests(&[request("a")]);
    let failed =
        json!({ "custom_id": "a", "response": null, "error": { "code": "batch_expired" } });
    let lines = format!("{}\n{}\n{}\n", answer("x"), failed, request("a"));
    let (items, done) = found(ForeignFormat::OpenAiBatch, &beside, &lines);
    done.unwrap();
    assert!(reason(&items[0]).contains("no request has"));
    assert!(reason(&items[1]).contains("batch_expired"));
    assert!(reason(&items[2]).contains("--requests"));
    let (items, _) =
        found(ForeignFormat::OpenAiBatch, &CompanionFiles::default(), &answer("a").to_string());
    assert!(reason(&items[0]).contains("--requests"));
}

#[test]
fn example_is_a_call_with_its_last_message_as_the_answer() {
    let example = json!({ "messages": [
        { "role": "user", "content": "q", "weight": 0 },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "c", "type": "function",
            "function": { "name": "f", "arguments": "{}" } }] } ],
        "tools": [], "parallel_tool_calls": false });
    let beside = CompanionFiles { model: Some("m".to_owned()), ..CompanionFiles::default() };
    let (items, done) = found(ForeignFormat::OpenAiChat, &beside, &example.to_string());
    done.unwrap();
    let [FoundItem::Words(words)] = &items[..] else { panic!("{items:?}") };
    let TextExchange { request, said: TextAnswer::Answer(answer), .. } = &**words else {
        panic!("{words:?}")
    };
    let body = r#"{"messages":[{"role":"user","content":"q"}],"model":"m","tools":[],"parallel_tool_calls":false}"#;
    assert_eq!(request.body, body);
    assert_eq!(answer.tool_calls[0].name, "f");
    let (items, _) =
        found(ForeignFormat::OpenAiChat, &CompanionFiles::default(), &example.to_string());
    assert!(reason(&items[0]).contains("--model"));
    let none = json!({ "messages": [{ "role": "user", "content": "q" }] }).to_string();
    assert!(reason(&found(ForeignFormat::OpenAiChat, &beside, &none).0[0]).contains("no answer"));
}

#[test]
fn bad_line_is_told_by_its_number() {
    let told = |format, text: &str| {
        found(format, &CompanionFiles::default(), text).1.unwrap_err().to_string()
    };
    let one = answer("a");
    let cut = told(ForeignFormat::OpenAiBatch, &format!("{one}\n\n{{\"custom_id\": \"a"));
    assert!(cut.contains("line 3, column 16: EOF"), "{cut}");
    let twice = told(ForeignFormat::OpenAiBatch, r#"{"custom_id": "a", "custom_id": "b"}"#);
    assert!(twice.contains("line 1") && twice.contains("duplicate field"), "{twice}");
    assert!(told(ForeignFormat::OpenAiBatch, "[]").contains("line 1"));
    assert!(told(ForeignFormat::OpenAiChat, "{\"messages\": 7}").contains("line 1: missing field"));
    assert!(
        told(ForeignFormat::OpenAiChat, "{\"messages\": [7]}")
            .contains("a message is not an object")
    );
    let deep = format!("{{\"messages\": {}", "[".repeat(100_000));
    assert!(told(ForeignFormat::OpenAiChat, &deep).contains("recursion limit"));
    let text = format!("{}\n{}\n", request("a"), request("a"));
    let same = read_requests(&mut text.as_bytes()).unwrap_err().to_string();
    assert!(same.contains("line 2: its `custom_id` occurs twice"), "{same}");
}
