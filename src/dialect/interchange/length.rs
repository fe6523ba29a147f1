//! Checks by the stated lengths whether a file holds bodies completely.

use bytes::Bytes;

use super::exchange::{ForeignResponse, ResponseContent};
use super::header_list::{find_value, in_lower_case};
use loomrec_recording::ResponseEnd;
use loomrec_recording::entry_maker::UpstreamReply;

/// Listed as lost for a body of another length that is imported on request.
pub(super) const OTHER_LENGTH: &str = "the length of bodies that another tool has changed";

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
    if !has_body(method, response) {
        return None;
    }
    let headers = in_lower_case(response.headers.clone());
    // Some tools decode a body and keep its headers.
    let is_packed = find_value(&headers, "content-encoding").is_some();
    let is_plain = matches!(response.content, ResponseContent::Plain(_));
    let is_unpacked = is_packed && (is_plain || std::str::from_utf8(body).is_ok());
    differs(&headers, body, "response's").filter(|_| !is_unpacked)
}

/// Whether the file should hold all of a response's body.
pub(super) fn has_body(method: &str, response: &ForeignResponse) -> bool {
    let is_cut = response.end != ResponseEnd::Complete;
    !is_cut && method != "HEAD" && !matches!(response.status, 204 | 304)
}

/// Returns an error if a request's body is shorter than its file states.
pub(super) fn smaller_request(body: &Bytes, size: Option<u64>) -> Option<String> {
    incomplete_reason(body.len(), size, "request's")
}

/// Returns an error if a response's decoded body is shorter than its file states.
pub(super) fn smaller_than_stated(reply: &UpstreamReply, size: Option<u64>) -> Option<String> {
    incomplete_reason(reply.chunks.iter().map(|chunk| chunk.data.len()).sum(), size, "response's")
}

fn incomplete_reason(length: usize, size: Option<u64>, whose: &str) -> Option<String> {
    let size = size.filter(|size| *size > length as u64)?;
    Some(format!(
        "the file holds {length} bytes of its {whose} body, and says that there were {size} \
         (--any-length imports it)"
    ))
}
