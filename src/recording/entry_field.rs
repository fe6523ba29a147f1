//! The field style of entries, the error of their fields, and the format of their numbers.

use serde_json::{Number, Value};

use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldStyle, NullRule, PlaceForm, ShownValue,
};

/// A field of an entry that has the wrong type or an impossible value. Its place is a JSON pointer
/// from the root of the entry. No message shows the value, since it may be long or secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {}", .0.place, .0.problem.requirement())]
pub struct EntryError(pub FieldError);

/// The field style of recordings: of their entries and their metadata.
pub(super) const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Pointer, null: NullRule::Absent, shown: ShownValue::Never };

/// Returns a reader of an object in an entry; `place` is the object's JSON pointer.
pub(super) fn entry_fields<'a>(
    value: &'a Value,
    place: &'a str,
) -> Result<FieldReader<'a>, FieldError> {
    FieldReader::from_value(value, place, "an object", STYLE)
}

/// Formats milliseconds for the file: rounded to a tenth.
pub(super) fn milliseconds_json(ms: f64) -> Value {
    float_json(round_milliseconds(ms))
}

/// Rounds milliseconds as the file does.
pub(super) fn round_milliseconds(ms: f64) -> f64 {
    normalize_float((ms * 10.0).round() / 10.0)
}

/// Normalizes a float for the file. A number that is not finite becomes 0.0, since a recording
/// holds no NaN. Negative zero becomes zero, since it would look like a change between runs.
pub(super) fn normalize_float(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() { 0.0 } else { number }
}

/// Returns a float, normalized by [`normalize_float`], as a JSON number.
pub(super) fn float_json(number: f64) -> Value {
    Number::from_f64(normalize_float(number)).map_or(Value::Null, Value::Number)
}
