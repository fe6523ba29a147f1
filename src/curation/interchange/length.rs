//! Checks by the stated lengths whether a file holds bodies completely.

use bytes::Bytes;

use super::exchange::{ForeignResponse, ResponseContent};
use super::header_list::{find_value, in_lower_case};
use loomrec_recording::ResponseEnd;

/// Returns an error if a body differs in length from its headers: another tool changed it, or holds
/// only a part of it.
pub(super) fn other_length(
    method: &str,
    headers: &[(String, String)],
    body: &Bytes,
    response: &ForeignResponse,
) -> Option<String> {
    let differs = |headers: &[(String, String)], bytes: &Bytes, whose: &str| {
        // With a transfer encoding, the content length does not count.
        let told = find_value(headers, "content-length")
            .filter(|_| find_value(headers, "transfer-encoding").is_none());
        let told: usize = told?.trim().parse().ok()?;
        (told != bytes.len()).then(|| {
            format!(
                "its {whose} body has {} bytes, and {told} by its content-length (--any-length \
                 imports it)",
                bytes.len()
            )
        })
    };
    if let Some(reason) = differs(headers, body, "request's") {
        return Some(reason);
    }
    let body = match &response.content {
        ResponseContent::Wire(body) | ResponseContent::Plain(body) => body,
        ResponseContent::Chunks(_) => return None,
    };
    let is_cut = response.end != ResponseEnd::Complete;
    if is_cut || method == "HEAD" || matches!(response.status, 204 | 304) {
        return None;
    }
    let headers = in_lower_case(response.headers.clone());
    // Some tools decode a body and keep its headers.
    let is_packed = find_value(&headers, "content-encoding").is_some();
    let is_plain = matches!(response.content, ResponseContent::Plain(_));
    let is_unpacked = is_packed && (is_plain || std::str::from_utf8(body).is_ok());
    let reason = differs(&headers, body, "response's").filter(|_| !is_unpacked);
    if reason.is_some() {
        return reason;
    }
    let size = response.size.filter(|size| *size > body.len() as u64)?;
    Some(format!(
        "the file holds {} bytes of its response's body, and says that there were {size} \
         (--any-length imports it)",
        body.len()
    ))
}
