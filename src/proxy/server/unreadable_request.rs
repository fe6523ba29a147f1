//! Requests whose head HTTP cannot read: what is known of them, and their report as refused calls.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};

use super::call_refusal::{CallRefusal, RefusedHead, refuse_head};
use super::connection_context::ConnectionContext;
use super::interception::HANDSHAKE_RECORD;
use loomrec_provider::Provider;

/// The most headers of a request, which is hyper's own limit: another would cost each call an
/// allocation.
const MOST_HEADERS: usize = 100;

/// The longest URL in bytes, which is hyper's own limit.
const LONGEST_URL: usize = 65_534;

/// Reports a request as a refused call if HTTP could not read its head, and has answered so. `unread`
/// is what was received and not read. Any other end of a connection is no call: a client that leaves
/// within a head has made none.
pub(super) fn report_unreadable(
    caller: &Arc<ConnectionContext>,
    error: &hyper::Error,
    unread: &[u8],
) {
    if !error.is_parse() || error.is_parse_version_h2() {
        return;
    }
    let (status, why) = explain_error(error, unread);
    let refusal = CallRefusal {
        provider: Provider::UNKNOWN,
        status,
        kind: "UnreadableRequest",
        message: format!("a request that cannot be read: {why}"),
    };
    let (method, path) = request_line(unread).unwrap_or_default();
    let headers = HeaderMap::new();
    let head = RefusedHead { method, path, query: "", headers: &headers };
    let (mut open, _) = refuse_head(caller, &head, refusal);
    open.begin_sending((status, &headers), Some(0), || None);
    open.note_all_sent();
    open.conclude(None);
}

/// Returns the status that HTTP has answered with, and the reason in plain words.
fn explain_error(error: &hyper::Error, unread: &[u8]) -> (StatusCode, String) {
    if unread.first() == Some(&HANDSHAKE_RECORD) {
        let why = "it begins with TLS, and loomrec serves this port without TLS: begin the base URL \
                   with http://";
        return (StatusCode::BAD_REQUEST, why.to_owned());
    }
    if !error.is_parse_too_large() {
        let why = format!("its head is not valid HTTP ({error})");
        return (StatusCode::BAD_REQUEST, why);
    }
    let line = unread.iter().position(|byte| *byte == b'\n');
    if line.is_some_and(|end| end > LONGEST_URL) {
        let why = format!("its URL has more than {LONGEST_URL} bytes");
        return (StatusCode::URI_TOO_LONG, why);
    }
    let why = format!("its head has more than {MOST_HEADERS} headers, or more than 400 KB");
    (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, why)
}

/// Returns the method and the path of a request, without its query. `None` if HTTP has read its first
/// line already, or if that is not a line of HTTP.
fn request_line(unread: &[u8]) -> Option<(&str, &str)> {
    let line = unread.split(|byte| *byte == b'\n').next()?;
    let (method, rest) = std::str::from_utf8(line).ok()?.trim_end().split_once(' ')?;
    let (target, version) = rest.rsplit_once(' ')?;
    let path = target.split(['?', '#']).next()?;
    (version.starts_with("HTTP/") && path.starts_with('/')).then_some((method, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_line_is_read_without_its_query() {
        for (unread, expected) in [
            ("POST /v1/x?key=secret a HTTP/1.1\r\nhost: h\r\n\r\n", Some(("POST", "/v1/x"))),
            ("GET /a b HTTP/1.1\r\n", Some(("GET", "/a b"))),
            ("GET /endless", None),
            ("GET http://user:secret@host/ HTTP/1.1\r\n", None),
            ("{\"model\": \"m\"}", None),
            ("\u{16}\u{3}\u{1}", None),
            ("", None),
        ] {
            assert_eq!(request_line(unread.as_bytes()), expected, "{unread}");
        }
    }
}
