//! The canonical text of a JSON value: byte for byte what Python writes for
//! `json.dumps(json.loads(text), sort_keys=True)`.
//!
//! The `request_hash` of plain entries is SHA-256 over that text, so every detail follows it: the separators
//! `", "` and `": "`, keys in code point order, everything outside printable ASCII escaped,
//! integers in full, floats as Python's `repr`.

use super::json::Json;
use super::json_text::{self, JsonStr, RunEnd};
use super::rules::{IdentityRules, ScopedRules};

/// Appends the canonical text of `value`.
pub fn write_value(value: &Json<'_>, out: &mut Vec<u8>) {
    write_kept(value, &ScopedRules::NOTHING, out);
}

/// The canonical text of `value`.
pub fn value_text(value: &Json<'_>) -> String {
    let mut out = Vec::new();
    write_value(value, &mut out);
    // The text is ASCII by construction.
    String::from_utf8(out).unwrap_or_default()
}

/// Returns the canonical text of what these rules leave of `value`. Values that do not differ under the
/// rules have the same text.
pub fn canonical_json(value: &Json<'_>, rules: &IdentityRules) -> Vec<u8> {
    let mut out = Vec::new();
    write_kept(value, &rules.scoped_rules(), &mut out);
    out
}

/// Appends the canonical text of what `ignored` leaves of `value`: an ignored member is left out,
/// an ignored element becomes `null`.
pub(super) fn write_kept(value: &Json<'_>, ignored: &ScopedRules<'_>, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(digits) => write_number(digits, out),
        Json::String(text) => write_string(*text, out),
        Json::Array(items) => write_elements(items, ignored, out),
        Json::Object(members) => write_members(members, ignored, |_| true, out),
    }
}

fn write_elements(items: &[Json<'_>], ignored: &ScopedRules<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        match ignored.for_element(index) {
            Some(inner) => write_kept(item, &inner, out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b']');
}

/// Appends an object with the members that `keep` accepts and `ignored` leaves.
pub(super) fn write_members(
    members: &[(JsonStr<'_>, Json<'_>)],
    ignored: &ScopedRules<'_>,
    keep: impl Fn(&JsonStr<'_>) -> bool,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    let mut first = true;
    for (key, value) in members {
        let Some(inner) = ignored.for_member(*key) else { continue };
        if !keep(key) {
            continue;
        }
        if !first {
            out.extend_from_slice(b", ");
        }
        first = false;
        write_string(*key, out);
        out.extend_from_slice(b": ");
        write_kept(value, &inner, out);
    }
    out.push(b'}');
}

/// Appends an object of strings; the members come sorted.
pub(super) fn write_text_members<'t>(
    members: impl Iterator<Item = (&'t str, &'t str)>,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write_string(JsonStr::from(name), out);
        out.extend_from_slice(b": ");
        write_string(JsonStr::from(value), out);
    }
    out.push(b'}');
}

/// Appends a string in quotes, everything but printable ASCII escaped.
pub(super) fn write_string(string: JsonStr<'_>, out: &mut Vec<u8>) {
    let (mut rest, escaped) = string.source();
    out.push(b'"');
    loop {
        let (plain, special) =
            rest.split_at(json_text::run_length(rest.as_bytes(), RunEnd::Unprintable));
        out.extend_from_slice(plain.as_bytes());
        if escaped && let Some((same, after)) = split_same_escape(special) {
            out.extend_from_slice(same.as_bytes());
            rest = after;
            continue;
        }
        rest = write_foreign(special, out);
        let Some(first) = rest.chars().next() else { break };
        if matches!(first, ' '..='~') && !matches!(first, '"' | '\\') {
            continue;
        }
        let (meant, length) = if first == '\\' && escaped {
            json_text::escaped_character(rest)
        } else {
            (first, first.len_utf8())
        };
        write_char(meant, out);
        rest = rest.get(length..).unwrap_or_default();
    }
    out.push(b'"');
}

