//! A server of tools that a file declares: it lists them, and answers each call with what the file
//! says.

use std::path::Path;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use super::line_reader::{LONGEST_LINE, LineReader, ReadLine, send_line};
use crate::script::file_notation;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_os::read_input;

/// The most bytes of a file.
const MOST: u64 = 16 << 20;

/// The version of the protocol that clients get which ask for another one.
const VERSION: &str = "2025-11-25";

/// The versions that the server speaks.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", VERSION];

/// The member of a tool with the answer to its calls.
const RESULT: &str = "result";

/// The tools that a file declares.
#[derive(Debug)]
pub(super) struct DeclaredTools(Vec<DeclaredTool>);

#[derive(Debug)]
struct DeclaredTool {
    /// As clients see it.
    listed: Map<String, Value>,
    /// The result of its calls.
    result: Value,
}

/// An error of JSON-RPC: its code and its message.
type RpcFailure = (i64, String);

impl DeclaredTools {
    /// Reads a file in JSON or YAML: a list of tools as `tools/list` has them, or an object with this
    /// list as its `tools`. A tool may have a `result`: a text, or what `tools/call` returns.
    ///
    /// # Errors
    /// A file that cannot be read, or in which something is wrong.
    pub(super) fn from_file(path: &Path) -> Result<Self, CommandFailure> {
        let refused =
            |why: String| CommandFailure::usage(format!("--tools-from {}: {why}", path.display()));
        let text =
            read_input(path, MOST).map_err(|error| refused(format!("failed to read: {error}")))?;
        let value = loomrec_script::parse_value(&text, file_notation(path)).map_err(refused)?;
        Self::read(&value).map_err(refused)
    }

    fn read(value: &Value) -> Result<Self, String> {
        let list = value.as_array().or_else(|| value.get("tools")?.as_array());
        let list = list.ok_or("it has no list of tools: [{\"name\": …}] or {\"tools\": […]}")?;
        let mut tools: Vec<DeclaredTool> = Vec::new();
        for (place, tool) in list.iter().enumerate() {
            let tool =
                DeclaredTool::read(tool).map_err(|why| format!("tool {}: {why}", place + 1))?;
            if tools.iter().any(|earlier| earlier.name() == tool.name()) {
                return Err(format!("tool {}: {} is declared twice", place + 1, tool.name()));
            }
            tools.push(tool);
        }
        Ok(Self(tools))
    }

    /// Serves a client on stdin and stdout, until it closes stdin.
    ///
    /// # Errors
    /// A stream that fails.
    pub(super) async fn serve_stdio(&self) -> Result<u8, CommandFailure> {
        let served = self.serve_streams(tokio::io::stdin(), tokio::io::stdout()).await;
        served.map(|()| 0).map_err(|error| {
            CommandFailure::new(UNEXPECTED, format!("failed to serve the declared tools: {error}"))
        })
    }

    async fn serve_streams(
        &self,
        input: impl AsyncRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
    ) -> std::io::Result<()> {
        let mut lines = LineReader::new(input, LONGEST_LINE);
        while let Some(line) = lines.next().await? {
            let answer = match line {
                ReadLine::Text(line) => self.answer_line(&line),
                ReadLine::TooLong => {
                    Some(error_response(&Value::Null, (-32600, "too long".to_owned())))
                }
            };
            if let Some(answer) = answer {
                send_line(&mut output, answer.to_string().as_bytes()).await?;
            }
        }
        Ok(())
    }

    /// Returns the answer to a line: a message, or several in a list.
    fn answer_line(&self, line: &[u8]) -> Option<Value> {
        match serde_json::from_slice(line) {
            Ok(Value::Array(messages)) if !messages.is_empty() => {
                let answers: Vec<_> =
                    messages.iter().filter_map(|it| self.answer_message(it)).collect();
                (!answers.is_empty()).then_some(Value::Array(answers))
            }
            Ok(message) => self.answer_message(&message),
            Err(error) => {
                Some(error_response(&Value::Null, (-32700, format!("not JSON: {error}"))))
            }
        }
    }

    /// Returns the answer to a message; `None` to one that gets none.
    fn answer_message(&self, message: &Value) -> Option<Value> {
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let is_response = message.get(RESULT).or_else(|| message.get("error")).is_some();
            let wrong = (-32600, "no method".to_owned());
            return (!is_response)
                .then(|| error_response(message.get("id").unwrap_or(&Value::Null), wrong));
        };
        let id = message.get("id")?;
        let params = message.get("params").unwrap_or(&Value::Null);
        let result = match method {
            "initialize" => Ok(initialize_result(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": self.listed_tools() })),
            "tools/call" => self.call(params),
            other => Err((-32601, format!("Method not found: {other}"))),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(failure) => error_response(id, failure),
        })
    }

    fn listed_tools(&self) -> Vec<&Map<String, Value>> {
        self.0.iter().map(|tool| &tool.listed).collect()
    }

