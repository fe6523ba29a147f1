//! The reader of a script's errors.

use serde_json::Value;

use super::super::entry::ScriptFailure;
use super::field::{STYLE, text};
use loomrec_identity::typed_field::{FieldError, FieldReader};

const ERROR: [&str; 3] = ["status", "message", "type"];

/// Reads an error at `place`: an object, or its message alone.
pub(in crate::replay::script) fn read_failure(
    value: &Value,
    place: &str,
    status: u16,
) -> Result<ScriptFailure, FieldError> {
    if let Value::String(message) = value {
        return Ok(ScriptFailure { status, kind: None, message: message.clone() });
    }
    let expected = "an object with status and message, or a message";
    let fields = FieldReader::from_value(value, place, expected, STYLE)?;
    fields.only("an error", &ERROR)?;
    let given = fields.digits("status", 400..=599, "one of an error, 400 to 599")?;
    let status = given.and_then(|status| u16::try_from(status).ok()).unwrap_or(status);
    let message = text(fields, "message")?.unwrap_or_else(|| "scripted error".to_owned());
    Ok(ScriptFailure { status, kind: text(fields, "type")?, message })
}
