//! What a scalar without quotes means: `5` is a number, `1e5` is a text or a number. It
//! depends on the tool that wrote it.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value};

/// By which rules scalars without quotes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarSchema {
    /// YAML 1.1 as PyYAML reads and writes it. What is none of its numbers, PyYAML writes
    /// without quotes: the texts `1e5` and `0o17`, for example.
    PyYaml,
    /// YAML 1.2's core schema, and JSON: what Rust's libraries read and write.
    Core,
    /// What people write by hand, who may have either version of YAML in mind: what is a truth
    /// or a number in one of them is never a text, which would need quotes to be sure.
    HandWritten,
}

/// A number that JSON cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnsayableNumber;

/// The value of a scalar without quotes.
///
/// # Errors
/// [`UnsayableNumber`] for an infinity, something that is not a number, and a number of base
/// 2, 8, 16 or 60 that has more than 128 bits.
pub(crate) fn resolve(text: &str, schema: ScalarSchema) -> Result<Value, UnsayableNumber> {
    if is_null(text) {
        return Ok(Value::Null);
    }
    match schema {
        ScalarSchema::PyYaml => py_yaml(text),
        ScalarSchema::Core => core(text),
        ScalarSchema::HandWritten => hand_written(text),
    }
}

/// Whether a scalar without quotes says that there is nothing; both schemas agree.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// The patterns of PyYAML's `resolver.py` (6.0.3), as they stand there.
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

fn py_yaml(text: &str) -> Result<Value, UnsayableNumber> {
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
    // A number is one for PyYAML in this order.
    if patterns.float.is_match(text) {
        return float(&text.replace('_', ""));
    }
    if patterns.int.is_match(text) {
        let digits = text.replace('_', "");
        let (negative, digits) = signed(&digits);
        let radix = match digits.as_bytes() {
            [b'0', b'b', ..] => Some((2, &digits[2..])),
            [b'0', b'x', ..] => Some((16, &digits[2..])),
            [b'0', _, ..] => Some((8, &digits[1..])),
            _ => None,
        };
        return match radix {
            Some((radix, digits)) => in_base(negative, digits, radix),
            None if digits.contains(':') => sexagesimal(negative, digits),
            None => decimal(negative, digits),
        };
    }
    Ok(text.into())
}

fn core(text: &str) -> Result<Value, UnsayableNumber> {
    match text {
        "true" | "True" | "TRUE" => return Ok(true.into()),
        "false" | "False" | "FALSE" => return Ok(false.into()),
        _ => {}
    }
    let (negative, digits) = signed(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(UnsayableNumber);
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
        // `012` is a text to some and a number to others: a text is what it certainly was.
        let leads = digits.len() > 1 && digits.starts_with('0');
        return if leads { Ok(text.into()) } else { decimal(negative, digits) };
    }
    let begins = digits.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    let only =
        digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if begins && only && digits.parse::<f64>().is_ok() { float(text) } else { Ok(text.into()) }
}

fn hand_written(text: &str) -> Result<Value, UnsayableNumber> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" | "true" => return Ok(true.into()),
        "n" | "no" | "off" | "false" => return Ok(false.into()),
        _ => {}
    }
    // `1_000` and `012`.
    let plain = text.replace('_', "");
    let (negative, digits) = signed(&plain);
    if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        let significant = digits.trim_start_matches('0');
        return decimal(negative, if significant.is_empty() { "0" } else { significant });
    }
    match core(&plain)? {
        Value::String(_) => Ok(text.into()),
        value => Ok(value),
    }
}

/// Whether a number is negative, and its digits.
fn signed(text: &str) -> (bool, &str) {
    match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    }
}

/// An integer with just these digits.
fn decimal(negative: bool, digits: &str) -> Result<Value, UnsayableNumber> {
    let sign = if negative && digits != "0" { "-" } else { "" };
    let number = serde_json::from_str::<Number>(&format!("{sign}{digits}"));
    number.map(Value::Number).map_err(|_| UnsayableNumber)
}

fn in_base(negative: bool, digits: &str, radix: u32) -> Result<Value, UnsayableNumber> {
    let number = u128::from_str_radix(digits, radix).map_err(|_| UnsayableNumber)?;
    decimal(negative, &number.to_string())
}

/// `1:30` is 90.
fn sexagesimal(negative: bool, digits: &str) -> Result<Value, UnsayableNumber> {
    let number = digits
        .split(':')
        .try_fold(0_u128, |number, part| number.checked_mul(60)?.checked_add(part.parse().ok()?));
    decimal(negative, &number.ok_or(UnsayableNumber)?.to_string())
}

fn float(text: &str) -> Result<Value, UnsayableNumber> {
    let (negative, digits) = signed(text);
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
    // `from_f64` gives nothing for an infinity.
    number.and_then(Number::from_f64).map(Value::Number).ok_or(UnsayableNumber)
}

#[cfg(test)]
#[path = "scalar_tests.rs"]
mod tests;
