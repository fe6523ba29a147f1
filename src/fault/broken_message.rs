//! Messages of AWS's event stream that are broken in one place and correct elsewhere.
//!
//! A message is its length, the length of its headers and their checksum (four bytes
//! each), the headers, the payload, and a checksum over all before it.

/// Length of the two lengths and their checksum.
const PRELUDE: usize = 12;
/// Length of the checksum at the end.
const TRAILER: usize = 4;

/// Returns the message with another payload and correct lengths and checksums. Returns `None` if
/// the bytes are not a whole message, or if the new message would be too long.
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
