//! What a call of a tool asks for.

use loomrec_identity::{Json, canonical, parse};

use super::method::RpcMethod;

/// What a call of a tool asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// The tool.
    pub tool: String,
    /// The arguments, as canonical JSON.
    pub arguments: String,
}

impl ToolRequest {
    /// Reads a call of a tool with arguments; `None` if the body is anything else.
    pub fn from_body(body: &[u8]) -> Option<Self> {
        let json = parse(body).ok()?;
        let method = RpcMethod::from_body(&json)?;
        let arguments = json.get("params")?.get("arguments")?;
        let has_some = matches!(arguments, Json::Object(members) if !members.is_empty());
        let arguments = has_some.then(|| canonical::value_text(arguments))?;
        Some(Self { tool: method.tool?, arguments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_and_its_arguments_are_read_in_any_spelling() {
        let call = |arguments: &str| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{arguments}}}}}"#
            );
            ToolRequest::from_body(text.as_bytes())
        };
        let read = call(r#"{"y": 1.0, "x": "\u00e9"}"#).unwrap();
        assert_eq!((read.tool.as_str(), Some(&read)), ("a", call(r#"{"x":"é","y":1.0}"#).as_ref()));
        assert_ne!(call(r#"{"x":"e"}"#), call(r#"{"x":"é"}"#));
        assert_eq!([call("{}"), call("null"), call("[1]")], [None, None, None]);
    }
}
