//! What a message in JSON-RPC says of its place in a conversation.

use serde_json::{Value, json};

use super::answer_ids::RpcIds;
use super::method::INITIALIZE;
use crate::lone_half::readable_json;
use loomrec_identity::{Json, canonical, parse};

/// What a client says once it has connected.
const INITIALIZED: &str = "notifications/initialized";
/// What a client says that waits for a response no longer.
const CANCELLED: &str = "notifications/cancelled";
/// The code of an error that ends a connection, as the SDKs have it.
const CONNECTION_CLOSED: i64 = -32000;

/// What a line says, with one message or several in a list. Ids are canonical JSON texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RpcFacts {
    /// The ids of the requests in it.
    pub requests: Vec<String>,
    /// The ids of the responses in it.
    pub responses: Vec<String>,
    /// The progress tokens that its requests give.
    pub given_tokens: Vec<String>,
    /// The progress token that a notification is about.
    pub about_token: Option<String>,
    /// The id of the request that a client no longer waits for.
    pub cancelled: Option<String>,
    /// The method of a single message.
    pub method: Option<String>,
}

impl RpcFacts {
    /// Reads a line; `None` if it is no message in JSON-RPC, or not only messages.
    pub fn from_line(line: &[u8]) -> Option<Self> {
        let text = readable_json(line);
        let json = parse(&text).ok()?;
        let mut facts = Self::default();
        match json.as_array() {
            Some(items) => {
                let are_messages = items.iter().all(|item| facts.add(item).is_some());
                facts.method = None;
                (are_messages && !items.is_empty()).then_some(facts)
            }
            None => facts.add(&json).map(|()| facts),
        }
    }

    fn add(&mut self, message: &Json<'_>) -> Option<()> {
        let text = |value: &Json<'_>| canonical::value_text(value);
        let id = message.get("id").map(text);
        let params = message.get("params");
        if let Some(method) = message.get("method") {
            self.method = Some(method.as_str()?.into_owned());
            let token = params.and_then(|params| params.get("_meta")?.get("progressToken"));
            self.given_tokens.extend(token.map(text));
            match id {
                Some(id) => self.requests.push(id),
                None => {
                    let about = params.and_then(|params| params.get("progressToken"));
                    self.about_token = about.map(text);
                    let is_cancel = self.method.as_deref() == Some(CANCELLED);
                    let request = params.and_then(|params| params.get("requestId"));
                    self.cancelled = request.filter(|_| is_cancel).map(text);
                }
            }
            return Some(());
        }
        message.get("result").or_else(|| message.get("error"))?;
        self.responses.push(id.unwrap_or_else(|| "null".to_owned()));
        Some(())
    }

    /// Whether a client connects with it.
    pub fn is_initialize(&self) -> bool {
        self.method.as_deref() == Some(INITIALIZE)
    }

    /// Whether a client says with it that it has connected.
    pub fn is_initialized(&self) -> bool {
        self.method.as_deref() == Some(INITIALIZED)
    }

    /// Whether a server answers it before a client has connected.
    pub fn needs_no_connection(&self) -> bool {
        self.is_initialize() || self.is_initialized() || self.method.as_deref() == Some("ping")
    }
}

/// Returns the error responses to the requests of a message; `None` if it has none.
pub fn rpc_closed_error(message: &[u8], why: &str) -> Option<Vec<u8>> {
    rpc_error_responses(message, &json!({ "code": CONNECTION_CLOSED, "message": why }))
}

/// Returns an error response with this error object to each request of a message; `None` if it has
/// none.
pub fn rpc_error_responses(message: &[u8], error: &Value) -> Option<Vec<u8>> {
    if let Some(responses) = RpcIds::from_body(message).and_then(|ids| ids.error_object(error)) {
        return Some(responses);
    }
    let facts = RpcFacts::from_line(message)?;
    let error = |id: &String| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}");
    let errors: Vec<String> = facts.requests.iter().map(error).collect();
    match (errors.as_slice(), facts.method) {
        ([], _) => None,
        ([one], Some(_)) => Some(one.clone().into_bytes()),
        (several, _) => Some(format!("[{}]", several.join(",")).into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(Vec<String>, Vec<String>)> {
        RpcFacts::from_line(line.as_bytes()).map(|facts| (facts.requests, facts.responses))
    }

    fn ids(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn ids_of_every_type_are_found() {
        for (id, canonical) in
            [("1", "1"), ("1.50", "1.5"), (r#""\u0061""#, r#""a""#), ("null", "null"), ("-0", "0")]
        {
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            assert_eq!(read(&request).unwrap().0, [canonical], "{id}");
            let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(read(&response).unwrap().1, [canonical], "{id}");
        }
        let batch = r#"[{"id":1,"method":"a"},{"method":"b"},{"id":2,"error":{}}]"#;
        assert_eq!(read(batch), Some((ids(&["1"]), ids(&["2"]))));
    }

    #[test]
    fn message_may_hold_half_of_a_character() {
        let request = r#"{"id":1,"method":"m","params":{"a":"cut \ud83d"}}"#;
        assert_eq!(read(request), Some((ids(&["1"]), ids(&[]))));
        let response = r#"{"id":"a","result":{"a":"\ude00"}}"#;
        assert_eq!(read(response), Some((ids(&[]), ids(&[r#""a""#]))));
    }

    #[test]
    fn other_lines_are_no_messages() {
        for line in [
            "",
            "Listening",
            "5",
            "[]",
            "{}",
            "[1]",
            r#"{"method":5}"#,
            "{\"method\":\"a\"",
            r#"[{"method":"a"},{}]"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn each_request_gets_an_error_under_its_own_id() {
        let text = |line: &str| {
            rpc_closed_error(line.as_bytes(), "gone").map(|text| String::from_utf8(text).unwrap())
        };
        let error = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"gone"}}}}"#)
        };
        let request = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        for id in ["7", "null", r#""x""#, "1.25"] {
            assert_eq!(text(&request(id)), Some(error(id)));
        }
        let batch = format!("[{},{}]", request("1"), request("2"));
        assert_eq!(text(&batch), Some(format!("[{},{}]", error("1"), error("2"))));
        assert_eq!(text(r#"{"jsonrpc":"2.0","method":"notifications/a"}"#), None);
    }
}
