//! Halves of characters in JSON.
//!
//! Gateways that cut text by UTF-16 units end one piece with half of a character and begin the next
//! with the other half, each as an escape such as `\ud83d`. JSON readers refuse such an escape. Here
//! a stand-in of the same length takes its place before an answer is read: a private character that
//! the answer does not use. Halves that meet when pieces are merged become their character again. A
//! half that stays alone is U+FFFD in what is read, and the same escape in JSON that is written.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::framing::is_event_stream;

/// Where the blocks of private characters begin that can stand for all halves.
const BLOCKS: [u16; 3] = [0xe000, 0xe800, 0xf000];

/// The first half, and how many there are.
const FIRST: u16 = 0xd800;
const COUNT: u16 = 0x800;

/// The length of an escape: a backslash, `u` and four digits.
const ESCAPE: usize = 6;

/// Which characters stand for the halves in an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct HalfMarks {
    /// The character that stands for the first half.
    block: u16,
}

impl HalfMarks {
    /// Replaces halves without their other half. `None` if every half has its other half, if
    /// checksums cover the text, or if no block is free.
    pub(super) fn mark_halves(json: &[u8]) -> Option<(Self, Vec<u8>)> {
        let halves = lone_halves(json);
        if halves.is_empty() || is_event_stream(json) {
            return None;
        }
        let used = used_blocks(json);
        let (&block, _) = BLOCKS.iter().zip(used).find(|(_, used)| !used)?;
        let mut marked = json.to_vec();
        for (at, half) in halves {
            let escape = format!("\\u{:04x}", block + (half - FIRST));
            marked.get_mut(at..at + ESCAPE)?.copy_from_slice(escape.as_bytes());
        }
        Some((Self { block }, marked))
    }

    /// The half that a character stands for.
    fn marked_half(self, character: char) -> Option<u16> {
        let unit = u16::try_from(u32::from(character)).ok()?;
        unit.checked_sub(self.block).filter(|place| *place < COUNT).map(|place| FIRST + place)
    }

    /// Joins halves that are neighbours, and writes the others with `write_lone`.
    fn join_halves(self, text: &str, mut write_lone: impl FnMut(u16, &mut String)) -> String {
        let mut out = String::with_capacity(text.len());
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let Some(half) = self.marked_half(character) else {
                out.push(character);
                continue;
            };
            let next = characters.peek().and_then(|next| self.marked_half(*next));
            match char::decode_utf16([half].into_iter().chain(next)).next() {
                Some(Ok(whole)) => {
                    characters.next();
                    out.push(whole);
                }
                _ => write_lone(half, &mut out),
            }
        }
        out
    }

    /// A text as it is read.
    pub(super) fn settle_text(self, text: &str) -> String {
        self.join_halves(text, |_, out| out.push(char::REPLACEMENT_CHARACTER))
    }

    /// JSON as it is written.
    pub(super) fn write_json(self, json: &str) -> String {
        self.join_halves(json, |half, out| out.push_str(&format!("\\u{half:04x}")))
    }

    /// A plain text as it is written; `None` if it has a half that is alone.
    pub(super) fn written_text(self, text: &str) -> Option<String> {
        let mut is_whole = true;
        let text = self.join_halves(text, |_, _| is_whole = false);
        is_whole.then_some(text)
    }

    /// Removes the stand-ins from the texts of a value, whose nesting is bounded by the JSON reader.
    pub(super) fn settle_value(self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.settle_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.settle_value(item)),
            Value::Object(members) => {
                let settled = std::mem::take(members).into_iter().map(|(name, mut value)| {
                    self.settle_value(&mut value);
                    (self.settle_text(&name), value)
                });
                *members = settled.collect::<Map<_, _>>();
            }
            _ => {}
        }
    }
}

/// Returns JSON in which halves are replaced for a reader that only looks at its structure.
pub(super) fn readable_json(json: &[u8]) -> Cow<'_, [u8]> {
    HalfMarks::mark_halves(json).map_or(Cow::Borrowed(json), |(_, marked)| Cow::Owned(marked))
}

/// Parses JSON. Halves that are alone become U+FFFD.
pub(super) fn parse_lossy(json: &str) -> Option<Value> {
    let (marks, marked) = match serde_json::from_str(json) {
        Ok(value) => return Some(value),
        Err(_) => HalfMarks::mark_halves(json.as_bytes())?,
    };
    let mut value = serde_json::from_slice(&marked).ok()?;
    marks.settle_value(&mut value);
    Some(value)
}

/// Whether JSON has a half without its other half.
pub(super) fn has_lone_half(json: &[u8]) -> bool {
    !lone_halves(json).is_empty()
}

/// The places and values of halves without their other half.
fn lone_halves(json: &[u8]) -> Vec<(usize, u16)> {
    let mut halves: Vec<(usize, u16)> = vec![];
    for (at, unit) in
        unicode_escapes(json).filter(|(_, unit)| (FIRST..FIRST + COUNT).contains(unit))
    {
        let is_low = unit >= FIRST + COUNT / 2;
        // A first half directly before it, which is thus not alone.
        let pairs = |&(before, first): &(usize, u16)| {
            is_low && before + ESCAPE == at && first < FIRST + COUNT / 2
        };
        if halves.pop_if(|last| pairs(last)).is_none() {
            halves.push((at, unit));
        }
    }
    halves
}

/// Which of the blocks have characters in `json`, in either spelling.
fn used_blocks(json: &[u8]) -> [bool; 3] {
    let escaped = unicode_escapes(json).map(|(_, unit)| unit);
    let plain = memchr::memchr2_iter(0xee, 0xef, json).filter_map(|at| {
        let (lead, next) = (*json.get(at)?, *json.get(at + 1)?);
        Some(u16::from(lead & 0x0f) << 12 | u16::from(next & 0x3f) << 6)
    });
    let mut used = [false; 3];
    for unit in escaped.chain(plain) {
        for (block, used) in BLOCKS.iter().zip(&mut used) {
            *used |= unit.checked_sub(*block).is_some_and(|place| place < COUNT);
        }
    }
    used
}

/// The places and values of the escapes `\uXXXX`.
fn unicode_escapes(json: &[u8]) -> impl Iterator<Item = (usize, u16)> + '_ {
    memchr::memmem::find_iter(json, b"\\u").filter_map(|at| {
        let before = json[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        let digits = json.get(at + 2..at + ESCAPE)?;
        let is_escape = before % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit);
        let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        is_escape.then_some((at, unit))
    })
}

#[cfg(test)]
#[path = "lone_half_tests.rs"]
mod tests;
