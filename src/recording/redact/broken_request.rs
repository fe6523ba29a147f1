//! Recorded requests from which redaction removed more than a secret.

use super::MARK;
use super::json_tokens::is_json;
use super::search::split_at_quotes;
use loomrec_identity::multipart;

/// Whether redaction broke a recorded request: a mark is at a place where JSON allows no text, or
/// it replaced the boundary of a multipart body. Then a part of the request is missing, so its key
/// also matches other requests.
pub fn is_broken_by_redaction(content_type: &str, body: &[u8]) -> bool {
    if let Some(boundary) = multipart::boundary_range(content_type) {
        return has_mark(&content_type.as_bytes()[boundary]);
    }
    if is_opaque(body) {
        return false;
    }
    let is_json_type = content_type.to_ascii_lowercase().contains("json");
    let is_object = body.trim_ascii_start().first() == Some(&b'{');
    (is_json_type || is_object)
        && has_mark(body)
        && !is_json(body)
        && has_mark_outside_strings(body)
}

/// What is stored of a body that cannot be decoded, before and between its length and its SHA-256.
pub(in super::super) const OPAQUE: [&str; 2] = [" a body of ", " bytes, sha256 "];

/// Whether a body stands for one that cannot be decoded. Its hash tells it from all others.
fn is_opaque(body: &[u8]) -> bool {
    let text = std::str::from_utf8(body).ok();
    let rest = text.and_then(|text| text.strip_prefix(MARK)?.strip_prefix(OPAQUE[0]));
    rest.and_then(|rest| rest.split_once(OPAQUE[1])).is_some_and(|(length, hash)| {
        length.bytes().all(|digit| digit.is_ascii_digit())
            && hash.len() == 64
            && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether a mark is outside the strings of a JSON text, or in an unterminated string.
fn has_mark_outside_strings(json: &[u8]) -> bool {
    let pieces: Vec<_> = split_at_quotes(json).collect();
    let is_cut = pieces.len().is_multiple_of(2);
    let last = pieces.len() - 1;
    let is_outside = |index: usize| index.is_multiple_of(2) || is_cut && index == last;
    pieces.into_iter().enumerate().any(|(index, piece)| is_outside(index) && has_mark(&json[piece]))
}

/// Whether a text contains a mark, or something that looks like a named placeholder.
fn has_mark(text: &[u8]) -> bool {
    memchr::memmem::find(text, MARK.as_bytes()).is_some()
        || memchr::memchr_iter(b'<', text).any(|at| begins_placeholder(&text[at + 1..]))
}

/// Whether a text continues as a placeholder after its `<`: `NAME:1>`.
fn begins_placeholder(text: &[u8]) -> bool {
    let is_part = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_';
    let name = text.iter().take_while(is_part).count();
    let Some(number) = text[name..].strip_prefix(b":").filter(|_| name > 0) else { return false };
    let digits = number.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && number.get(digits) == Some(&b'>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_outside_a_string_of_json_is_damage_and_one_within_is_not() {
        for (kind, body, broken) in [
            ("application/json", r#"{"q":"[REDACTED]"}"#, false),
            ("application/json", r#"{"q":"[REDACTED]","r":1,}"#, false),
            ("application/json", r#"{"q":"a [REDACTED]"#, true),
            ("application/json", r#"{"q":"a <DAY:1>"#, true),
            ("application/json", r#"{"q":[REDACTED]}"#, true),
            ("application/json", r#"{"q":"<b>","#, false),
            ("application/json", r#"{"q":"\"[REDACTED]","#, false),
            ("application/x-www-form-urlencoded", r#"{"q":"a <DAY:12>"#, true),
            ("application/x-www-form-urlencoded", "q=[REDACTED]&r=1", false),
            ("", "[REDACTED]", false),
            ("text/plain", "[REDACTED]", false),
            ("text/plain", r#"{"q":"a [REDACTED]"#, true),
            ("application/json", "[REDACTED] a body of 7 bytes, sha256 abc", true),
            (
                "application/json",
                "[REDACTED] a body of 7 bytes, sha256 \
                 00000000000000000000000000000000000000000000000000000000000000aa",
                false,
            ),
            ("multipart/form-data; boundary=[REDACTED]", "--[REDACTED]--", true),
            ("multipart/form-data; boundary=b", "--b\r\n\r\n[REDACTED]\r\n--b--", false),
        ] {
            assert_eq!(is_broken_by_redaction(kind, body.as_bytes()), broken, "{kind} {body}");
        }
    }
}
