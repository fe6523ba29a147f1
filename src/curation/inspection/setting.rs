//! The settings of a request: its members other than messages, each in a few words.

use serde_json::{Map, Value, json};

use super::talk::SPOKEN;
use super::text;

/// The most bytes of a setting that are shown.
const SHOWN: usize = 300;
/// The most settings that are shown.
const MOST: usize = 100;
/// Members that hold further settings.
const NESTED: [&str; 5] =
    ["generationConfig", "generation_config", "inferenceConfig", "textGenerationConfig", "options"];

/// Returns pairs of a setting's name and its value.
pub(super) fn from_body(body: &Map<String, Value>) -> Value {
    let mut rows = Vec::new();
    for (name, value) in body {
        match value {
            _ if SPOKEN.contains(&name.as_str()) => {}
            Value::Object(inner) if NESTED.contains(&name.as_str()) => {
                let inner = inner.iter();
                rows.extend(
                    inner.map(|(inner, value)| (format!("{name}.{inner}"), value_text(value))),
                );
            }
            value if name == "tools" || name == "functions" => {
                rows.push((name.clone(), tool_names(value)));
            }
            value if name == "toolConfig" => {
                rows.push((
                    name.clone(),
                    value.get("tools").map_or_else(|| value_text(value), tool_names),
                ));
            }
            value => rows.push((name.clone(), value_text(value))),
        }
    }
    rows.truncate(MOST);
    rows.into_iter()
        .map(|(name, value)| json!([text::cut_to_length(&name, SHOWN), value]))
        .collect()
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(said) => text::cut_to_length(said, SHOWN),
        other => text::cut_to_length(&other.to_string(), SHOWN),
    }
}

/// Returns the names of tools.
fn tool_names(value: &Value) -> String {
    let Some(tools) = value.as_array() else { return value_text(value) };
    let names: Vec<String> = tools.iter().flat_map(declared_names).collect();
    text::cut_to_length(&names.join(", "), 4 * SHOWN)
}

/// Returns a tool's name, or the names of the functions that it declares.
fn declared_names(tool: &Value) -> Vec<String> {
    let declared =
        ["functionDeclarations", "function_declarations"].iter().find_map(|name| tool.get(*name));
    if let Some(declared) = declared.and_then(Value::as_array) {
        return declared.iter().flat_map(declared_names).collect();
    }
    let places = ["/function/name", "/custom/name", "/name", "/toolSpec/name", "/type"];
    let name = places.iter().find_map(|place| tool.pointer(place)?.as_str());
    let key = || tool.as_object().and_then(|members| members.keys().next().cloned());
    vec![name.map(str::to_owned).or_else(key).unwrap_or_else(|| "?".to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_what_is_no_message_and_tools_are_told_by_their_names() {
        let body = json!({
            "model": "m", "messages": [], "temperature": 0.20,
            "generationConfig": { "topK": 3 },
            "tools": [{ "type": "function", "function": { "name": "weather" } },
                      { "type": "custom", "custom": { "name": "sql" } },
                      { "name": "search" }, { "type": "web_search" }, { "googleSearch": {} },
                      { "functionDeclarations": [{ "name": "a" }, { "name": "b" }] }],
            "toolConfig": { "tools": [{ "toolSpec": { "name": "c" } }] },
            "metadata": { "k": "x".repeat(1000) },
        });
        let rows = from_body(body.as_object().unwrap());
        assert_eq!(rows[0], json!(["model", "m"]));
        assert_eq!(rows[1], json!(["temperature", "0.2"]));
        assert_eq!(rows[2], json!(["generationConfig.topK", "3"]));
        assert_eq!(
            rows[3],
            json!(["tools", "weather, sql, search, web_search, googleSearch, a, b"])
        );
        assert_eq!(rows[4], json!(["toolConfig", "c"]));
        assert!(rows[5][1].as_str().unwrap().len() < 400, "{rows}");
        assert_eq!(rows.as_array().unwrap().len(), 6);
    }
}
