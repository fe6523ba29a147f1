//! What control endpoints share: the parameters of their queries, and the form of their answers.

use http::{Response, StatusCode};
use serde_json::Value;

use super::respond::{self, ResponseBody};
use loomrec_identity::printable;

/// Returns the session named in `?session=`.
pub(super) fn session_of(query: Option<&str>) -> Option<String> {
    parameter(query, "session")
}

/// Returns a parameter of a query.
pub(super) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    url::form_urlencoded::parse(query?.as_bytes())
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// Returns an answer with this value, on a line.
pub(super) fn json_reply(status: StatusCode, value: &Value) -> Response<ResponseBody> {
    let mut text = printable::json(&value.to_string()).into_owned().into_bytes();
    text.push(b'\n');
    respond::full(status, "application/json", text)
}
