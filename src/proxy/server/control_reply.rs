//! What control endpoints share: the parameters of their queries, their bodies, and the form of their
//! answers.

use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;

use super::Proxy;
use super::request_body::{self, BodyReadError};
use super::respond::{self, ResponseBody};
use loomrec_identity::printable;

/// Returns the session named in `?session=`.
pub(super) fn session_of(query: Option<&str>) -> Option<String> {
    query_parameter(query, "session")
}

/// Returns a parameter of a query.
pub(super) fn query_parameter(query: Option<&str>, name: &str) -> Option<String> {
    url::form_urlencoded::parse(query?.as_bytes())
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// Reads the body of a control request, of at most this many bytes.
///
/// # Errors
/// Why it could not be read.
pub(super) async fn read_body(proxy: &Proxy, body: Incoming, most: usize) -> Result<Bytes, String> {
    let read = request_body::collect_body(body, most, proxy.config.client_timeout).await;
    read.map_err(|error| match error {
        BodyReadError::Larger => format!("the body is over the limit of {most} bytes"),
        BodyReadError::Broken => "the body ended before its announced length".to_owned(),
        BodyReadError::Late | BodyReadError::Slow => "the body did not arrive in time".to_owned(),
    })
}

/// Returns an answer with this value, on a line.
pub(super) fn json_reply(status: StatusCode, value: &Value) -> Response<ResponseBody> {
    let mut text = printable::printable_json(&value.to_string()).into_owned().into_bytes();
    text.push(b'\n');
    respond::full_response(status, "application/json", text)
}
