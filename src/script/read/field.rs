//! The fields of a script's entries: texts, and the errors of those that are none.

use serde_json::Value;

use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldResult, FieldStyle, NullRule, PlaceForm, ShownValue, shown_value,
};

pub(super) const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Path, null: NullRule::Value, shown: ShownValue::Always };

pub(super) fn optional_text(fields: FieldReader<'_>, name: &str) -> FieldResult<String> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(no_text(&fields.field_place(name), "a string", other)),
    }
}

/// Returns a text that `owner` needs.
pub(super) fn needed_text(
    fields: FieldReader<'_>,
    owner: &str,
    name: &str,
) -> Result<String, FieldError> {
    optional_text(fields, name)?
        .ok_or_else(|| FieldError::from_reason(owner, format!("it needs {name}")))
}

/// Returns the error of a value that is not a text. YAML reads `5` and `true` as number and
/// boolean.
pub(super) fn no_text(place: &str, expected: &str, found: &Value) -> FieldError {
    let hint = if found.is_number() || found.is_boolean() { " (a text needs quotes)" } else { "" };
    FieldError::unexpected(place, expected, format!("{}{hint}", shown_value(found)))
}

/// The longest id of a request.
const LONGEST_ID: usize = 256;

/// Returns the id of a request: a text that a header can carry.
pub(super) fn request_id(fields: FieldReader<'_>) -> FieldResult<String> {
    let expected = "1 to 256 letters, digits and signs";
    fields.read_with("request_id", expected, |value| {
        let id = value.as_str().filter(|id| (1..=LONGEST_ID).contains(&id.len()))?;
        id.bytes().all(|byte| byte.is_ascii_graphic()).then(|| id.to_owned())
    })
}
