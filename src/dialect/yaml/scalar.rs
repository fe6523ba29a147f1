//! The meaning of scalars without quotes: `5` is a number, `1e5` is a text or a number. It depends
//! on the tool that wrote it.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value};

/// The rules by which scalars without quotes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarSchema {
    /// YAML 1.1 as PyYAML reads and writes it. PyYAML writes texts that it does not read as numbers
    /// without quotes, for example `1e5` and `0o17`.
    PyYaml,
    /// YAML 1.2's core schema, and JSON, as Rust's libraries read and write them.
    Core,
    /// Text that people write by hand, with either version of YAML in mind. What is a boolean or a
    /// number in one of them is never read as a text. Such a text needs quotes to be safe.
    HandWritten,
}

/// A number that JSON cannot represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnrepresentableNumber;

/// Returns the value of a scalar without quotes.
///
/// # Errors
/// [`UnrepresentableNumber`] for an infinity, for NaN, and for a number in base 2, 8, 16 or 60
/// that has more than 128 bits.
pub(crate) fn resolve_value(
    text: &str,
    schema: ScalarSchema,
) -> Result<Value, UnrepresentableNumber> {
    if is_null(text) {
        return Ok(Value::Null);
    }
    match schema {
        ScalarSchema::PyYaml => py_yaml(text),
        ScalarSchema::Core => resolve_core_schema(text),
        ScalarSchema::HandWritten => hand_written(text),
    }
}

/// Whether a scalar without quotes is null. All schemas agree on this.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// The patterns of PyYAML's `resolver.py` (6.0.3), copied from there.
struct Patterns {
    float: Regex,
    int: Regex,
}

static PY_YAML: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let float = Regex::new(
        r"(?x)^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?
          |\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?
          |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*
          |[-+]?\.(?:inf|Inf|INF)
          |\.(?:nan|NaN|NAN))$",
    );
    let int = Regex::new(
        r"(?x)^(?:[-+]?0b[0-1_]+
          |[-+]?0[0-7_]+
          |[-+]?(?:0|[1-9][0-9_]*)
          |[-+]?0x[0-9a-fA-F_]+
          |[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$",
    );
    Some(Patterns { float: float.ok()?, int: int.ok()? })
});

fn py_yaml(text: &str) -> Result<Value, UnrepresentableNumber> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(true.into());
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(false.into());
        }
        _ => {}
    }
    let may_be_number =
        text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    let Some(patterns) = PY_YAML.as_ref().filter(|_| may_be_number) else {
        return Ok(text.into());
    };
    // PyYAML checks for numbers in this order.
    if patterns.float.is_match(text) {
        return float_number(&text.replace('_', ""));
    }
    if patterns.int.is_match(text) {
        let digits = text.replace('_', "");
        let (negative, digits) = split_sign(&digits);
        let radix = match digits.as_bytes() {
            [b'0', b'b', ..] => Some((2, &digits[2..])),
            [b'0', b'x', ..] => Some((16, &digits[2..])),
            [b'0', _, ..] => Some((8, &digits[1..])),
            _ => None,
        };
        return match radix {
            Some((radix, digits)) => in_base(negative, digits, radix),
            None if digits.contains(':') => sexagesimal_number(negative, digits),
            None => decimal_number(negative, digits),
        };
    }
    Ok(text.into())
}

fn resolve_core_schema(text: &str) -> Result<Value, UnrepresentableNumber> {
    match text {
        "true" | "True" | "TRUE" => return Ok(true.into()),
        "false" | "False" | "FALSE" => return Ok(false.into()),
        _ => {}
    }
    let (negative, digits) = split_sign(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(UnrepresentableNumber);
    }
    let of_base = |prefix: &str, radix: u32| {
        let digits = digits.strip_prefix(prefix)?;
        let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        all.then(|| in_base(negative, digits, radix))
    };
    if let Some(number) =
        of_base("0x", 16).or_else(|| of_base("0o", 8)).or_else(|| of_base("0b", 2))
    {
        return number;
    }
    if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        // `012` is a text to some tools and a number to others. It certainly was a text.
        let leads = digits.len() > 1 && digits.starts_with('0');
        return if leads { Ok(text.into()) } else { decimal_number(negative, digits) };
    }
    let begins = digits.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    let only =
        digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if begins && only && digits.parse::<f64>().is_ok() {
        float_number(text)
    } else {
        Ok(text.into())
    }
}

fn hand_written(text: &str) -> Result<Value, UnrepresentableNumber> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" | "true" => return Ok(true.into()),
        "n" | "no" | "off" | "false" => return Ok(false.into()),
        _ => {}
    }
    // Handles `1_000` and `012`.
    let plain = text.replace('_', "");
    let (negative, digits) = split_sign(&plain);
    if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        let significant = digits.trim_start_matches('0');
        return decimal_number(negative, if significant.is_empty() { "0" } else { significant });
    }
    match resolve_core_schema(&plain)? {
        Value::String(_) => Ok(text.into()),
        value => Ok(value),
    }
}

/// Returns whether a number is negative, and its digits.
fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    }
}

/// Returns an integer with exactly these digits.
fn decimal_number(negative: bool, digits: &str) -> Result<Value, UnrepresentableNumber> {
    let sign = if negative && digits != "0" { "-" } else { "" };
    let number = serde_json::from_str::<Number>(&format!("{sign}{digits}"));
    number.map(Value::Number).map_err(|_| UnrepresentableNumber)
}

fn in_base(negative: bool, digits: &str, radix: u32) -> Result<Value, UnrepresentableNumber> {
    let number = u128::from_str_radix(digits, radix).map_err(|_| UnrepresentableNumber)?;
    decimal_number(negative, &number.to_string())
}

/// Reads a number in base 60: `1:30` is 90.
fn sexagesimal_number(negative: bool, digits: &str) -> Result<Value, UnrepresentableNumber> {
    let number = digits
        .split(':')
        .try_fold(0_u128, |number, part| number.checked_mul(60)?.checked_add(part.parse().ok()?));
    decimal_number(negative, &number.ok_or(UnrepresentableNumber)?.to_string())
}

fn float_number(text: &str) -> Result<Value, UnrepresentableNumber> {
    let (negative, digits) = split_sign(text);
    let number = if digits.contains(':') {
        let mut base = 1.0;
        digits.rsplit(':').try_fold(0.0, |number, part| {
            let part: f64 = part.parse().ok()?;
            let place = base;
            base *= 60.0;
            Some(number + part * place)
        })
    } else {
        digits.parse::<f64>().ok()
    };
    let number = number.map(|number| if negative { -number } else { number });
    // `from_f64` returns `None` for an infinity.
    number.and_then(Number::from_f64).map(Value::Number).ok_or(UnrepresentableNumber)
}

#[cfg(test)]
#[path = "scalar_tests.rs"]
mod tests;
