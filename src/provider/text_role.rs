//! Whose text a string of a request is, read from the shape of any provider's request, and where
//! requests refer to calls of tools.

use loomrec_identity::{Json, JsonPointer, TextRole, pointer_token};

/// Where requests have the ids that link a call of a tool to its result.
pub const CALL_REFERENCES: [&str; 12] = [
    "/messages/*/tool_calls/*/id",
    "/messages/*/tool_call_id",
    "/messages/*/content/*/id",
    "/messages/*/content/*/tool_use_id",
    "/messages/*/content/*/toolUse/toolUseId",
    "/messages/*/content/*/toolResult/toolUseId",
    "/input/*/call_id",
    "/contents/*/parts/*/functionCall/id",
    "/contents/*/parts/*/functionResponse/id",
    "/contents/*/parts/*/function_call/id",
    "/contents/*/parts/*/function_response/id",
    "/tool_results/*/call/id",
];

/// Members that are the program's instructions.
const INSTRUCTIONS: [&str; 5] =
    ["system", "instructions", "systemInstruction", "system_instruction", "preamble"];

/// Members that are a list of messages.
const MESSAGES: [&str; 4] = ["messages", "contents", "chat_history", "input"];

/// Members of a tool in which its description is, as a list or as an object.
const DECLARATIONS: [&str; 4] =
    ["function", "functionDeclarations", "function_declarations", "toolSpec"];

/// Members of a message that hold its text, as a string or as blocks.
const TEXTS: [&str; 4] = ["content", "parts", "text", "message"];

/// Returns the places of the texts in a request, and whose they are. What a tool is called with is
/// nobody's text.
pub fn text_roles(body: &Json<'_>) -> Vec<(TextRole, JsonPointer)> {
    let mut found = Vec::new();
    for name in INSTRUCTIONS {
        let texts = body.get(name);
        texts
            .into_iter()
            .for_each(|it| add_text(it, TextRole::System, &pointer_token(name), &mut found));
    }
    for name in MESSAGES {
        let list = body.get(name).and_then(Json::as_array).unwrap_or_default();
        for (at, message) in list.iter().enumerate() {
            of_message(message, &format!("/{name}/{at}"), &mut found);
        }
    }
    let in_config = body.get("toolConfig").and_then(|config| config.get("tools"));
    for (tools, place) in [(body.get("tools"), "/tools"), (in_config, "/toolConfig/tools")] {
        tools.into_iter().for_each(|it| add_descriptions(it, place, &mut found));
    }
    found
}

/// Adds the descriptions of tools, which are instructions of the program. Their names and the
/// schemas of their arguments are not.
fn add_descriptions(tool: &Json<'_>, place: &str, found: &mut Vec<(TextRole, JsonPointer)>) {
    if let Json::Array(tools) = tool {
        for (at, tool) in tools.iter().enumerate() {
            add_descriptions(tool, &format!("{place}/{at}"), found);
        }
    }
    if let Some(Json::String(_)) = tool.get("description") {
        let place = JsonPointer::parse(&format!("{place}/description")).ok();
        found.extend(place.map(|place| (TextRole::System, place)));
    }
    for name in DECLARATIONS {
        let declared = tool.get(name);
        declared.into_iter().for_each(|it| add_descriptions(it, &format!("{place}/{name}"), found));
    }
}

/// Adds the texts of a message, or of an item of OpenAI's Responses.
fn of_message(message: &Json<'_>, place: &str, found: &mut Vec<(TextRole, JsonPointer)>) {
    let word = |name: &str| message.get(name).and_then(Json::as_str);
    if word("type").is_some_and(|kind| kind.ends_with("_output")) {
        if let Some(output) = message.get("output") {
            add_text(output, TextRole::Tool, &format!("{place}/output"), found);
        }
        return;
    }
    let role = match word("role").as_deref() {
        Some("system" | "developer" | "SYSTEM") => TextRole::System,
        Some("tool" | "function" | "TOOL") => TextRole::Tool,
        Some("user" | "USER") | None => TextRole::User,
        Some(_) => return,
    };
    for name in TEXTS {
        let texts = message.get(name);
        texts.into_iter().for_each(|it| add_text(it, role, &format!("{place}/{name}"), found));
    }
}

