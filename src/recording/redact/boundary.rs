//! The boundary of a multipart body that is itself a credential.
//!
//! Without its boundary, a body cannot be split into its parts. So such a boundary is not removed:
//! another one takes its place, in the header and in the body.

use bytes::Bytes;
use memchr::memmem;

use loomrec_identity::multipart;

/// The boundary that replaces a credential.
pub(super) const REPLACED: &str = "loomrec-boundary";

/// The longest boundary that HTTP allows.
const LONGEST: usize = 70;

/// Returns a body with the boundary that its content type has now, if that was replaced and the
/// body still has the one that it was sent with.
pub fn with_replaced_boundary(content_type: &str, body: &[u8]) -> Option<Bytes> {
    if multipart::boundary_range(content_type).is_none_or(|at| &content_type[at] != REPLACED) {
        return None;
    }
    let at = if body.starts_with(b"--") { 0 } else { memmem::find(body, b"\n--")? + 1 };
    let line = body[at..].split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let sent = line.strip_prefix(b"--")?.trim_ascii_end();
    if sent == REPLACED.as_bytes() || !(1..=LONGEST).contains(&sent.len()) {
        return None;
    }
    let delimiter = [b"--", sent].concat();
    let mut out = Vec::with_capacity(body.len());
    let mut rest = 0;
    for start in memmem::find_iter(body, &delimiter) {
        if start == 0 || body[start - 1] == b'\n' {
            out.extend_from_slice(&body[rest..start]);
            out.extend_from_slice(b"--");
            out.extend_from_slice(REPLACED.as_bytes());
            rest = start + delimiter.len();
        }
    }
    out.extend_from_slice(&body[rest..]);
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::super::{CallCredentials, Placeholders, Redactor};
    use super::*;

    #[test]
    fn boundary_that_is_a_credential_is_replaced_in_header_and_body() {
        let key = format!("sk-ant-api03-{}", "Ab12".repeat(8));
        let own = "own-key-in-a-boundary";
        let redactor = Redactor::new(&[]).unwrap();
        let header = ("x-api-key".to_owned(), own.to_owned());
        let secrets = CallCredentials::for_known_provider(&[header], "");
        for (sent, kept) in [(key.as_str(), REPLACED), (own, REPLACED), ("plain", "plain")] {
            let kind =
                |boundary: &str| format!("multipart/form-data; boundary=\"{boundary}\"; a=b");
            let body = |boundary: &str| {
                format!(
                    "--{boundary}\r\na: b\r\n\r\n--x\r\n--{boundary}\r\n\r\n\r\n--{boundary}--\r\n"
                )
            };
            let numbers = &mut Placeholders::default();
            let clean = redactor.redact_header("content-type", &kind(sent), &secrets, numbers);
            assert_eq!(clean, kind(kept));
            let renamed = with_replaced_boundary(&clean, body(sent).as_bytes());
            assert_eq!(renamed, (kept != sent).then(|| body(kept).into()));
            assert_eq!(with_replaced_boundary(&clean, body(kept).as_bytes()), None);
        }
        assert_eq!(
            with_replaced_boundary(&format!("multipart/a; boundary={REPLACED}"), b"x"),
            None
        );
    }
}
