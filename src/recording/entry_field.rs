//! The fields of a recorded entry: their style, their error, and how their numbers are
//! written.

use serde_json::{Number, Value};

use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldStyle, NullRule, PlaceForm, ShownValue,
};

/// A field of an entry that has the wrong type or an impossible value. Its place is a JSON
/// pointer from the entry's own root. No message shows the value: it may be long or secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {}", .0.place, .0.problem.requirement())]
pub struct EntryError(pub FieldError);

/// The style of what is recorded: of entries, and of what a recording says of itself.
pub(super) const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Pointer, null: NullRule::Absent, shown: ShownValue::Never };

/// The fields of an object of an entry, which stands at `place`.
pub(super) fn entry_fields<'a>(
    value: &'a Value,
    place: &'a str,
) -> Result<FieldReader<'a>, FieldError> {
    FieldReader::from_value(value, place, "an object", STYLE)
}

/// Milliseconds as they are written: rounded to a tenth.
pub(super) fn milliseconds(ms: f64) -> Value {
    decimal(rounded(ms))
}

/// Milliseconds as the file gives them back.
pub(super) fn rounded(ms: f64) -> f64 {
    finite((ms * 10.0).round() / 10.0)
}

/// A float as the file gives it back: 0.0 where it is not finite, since a
/// recording holds no NaN; negative zero would read as a change from run to run.
pub(super) fn finite(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() { 0.0 } else { number }
}

/// A float as a JSON number, such as [`finite`] makes it.
pub(super) fn decimal(number: f64) -> Value {
    Number::from_f64(finite(number)).map_or(Value::Null, Value::Number)
}