    fn call(&self, params: &Value) -> Result<Value, RpcFailure> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let tool = self.0.iter().find(|tool| tool.name() == name);
        let tool = tool.ok_or_else(|| (-32602, format!("Unknown tool: {name}")))?;
        match tool.missing_argument(params.get("arguments").unwrap_or(&Value::Null)) {
            Some(missing) => Err((-32602, format!("{name}: the argument {missing} is missing"))),
            None => Ok(tool.result.clone()),
        }
    }
}

impl DeclaredTool {
    fn read(tool: &Value) -> Result<Self, String> {
        let mut listed = tool.as_object().ok_or("it is not an object")?.clone();
        let name = listed.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or("it has no name")?.to_owned();
        let schema = listed.entry("inputSchema").or_insert_with(|| json!({ "type": "object" }));
        if !schema.is_object() {
            return Err(format!("the inputSchema of {name} is not an object"));
        }
        let has_schema = listed.contains_key("outputSchema");
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let result = match listed.remove(RESULT) {
            Some(Value::String(said)) if !has_schema => text(&said),
            Some(result) if result.get("content").is_some_and(Value::is_array) => result,
            None if !has_schema => text("ok"),
            None | Some(Value::String(_)) => {
                return Err(format!(
                    "{name} has an outputSchema: its result needs structuredContent and content"
                ));
            }
            Some(_) => {
                return Err(format!(
                    "the result of {name} is neither a text nor an object with a list as content"
                ));
            }
        };
        Ok(Self { listed, result })
    }

    fn name(&self) -> &str {
        self.listed.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the first argument that its schema requires and that is not given.
    fn missing_argument(&self, given: &Value) -> Option<&str> {
        let required = self.listed.get("inputSchema")?.get("required")?.as_array()?;
        required.iter().filter_map(Value::as_str).find(|name| given.get(name).is_none())
    }
}

/// Returns the result of `initialize`.
fn initialize_result(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = asked.filter(|asked| VERSIONS.contains(asked)).unwrap_or(VERSION);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "loomrec", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn error_response(id: &Value, (code, message): RpcFailure) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> DeclaredTools {
        DeclaredTools::read(&json!({ "tools": [
            { "name": "search", "inputSchema": { "type": "object", "required": ["query"] },
              "result": "found" },
            { "name": "plain" },
            { "name": "typed", "outputSchema": { "type": "object" },
              "result": { "content": [], "structuredContent": { "a": 1 } } },
        ] }))
        .unwrap()
    }

    fn told(line: &str) -> Option<Value> {
        tools().answer_line(line.as_bytes())
    }

    fn asked(method: &str, params: &Value) -> Value {
        told(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string())
            .unwrap()
    }

    #[test]
    fn tools_are_listed_without_their_results() {
        let listed = asked("tools/list", &json!({}));
        let listed = listed["result"]["tools"].as_array().unwrap().clone();
        assert_eq!(listed.len(), 3);
        assert!(listed.iter().all(|tool| tool.get("result").is_none()));
        assert_eq!(listed[1]["inputSchema"], json!({ "type": "object" }));
    }

    #[test]
    fn calls_get_the_declared_results() {
        let call = |name: &str, arguments: Value| {
            asked("tools/call", &json!({ "name": name, "arguments": arguments }))
        };
        assert_eq!(call("search", json!({ "query": 1 }))["result"]["content"][0]["text"], "found");
        assert_eq!(call("plain", Value::Null)["result"]["content"][0]["text"], "ok");
        assert_eq!(call("typed", json!({}))["result"]["structuredContent"], json!({ "a": 1 }));
        let missing = call("search", json!({}));
        assert_eq!(missing["error"]["message"], "search: the argument query is missing");
        assert_eq!(call("none", json!({}))["error"]["code"], -32602);
    }

    #[test]
    fn messages_get_what_the_protocol_says() {
        let version = |asked_for: &str| {
            asked("initialize", &json!({ "protocolVersion": asked_for }))["result"]["protocolVersion"]
                .clone()
        };
        assert_eq!(
            (version("2025-06-18"), version("1999-01-01")),
            (json!("2025-06-18"), json!(VERSION))
        );
        assert_eq!(asked("resources/list", &json!({}))["error"]["code"], -32601);
        assert_eq!(told(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), None);
        assert_eq!(told(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        assert_eq!(told("{").unwrap()["error"]["code"], -32700);
        assert_eq!(told(r#"{"id":1}"#).unwrap()["error"]["code"], -32600);
        let batch = told(r#"[{"id":1,"method":"ping"},{"method":"x"}]"#).unwrap();
        assert_eq!(batch.as_array().unwrap().len(), 1);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        for (text, why) in [
            (json!({}), "no list of tools"),
            (json!([1]), "tool 1: it is not an object"),
            (json!([{ "name": "" }]), "tool 1: it has no name"),
            (json!([{ "name": "a" }, { "name": "a" }]), "tool 2: a is declared twice"),
            (json!([{ "name": "a", "inputSchema": 1 }]), "inputSchema of a"),
            (json!([{ "name": "a", "result": 1 }]), "the result of a"),
            (json!([{ "name": "a", "outputSchema": {} }]), "a has an outputSchema"),
        ] {
            let error = DeclaredTools::read(&text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
