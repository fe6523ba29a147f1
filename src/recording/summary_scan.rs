//! A quick look at a response: whether the texts of its answer are exactly one given text. It does
//! not parse the response.

/// The names of members in which providers send the text of an answer, or what a model thought,
/// heard, refused or called.
const TEXT_MEMBERS: [&[u8]; 22] = [
    b"content",
    b"text",
    b"delta",
    b"response",
    b"completion",
    b"completions",
    b"generation",
    b"generated_text",
    b"generation_text",
    b"outputText",
    b"output",
    b"output_text",
    b"message",
    b"answer",
    b"result",
    b"refusal",
    b"transcript",
    b"thinking",
    b"reasoning",
    b"reasoning_content",
    b"arguments",
    b"partial_json",
];

/// How an escaped ASCII letter begins. A name that is spelled with one is not found here.
const ESCAPED_LETTERS: [&[u8]; 4] = [b"\\u004", b"\\u005", b"\\u006", b"\\u007"];

/// What a body with tool calls holds: parts of the names of the members and types that they are in.
const CALL_MARKS: [&[u8]; 5] = [b"_call", b"Call", b"-call", b"tool_use", b"toolUse"];

/// Whether a response may make tool calls.
pub(super) fn may_call_tools(body: &[u8]) -> bool {
    CALL_MARKS.iter().any(|mark| memchr::memmem::find(body, mark).is_some())
}

/// Whether the JSON texts of `body` whose members may hold the text of an answer are all of one
/// name, and joined are `content`.
pub(super) fn is_only_text(body: &[u8], content: &[u8]) -> bool {
    if ESCAPED_LETTERS.iter().any(|letter| memchr::memmem::find(body, letter).is_some()) {
        return false;
    }
    let (mut name, mut rest) = (None, content);
    for at in memchr::memmem::find_iter(body, b"\":") {
        let Some(found) = member_before(body, at) else { continue };
        let value = body[at + 2..].trim_ascii_start();
        let Some(value) = value.strip_prefix(b"\"") else { continue };
        if value.first() == Some(&b'"') {
            continue;
        }
        if *name.get_or_insert(found) != found {
            return false;
        }
        let Some(after) = strip_json_text(value, rest) else { return false };
        rest = after;
    }
    name.is_some() && rest.is_empty()
}

/// Returns the index of the name whose closing quote is at this place.
fn member_before(body: &[u8], at: usize) -> Option<usize> {
    TEXT_MEMBERS.iter().position(|name| {
        let Some(before) = body[..at].strip_suffix(*name) else { return false };
        // A quote after a backslash is part of a text.
        before.ends_with(b"\"") && !before.ends_with(b"\\\"")
    })
}

/// Removes a JSON text, which begins after its quote, from the beginning of `content`.
fn strip_json_text<'a>(text: &[u8], content: &'a [u8]) -> Option<&'a [u8]> {
    let end = memchr::memchr2(b'"', b'\\', text)?;
    if text[end] == b'"' {
        return content.strip_prefix(&text[..end]);
    }
    // With an escape, the text is read by the parser of JSON.
    let mut close = end;
    while text.get(close)? != &b'"' {
        close += if text[close] == b'\\' { 2 } else { 1 };
    }
    let quoted = [b"\"", &text[..close], b"\""].concat();
    let read: String = serde_json::from_slice(&quoted).ok()?;
    content.strip_prefix(read.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_only_that_of_all_members_of_one_name() {
        let is = |body: &str, content: &str| is_only_text(body.as_bytes(), content.as_bytes());
        assert!(is(r#"{"choices":[{"message":{"content":"a \"b\" \n"}}]}"#, "a \"b\" \n"));
        assert!(is("data: {\"content\": \"a\"}\n\ndata: {\"content\":\"b\"}\n\n", "ab"));
        assert!(is(r#"{"text":"","content":"\u00e9\ud83d\ude00"}"#, "é😀"));
        // Another text, a part of it, one of another member, and one in a text.
        assert!(!is(r#"{"content":"a"}"#, "b") && !is(r#"{"content":"ab"}"#, "a"));
        assert!(!is(r#"{"content":"a"}"#, "ab") && !is(r#"{"content":"a","text":"b"}"#, "a"));
        assert!(!is(r#"{"x":"\"content\":\"a\""}"#, "a"));
        assert!(!is(r#"{"content":"a","\u0063ontent":"b"}"#, "a"));
        assert!(!is(r#"{"content":["a"]}"#, "a") && !is("plain", "plain"));
    }
}
