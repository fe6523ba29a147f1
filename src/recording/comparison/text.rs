//! What changed in a text: lines, and the words that changed in them.
//!
//! The work is bounded: what is too long to be compared piece by piece counts as
//! changed whole, but for what it has in common at its beginning and its end.

use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// How many pieces of both sides together are compared with each other.
const COMPARED: usize = 4000;
/// Lines that are shown around what changed.
const CONTEXT: usize = 2;
/// Characters that are shown of what did not change in a line that did.
const AROUND: usize = 48;
/// Characters that are shown of what changed.
const SHOWN: usize = 4000;

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// On both sides.
    Same,
    /// On the first side only.
    Old,
    /// On the second side only.
    New,
    /// Stands for lines that are on both sides.
    Gap,
}

/// A line, for people: what did not change in it may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// Where it stands.
    pub kind: LineKind,
    /// Its text in pieces.
    pub pieces: Vec<LinePiece>,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePiece {
    /// Whether it is on this line's side only.
    pub changed: bool,
    /// Its text.
    pub text: String,
}

impl DiffLine {
    fn plain(kind: LineKind, text: &str) -> Self {
        Self { kind, pieces: vec![LinePiece { changed: false, text: folded(text, true, true) }] }
    }

    /// The whole line.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}

/// Where two sequences are the same, or differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) same: bool,
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The hunks of two sequences, in order; together they cover both.
pub(super) fn hunks<T: Hash + Ord>(old: &[T], new: &[T]) -> Vec<Hunk> {
    let room = old.len().min(new.len());
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take(room - start).take_while(|(one, other)| one == other).count();
    let (from, to) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut out = Vec::new();
    push(&mut out, true, 0..start, 0..start);
    if from.is_empty() || to.is_empty() || from.len() + to.len() > COMPARED {
        push(&mut out, false, start..start + from.len(), start..start + to.len());
    } else {
        let (mut at, mut other) = (start, start);
        // Only what is equal stands at the places it is told at.
        for op in capture_diff_slices(Algorithm::Myers, from, to) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                let (one, two) = (old_index + start, new_index + start);
                push(&mut out, false, at..one, other..two);
                push(&mut out, true, one..one + len, two..two + len);
                (at, other) = (one + len, two + len);
            }
        }
        push(&mut out, false, at..old.len() - end, other..new.len() - end);
    }
    push(&mut out, true, old.len() - end..old.len(), new.len() - end..new.len());
    out
}

/// Adds a hunk; neighbours that both differ, or are both the same, become one.
fn push(out: &mut Vec<Hunk>, same: bool, old: Range<usize>, new: Range<usize>) {
    if old.is_empty() && new.is_empty() {
        return;
    }
    match out.last_mut().filter(|last| last.same == same) {
        Some(last) => {
            last.old.end = old.end;
            last.new.end = new.end;
        }
        None => out.push(Hunk { same, old, new }),
    }
}

/// What changed between two texts, line by line, with a few lines around it.
pub fn lines(old: &str, new: &str) -> Vec<DiffLine> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split('\n').collect(), new.split('\n').collect());
    let hunks = hunks(&before, &after);
    let last = hunks.len().saturating_sub(1);
    let mut out = Vec::new();
    for (at, hunk) in hunks.into_iter().enumerate() {
        match hunk.same {
            true => around(&before[hunk.old], at == 0, at == last, &mut out),
            false => changed(&before[hunk.old], &after[hunk.new], &mut out),
        }
    }
    out
}

/// Lines that are the same: those next to a change, the others as a gap.
fn around(same: &[&str], first: bool, last: bool, out: &mut Vec<DiffLine>) {
    let (head, tail) = (if first { 0 } else { CONTEXT }, if last { 0 } else { CONTEXT });
    // A gap takes a line itself.
    if same.len() <= head + tail + 1 {
        out.extend(same.iter().map(|line| DiffLine::plain(LineKind::Same, line)));
        return;
    }
    let (from, to) = (head, same.len() - tail);
    out.extend(same[..from].iter().map(|line| DiffLine::plain(LineKind::Same, line)));
    let text = format!("… {} lines the same …", to - from);
    out.push(DiffLine { kind: LineKind::Gap, pieces: vec![LinePiece { changed: false, text }] });
    out.extend(same[to..].iter().map(|line| DiffLine::plain(LineKind::Same, line)));
}

/// Lines of which others became, with the words that changed in them.
fn changed(old: &[&str], new: &[&str], out: &mut Vec<DiffLine>) {
    let any = (!old.is_empty(), !new.is_empty());
    let (old, new) = (old.join("\n"), new.join("\n"));
    let (before, after) = (words(&old), words(&new));
    let hunks = hunks(&before, &after);
    let length = |words: &[&str]| words.iter().map(|word| word.trim().len()).sum::<usize>();
    let kept: usize =
        hunks.iter().filter(|hunk| hunk.same).map(|hunk| length(&before[hunk.old.clone()])).sum();
    // Few words in common tell nothing: they are there by chance.
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

/// Adds the lines that these pieces make.
fn push_lines(kind: LineKind, pieces: Vec<LinePiece>, out: &mut Vec<DiffLine>) {
    let mut line = Vec::new();
    for piece in pieces {
        for (at, text) in piece.text.split('\n').enumerate() {
            if at > 0 {
                out.push(DiffLine { kind, pieces: shortened(std::mem::take(&mut line)) });
            }
            if !text.is_empty() {
                line.push(LinePiece { changed: piece.changed, text: text.to_owned() });
            }
        }
    }
    out.push(DiffLine { kind, pieces: shortened(line) });
}

/// The pieces of a line, what did not change left out where it is long.
fn shortened(mut pieces: Vec<LinePiece>) -> Vec<LinePiece> {
    let last = pieces.len().saturating_sub(1);
    for (at, piece) in pieces.iter_mut().enumerate() {
        piece.text = match piece.changed {
            true => cut(&piece.text),
            false => folded(&piece.text, at > 0 || last == 0, at < last || last == 0),
        };
    }
    pieces
}

/// The text, only its beginning and its end where it is long.
fn folded(text: &str, head: bool, tail: bool) -> String {
    let count = text.chars().count();
    if count <= 2 * AROUND + 2 {
        return text.to_owned();
    }
    let start: String = text.chars().take(if head { AROUND } else { 0 }).collect();
    let end: String = text.chars().skip(count - if tail { AROUND } else { 0 }).collect();
    format!("{start}…{end}")
}

/// The text, its end left out where it is very long.
fn cut(text: &str) -> String {
    let more = text.chars().count().saturating_sub(SHOWN);
    if more == 0 {
        return text.to_owned();
    }
    let kept: String = text.chars().take(SHOWN).collect();
    format!("{kept}… ({more} more characters)")
}

/// The words of a text and what stands between them; together they are the text.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, character) in text.char_indices() {
        let class = Class::of(character);
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

/// What characters make a word together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Blank,
    /// Each by itself: line feeds, punctuation, scripts without blanks.
    Alone,
}

impl Class {
    fn of(character: char) -> Self {
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
