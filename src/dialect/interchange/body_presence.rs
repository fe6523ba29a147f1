//! Whether a file holds the bodies and the words of a call. A body that it does not hold is lost,
//! and never an empty one, unless the exchange itself says that there is none.

use serde_json::Value;

use super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, NamedEntry, ResponseContent,
    SkippedItem, TextAnswer, TextExchange,
};
use super::header_list::{find_value, in_lower_case};
use loomrec_identity::media_type;
use loomrec_provider::{Framing, TokenUsage, ToolCall};
use loomrec_recording::encoding;

/// Methods whose requests usually have no body.
const WITHOUT_BODY: [&str; 5] = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"];

/// Returns an item as it is, or as a lost call if its file does not hold all of it.
pub(super) fn held_or_lost(item: FoundItem) -> FoundItem {
    let lost = match &item {
        FoundItem::Exchange(exchange) => missing_body(exchange).map(|why| (&exchange.place, why)),
        FoundItem::Words(words) => missing_words(words).map(|why| (&words.place, why)),
        FoundItem::Entry(named) => missing_entry(named).map(|why| (&named.place, why)),
        FoundItem::Left(_) => None,
    };
    match lost {
        Some((place, why)) => FoundItem::Left(SkippedItem::damaged(place.clone(), why)),
        None => item,
    }
}

/// Returns what is missing of an answer that its file holds as words.
fn missing_words(words: &TextExchange) -> Option<&'static str> {
    match &words.said {
        TextAnswer::Error { .. } => None,
        TextAnswer::Answer(answer) if !answer.embeddings.is_empty() => None,
        TextAnswer::Answer(answer) => {
            missing_answer(&answer.content, &answer.tool_calls, answer.usage.as_ref())
        }
    }
}

/// Returns what is missing of an entry that its file holds in loomrec's form.
fn missing_entry(NamedEntry { entry, .. }: &NamedEntry) -> Option<&'static str> {
    if entry.has_response() || entry.fault.is_some() || !entry.embeddings.is_empty() {
        return None;
    }
    let content = entry.content.as_deref().unwrap_or_default();
    missing_answer(content, &entry.tool_calls, entry.usage.as_ref())
}

/// Returns what is missing of an answer's words. An answer without words says that the model
/// returned no token.
fn missing_answer(
    content: &str,
    calls: &[ToolCall],
    usage: Option<&TokenUsage>,
) -> Option<&'static str> {
    if calls.iter().any(|call| call.name.is_empty()) {
        return Some("its answer holds a tool call without a name");
    }
    let is_empty = content.is_empty() && calls.is_empty();
    let says_so = usage.is_some_and(|usage| usage.completion_tokens == 0);
    (is_empty && !says_so).then_some("the file does not hold its answer: no text and no tool call")
}

/// Returns which body of an exchange its file does not hold.
fn missing_body(exchange: &ForeignExchange) -> Option<&'static str> {
    let ForeignExchange { request, response, own, messages, .. } = exchange;
    if !messages.is_empty() {
        return None;
    }
    if request.body.is_empty() && !says_no_request_body(request, own.is_some()) {
        return Some("the file does not hold its request's body");
    }
    let empty = match &response.content {
        ResponseContent::Wire(body) | ResponseContent::Plain(body) => body.is_empty(),
        // loomrec's own exports list the chunks of a body, also if there is none.
        ResponseContent::Chunks(_) => false,
    };
    let lacks = empty && !says_no_response_body(&request.method, response);
    lacks.then_some("the file does not hold its response's body")
}

/// Whether a request without bytes says that it has no body. loomrec's own exports state the size
/// of every body.
fn says_no_request_body(request: &ForeignRequest, is_own: bool) -> bool {
    let headers = in_lower_case(request.headers.clone());
    let has = |name: &str| find_value(&headers, name).is_some();
    if has("transfer-encoding") {
        return false;
    }
    let method = request.method.to_ascii_uppercase();
    states_no_length(&headers)
        || (WITHOUT_BODY.contains(&method.as_str()) && !has("content-length"))
        || (request.size == Some(0) && (is_own || !has("content-type")))
}

/// Whether a response without bytes says that it has no body.
fn says_no_response_body(method: &str, response: &ForeignResponse) -> bool {
    let headers = in_lower_case(response.headers.clone());
    // Status 0 is no answer, and rejected as such.
    method.eq_ignore_ascii_case("HEAD")
        || matches!(response.status, 0 | 204 | 205 | 304)
        || states_no_length(&headers)
        || (response.size == Some(0) && !promises_content(&headers))
}

