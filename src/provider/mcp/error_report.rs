//! Whether an answer in JSON-RPC reports an error: one of the protocol, or that of a tool.

use crate::framing::{Framing, events};
use loomrec_identity::parse;

/// Whether an answer with this framing reports an error: a message in it is one, or the result of a
/// tool that failed.
pub fn rpc_reports_error(framing: Option<Framing>, body: &[u8]) -> bool {
    match framing {
        None => is_error(body),
        Some(framing) => {
            events(framing, body).any(|event| event.data.is_some_and(|data| is_error(&data)))
        }
    }
}

/// Whether a message, or one of several in a list, reports an error.
fn is_error(text: &[u8]) -> bool {
    let Ok(json) = parse(text) else { return false };
    let messages = json.as_array().unwrap_or(std::slice::from_ref(&json));
    messages.iter().any(|message| {
        let tool_failed = message.get("result").and_then(|result| result.get("isError")?.as_bool());
        message.get("error").is_some() || tool_failed == Some(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_protocol_and_of_tools_are_found() {
        let good = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}"#;
        let failed = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#;
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"down"}}"#;
        for (text, reports) in [(good, false), (failed, true), (error, true), ("no JSON", false)] {
            assert_eq!(rpc_reports_error(None, text.as_bytes()), reports, "{text}");
            let list = format!("[{good},{text}]");
            assert_eq!(rpc_reports_error(None, list.as_bytes()), reports, "{list}");
            let stream = format!("data: {good}\n\ndata: {text}\n\n");
            let told = rpc_reports_error(Some(Framing::Sse), stream.as_bytes());
            assert_eq!(told, reports, "{stream}");
        }
    }
}
