//! Two texts, aligned: which part of one corresponds to which part of the other.
//!
//! Texts are compared line by line, and changed lines token by token. A token is a run of letters
//! and digits, any other byte, or a value of the run, which is equal to the other run's value.

use std::ops::Range;

use crate::hunk::{Hunk, find_hunks};
use loomrec_identity::{RunBinding, RunValues};

/// Begins and ends a value of the run. No text of a program has this character.
const MARK: char = '\u{10ffff}';

/// A place where two texts differ, in bytes of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextSpan {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The paths of two runs.
#[derive(Debug)]
pub(super) struct TwoRuns {
    old: RunBinding,
    new: RunBinding,
}

impl TwoRuns {
    /// Returns the paths of two runs with these values.
    pub(super) fn new(old: &RunValues, new: &RunValues) -> Self {
        Self { old: RunBinding::new(old, new), new: RunBinding::new(new, old) }
    }

    /// Returns the binding of the recorded run to the other one.
    pub(super) fn binding(&self) -> &RunBinding {
        &self.old
    }
}

/// Two texts, aligned.
pub(super) struct AlignedText<'t> {
    pub(super) old: &'t str,
    pub(super) new: &'t str,
    old_tokens: MaskedTokens,
    new_tokens: MaskedTokens,
    /// Equal and different tokens. Together they cover both texts.
    hunks: Vec<Hunk>,
}

impl<'t> AlignedText<'t> {
    /// Aligns two texts. Paths of two runs are equal if they have the same name.
    pub(super) fn new(old: &'t str, new: &'t str, runs: Option<&TwoRuns>) -> Self {
        let old_tokens = MaskedTokens::new(old, runs.map(|runs| &runs.old));
        let new_tokens = MaskedTokens::new(new, runs.map(|runs| &runs.new));
        let hunks = align_tokens(&old_tokens, &new_tokens);
        Self { old, new, old_tokens, new_tokens, hunks }
    }

    /// Returns the places where the texts differ.
    pub(super) fn differing_spans(&self) -> impl Iterator<Item = TextSpan> {
        self.hunks.iter().filter(|hunk| !hunk.same).map(|hunk| TextSpan {
            old: self.old_tokens.byte_range(&hunk.old),
            new: self.new_tokens.byte_range(&hunk.new),
        })
    }

    /// Returns the place in the new text that corresponds to a range of the old one; `None` if one
    /// of its ends is within a difference.
    pub(super) fn in_new(&self, range: &Range<usize>) -> Option<Range<usize>> {
        Some(self.start_in_new(range.start)?..self.end_in_new(range.end)?)
    }

    /// Finds the beginning of a range. Text that only the new side has belongs to what follows it.
    fn start_in_new(&self, at: usize) -> Option<usize> {
        let (token, within) = self.old_tokens.token_at(at);
        let next = self.hunks.partition_point(|hunk| hunk.old.start < token);
        match self.hunks.get(next).filter(|hunk| hunk.old.start == token) {
            Some(hunk) if within == 0 => Some(self.new_tokens.start(hunk.new.start)),
            Some(hunk) if hunk.same => self.place_in_token(hunk, token, within),
            Some(_) => self.place_in_token(self.hunks.get(next + 1)?, token, within),
            None => self.place_in_token(self.hunks.get(next.checked_sub(1)?)?, token, within),
        }
    }

    /// Finds the end of a range. Text that only the new side has belongs to what it follows.
    fn end_in_new(&self, at: usize) -> Option<usize> {
        let (token, within) = self.old_tokens.token_at(at);
        let next = self.hunks.partition_point(|hunk| hunk.old.end <= token);
        let last = next.checked_sub(1).and_then(|last| self.hunks.get(last));
        match last.filter(|hunk| hunk.old.end == token && within == 0) {
            Some(hunk) => Some(self.new_tokens.start(hunk.new.end)),
            None => self.place_in_token(self.hunks.get(next)?, token, within),
        }
    }

    /// Finds a place within an equal token.
    fn place_in_token(&self, hunk: &Hunk, token: usize, within: usize) -> Option<usize> {
        let other = hunk.new.start + token.checked_sub(hunk.old.start)?;
        let length =
            |tokens: &MaskedTokens, token: usize| tokens.byte_range(&(token..token + 1)).len();
        let is_alike = hunk.same
            && hunk.old.contains(&token)
            && (within == 0 || length(&self.old_tokens, token) == length(&self.new_tokens, other));
        is_alike.then(|| self.new_tokens.start(other) + within)
    }
}

/// Aligns the lines, and then the tokens of those that differ.
fn align_tokens(old: &MaskedTokens, new: &MaskedTokens) -> Vec<Hunk> {
    let (old_lines, new_lines) = (old.line_starts(), new.line_starts());
    let texts = |tokens: &MaskedTokens, lines: &[usize]| -> Vec<Range<usize>> {
        lines.windows(2).map(|line| tokens.starts[line[0]].0..tokens.starts[line[1]].0).collect()
    };
    let (old_texts, new_texts) = (texts(old, &old_lines), texts(new, &new_lines));
    let before: Vec<&str> = old_texts.iter().map(|line| &old.masked[line.clone()]).collect();
    let after: Vec<&str> = new_texts.iter().map(|line| &new.masked[line.clone()]).collect();
    let mut out = Vec::new();
    for hunk in find_hunks(&before, &after) {
        let from = old_lines[hunk.old.start]..old_lines[hunk.old.end];
        let to = new_lines[hunk.new.start]..new_lines[hunk.new.end];
        if hunk.same && from.len() == to.len() {
            out.push(Hunk { same: true, old: from, new: to });
            continue;
        }
        for inner in find_hunks(&old.token_texts(&from), &new.token_texts(&to)) {
            out.push(Hunk {
                same: inner.same,
                old: inner.old.start + from.start..inner.old.end + from.start,
                new: inner.new.start + to.start..inner.new.end + to.start,
            });
        }
    }
    out
}

