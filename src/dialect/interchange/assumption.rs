//! Headers that every SDK sends, and that filters of cassettes remove. Those of a request are part
//! of its key.

use super::exchange::ResponseContent;
use loomrec_recording::encoding;

/// What an import added to a call, or left in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportNote {
    /// A header that the file does not hold.
    Assumed(&'static str),
    /// A placeholder in a host, and the label that replaces it.
    StandIn(String),
    /// A placeholder that stays in the path or the query.
    Placeholder(String),
}

const JSON: &str = "application/json";

const EVENT_STREAM: &str = "text/event-stream";

/// The version of Anthropic's API that all its SDKs name.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Adds a missing `content-type` to the headers of a request with a JSON body. Names are in lower
/// case, and `is_mark` recognises the words that filters write.
pub(super) fn assume_request_type(
    headers: &mut Vec<(String, String)>,
    body: &[u8],
    is_mark: impl Fn(&str) -> bool,
) -> Option<ImportNote> {
    if encoding::coding_in(headers).is_some() || guess_media_type(body) != Some(JSON) {
        return None;
    }
    set_header(headers, "content-type", JSON, is_mark)?;
    Some(ImportNote::Assumed("content-type: application/json"))
}

/// Adds `anthropic-version` to the headers of a request to this upstream.
pub(super) fn assume_version(
    headers: &mut Vec<(String, String)>,
    upstream: &str,
    is_mark: impl Fn(&str) -> bool,
) -> Option<ImportNote> {
    if !matches!(upstream, "anthropic" | "anthropic-foundry") {
        return None;
    }
    set_header(headers, "anthropic-version", ANTHROPIC_VERSION, is_mark)?;
    Some(ImportNote::Assumed("anthropic-version: 2023-06-01"))
}

/// Adds `content-type` to the headers of a response whose body is JSON or a stream of events.
pub(super) fn assume_response_type(
    headers: &mut Vec<(String, String)>,
    content: &ResponseContent,
    is_mark: impl Fn(&str) -> bool,
) -> Option<ImportNote> {
    let media = match content {
        ResponseContent::Wire(body) | ResponseContent::Plain(body) => guess_media_type(body)?,
        ResponseContent::Chunks(_) => return None,
    };
    set_header(headers, "content-type", media, is_mark)?;
    Some(ImportNote::Assumed(match media {
        JSON => "content-type: application/json of answers",
        _ => "content-type: text/event-stream of answers",
    }))
}

/// Sets a header that is missing, or that a filter replaced by a mark.
fn set_header(
    headers: &mut Vec<(String, String)>,
    name: &str,
    value: &str,
    is_mark: impl Fn(&str) -> bool,
) -> Option<()> {
    let is_same = |known: &str| known.eq_ignore_ascii_case(name);
    if headers.iter().any(|(known, value)| is_same(known) && !is_mark(value)) {
        return None;
    }
    headers.retain(|(known, _)| !is_same(known));
    headers.push((name.to_owned(), value.to_owned()));
    Some(())
}

/// Returns the media type that a text shows.
fn guess_media_type(body: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(body).ok()?.trim_start();
    if ["data:", "event:", "id:", ":"].iter().any(|start| text.starts_with(start)) {
        return Some(EVENT_STREAM);
    }
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    (text.starts_with(['{', '[']) && is_json()).then_some(JSON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_mark(value: &str) -> bool {
        value == "REDACTED"
    }

    #[test]
    fn header_is_assumed_only_where_it_is_missing_or_a_mark() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let json = [pair("content-type", JSON)];
        for mut headers in [vec![], vec![pair("content-type", "REDACTED")]] {
            assert!(assume_request_type(&mut headers, b"{\"a\": 1}", is_mark).is_some());
            assert_eq!(headers, json);
            assert_eq!(assume_request_type(&mut headers, b"{}", is_mark), None);
        }
        for other in [&b"{\"a\": "[..], b"a=b", b"--x\r\n", b"", b"\xff"] {
            assert_eq!(assume_request_type(&mut Vec::new(), other, is_mark), None);
        }
        let mut headers = Vec::new();
        assert_eq!(assume_version(&mut headers, "openai", is_mark), None);
        assert!(assume_version(&mut headers, "anthropic", is_mark).is_some());
        assert_eq!(headers, [pair("anthropic-version", "2023-06-01")]);
        let (mut headers, stream) = (Vec::new(), ResponseContent::Plain("data: {}\n\n".into()));
        assert!(assume_response_type(&mut headers, &stream, is_mark).is_some());
        assert_eq!(headers, [pair("content-type", EVENT_STREAM)]);
    }
}
