//! JSON values as text: the styles that a body may have, and the style of the recording file
//! itself.
//!
//! A body is kept as a JSON value only if one of these styles reproduces its exact bytes, so
//! [`JsonStyle::detect`] tries them and compares. The file's own style is JSON with an indentation
//! of two spaces in which short rows (a chunk, a header pair, a row of numbers) stay on one line.

use serde_json::Value;

use loomrec_identity::json_text::plain_run;

/// Bodies above this many bytes are kept as text: a tree of values would take many times their size
/// in memory.
pub(super) const JSON_LIMIT: usize = 8 * 1024 * 1024;

/// The deepest nesting that is kept as a JSON value. The file's reader stops at 128 levels, and the
/// file itself uses some of them.
pub(super) const DEPTH_LIMIT: usize = 100;

/// The white space between tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonSpacing {
    /// None.
    Compact,
    /// `", "` and `": "`, as Python writes by default.
    Spaced,
    /// One line for each item, indented by two spaces.
    Pretty,
    /// Pretty, with short rows on one line. The recording file uses this style.
    File,
}

/// One style of writing JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonStyle {
    /// White space between tokens.
    pub(crate) spacing: JsonSpacing,
    /// Whether all characters outside printable ASCII are escaped, as Python does.
    pub(crate) ascii: bool,
    /// Whether the text ends with a line feed.
    pub(crate) newline: bool,
}

impl JsonStyle {
    /// Compact, unescaped, without a line feed. The file does not mention this style.
    pub(crate) const PLAIN: Self =
        Self { spacing: JsonSpacing::Compact, ascii: false, newline: false };

    /// Returns the words that name this style in a `style` field; `None` for the plain style.
    pub(crate) fn name(self) -> Option<String> {
        let mut words = Vec::new();
        match self.spacing {
            JsonSpacing::Compact => {}
            JsonSpacing::Spaced => words.push("spaced"),
            JsonSpacing::Pretty | JsonSpacing::File => words.push("pretty"),
        }
        if self.ascii {
            words.push("ascii");
        }
        if self.newline {
            words.push("newline");
        }
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Returns the style that these words name.
    pub(crate) fn parse(words: &str) -> Option<Self> {
        let mut style = Self::PLAIN;
        for word in words.split(' ') {
            match word {
                "spaced" => style.spacing = JsonSpacing::Spaced,
                "pretty" => style.spacing = JsonSpacing::Pretty,
                "ascii" => style.ascii = true,
                "newline" => style.newline = true,
                _ => return None,
            }
        }
        Some(style)
    }

    /// Returns the value and the style that together reproduce `bytes` exactly; `None` if no style
    /// does.
    pub(crate) fn detect(bytes: &[u8]) -> Option<(Value, Self)> {
        if bytes.len() > JSON_LIMIT {
            return None;
        }
        let core = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let value: Value = serde_json::from_slice(core).ok()?;
        if nesting_depth(&value) > DEPTH_LIMIT {
            return None;
        }
        let mut text = Vec::with_capacity(core.len() + 1);
        let style = likely_styles(bytes).find(|style| {
            text.clear();
            write_value(&mut text, &value, *style, 0);
            text == core
        })?;
        Some((value, style))
    }

    /// Returns the value's text in this style.
    pub(crate) fn value_text(self, value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        write_value(&mut out, value, self, 0);
        if self.newline {
            out.push(b'\n');
        }
        out
    }
}

/// Returns the styles that a body may have, judged by its bytes. The likelier ones come first.
pub(super) fn likely_styles(bytes: &[u8]) -> impl Iterator<Item = JsonStyle> {
    let (core, newline) = match bytes.strip_suffix(b"\n") {
        Some(core) => (core, true),
        None => (bytes, false),
    };
    let spacings: &[JsonSpacing] = if core.get(1) == Some(&b'\n') {
        &[JsonSpacing::Pretty]
    } else if memchr::memmem::find(core, b"\": ").is_some()
        || memchr::memmem::find(core, b", ").is_some()
    {
        &[JsonSpacing::Spaced, JsonSpacing::Compact]
    } else {
        &[JsonSpacing::Compact]
    };
    let escaped = core.is_ascii() && memchr::memmem::find(core, b"\\u").is_some();
    let escapes: &[bool] = if escaped { &[true, false] } else { &[false] };
    let style = move |spacing, ascii| JsonStyle { spacing, ascii, newline };
    spacings
        .iter()
        .flat_map(move |&spacing| escapes.iter().map(move |&ascii| style(spacing, ascii)))
}

/// Writes a value in the recording file's style, with its lines indented for `level`.
pub(crate) fn write_file_value(out: &mut Vec<u8>, value: &Value, level: usize) {
    let style = JsonStyle { spacing: JsonSpacing::File, ascii: false, newline: false };
    write_value(out, value, style, level);
}

/// Writes a JSON string in the recording file's style.
pub(crate) fn write_file_string(out: &mut Vec<u8>, text: &str) {
    write_string(out, text, false);
}

pub(super) fn nesting_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting_depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(nesting_depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn write_value(out: &mut Vec<u8>, value: &Value, style: JsonStyle, level: usize) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => out.extend_from_slice(number.as_str().as_bytes()),
        Value::String(text) => write_string(out, text, style.ascii),
        Value::Array(items) => write_array(out, items, style, level),
        Value::Object(map) if map.is_empty() => out.extend_from_slice(b"{}"),
        Value::Object(map) => {
            out.push(b'{');
            for (index, (key, item)) in map.iter().enumerate() {
                write_separator(out, style, level + 1, index == 0);
                write_string(out, key, style.ascii);
                let colon: &[u8] = match style.spacing {
                    JsonSpacing::Compact => b":",
                    _ => b": ",
                };
                out.extend_from_slice(colon);
                write_value(out, item, style, level + 1);
            }
            write_closing_break(out, style, level);
            out.push(b'}');
        }
    }
}

