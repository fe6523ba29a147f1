use super::*;
use crate::{Operation, RequestHead, recognise_request};

fn operation(path: &str, headers: &[(String, String)]) -> Operation {
    let seen = RequestHead {
        method: "POST",
        path,
        query: "",
        headers,
        body_model: None,
        body_stream: None,
        has_messages: false,
        rpc: None,
    };
    recognise_request(&seen).operation
}

fn conversation(path: &str, body: &Value) -> Conversation {
    let headers = [("anthropic-version".to_owned(), "2023-06-01".to_owned())];
    operation(path, &headers).read_conversation(body.to_string().as_bytes()).unwrap()
}

/// The messages of one conversation, which is given in the formats of three providers: a question
/// with an image, a call, its result, and another question.
fn told() -> Value {
    json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [
            { "type": "text", "text": "Where?" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } },
        ] },
        { "role": "assistant", "content": "Wait.", "tool_calls": [
            { "id": "c1", "type": "function",
              "function": { "name": "find", "arguments": "{\"a\":1}" } },
        ] },
        { "role": "tool", "tool_call_id": "c1", "content": "{\"at\":\"here\"}" },
        { "role": "user", "content": "And?" },
    ])
}

fn tools() -> Value {
    json!([{ "type": "function", "function":
        { "name": "find", "description": "d", "parameters": { "type": "object" } } }])
}

fn of_anthropic() -> Value {
    let schema = json!({ "type": "object" });
    json!({
        "model": "m", "system": [{ "type": "text", "text": "Be brief." }],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "Where?" },
                { "type": "image", "source":
                    { "type": "base64", "media_type": "image/png", "data": "AA==" } } ] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "Wait." },
                { "type": "tool_use", "id": "c1", "name": "find", "input": { "a": 1 } } ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "{\"at\":\"here\"}" },
                { "type": "text", "text": "And?" } ] },
        ],
        "tools": [{ "name": "find", "description": "d", "input_schema": schema }],
    })
}

#[test]
fn conversation_is_the_same_in_the_words_of_each_provider() {
    let schema = json!({ "type": "object" });
    let gemini = json!({
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "contents": [
            { "role": "user", "parts": [
                { "text": "Where?" },
                { "inlineData": { "mimeType": "image/png", "data": "AA==" } } ] },
            { "role": "model", "parts": [
                { "text": "Wait." },
                { "functionCall": { "id": "c1", "name": "find", "args": { "a": 1 } } } ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "find", "response": { "at": "here" } } },
                { "text": "And?" } ] },
        ],
        "tools": [{ "functionDeclarations":
            [{ "name": "find", "description": "d", "parameters": schema }] }],
    });
    let responses = json!({
        "model": "m", "instructions": "Be brief.",
        "input": [
            { "role": "user", "content": [
                { "type": "input_text", "text": "Where?" },
                { "type": "input_image", "image_url": "data:image/png;base64,AA==" } ] },
            { "type": "message", "role": "assistant",
              "content": [{ "type": "output_text", "text": "Wait." }] },
            { "type": "function_call", "call_id": "c1", "name": "find", "arguments": "{\"a\":1}" },
            { "type": "function_call_output", "call_id": "c1", "output": "{\"at\":\"here\"}" },
            { "role": "user", "content": "And?" },
        ],
        "tools": [{ "type": "function", "name": "find", "description": "d", "parameters": schema }],
    });
    for (path, body) in [
        ("/v1/messages", of_anthropic()),
        ("/v1beta/models/m:generateContent", gemini),
        ("/v1/responses", responses),
        ("/v1/chat/completions", json!({ "messages": told(), "tools": tools() })),
    ] {
        let said = conversation(path, &body);
        assert_eq!(Value::from(said.messages.clone()), told(), "{path}");
        assert_eq!(Value::from(said.tools.clone()), tools(), "{path}");
        assert_eq!(said.unsupported, None, "{path}");
        assert_eq!((said.turn_count(), said.has_tool_result()), (1, false), "{path}");
        assert_eq!(said.last_user().as_deref(), Some("And?"), "{path}");
        assert_eq!(said.system_text(), "Be brief.", "{path}");
    }
}

#[test]
fn what_has_no_place_is_told() {
    let odd = |path: &str, body: Value| conversation(path, &body).unsupported.unwrap_or_default();
    let thinking = json!({ "messages": [
        { "role": "assistant", "content": [{ "type": "thinking", "thinking": "" }] }] });
    assert!(odd("/v1/messages", thinking).contains("thinking"));
    let earlier = json!({ "input": "a", "previous_response_id": "r" });
    assert!(odd("/v1/responses", earlier).contains("previous_response_id"));
    let file = json!({ "contents": [{ "parts": [{ "fileData": {} }] }] });
    assert!(odd("/v1beta/models/m:generateContent", file).contains("neither text nor an image"));
}

proptest::proptest! {
    #[test]
    fn any_json_is_read_without_a_panic(text in "[\\[{}\\]:,\"a0]{0,40}") {
        let body = text.replace('a', "\"role\":\"user\",\"content\":");
        for path in ["/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent"] {
            let _ = operation(path, &[]).read_conversation(body.as_bytes());
        }
    }
}

#[test]
fn calls_of_custom_tools_have_their_names_and_their_input() {
    let call =
        json!({"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}});
    let chat = json!({"messages": [{"role": "assistant", "tool_calls": [call]}]});
    let item =
        json!({"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "SELECT 1"});
    let output = json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "1"});
    let tools = json!([{"type": "custom", "name": "sql", "description": "d"}]);
    let responses =
        json!({"tools": tools, "input": [{"role": "user", "content": "Q"}, item, output]});
    for (operation, body) in
        [(Operation::CHAT_COMPLETIONS, chat), (Operation::RESPONSES, responses)]
    {
        let told = operation.read_conversation(body.to_string().as_bytes()).unwrap();
        assert_eq!(told.unsupported, None);
        let found: Vec<_> = told.messages.iter().flat_map(tool_calls).collect();
        assert_eq!(found[0].name, "sql");
        assert_eq!(found[0].arguments, json!({"_raw": "SELECT 1"}));
        let tool = json!({"type": "custom", "custom": {"name": "sql", "description": "d"}});
        assert!(told.tools.iter().all(|told| *told == tool), "{:?}", told.tools);
    }
}