/// The tokens of a text.
struct MaskedTokens {
    /// The text with the class of each value in its place.
    masked: String,
    /// Where each token begins, in the masked text and in the text, and where both end.
    starts: Vec<(usize, usize)>,
}

impl MaskedTokens {
    fn new(text: &str, binding: Option<&RunBinding>) -> Self {
        let mut tokens = Self { masked: String::with_capacity(text.len()), starts: Vec::new() };
        let mut at = 0;
        let paths = binding.map(|binding| binding.find_paths(text).unwrap_or_default());
        for path in paths.into_iter().flatten().filter(|path| path.text.is_some()) {
            tokens.add_tokens(text, at..path.range.start);
            tokens.starts.push((tokens.masked.len(), path.range.start));
            tokens.masked.push_str(&format!("{MARK}{}{MARK}", path.name));
            at = path.range.end;
        }
        tokens.add_tokens(text, at..text.len());
        tokens.starts.push((tokens.masked.len(), text.len()));
        tokens
    }

    /// Adds the tokens of a part of the text.
    fn add_tokens(&mut self, text: &str, part: Range<usize>) {
        let mut in_word = false;
        for (at, byte) in text[part.clone()].bytes().enumerate() {
            let is_word = byte.is_ascii_alphanumeric() || byte >= 0x80;
            if !is_word || !in_word {
                self.starts.push((self.masked.len() + at, part.start + at));
            }
            in_word = is_word;
        }
        self.masked.push_str(&text[part]);
    }

    /// Returns the tokens with which lines begin, and the number of tokens.
    fn line_starts(&self) -> Vec<usize> {
        let is_end = |token: &usize| self.masked[self.starts[*token].0..].starts_with('\n');
        let count = self.starts.len() - 1;
        let mut lines = vec![0];
        lines.extend((0..count).filter(is_end).map(|token| token + 1));
        if lines.last() != Some(&count) {
            lines.push(count);
        }
        lines
    }

    /// Returns the texts of tokens, with classes in the place of values.
    fn token_texts(&self, tokens: &Range<usize>) -> Vec<&str> {
        let text = |token: usize| &self.masked[self.starts[token].0..self.starts[token + 1].0];
        tokens.clone().map(text).collect()
    }

    /// Returns where a token begins in the text.
    fn start(&self, token: usize) -> usize {
        self.starts[token].1
    }

    /// Returns where tokens are in the text.
    fn byte_range(&self, tokens: &Range<usize>) -> Range<usize> {
        self.start(tokens.start)..self.start(tokens.end)
    }

    /// Returns the token that a place is in, and how far.
    fn token_at(&self, at: usize) -> (usize, usize) {
        let token = self.starts.partition_point(|(_, start)| *start <= at).saturating_sub(1);
        (token, at.saturating_sub(self.start(token)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn differing<'t>(old: &'t str, new: &'t str) -> Vec<(&'t str, &'t str)> {
        let text = AlignedText::new(old, new, None);
        text.differing_spans().map(|span| (&old[span.old], &new[span.new])).collect()
    }

    #[test]
    fn texts_are_split_where_tokens_differ() {
        assert_eq!(differing("a b1 c\nd", "a b2 c\nd"), [("b1", "b2")]);
        assert_eq!(differing("one\ntwo\nx", "one\n2\ntwo\nx"), [("", "2\n")]);
        assert_eq!(differing("", "x"), [("", "x")]);
        assert_eq!(differing("same", "same"), []);
    }

    #[test]
    fn values_of_two_runs_are_equal() {
        let values = |path: &str| -> RunValues {
            [("cwd".to_owned(), path.to_owned())].into_iter().collect()
        };
        let runs = TwoRuns::new(&values("/srv/a"), &values("/ci/bb/c"));
        let (old, new) = ("in /srv/a by 1", "in /ci/bb/c by 2");
        let text = AlignedText::new(old, new, Some(&runs));
        let spans: Vec<_> = text.differing_spans().collect();
        assert_eq!(spans, [TextSpan { old: 13..14, new: 15..16 }]);
        assert_eq!(text.in_new(&(3..9)), Some(3..11));
        assert_eq!(text.in_new(&(10..12)), Some(12..14));
        assert_eq!(text.in_new(&(4..9)), None);
    }

    #[test]
    fn ranges_are_found_in_the_new_text() {
        let text = AlignedText::new("x 10:11 y", "x 11:12 y", None);
        assert_eq!(text.in_new(&(2..7)), Some(2..7));
        let text = AlignedText::new("x 10:11:12 y", "x 11:12:10 y", None);
        assert_eq!(text.in_new(&(2..10)), Some(2..10));
        let text = AlignedText::new("abc1 d", "abc2 d", None);
        assert_eq!(text.in_new(&(0..2)), None);
        assert_eq!(text.in_new(&(0..6)), Some(0..6));
    }
}
