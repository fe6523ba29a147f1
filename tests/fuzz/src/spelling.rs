//! Other spellings of a JSON text, with the same value.

use loomrec_identity::Json;

/// Writes the value with its members in reverse order, needless escapes in its strings, and white
/// space everywhere. Numbers keep their digits.
pub fn respelled(value: &Json<'_>) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Json<'_>, out: &mut String) {
    out.push_str("\t ");
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(digits) => out.push_str(digits),
        Json::String(text) => string(&text.as_str(), out),
        Json::Array(items) => list(out, ['[', ']'], items, write),
        Json::Object(members) => list(out, ['{', '}'], members.iter().rev(), |member, out| {
            string(&member.0.as_str(), out);
            out.push_str(" \r\n:");
            write(&member.1, out);
        }),
    }
    out.push('\n');
}

fn list<T>(
    out: &mut String,
    ends: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(T, &mut String),
) {
    out.push(ends[0]);
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        each(item, out);
    }
    out.push(ends[1]);
}

/// Writes every character as an escape.
fn string(text: &str, out: &mut String) {
    out.push('"');
    for unit in text.encode_utf16() {
        out.push_str(&format!("\\u{unit:04X}"));
    }
    out.push('"');
}
