//! Ids that answers gave, and that later requests repeat. A replay gives the recorded ones, so they
//! need no rule.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;

use super::aligned_text::AlignedText;
use loomrec_recording::Entry;

/// The largest answer that is looked at, in bytes.
const LARGEST_ANSWER: usize = 4 << 20;
/// The most differences of two answers that are looked at.
const MOST_SPANS: usize = 1024;
/// The shortest id. A shorter one may be anywhere by chance.
const SHORTEST: usize = 8;

/// The longest part of an id on each side of a difference.
const LONGEST: usize = 4096;

/// The ids in answers of two runs: for each of the other run the recorded one.
#[derive(Debug, Default)]
pub struct CarriedIds(HashMap<String, String>);

impl CarriedIds {
    /// Adds the ids in which the answers of two calls differ.
    pub fn add_differing_ids(&mut self, old: &Entry, new: &Entry) {
        let text = |entry: &Entry| {
            entry.answer_length().filter(|length| *length <= LARGEST_ANSWER)?;
            String::from_utf8(entry.answer_bytes()?.into()).ok()
        };
        let (Some(answer), Some(other)) = (text(old), text(new)) else { return };
        let text = AlignedText::new(&answer, &other, None);
        for span in text.differing_spans().take(MOST_SPANS) {
            let (recorded, now) = (id_around(&answer, &span.old), id_around(&other, &span.new));
            let (Some(recorded), Some(now)) = (recorded, now) else { continue };
            // An answer may repeat what its client made.
            if !old.asks_with(recorded.as_bytes()) && !new.asks_with(now.as_bytes()) {
                self.0.insert(now.to_owned(), recorded.to_owned());
            }
        }
    }

    /// Returns a body of the other run with the recorded ids in it.
    pub(super) fn put_into(&self, body: Bytes) -> Bytes {
        if self.0.is_empty() {
            return body;
        }
        let mut out = Vec::with_capacity(body.len());
        for run in body.chunk_by(|one, other| is_id_byte(*one) == is_id_byte(*other)) {
            let known = std::str::from_utf8(run).ok().and_then(|run| self.0.get(run));
            out.extend_from_slice(known.map_or(run, |id| id.as_bytes()));
        }
        out.into()
    }
}

/// Returns the id that a range is a part of.
fn id_around<'t>(text: &'t str, range: &Range<usize>) -> Option<&'t str> {
    let bytes = text.as_bytes();
    let before = bytes[..range.start].iter().rev().take(LONGEST);
    let before = before.take_while(|byte| is_id_byte(**byte)).count();
    let after = bytes[range.start..].iter().take(LONGEST);
    let after = after.take_while(|byte| is_id_byte(**byte)).count();
    let id = text.get(range.start - before..range.start + after)?;
    let has = |is: fn(&u8) -> bool| id.as_bytes().iter().any(is);
    let is_it = id.len() >= SHORTEST
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && range.end <= range.start + after;
    is_it.then_some(id)
}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'=')
}