/// Adds a text, or the texts of blocks.
fn add_text(
    value: &Json<'_>,
    role: TextRole,
    place: &str,
    found: &mut Vec<(TextRole, JsonPointer)>,
) {
    match value {
        Json::String(_) => found.extend(JsonPointer::parse(place).ok().map(|place| (role, place))),
        Json::Array(blocks) => {
            for (at, block) in blocks.iter().enumerate() {
                add_text(block, role, &format!("{place}/{at}"), found);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                let name = name.as_str();
                let below = format!("{place}{}", pointer_token(&name));
                match &*name {
                    "text" | "parts" => add_text(value, role, &below, found),
                    "functionResponse" | "function_response" | "toolResult" => {
                        add_result_texts(value, &below, found);
                    }
                    "content" if is_result(members) => {
                        add_text(value, TextRole::Tool, &below, found)
                    }
                    "content" => add_text(value, role, &below, found),
                    _ => {}
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Whether an object is the result of a tool.
fn is_result(members: &[(loomrec_identity::JsonStr<'_>, Json<'_>)]) -> bool {
    members.iter().any(|(name, value)| {
        *name == "type" && value.as_str().is_some_and(|kind| kind.ends_with("tool_result"))
    })
}

/// Adds all strings of the result of a tool, except its name and its id.
fn add_result_texts(value: &Json<'_>, place: &str, found: &mut Vec<(TextRole, JsonPointer)>) {
    match value {
        Json::Object(members) => {
            for (name, value) in members {
                let name = name.as_str();
                if !matches!(&*name, "id" | "name" | "toolUseId" | "status") {
                    add_result_texts(value, &format!("{place}{}", pointer_token(&name)), found);
                }
            }
        }
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                add_result_texts(item, &format!("{place}/{at}"), found);
            }
        }
        value => add_text(value, TextRole::Tool, place, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::PlacePattern;

    fn roles(body: &str) -> Vec<String> {
        let json = loomrec_identity::parse(body.as_bytes()).unwrap();
        let of = |(role, place): &(TextRole, JsonPointer)| {
            let text = json.value_at(place).and_then(Json::as_str).unwrap();
            format!("{role:?} {text}")
        };
        text_roles(&json).iter().map(of).collect()
    }

    #[test]
    fn texts_of_each_protocol_have_their_role() {
        let chat = r#"{"model": "m", "messages": [{"role": "system", "content": "s"},
            {"role": "developer", "content": [{"type": "text", "text": "d"}]},
            {"role": "user", "content": "u", "name": "n"},
            {"role": "assistant", "content": "a", "tool_calls": [{"id": "1", "function":
                {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "t"}]}"#;
        assert_eq!(roles(chat), ["System s", "System d", "User u", "Tool t"]);
        let messages = r#"{"system": [{"type": "text", "text": "s"}], "messages": [
            {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "tool_result",
                "tool_use_id": "1", "content": [{"type": "text", "text": "t"}]}]},
            {"role": "assistant", "content": [{"type": "tool_use", "input": {"text": "x"}}]}]}"#;
        assert_eq!(roles(messages), ["System s", "User u", "Tool t"]);
        let responses = r#"{"instructions": "s", "input": [{"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "u"}]}, {"type": "function_call",
            "arguments": "x"}, {"type": "function_call_output", "output": "t"}]}"#;
        assert_eq!(roles(responses), ["System s", "User u", "Tool t"]);
        let gemini = r#"{"systemInstruction": {"parts": [{"text": "s"}], "role": "user"},
            "contents": [{"role": "user", "parts": [{"text": "u"}, {"functionResponse":
            {"id": "1", "name": "f", "response": {"output": "t"}}}]}, {"role": "model", "parts":
            [{"functionCall": {"args": {"text": "x"}}}]}]}"#;
        assert_eq!(roles(gemini), ["System s", "User u", "Tool t"]);
        let bedrock = r#"{"system": [{"text": "s"}], "messages": [{"role": "user", "content": [
            {"text": "u"}, {"toolResult": {"toolUseId": "1", "content": [{"text": "t"}]}}]}]}"#;
        assert_eq!(roles(bedrock), ["System s", "User u", "Tool t"]);
        assert!(roles("{}").is_empty() && roles("[1]").is_empty());
    }

    #[test]
    fn descriptions_of_tools_are_instructions() {
        let schema = r#"{"description": "x", "properties": {"function": {"description": "x"}}}"#;
        let tool = format!(r#""name": "x", "description": "d", "input_schema": {schema}"#);
        let of_messages = format!(r#"{{"tools": [{{{tool}}}, {{"type": "web_search"}}]}}"#);
        let chat = format!(r#"{{"tools": [{{"type": "function", "function": {{{tool}}}}}]}}"#);
        let gemini = format!(r#"{{"tools": [{{"functionDeclarations": [{{{tool}}}]}}]}}"#);
        let bedrock = format!(r#"{{"toolConfig": {{"tools": [{{"toolSpec": {{{tool}}}}}]}}}}"#);
        for body in [of_messages, chat, gemini, bedrock] {
            assert_eq!(roles(&body), ["System d"], "{body}");
        }
    }

    #[test]
    fn places_of_references_can_be_read() {
        assert!(CALL_REFERENCES.iter().all(|place| PlacePattern::parse(place).is_ok()));
    }
}
