//! The kinds of what differs within two texts.

use std::ops::Range;

use serde_json::{Number, Value};

use super::aligned_text::{AlignedText, TextSpan};
use loomrec_identity::HoleKind;

/// How far a text of a kind is looked for around a difference.
const AROUND: usize = 48;

/// The shortest id that is taken for one without being of a kind.
const SHORTEST_ID: usize = 6;

/// The shortest word that is taken for one.
const SHORTEST_WORD: usize = 4;

/// Something of a kind, on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundKind {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    pub(super) kind: HoleKind,
}

/// Returns what a difference is a part of; `None` if it is of no kind.
pub(super) fn kind_of(text: &AlignedText<'_>, span: &TextSpan) -> Option<FoundKind> {
    HoleKind::plain_kinds().find_map(|kind| of_kind(kind, text, span)).or_else(|| of_id(text, span))
}

/// The most differences of one text that are looked at.
pub(super) const MOST_SPANS: usize = 256;

/// Returns the kinds of what differs between the values that two requests have at one place, each
/// once. A difference of no kind has none.
pub fn kinds_between(old: &Value, new: &Value) -> Vec<HoleKind> {
    let mut kinds = match (old, new) {
        (Value::String(old), Value::String(new)) if old != new => {
            let text = AlignedText::new(old, new, None);
            let found =
                text.differing_spans().take(MOST_SPANS).filter_map(|span| kind_of(&text, &span));
            found.map(|found| found.kind).collect()
        }
        (Value::Number(old), Value::Number(new)) if old != new => {
            let is_epoch = |number: &Number| HoleKind::Epoch.is_text(&number.to_string());
            match is_epoch(old) && is_epoch(new) {
                true => vec![HoleKind::Epoch],
                false => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Finds the longest text of a kind around a difference.
fn of_kind(kind: HoleKind, text: &AlignedText<'_>, span: &TextSpan) -> Option<FoundKind> {
    let starts = word_edges(text.old, span.old.start.saturating_sub(AROUND)..span.old.start + 1);
    let mut ends =
        word_edges(text.old, span.old.end..(span.old.end + AROUND).min(text.old.len()) + 1);
    ends.reverse();
    for start in starts {
        for end in &ends {
            let old = start..*end;
            if old.is_empty() || !kind.is_text(&text.old[old.clone()]) {
                continue;
            }
            let Some(new) = text.in_new(&old) else { continue };
            let is_plain_number = kind == HoleKind::Duration && !has_letter(&text.old[old.clone()]);
            if kind.is_text(&text.new[new.clone()]) && !is_plain_number {
                return Some(FoundKind { old, new, kind });
            }
        }
    }
    None
}

/// Returns the places in this range where a word begins or ends.
fn word_edges(text: &str, range: Range<usize>) -> Vec<usize> {
    let is_word = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_alphanumeric)
    };
    let is_edge = |at: &usize| {
        text.is_char_boundary(*at) && !(is_word(at.checked_sub(1)) && is_word(Some(*at)))
    };
    range.filter(is_edge).collect()
}

/// Finds an id that a program made: hex digits, letters and digits without a word, or the number of
/// a process or a port after its name.
fn of_id(text: &AlignedText<'_>, span: &TextSpan) -> Option<FoundKind> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric();
    let old = run(text.old, &span.old, is_word);
    let new = run(text.new, &span.new, is_word);
    let (one, other) = (&text.old[old.clone()], &text.new[new.clone()]);
    let before = text.old[..old.start].trim_end_matches([' ', ':', '=', '#']).to_ascii_lowercase();
    let is_both = |kind: &HoleKind| kind.is_text(one) && kind.is_text(other);
    let is_hex = one.len() == other.len() && one.len() >= SHORTEST_ID;
    let hex = u8::try_from(one.len()).ok().filter(|_| is_hex).map(HoleKind::Hex);
    let is_name = |names: &[&str]| names.iter().any(|name| before.ends_with(name));
    let kind = match hex.filter(|kind| is_both(kind) && has_both(one) && has_both(other)) {
        Some(kind) => kind,
        None if is_both(&HoleKind::Pid) && is_name(&["pid", "pgid"]) => HoleKind::Pid,
        None if is_both(&HoleKind::Port) && is_name(&["port", "localhost", "127.0.0.1"]) => {
            HoleKind::Port
        }
        None if is_id(one) && is_id(other) => HoleKind::Id,
        None => return None,
    };
    Some(FoundKind { old, new, kind })
}

/// Whether a text has a letter. A number without a unit may be anything.
fn has_letter(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a text has letters and digits.
fn has_both(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns the run of such bytes around a range.
pub(super) fn run(text: &str, range: &Range<usize>, is_in: impl Fn(u8) -> bool) -> Range<usize> {
    const LONGEST_RUN: usize = 4096;
    let bytes = text.as_bytes();
    let before = bytes[..range.start].iter().rev().take(LONGEST_RUN);
    let before = before.take_while(|byte| is_in(**byte)).count();
    let after = bytes[range.end..].iter().take(LONGEST_RUN);
    let after = after.take_while(|byte| is_in(**byte)).count();
    range.start - before..range.end + after
}

/// Whether a text is an id that a program made: letters and digits without a word.
fn is_id(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    let is_word = |part: &str| {
        let rest = part.get(1..).unwrap_or_default();
        part.len() >= SHORTEST_WORD
            && (rest.bytes().all(|byte| byte.is_ascii_lowercase())
                || rest.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    text.len() >= SHORTEST_ID && has_both(text) && !words.any(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(old: &str, new: &str) -> Option<(String, String)> {
        let text = AlignedText::new(old, new, None);
        let span = text.differing_spans().next()?;
        let found = kind_of(&text, &span)?;
        Some((found.kind.to_string(), old[found.old].to_owned()))
    }

    #[test]
    fn kinds_are_found_around_what_differs() {
        for (old, new, kind, text) in [
            (
                "a 0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b b",
                "a 1190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b b",
                "uuid",
                "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
            ),
            (
                "at 2026-11-23T10:11:12Z.",
                "at 2026-11-24T09:11:12Z.",
                "time",
                "2026-11-23T10:11:12Z",
            ),
            ("date: 2026-11-23", "date: 2026-11-26", "date", "2026-11-23"),
            ("Took 12ms", "Took 9ms", "duration", "12ms"),
            ("ID 46e5bd", "ID 0a5f11", "hex6", "46e5bd"),
            ("PID: 8354", "PID: 911", "pid", "8354"),
            ("call_a1B2c3", "call_Z9y8x7", "id", "a1B2c3"),
        ] {
            assert_eq!(found(old, new), Some((kind.to_owned(), text.to_owned())), "{old}");
        }
        for (old, new) in [("the cat", "the dog"), ("3 files", "4 files"), ("v1beta", "v2alpha")] {
            assert_eq!(found(old, new), None, "{old}");
        }
    }
}
