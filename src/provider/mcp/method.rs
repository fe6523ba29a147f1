//! What a request in JSON-RPC asks for.

use std::fmt;

use loomrec_identity::Json;

/// The method that calls a tool.
const TOOL_CALL: &str = "tools/call";
/// The method of a client that connects, in earlier versions of the protocol.
pub(super) const INITIALIZE: &str = "initialize";
/// The name that several requests in one body have together.
const BATCH: &str = "batch";

/// The name of a request for the messages of a server.
const OPEN_STREAM: &str = "GET stream";
/// The name of a request to end a session.
const CLOSE_SESSION: &str = "DELETE session";
/// The beginning of the names of the protocol's headers.
pub(super) const HEADER_PREFIX: &str = "mcp-";

/// The header that names a session. What it names gives no access without the credentials of the
/// client.
pub const SESSION_HEADER: &str = "mcp-session-id";

/// The kind of a request to a server of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RpcKind {
    /// It asks for an answer.
    Request,
    /// It asks for no answer.
    Notification,
    /// It opens a stream of the server's messages.
    OpenStream,
    /// It ends a session.
    CloseSession,
}

/// The method of a request in JSON-RPC.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RpcMethod {
    /// The method, such as `tools/list`; `batch` for several in one body.
    pub name: String,
    /// The tool that `tools/call` calls.
    pub tool: Option<String>,
    /// Its kind.
    pub kind: RpcKind,
}

impl RpcMethod {
    /// Reads what a request with this body asks for; `None` if it is not a request in JSON-RPC 2.0.
    pub fn from_body(body: &Json<'_>) -> Option<Self> {
        let Some(items) = body.as_array() else { return Self::read_one(body) };
        let methods: Option<Vec<Self>> = items.iter().map(Self::read_one).collect();
        let methods = methods.filter(|methods| !methods.is_empty())?;
        let asks = methods.iter().any(|method| method.kind == RpcKind::Request);
        let kind = if asks { RpcKind::Request } else { RpcKind::Notification };
        Some(Self { name: BATCH.to_owned(), tool: None, kind })
    }

    /// Returns what a request without a body asks a server of tools for; `None` if none of its
    /// headers is the protocol's. The names are in lower case.
    pub fn of_head<'n>(method: &str, mut names: impl Iterator<Item = &'n str>) -> Option<Self> {
        let (name, kind) = match method {
            "GET" => (OPEN_STREAM, RpcKind::OpenStream),
            "DELETE" => (CLOSE_SESSION, RpcKind::CloseSession),
            _ => return None,
        };
        let is_of_protocol = names.any(|name| name.starts_with(HEADER_PREFIX));
        is_of_protocol.then(|| Self { name: name.to_owned(), tool: None, kind })
    }

    fn read_one(body: &Json<'_>) -> Option<Self> {
        if body.get("jsonrpc")?.as_str()? != "2.0" {
            return None;
        }
        let name = body.get("method")?.as_str()?.into_owned();
        let kind = match body.get("id") {
            None => RpcKind::Notification,
            Some(Json::String(_) | Json::Number(_)) => RpcKind::Request,
            Some(_) => return None,
        };
        let tool = || Some(body.get("params")?.get("name")?.as_str()?.into_owned());
        let tool = if name == TOOL_CALL { tool() } else { None };
        Some(Self { name, tool, kind })
    }

    /// Whether the body of the request says all of it.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.kind, RpcKind::Request | RpcKind::Notification)
    }

    /// Whether it only asks whether the server is there.
    pub fn is_ping(&self) -> bool {
        self.name == "ping"
    }

    /// Whether a client connects with it, in earlier versions of the protocol.
    pub fn is_initialize(&self) -> bool {
        self.name == INITIALIZE
    }

    /// Whether a client asks with it what the server is, in later versions of the protocol.
    pub fn is_discover(&self) -> bool {
        self.name == "server/discover"
    }

    /// Whether it calls a tool.
    pub fn is_tool_call(&self) -> bool {
        self.name == TOOL_CALL
    }
}

impl fmt::Display for RpcMethod {
    /// Writes the method and the tool, as in `tools/call search`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        self.tool.as_ref().map_or(Ok(()), |tool| write!(out, " {tool}"))
    }
}

#[cfg(test)]
mod tests {
    use loomrec_identity::parse;

    use super::*;

    fn read(body: &str) -> Option<(String, bool)> {
        let method = RpcMethod::from_body(&parse(body.as_bytes()).unwrap())?;
        Some((method.to_string(), method.kind == RpcKind::Notification))
    }

    #[test]
    fn method_and_tool_of_a_request_are_named() {
        let expect = |name: &str, is_notification| Some((name.to_owned(), is_notification));
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, expect("tools/list", false)),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"search"}}"#,
                expect("tools/call search", false),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                expect("notifications/initialized", true),
            ),
            (
                r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"method":"b"}]"#,
                expect("batch", false),
            ),
        ] {
            assert_eq!(read(body), expected, "{body}");
        }
    }

    #[test]
    fn requests_without_a_body_are_known_by_the_headers_of_the_protocol() {
        let name = |method: &str, header: &'static str| {
            RpcMethod::of_head(method, ["accept", header].into_iter()).map(|it| it.to_string())
        };
        assert_eq!(name("GET", "mcp-session-id").as_deref(), Some("GET stream"));
        assert_eq!(name("DELETE", "mcp-protocol-version").as_deref(), Some("DELETE session"));
        assert_eq!((name("GET", "x-mcp-a"), name("PUT", "mcp-session-id")), (None, None));
    }

    #[test]
    fn anything_else_is_no_request_in_json_rpc() {
        for body in [
            "[]",
            "5",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
            r#"{"jsonrpc":2.0,"id":1,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"result":{}}]"#,
        ] {
            assert_eq!(read(body), None, "{body}");
        }
    }
}
