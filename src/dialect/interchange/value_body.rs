//! Bodies that a file holds as JSON values, and not as bytes.

use bytes::Bytes;
use serde_json::Value;

use super::body_presence::holds_body;
use loomrec_recording::rebuilt_body::rebuild_body;

/// Listed as lost for a body that the file holds only as a value.
pub(super) const REBUILT: &str = "the bytes of JSON bodies: the file holds their values, and the \
                                  bodies are written again";

/// Listed as lost if the length shows that the bytes differ.
pub(super) const OTHER_LENGTH: &str = "the length of JSON bodies that are written again: no usual \
                                       spelling has the length in their headers";

/// Returns the length that headers state.
pub(super) fn stated_length(headers: &[(String, String)]) -> Option<u64> {
    let length = headers.iter().find(|(name, _)| is_length(name));
    length.and_then(|(_, value)| value.trim().parse().ok())
}

/// Writes a value again, with the length in its headers if possible. Otherwise the headers get the
/// new length. Returns no bytes if the value holds no body.
///
/// # Errors
/// If the value cannot be written. The reason reads after `its body`.
pub(super) fn written_again(
    value: &Value,
    headers: &mut Vec<(String, String)>,
    lost: &mut Vec<&'static str>,
) -> Result<Bytes, &'static str> {
    let length = stated_length(headers);
    if !holds_body(value) && length != Some(value.to_string().len() as u64) {
        return Ok(Bytes::new());
    }
    let length = length.and_then(|length| usize::try_from(length).ok());
    let rebuilt = rebuild_body(value, length).ok_or("is nested too deeply to be written again")?;
    lost.push(REBUILT);
    if !rebuilt.fits {
        lost.push(OTHER_LENGTH);
    }
    for (name, value) in headers.iter_mut() {
        if is_length(name) {
            *value = rebuilt.bytes.len().to_string();
        }
    }
    // The body was compressed. Its value is not.
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
    Ok(rebuilt.bytes.into())
}

fn is_length(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length")
}
