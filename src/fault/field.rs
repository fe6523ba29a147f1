//! The fields of declared faults: their style, and kinds of values that only faults have.

use serde_json::Value;

use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldResult, FieldStyle, NullRule, PlaceForm, ShownValue, quoted_text,
    shown_value, whole_number,
};

/// The longest wait, in milliseconds: a day.
pub(super) const LONGEST_MS: u64 = 86_400_000;
/// The largest number of bytes in any field.
pub(super) const MOST_BYTES: u64 = 1 << 40;
/// The longest wait of every call before any other action, in milliseconds.
pub(super) const LONGEST_LEADING_DELAY: u64 = 30_000;
/// What is expected of a time in milliseconds.
pub(super) const MILLISECONDS: &str = "whole milliseconds, from 0 to 86400000 (a day)";

/// A field that is `null` counts as absent, because other programs write absent fields so.
const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Pointer, null: NullRule::Absent, shown: ShownValue::Always };

/// The fields of `value`, which must be an object; `expected` describes it in errors.
pub(super) fn fields_of<'a>(
    value: &'a Value,
    expected: &str,
) -> Result<FieldReader<'a>, FieldError> {
    FieldReader::from_value(value, "", expected, STYLE)
}

/// Returns which of these fields is given. Fails if more than one is, because they contradict each
/// other.
pub(super) fn one_of(fields: FieldReader<'_>, names: &[&'static str]) -> FieldResult<&'static str> {
    let mut given = names.iter().copied().filter(|name| fields.get(name).is_some());
    match (given.next(), given.next()) {
        (Some(one), Some(other)) => {
            let why = format!("it cannot be combined with {one}: give only one of them");
            Err(FieldError::from_reason(fields.field_place(other), why))
        }
        (one, _) => Ok(one),
    }
}

/// A whole number from `least` to the largest `u32`.
pub(super) fn read_count(fields: FieldReader<'_>, name: &str, least: u32) -> FieldResult<u32> {
    let expected = format!("a whole number from {least} to {}", u32::MAX);
    let found =
        fields.read_whole_number(name, u64::from(least)..=u64::from(u32::MAX), &expected)?;
    Ok(found.and_then(|count| u32::try_from(count).ok()))
}

/// A number of bytes.
pub(super) fn byte_count(fields: FieldReader<'_>, name: &str, least: u64) -> FieldResult<u64> {
    let expected = format!("a whole number of bytes, from {least} to 2^40");
    fields.read_whole_number(name, least..=MOST_BYTES, &expected)
}

/// A time in milliseconds.
pub(super) fn read_milliseconds(fields: FieldReader<'_>, name: &str) -> FieldResult<u64> {
    fields.read_whole_number(name, 0..=LONGEST_MS, MILLISECONDS)
}

/// The wait of every call before any other action.
pub(super) fn leading_delay(fields: FieldReader<'_>, name: &str) -> FieldResult<u64> {
    fields.read_whole_number(name, 0..=LONGEST_LEADING_DELAY, "whole milliseconds, from 0 to 30000")
}

/// A rate from 0 to 1.
pub(super) fn read_rate(fields: FieldReader<'_>, name: &str) -> FieldResult<f64> {
    let rate = fields.read_number(name, 0.0..=1.0, "a rate, from 0 to 1")?;
    // Negative zero becomes zero.
    Ok(rate.map(|rate| rate + 0.0))
}

/// An object of headers: a value, or a list of values, for each name.
pub(super) fn read_headers(
    fields: FieldReader<'_>,
    name: &str,
) -> Result<Vec<(String, String)>, FieldError> {
    let Some(map) = fields.read_object(name, "an object of headers")? else {
        return Ok(Vec::new());
    };
    let place = fields.field_place(name);
    let inner = FieldReader::new(map, &place, STYLE);
    let mut headers = Vec::new();
    for (header, value) in map {
        if http::HeaderName::from_bytes(header.as_bytes()).is_err() {
            let why = format!("{} cannot be the name of a header", quoted_text(header));
            return Err(FieldError::from_reason(inner.field_place(header), why));
        }
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            let text = header_value(value).ok_or_else(|| {
                let expected = "a header's value: a string on one line, or a number";
                FieldError::unexpected(inner.field_place(header), expected, shown_value(value))
            })?;
            headers.push((header.clone(), text));
        }
    }
    Ok(headers)
}

/// The value as a header's value, if it can be one.
fn header_value(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    http::HeaderValue::from_str(&text).is_ok().then_some(text)
}

/// Reads a field that holds one value or a list. `read` converts each value.
pub(super) fn read_values<T>(
    fields: FieldReader<'_>,
    name: &str,
    expected: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, FieldError> {
    let values = match fields.get(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(values)) if !values.is_empty() => values.as_slice(),
        Some(Value::Array(_)) => {
            let why = format!("an empty list matches no call: expected {expected}");
            return Err(FieldError::from_reason(fields.field_place(name), why));
        }
        Some(one) => std::slice::from_ref(one),
    };
    let one = |value: &Value| {
        read(value).ok_or_else(|| {
            FieldError::unexpected(fields.field_place(name), expected, shown_value(value))
        })
    };
    values.iter().map(one).collect()
}

/// A number from 1, or a list of them.
pub(super) fn read_numbers(fields: FieldReader<'_>, name: &str) -> Result<Vec<u64>, FieldError> {
    let read = |value: &Value| whole_number(value).filter(|number| *number > 0);
    read_values(fields, name, "a whole number from 1, or a list of them", read)
}
