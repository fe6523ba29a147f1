//! Credentials within the messages of AWS's event stream: taken out of what a
//! message carries, which is then written anew with the right lengths and checksums.
//!
//! What is not touched stays byte for byte as it was. Bytes that are no message are
//! redacted as any others.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use super::super::body::Chunk;
use super::{MARK, Redactor, Secrets, join};
use crate::provider::framing;

/// A payload of InvokeModel's: a model's own event in base64.
#[derive(Deserialize)]
struct Carried<'a> {
    #[serde(borrow)]
    bytes: Cow<'a, str>,
}

/// A piece of a stream that is written anew.
struct Edit {
    range: Range<usize>,
    new: Vec<u8>,
    /// How many bytes of it stay at its beginning and at its end.
    kept: (usize, usize),
    /// Whether a boundary between these goes into the middle of what is new, or
    /// behind it.
    divided: bool,
}

impl Redactor {
    /// [`Redactor::redact_chunks`] for AWS's event stream.
    pub fn redact_messages(&self, chunks: &mut [Chunk], secrets: &Secrets) -> Bytes {
        let joined = join(chunks);
        let edits = self.edits(&joined, secrets);
        let clean = if edits.is_empty() { joined } else { apply(&joined, chunks, &edits) };
        // A header's name is not looked at above. What stands there is not kept for the
        // checksum's sake.
        if secrets.are_in(&clean) {
            return self.redact_chunks(chunks, secrets);
        }
        clean
    }

    fn edits(&self, joined: &[u8], secrets: &Secrets) -> Vec<Edit> {
        let mut edits = Vec::new();
        for message in framing::messages(joined) {
            let old = &joined[message.range.clone()];
            if !message.is_whole() {
                let found = self.ranges(old, secrets).into_iter();
                edits.extend(found.map(|found| Edit {
                    range: message.range.start + found.start..message.range.start + found.end,
                    new: MARK.as_bytes().to_vec(),
                    kept: (0, 0),
                    divided: false,
                }));
                continue;
            }
            let value = |value| self.redact(value, secrets);
            let payload = |payload| self.redact_payload(payload, secrets);
            if let Some(new) = message.rewritten(value, payload) {
                let kept = framing::kept(old, &new);
                edits.push(Edit { range: message.range, new, kept, divided: true });
            }
        }
        edits
    }

    /// What a message carries, without credentials; those in a model's own event are
    /// behind base64, which is made again.
    fn redact_payload<'a>(&self, payload: &'a [u8], secrets: &Secrets) -> Cow<'a, [u8]> {
        let Some((range, native)) = carried(payload) else {
            return self.redact(payload, secrets);
        };
        let front = self.redact(&payload[..range.start], secrets);
        let back = self.redact(&payload[range.end..], secrets);
        let native = match self.redact(&native, secrets) {
            Cow::Borrowed(_) => Cow::Borrowed(&payload[range]),
            Cow::Owned(clean) => Cow::Owned(STANDARD.encode(clean).into_bytes()),
        };
        let parts = [front, native, back];
        let clean = if parts.iter().all(|part| matches!(part, Cow::Borrowed(_))) {
            Cow::Borrowed(payload)
        } else {
            Cow::Owned(parts.concat())
        };
        // A key that is itself in the base64, by chance or by design.
        if secrets.are_in(&clean) {
            return Cow::Owned(self.redact(&clean, secrets).into_owned());
        }
        clean
    }
}

/// Where in a payload the base64 of a model's own event stands, and that event.
fn carried(payload: &[u8]) -> Option<(Range<usize>, Vec<u8>)> {
    let Carried { bytes } = serde_json::from_slice(payload).ok()?;
    let native = STANDARD.decode(&*bytes).ok().filter(|native| !native.is_empty())?;
    // As it is written: `/` may be escaped.
    let written = [bytes.to_string(), bytes.replace('/', "\\/")];
    let range = written.iter().find_map(|text| {
        let quoted = format!("\"{text}\"");
        let at = memchr::memmem::find(payload, quoted.as_bytes())? + 1;
        Some(at..at + text.len())
    })?;
    Some((range, native))
}

/// Puts the edits into the chunks, and gives what these are then, in one piece.
fn apply(joined: &[u8], chunks: &mut [Chunk], edits: &[Edit]) -> Bytes {
    let mut out = Vec::with_capacity(joined.len());
    // Where each edit begins in what is new.
    let mut starts = Vec::with_capacity(edits.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(&joined[at..edit.range.start]);
        starts.push(out.len());
        out.extend_from_slice(&edit.new);
        at = edit.range.end;
    }
    out.extend_from_slice(&joined[at..]);
    let out = Bytes::from(out);
    let place = |old: usize| {
        let next = edits.partition_point(|edit| edit.range.start < old);
        let Some(last) = next.checked_sub(1) else { return old };
        let (edit, start) = (&edits[last], starts[last]);
        match old.checked_sub(edit.range.end) {
            Some(behind) => start + edit.new.len() + behind,
            None => start + edit.place(old - edit.range.start),
        }
    };
    let (mut old, mut new) = (0, 0);
    for chunk in chunks {
        old += chunk.data.len();
        let end = place(old);
        chunk.data = out.slice(new..end);
        new = end;
    }
    out
}

impl Edit {
    /// Where a boundary within what was goes in what is new.
    fn place(&self, old: usize) -> usize {
        let (front, back) = self.kept;
        let behind = self.range.len() - old;
        if old <= front {
            return old;
        }
        if behind <= back || !self.divided {
            return self.new.len() - back.min(behind);
        }
        let (was, is) = (self.range.len() - front - back, self.new.len() - front - back);
        front + (old - front) * is / was
    }
}

#[cfg(test)]
#[path = "framed_tests.rs"]
mod tests;
