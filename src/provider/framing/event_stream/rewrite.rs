//! Rewriting the contents of event stream messages, with new lengths and checksums.

use std::borrow::Cow;
use std::ops::Range;

use super::prelude::{PRELUDE, TRAILER};
use super::{TEXT, build_message, first_header, message_parts};

/// The type of a bytes value in a header.
const BYTES: u8 = 6;

/// One message in a buffer, or bytes that are not a message.
pub struct BufferMessage<'a> {
    /// Its place in the buffer.
    pub range: Range<usize>,
    /// Its headers and its payload; `None` if its lengths, checksums or headers are wrong.
    parts: Option<(&'a [u8], &'a [u8])>,
}

fn has_whole_headers(mut headers: &[u8]) -> bool {
    while !headers.is_empty() {
        let Some((_, _, rest)) = first_header(headers) else { return false };
        headers = rest;
    }
    true
}

impl<'a> BufferMessage<'a> {
    /// The message that `bytes` are, at this place in their buffer.
    pub(in crate::framing) fn from_bytes(bytes: &'a [u8], range: Range<usize>) -> Self {
        Self {
            range,
            parts: message_parts(bytes).filter(|(headers, _)| has_whole_headers(headers)),
        }
    }

    /// Whether it decodes.
    pub fn is_whole(&self) -> bool {
        self.parts.is_some()
    }

    /// Its payload; `None` if it does not decode.
    pub fn payload(&self) -> Option<&'a [u8]> {
        self.parts.map(|(_, payload)| payload)
    }

    /// Returns the message with other header values and another payload. Returns `None` if nothing
    /// changes, or if the message does not decode. A value that is too long for a header becomes
    /// empty.
    pub fn rewritten(
        &self,
        value: impl Fn(&'a [u8]) -> Cow<'a, [u8]>,
        payload: impl Fn(&'a [u8]) -> Cow<'a, [u8]>,
    ) -> Option<Vec<u8>> {
        let (headers, carried) = self.parts?;
        let headers = rewritten_headers(headers, value)?;
        let carried = payload(carried);
        if matches!((&headers, &carried), (Cow::Borrowed(_), Cow::Borrowed(_))) {
            return None;
        }
        Some(build_message(&headers, &carried))
    }
}

/// Returns the headers with other values, for those that are text or bytes.
fn rewritten_headers<'a>(
    headers: &'a [u8],
    value: impl Fn(&'a [u8]) -> Cow<'a, [u8]>,
) -> Option<Cow<'a, [u8]>> {
    let mut out = Vec::with_capacity(headers.len());
    let mut changed = false;
    let mut left = headers;
    while !left.is_empty() {
        let (name, _, rest) = first_header(left)?;
        let (this, behind_name) = (&left[..left.len() - rest.len()], 1 + name.len());
        left = rest;
        let kind = this[behind_name];
        let told = this.get(behind_name + 3..).filter(|_| matches!(kind, BYTES | TEXT));
        match told.map(&value) {
            Some(Cow::Owned(new)) => {
                changed = true;
                let length = u16::try_from(new.len());
                out.extend_from_slice(&this[..=behind_name]);
                out.extend_from_slice(&length.unwrap_or(0).to_be_bytes());
                out.extend_from_slice(if length.is_ok() { &new } else { &[] });
            }
            _ => out.extend_from_slice(this),
        }
    }
    Some(if changed { Cow::Owned(out) } else { Cow::Borrowed(headers) })
}

/// How many bytes at the beginning and the end of a message are the same in a rewritten one. The
/// lengths and checksums count as the same.
pub fn unchanged_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    if old.len().min(new.len()) < PRELUDE + TRAILER {
        return (0, 0);
    }
    let alike = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let (old, new) = (&old[PRELUDE..old.len() - TRAILER], &new[PRELUDE..new.len() - TRAILER]);
    let front = old.iter().zip(new).take_while(alike).count();
    let most = old.len().min(new.len()) - front;
    let back = old.iter().rev().zip(new.iter().rev()).take(most).take_while(alike).count();
    (PRELUDE + front, TRAILER + back)
}