fn states_no_length(headers: &[(String, String)]) -> bool {
    find_value(headers, "transfer-encoding").is_none()
        && find_value(headers, "content-length").is_some_and(|length| length.trim() == "0")
}

/// Whether headers (names in lower case) announce a body that cannot be empty: compressed bytes,
/// JSON or a stream. Browsers state a size of 0 for streams that they did not keep.
fn promises_content(headers: &[(String, String)]) -> bool {
    let media = find_value(headers, "content-type").unwrap_or_default();
    encoding::coding_in(headers).is_some() || is_structured(media)
}

/// Whether a value holds something of a body. Nulls, booleans, and what is empty are written for a
/// body that was removed, and an object with only members of a tool's own (`_file`) for one that is
/// elsewhere.
pub(super) fn holds_body(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(members) => members.keys().any(|name| !name.starts_with(['_', '$'])),
    }
}

/// Whether a body shows by itself, or by its headers, that it is complete.
pub(super) fn is_whole(response: &ForeignResponse) -> bool {
    let headers = in_lower_case(response.headers.clone());
    let body = match &response.content {
        ResponseContent::Wire(body) | ResponseContent::Plain(body) => body.as_ref(),
        ResponseContent::Chunks(_) => return true,
    };
    let length = find_value(&headers, "content-length").and_then(|text| text.trim().parse().ok());
    let is_stream = || {
        let text = String::from_utf8_lossy(body);
        text.trim_start().starts_with(['d', 'e', 'i', ':']) && text.ends_with("\n\n")
    };
    length == Some(body.len())
        || serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
        || is_stream()
        || encoding::coding_in(&headers).is_some_and(|_| std::str::from_utf8(body).is_err())
}

/// Whether bodies of this `content-type` are JSON or streams, and thus never empty.
pub(super) fn is_structured(content_type: &str) -> bool {
    let media = media_of(content_type);
    media.contains("json") || Framing::of_media(&media).is_some()
}

/// Returns the media type of a `content-type`, without parameters and in lower case.
pub(super) fn media_of(content_type: &str) -> String {
    media_type(content_type).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_recording::ResponseEnd;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn answer(status: u16, pairs: &[(&str, &str)], size: Option<u64>) -> ForeignResponse {
        let content = ResponseContent::Plain(bytes::Bytes::new());
        let headers = headers(pairs);
        ForeignResponse { status, reason: None, headers, content, size, end: ResponseEnd::Complete }
    }

    #[test]
    fn response_has_no_body_only_if_the_exchange_says_so() {
        let none = |method: &str, status, pairs: &[(&str, &str)], size| {
            says_no_response_body(method, &answer(status, pairs, size))
        };
        assert!(none("HEAD", 200, &[("Content-Type", "application/json")], None));
        assert!(none("GET", 204, &[], None) && none("GET", 304, &[], None));
        assert!(none("POST", 200, &[("Content-Length", "0")], None));
        assert!(none("POST", 202, &[("Content-Type", "text/plain")], Some(0)));
        assert!(!none("POST", 200, &[], None));
        for kind in ["application/json", "Text/Event-Stream; x", "application/problem+json"] {
            assert!(!none("POST", 200, &[("Content-Type", kind)], Some(0)), "{kind}");
        }
        assert!(!none("POST", 200, &[("content-encoding", "gzip")], Some(0)));
        let chunked = [("content-length", "0"), ("transfer-encoding", "chunked")];
        assert!(!none("POST", 200, &chunked, None));
    }

    #[test]
    fn request_has_no_body_only_if_its_method_or_a_length_says_so() {
        let none = |method: &str, pairs: &[(&str, &str)], size, is_own| {
            let (method, headers) = (method.to_owned(), headers(pairs));
            let request = ForeignRequest { method, headers, size, ..ForeignRequest::default() };
            says_no_request_body(&request, is_own)
        };
        let json = [("content-type", "application/json")];
        assert!(none("get", &json, None, false) && none("DELETE", &[], None, false));
        assert!(!none("GET", &[("transfer-encoding", "chunked")], None, false));
        assert!(!none("GET", &[("content-length", "7")], None, false));
        assert!(!none("POST", &[], None, false) && !none("post", &json, Some(0), false));
        assert!(none("POST", &[], Some(0), false) && none("POST", &json, Some(0), true));
        assert!(none("POST", &[("Content-Length", "0")], None, false));
    }
}
