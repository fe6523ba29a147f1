//! What counts of a request: all of it but its ids, the marks of traces in `_meta`, and the name and
//! the version of the client's software.

use super::method::{HEADER_PREFIX, INITIALIZE};
use loomrec_identity::{Json, JsonMember, KeyReduction};

/// The members of `_meta` that do not count: a client makes them anew, or they name its software.
const META_LEFT_OUT: [&str; 5] =
    ["progressToken", "traceparent", "tracestate", "baggage", "io.modelcontextprotocol/clientInfo"];
/// The member of `_meta` by which Codex is known.
const CODEX_TURN: &str = "x-codex-turn-metadata";
/// The members of its `_meta` that do not count: ids that it makes anew in each run.
const CODEX_LEFT_OUT: [&str; 5] = ["callId", "sessionId", "threadId", "windowId", CODEX_TURN];
/// The member of the params of `initialize` that names the client's software.
const CLIENT_INFO: &str = "clientInfo";
/// A member that the params of `initialize` have in this protocol, and not in others.
const INITIALIZE_VERSION: &str = "protocolVersion";

/// What keys leave out of these requests.
pub(super) static REDUCTION: KeyReduction =
    KeyReduction { name: "mcp", body: counted_body, header_prefix: HEADER_PREFIX };

fn counted_body<'j>(body: &Json<'j>) -> Json<'j> {
    match body {
        Json::Array(items) => Json::Array(items.iter().map(counted_request).collect()),
        body => counted_request(body),
    }
}

fn counted_request<'j>(request: &Json<'j>) -> Json<'j> {
    let Some(members) = request.as_object() else { return request.clone() };
    let method = request.get("method").and_then(Json::as_str);
    let params = request.get("params");
    // Other protocols have a method of this name as well.
    let is_initialize = method.is_some_and(|method| method == INITIALIZE)
        && params.is_some_and(|params| params.get(INITIALIZE_VERSION).is_some());
    let counted = |(name, value): &JsonMember<'j>| match () {
        // A request with an id is not the notification of the same method.
        () if *name == "id" => Some((*name, Json::Null)),
        () if *name == "params" && is_initialize => {
            Some((*name, without_members(value, &[CLIENT_INFO])))
        }
        () if *name == "params" => Some((*name, counted_params(value)?)),
        () => Some((*name, value.clone())),
    };
    Json::from_members(members.iter().filter_map(counted))
}

/// Returns what counts of params; `None` if they hold nothing else.
fn counted_params<'j>(params: &Json<'j>) -> Option<Json<'j>> {
    let Some(members) = params.as_object().filter(|_| params.get("_meta").is_some()) else {
        return Some(params.clone());
    };
    let counted = |(name, value): &JsonMember<'j>| match *name == "_meta" && value.is_object() {
        true => Some((*name, counted_meta(value))).filter(|(_, meta)| !is_empty(meta)),
        false => Some((*name, value.clone())),
    };
    let counted = Json::from_members(members.iter().filter_map(counted));
    Some(counted).filter(|counted| !is_empty(counted))
}

fn counted_meta<'j>(meta: &Json<'j>) -> Json<'j> {
    let counted = without_members(meta, &META_LEFT_OUT);
    match meta.get(CODEX_TURN) {
        Some(_) => without_members(&counted, &CODEX_LEFT_OUT),
        None => counted,
    }
}

/// Returns an object without these members.
fn without_members<'j>(object: &Json<'j>, names: &[&str]) -> Json<'j> {
    let members = object.as_object().unwrap_or_default().iter();
    let counts = |(name, _): &&JsonMember<'j>| !names.iter().any(|left_out| *name == **left_out);
    Json::from_members(members.filter(counts).cloned())
}

fn is_empty(object: &Json<'_>) -> bool {
    object.as_object().is_some_and(<[_]>::is_empty)
}

#[cfg(test)]
mod tests {
    use loomrec_identity::{canonical, parse};

    use super::*;

    fn counted(body: &str) -> String {
        let once = counted_body(&parse(body.as_bytes()).unwrap());
        assert_eq!(canonical::value_text(&counted_body(&once)), canonical::value_text(&once));
        canonical::value_text(&once)
    }

    #[test]
    fn ids_and_what_a_client_says_of_itself_do_not_count() {
        let call = |id: &str, meta: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"_meta":{meta},"a":1}}}}"#
            )
        };
        let first = counted(&call("1", r#"{"progressToken":1}"#));
        assert_eq!(first, counted(&call(r#""x""#, r#"{"progressToken":"t","traceparent":"u"}"#)));
        assert_eq!(first, counted(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}"#));
        let codex = r#"{"callId":"c","threadId":"t","x-codex-turn-metadata":{"turn_id":"u"}}"#;
        assert_eq!(first, counted(&call("1", codex)));
        assert_ne!(first, counted(&call("1", r#"{"callId":"c","threadId":"t"}"#)));
        let listed = |params: &str| {
            counted(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list"{params}}}"#))
        };
        assert_eq!(listed(""), listed(r#","params":{"_meta":{"progressToken":3}}"#));
        let begun = |client: &str, version: &str| {
            let params = format!(r#"{{"clientInfo":{client},"protocolVersion":{version}}}"#);
            counted(&format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#
            ))
        };
        assert_eq!(begun(r#"{"name":"a"}"#, r#""2025""#), begun("null", r#""2025""#));
        assert_ne!(begun("null", r#""2025""#), begun("null", r#""2026""#));
    }

    #[test]
    fn everything_else_counts() {
        let texts = [
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"n"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":2}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"_meta":{"b":1}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"_meta":{"b":2}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":5}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":5}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"a","capabilities":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"a","capabilities":{"roots":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"own":1}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","more":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"a"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"b"}}}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"}]"#,
        ];
        let counted: Vec<String> = texts.iter().map(|text| counted(text)).collect();
        for (at, text) in counted.iter().enumerate() {
            assert!(!counted[..at].contains(text), "{}", texts[at]);
        }
    }
}
