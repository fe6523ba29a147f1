//! The table rows of the Model Context Protocol, and how its requests are recognised.

use serde_json::json;

use super::reduction::REDUCTION;
use crate::json_rpc;
use crate::operation::{Operation, OperationRow};
use crate::provider_row::{ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::RequestHead;

impl Provider {
    /// The servers of the Model Context Protocol.
    pub const MCP: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// A POST of JSON-RPC at any path that is no known operation's.
    pub const MCP: Self = Self::new(&ROW);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "mcp",
    operations: &[Operation::MCP],
    errors: ErrorRow {
        own: |error| {
            let error = json!({ "code": error.status, "message": error.named });
            json!({ "jsonrpc": "2.0", "id": null, "error": error })
        },
        natural: |error_request| {
            let usual = "the server could not answer";
            let message = error_request.message.unwrap_or(usual);
            // Clients show only the message, and over stdio there is no status beside it.
            let message = format!("HTTP {}: {message}", error_request.status);
            let error = json!({ "code": -32603, "message": message });
            json!({ "jsonrpc": "2.0", "id": null, "error": error })
        },
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

static ROW: OperationRow = OperationRow {
    name: "Model Context Protocol",
    word: "mcp",
    was_unknown: true,
    is_free: true,
    has_tool_results: true,
    reduction: Some(&REDUCTION),
    outcome: json_rpc::RULES,
    ..OperationRow::UNREAD
};

/// Recognises a request by its body, whatever its path.
pub(crate) fn recognise(seen: &RequestHead) -> Option<PathShape> {
    seen.rpc.filter(|method| method.is_in_body())?;
    Some(PathShape::new(Provider::MCP, Operation::MCP))
}
