//! Differences between texts: lines, and the changed words in them.

use std::ops::Range;

pub(super) use crate::hunk::{Hunk, find_hunks};

/// The number of unchanged lines shown around a change.
const CONTEXT: usize = 2;
/// The number of unchanged characters shown next to a change in a line.
const AROUND: usize = 48;
/// The most changed characters that are shown.
const SHOWN: usize = 4000;

/// The side on which a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// On both sides.
    Same,
    /// On the first side only.
    Old,
    /// On the second side only.
    New,
    /// A placeholder for omitted lines that are on both sides.
    Gap,
}

/// A line for people. Unchanged parts of it may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// The side on which it is.
    pub kind: LineKind,
    /// Its text in pieces.
    pub pieces: Vec<LinePiece>,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePiece {
    /// Whether it is only on this line's side.
    pub changed: bool,
    /// Its text.
    pub text: String,
}

impl DiffLine {
    fn from_text(kind: LineKind, text: &str) -> Self {
        Self {
            kind,
            pieces: vec![LinePiece { changed: false, text: fold_middle(text, true, true) }],
        }
    }

    /// Returns the whole line.
    pub fn whole_text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}

/// Returns the changed lines between two texts, with a few lines around them.
pub fn changed_lines(old: &str, new: &str) -> Vec<DiffLine> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split('\n').collect(), new.split('\n').collect());
    let hunks = find_hunks(&before, &after);
    let last = hunks.len().saturating_sub(1);
    let mut out = Vec::new();
    for (at, hunk) in hunks.into_iter().enumerate() {
        match hunk.same {
            true => add_equal_lines(&before[hunk.old], at == 0, at == last, &mut out),
            false => add_changed_lines(&before[hunk.old], &after[hunk.new], &mut out),
        }
    }
    out
}

/// Adds equal lines: those next to a change, and a gap for the others.
fn add_equal_lines(same: &[&str], first: bool, last: bool, out: &mut Vec<DiffLine>) {
    let (head, tail) = (if first { 0 } else { CONTEXT }, if last { 0 } else { CONTEXT });
    // A gap takes one line itself.
    if same.len() <= head + tail + 1 {
        out.extend(same.iter().map(|line| DiffLine::from_text(LineKind::Same, line)));
        return;
    }
    let (from, to) = (head, same.len() - tail);
    out.extend(same[..from].iter().map(|line| DiffLine::from_text(LineKind::Same, line)));
    let text = format!("… {} lines the same …", to - from);
    out.push(DiffLine { kind: LineKind::Gap, pieces: vec![LinePiece { changed: false, text }] });
    out.extend(same[to..].iter().map(|line| DiffLine::from_text(LineKind::Same, line)));
}

/// Adds lines that were replaced, with the changed words in them.
fn add_changed_lines(old: &[&str], new: &[&str], out: &mut Vec<DiffLine>) {
    let any = (!old.is_empty(), !new.is_empty());
    let (old, new) = (old.join("\n"), new.join("\n"));
    let (before, after) = (split_words(&old), split_words(&new));
    let hunks = find_hunks(&before, &after);
    let length = |words: &[&str]| words.iter().map(|word| word.trim().len()).sum::<usize>();
    let kept: usize =
        hunks.iter().filter(|hunk| hunk.same).map(|hunk| length(&before[hunk.old.clone()])).sum();
    // A few common words are coincidental.
    let alike = kept * 4 >= length(&before).min(length(&after)) && kept > 0;
    let side = |words: &[&str], range: &dyn Fn(&Hunk) -> Range<usize>| -> Vec<LinePiece> {
        let piece = |hunk: &Hunk| {
            let text: String = words[range(hunk)].concat();
            LinePiece { changed: !hunk.same, text }
        };
        match alike {
            true => hunks.iter().map(piece).collect(),
            false => vec![LinePiece { changed: true, text: words.concat() }],
        }
    };
    if any.0 {
        push_lines(LineKind::Old, side(&before, &|hunk| hunk.old.clone()), out);
    }
    if any.1 {
        push_lines(LineKind::New, side(&after, &|hunk| hunk.new.clone()), out);
    }
}

/// Adds the lines that these pieces form.
fn push_lines(kind: LineKind, pieces: Vec<LinePiece>, out: &mut Vec<DiffLine>) {
    let mut line = Vec::new();
    for piece in pieces {
        for (at, text) in piece.text.split('\n').enumerate() {
            if at > 0 {
                out.push(DiffLine { kind, pieces: shorten_pieces(std::mem::take(&mut line)) });
            }
            if !text.is_empty() {
                line.push(LinePiece { changed: piece.changed, text: text.to_owned() });
            }
        }
    }
    out.push(DiffLine { kind, pieces: shorten_pieces(line) });
}

/// Returns the pieces of a line. Long unchanged pieces are shortened.
fn shorten_pieces(mut pieces: Vec<LinePiece>) -> Vec<LinePiece> {
    let last = pieces.len().saturating_sub(1);
    for (at, piece) in pieces.iter_mut().enumerate() {
        piece.text = match piece.changed {
            true => cut_end(&piece.text),
            false => fold_middle(&piece.text, at > 0 || last == 0, at < last || last == 0),
        };
    }
    pieces
}

/// Returns the text. If it is long, only its beginning and its end.
fn fold_middle(text: &str, head: bool, tail: bool) -> String {
    let count = text.chars().count();
    if count <= 2 * AROUND + 2 {
        return text.to_owned();
    }
    let start: String = text.chars().take(if head { AROUND } else { 0 }).collect();
    let end: String = text.chars().skip(count - if tail { AROUND } else { 0 }).collect();
    format!("{start}…{end}")
}

/// Returns the text, cut at the end if it is very long.
fn cut_end(text: &str) -> String {
    let more = text.chars().count().saturating_sub(SHOWN);
    if more == 0 {
        return text.to_owned();
    }
    let kept: String = text.chars().take(SHOWN).collect();
    format!("{kept}… ({more} more characters)")
}

/// Splits a text into words and the characters between them. Together they are the text.
fn split_words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, character) in text.char_indices() {
        let class = Class::from_char(character);
        if last.is_some_and(|last| last != class || class == Class::Alone) {
            out.push(&text[start..at]);
            start = at;
        }
        last = Some(class);
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// The classes of characters that form words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Blank,
    /// Each on its own: line feeds, punctuation, scripts without spaces.
    Alone,
}

impl Class {
    fn from_char(character: char) -> Self {
        match character {
            '\n' => Self::Alone,
            _ if character.is_whitespace() => Self::Blank,
            '_' => Self::Letter,
            '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'.. => Self::Alone,
            _ if character.is_alphanumeric() => Self::Letter,
            _ => Self::Alone,
        }
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