/// Splits off an escape at the start of `source` that is the same in the canonical text.
fn split_same_escape(source: &str) -> Option<(&str, &str)> {
    match source.as_bytes() {
        [b'\\', b'n' | b'"' | b'\\' | b't' | b'r' | b'b' | b'f', ..] => source.split_at_checked(2),
        _ => None,
    }
}

/// Appends the escapes of the characters beyond ASCII that `source` begins with, and returns the
/// rest. It takes a whole run, because such text comes in long runs.
fn write_foreign<'s>(source: &'s str, out: &mut Vec<u8>) -> &'s str {
    let mut rest = source.chars();
    loop {
        let here = rest.as_str();
        match rest.next().map(u32::from) {
            None | Some(0..0x80) => return here,
            Some(astral @ 0x1_0000..) => {
                let beyond = astral - 0x1_0000;
                write_unit(0xd800 | beyond >> 10, out);
                write_unit(0xdc00 | beyond & 0x3ff, out);
            }
            Some(unit) => write_unit(unit, out),
        }
    }
}

fn write_char(meant: char, out: &mut Vec<u8>) {
    let short = match meant {
        '"' => br#"\""#,
        '\\' => br"\\",
        '\n' => br"\n",
        '\r' => br"\r",
        '\t' => br"\t",
        '\u{c}' => br"\f",
        '\u{8}' => br"\b",
        ' '..='~' => return out.push(meant as u8),
        '\0'..='\u{7f}' => return write_unit(u32::from(meant), out),
        _ => {
            write_foreign(meant.encode_utf8(&mut [0; 4]), out);
            return;
        }
    };
    out.extend_from_slice(short);
}

/// Appends the escape of one UTF-16 code unit.
fn write_unit(unit: u32, out: &mut Vec<u8>) {
    let digit = |shift: u32| HEX[(unit >> shift & 0xf) as usize];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a number as Python would print what it read: an integer stays one,
/// whatever its size, and `-0` is `0`; anything with a point or an exponent is
/// a 64-bit float.
fn write_number(digits: &str, out: &mut Vec<u8>) {
    let float = digits.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    if !float {
        let whole = if digits == "-0" { "0" } else { digits };
        return out.extend_from_slice(whole.as_bytes());
    }
    match digits.parse() {
        Ok(value) => out.extend_from_slice(python_float(value).as_bytes()),
        // The reader only accepts numbers that parse.
        Err(_) => out.extend_from_slice(digits.as_bytes()),
    }
}

/// A float as Python's `json.dumps` writes it: the shortest digits that read back as the same
/// value, with an exponent if the decimal exponent is below -4 or at least 16. A value that is not
/// finite is `Infinity`, `-Infinity` or `NaN`.
pub fn python_float(value: f64) -> String {
    if !value.is_finite() {
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        let sign = if value == f64::NEG_INFINITY { "-" } else { "" };
        return format!("{sign}{name}");
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let scientific = shortest_digits(value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..16).contains(&exponent) {
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{mantissa}e{direction}{:02}", exponent.unsigned_abs());
    }
    let digits = mantissa.replace('.', "");
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    };
    match digits.split_at_checked(whole) {
        None | Some((_, "")) => format!("{sign}{digits:0<whole$}.0"),
        Some(("", fraction)) => format!("{sign}0.{fraction}"),
        Some((whole, fraction)) => format!("{sign}{whole}.{fraction}"),
    }
}

/// The shortest digits that read back as `value`, as `d.dde-7`. If two such texts are equally near,
/// it is the even one, as in Python.
fn shortest_digits(value: f64) -> String {
    let shortest = format!("{value:e}");
    let digits = shortest.find('e').unwrap_or_default().saturating_sub(1);
    // Rust takes the upper one of two equally near texts. A double is midway between two texts only
    // if they have as many digits as it can distinguish.
    if digits < 15 {
        return shortest;
    }
    let even = format!("{value:.*e}", digits - 1);
    if even.parse() == Ok(value) { even } else { shortest }
}