fn write_array(out: &mut Vec<u8>, items: &[Value], style: JsonStyle, level: usize) {
    if items.is_empty() {
        out.extend_from_slice(b"[]");
        return;
    }
    let style = if style.spacing == JsonSpacing::File && is_row(items) {
        JsonStyle { spacing: JsonSpacing::Spaced, ..style }
    } else {
        style
    };
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        write_separator(out, style, level + 1, index == 0);
        write_value(out, item, style, level + 1);
    }
    write_closing_break(out, style, level);
    out.push(b']');
}

/// Whether the file keeps these items on one line: numbers only (an embedding), or a pair such as a
/// chunk, a frame or a header.
fn is_row(items: &[Value]) -> bool {
    if items.iter().all(Value::is_number) {
        return true;
    }
    match items {
        [first, second] => is_scalar(first) && (is_scalar(second) || is_base64(second)),
        _ => false,
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn is_base64(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.len() == 1 && map.get("base64").is_some_and(Value::is_string))
}

pub(super) fn write_separator(out: &mut Vec<u8>, style: JsonStyle, level: usize, first: bool) {
    if !first {
        out.push(b',');
    }
    match style.spacing {
        JsonSpacing::Compact => {}
        JsonSpacing::Spaced if first => {}
        JsonSpacing::Spaced => out.push(b' '),
        JsonSpacing::Pretty | JsonSpacing::File => write_line_break(out, level),
    }
}

pub(super) fn write_closing_break(out: &mut Vec<u8>, style: JsonStyle, level: usize) {
    if matches!(style.spacing, JsonSpacing::Pretty | JsonSpacing::File) {
        write_line_break(out, level);
    }
}

fn write_line_break(out: &mut Vec<u8>, level: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * level, b' ');
}

pub(super) fn write_string(out: &mut Vec<u8>, text: &str, ascii: bool) {
    out.push(b'"');
    if !ascii {
        let mut rest = text;
        loop {
            let (plain, special) = rest.split_at(plain_run(rest.as_bytes()));
            out.extend_from_slice(plain.as_bytes());
            if special.is_empty() {
                return out.push(b'"');
            }
            rest = &special[write_escape(out, special, 0)..];
        }
    }
    let mut clean = 0;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        let plain = byte >= 0x20 && byte != b'"' && byte != b'\\' && byte < 0x7f;
        if plain {
            continue;
        }
        if at < clean {
            // A later byte of a character that was escaped already.
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[clean..at]);
        clean = at + write_escape(out, text, at);
    }
    out.extend_from_slice(&text.as_bytes()[clean..]);
    out.push(b'"');
}

/// Escapes the character at `at`. Returns its length in the source.
fn write_escape(out: &mut Vec<u8>, text: &str, at: usize) -> usize {
    let short = match text.as_bytes()[at] {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let Some(character) = text[at..].chars().next() else {
                return 1;
            };
            let mut units = [0_u16; 2];
            for unit in character.encode_utf16(&mut units) {
                out.extend_from_slice(b"\\u");
                for shift in [12, 8, 4, 0] {
                    let digit = usize::from((*unit >> shift) & 0xf);
                    out.push(b"0123456789abcdef"[digit]);
                }
            }
            return character.len_utf8();
        }
    };
    out.extend_from_slice(&[b'\\', short]);
    1
}

#[cfg(test)]
#[path = "json_style_tests.rs"]
pub(super) mod tests;
