//! Makes messages of AWS's event stream that are broken in one place and right in all
//! others.
//!
//! A message is its length, the length of its headers and their checksum (four bytes
//! each), the headers, the payload, and a checksum over all before it.

/// The two lengths and their checksum.
const PRELUDE: usize = 12;
/// The checksum at the end.
const TRAILER: usize = 4;

/// The message with another payload, its lengths and checksums right; `None` where the
/// bytes are no whole message, or the new one were too long for one.
pub(super) fn with_payload(message: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u32::from_be_bytes(message.get(4..8)?.try_into().ok()?)).ok()?;
    let headers = message.get(PRELUDE..PRELUDE.checked_add(length)?)?;
    if message.len() < PRELUDE + length + TRAILER {
        return None;
    }
    let total = PRELUDE + length + payload.len() + TRAILER;
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&u32::try_from(total).ok()?.to_be_bytes());
    out.extend_from_slice(&message[4..8]);
    out.extend_from_slice(&crc32fast::hash(&out).to_be_bytes());
    out.extend_from_slice(headers);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32fast::hash(&out).to_be_bytes());
    Some(out)
}
