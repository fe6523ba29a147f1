//! The writer of cassettes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::super::response_body::usual_reason;
use super::super::write::{TRAILERS, WrittenEntry};
use loomrec_recording::{Entry, ResponseEnd};

/// The notation of a cassette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Notation {
    Yaml,
    Json,
}

/// Writes a cassette, one interaction at a time.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Cassette {
    pub(in super::super) notation: Notation,
}

impl Cassette {
    /// Returns one interaction, of a call with its request and its response.
    ///
    /// # Errors
    /// If the format cannot represent it. The error says why.
    pub(in super::super) fn write_interaction(
        self,
        url: &str,
        entry: &Entry,
    ) -> Result<WrittenEntry, String> {
        let method = entry.request_method().unwrap_or_default();
        let asked = entry.request_body().map_or(&[][..], |body| body);
        let body = entry.answer_bytes().unwrap_or_default();
        let status = entry.answer_status().unwrap_or_default();
        let reason = entry.answer_reason().unwrap_or(usual_reason(status));
        let mut lost = Vec::new();
        if entry.answer_chunks().is_some_and(|chunks| chunks.len() > 1) {
            lost.push("the chunks of streamed answers, and their times");
        }
        if entry.answer_end() != Some(ResponseEnd::Complete) {
            lost.push("that an answer was cut");
        }
        if !entry.answer_trailers().is_empty() {
            lost.push(TRAILERS);
        }
        let text = match self.notation {
            Notation::Yaml => [
                "- request:\n".to_owned(),
                format!("    body: {}\n", body_scalar(asked)),
                format_headers(entry.request_headers()),
                format!("    method: {}\n", quote_text(method)),
                format!("    uri: {}\n", quote_text(url)),
                "  response:\n    body:\n".to_owned(),
                format!("      string: {}\n", body_scalar(&body)),
                format_headers(entry.answer_headers()),
                format!("    status:\n      code: {status}\n"),
                format!("      message: {}\n", quote_text(reason)),
            ]
            .concat(),
            Notation::Json => {
                let text = |bytes: &[u8]| {
                    let text = std::str::from_utf8(bytes).map(str::to_owned);
                    text.map_err(
                        |_| "a cassette in JSON cannot hold bytes that are not text; take vcr",
                    )
                };
                json!({
                    "request": {
                        "method": method,
                        "uri": url,
                        "body": text(asked)?,
                        "headers": header_map(entry.request_headers()),
                    },
                    "response": {
                        "status": { "code": status, "message": reason },
                        "headers": header_map(entry.answer_headers()),
                        "body": { "string": text(&body)? },
                    },
                })
                .to_string()
            }
        };
        Ok(WrittenEntry { text, lost })
    }
}

/// Groups headers by name, with their values in order.
fn group_headers(headers: &[(String, String)]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in headers {
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => groups.push((name, vec![value])),
        }
    }
    groups
}

fn header_map(headers: &[(String, String)]) -> Value {
    let groups = group_headers(headers).into_iter();
    let map: Map<String, Value> =
        groups.map(|(name, values)| (name.to_owned(), values.into())).collect();
    Value::Object(map)
}

fn format_headers(headers: &[(String, String)]) -> String {
    if headers.is_empty() {
        return "    headers: {}\n".to_owned();
    }
    let mut out = "    headers:\n".to_owned();
    for (name, values) in group_headers(headers) {
        out.push_str(&format!("      {}:\n", quote_text(name)));
        for value in values {
            out.push_str(&format!("      - {}\n", quote_text(value)));
        }
    }
    out
}

/// Returns a body as a YAML scalar.
fn body_scalar(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => quote_text(text),
        Err(_) => format!("!!binary \"{}\"", STANDARD.encode(bytes)),
    }
}

/// Returns a text in double quotes on one line, for every YAML reader. Characters that are not
/// printable in YAML, or that end a line, are escaped.
fn quote_text(text: &str) -> String {
    let json = Value::from(text).to_string();
    let odd = |c: char| {
        matches!(
            c,
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    if !json.contains(odd) {
        return json;
    }
    let escaped = json.chars().map(|character| match odd(character) {
        true => format!("\\u{:04x}", u32::from(character)),
        false => character.to_string(),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_one_line_of_what_every_reader_of_yaml_takes() {
        assert_eq!(quote_text("a\n\"b\"\\"), r#""a\n\"b\"\\""#);
        assert_eq!(quote_text("é🙂\u{85}\u{2028}\u{7f}"), "\"é🙂\\u0085\\u2028\\u007f\"");
        assert_eq!(body_scalar(b"\xff\x00"), "!!binary \"/wA=\"");
    }
}
