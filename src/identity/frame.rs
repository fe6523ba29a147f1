//! Frames: literal text that a program writes itself, from the start of a string, around typed
//! holes.
//!
//! `Chunk ID: {{hex6}}\nWall time: {{duration}}\n` is a frame with two holes. `{{any}}` is text that is
//! compared as it is; the literal after it, with the hole after that, must be there exactly once. A
//! frame holds for a string as a whole, or for nothing in it.

use std::fmt;
use std::ops::Range;

use super::hole::{HoleKind, HoleKindError};
use super::run_values::RunValues;

/// The longest text of a frame.
pub const LONGEST_FRAME: usize = 4096;

/// The fewest letters with which a frame in a prompt begins.
const FEWEST_LETTERS: usize = 3;

/// Text that is compared as it is.
const ANY: &str = "any";

/// What begins and ends the name of a hole.
const BRACES: [&str; 2] = ["{{", "}}"];

/// Literal text around typed holes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    parts: Vec<FramePart>,
}

/// One part of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum FramePart {
    /// This text.
    Literal(String),
    /// Any text, which is compared as it is.
    Any,
    /// A text of this kind.
    Hole(HoleKind),
}

/// A hole of a frame that was found in a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundHole<'f> {
    pub(super) range: Range<usize>,
    pub(super) kind: &'f HoleKind,
}

/// Why a text is not a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A hole without an end, or of no known kind.
    #[error(transparent)]
    Kind(#[from] HoleKindError),
    /// It has no hole.
    #[error("it has no hole, such as {{{{uuid}}}}")]
    NoHole,
    /// Two holes touch, so that nothing says where the one ends.
    #[error("two holes touch: there must be text between them")]
    Touching,
    /// It is too long.
    #[error("it has {length} bytes; at most {LONGEST_FRAME} are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
}

impl Frame {
    /// Returns the frame of a string that is a text of this kind, and nothing else.
    pub fn from_hole(kind: HoleKind) -> Self {
        Self { parts: vec![FramePart::Hole(kind)] }
    }

    /// Reads a frame such as `Today is {{day}}.` `\n` and `\t` are a line break and a tab.
    ///
    /// # Errors
    /// [`FrameError`] if it has no hole, a hole of no known kind, or nothing between two holes.
    pub fn parse(text: &str) -> Result<Self, FrameError> {
        if text.len() > LONGEST_FRAME {
            return Err(FrameError::TooLong { length: text.len() });
        }
        let [open, close] = BRACES;
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once(open) {
            push_literal(&mut parts, literal);
            let (name, after) = after
                .split_once(close)
                .ok_or_else(|| HoleKindError::Open { text: after.chars().take(20).collect() })?;
            parts.push(match name {
                ANY => FramePart::Any,
                _ => FramePart::Hole(HoleKind::parse(name)?),
            });
            rest = after;
        }
        push_literal(&mut parts, rest);
        if !parts.iter().any(|part| matches!(part, FramePart::Hole(_))) {
            return Err(FrameError::NoHole);
        }
        let is_text = |part: &FramePart| matches!(part, FramePart::Literal(_));
        if parts.windows(2).any(|pair| !pair.iter().any(is_text)) {
            return Err(FrameError::Touching);
        }
        Ok(Self { parts })
    }

    /// Whether it is one hole, with nothing around it.
    pub fn is_whole(&self) -> bool {
        self.parts.len() == 1
    }

    /// The kinds of its holes, in order.
    pub fn hole_kinds(&self) -> impl Iterator<Item = &HoleKind> {
        self.parts.iter().filter_map(|part| match part {
            FramePart::Hole(kind) => Some(kind),
            FramePart::Literal(_) | FramePart::Any => None,
        })
    }

    /// Whether it begins with text that a person hardly writes by chance.
    pub fn has_start(&self) -> bool {
        let Some(FramePart::Literal(text)) = self.parts.first() else { return false };
        text.chars().filter(|letter| letter.is_alphanumeric()).count() >= FEWEST_LETTERS
    }

    /// Whether it begins with a tag, such as `<environment_context>`, after white space at most.
    pub fn begins_with_tag(&self) -> bool {
        let Some(FramePart::Literal(text)) = self.parts.first() else { return false };
        let name = text
            .trim_start()
            .strip_prefix('<')
            .and_then(|rest| rest.split_once('>'))
            .map(|(it, _)| it);
        name.is_some_and(|name| name.chars().filter(char::is_ascii_alphabetic).count() > 1)
    }

    /// Whether each of its holes has so many characters of text right before it, or one if it is a
    /// long id. The first one of an id may begin the string.
    pub fn has_text_before_holes(&self, fewest: usize) -> bool {
        let is_before = |pair: &[FramePart]| match pair {
            [FramePart::Literal(text), FramePart::Hole(kind)] => {
                text.chars().count() >= if kind.is_long_id() { 1 } else { fewest }
            }
            [_, FramePart::Hole(_)] => false,
            _ => true,
        };
        let begins = match self.parts.first() {
            Some(FramePart::Hole(kind)) => kind.is_unmistakable(),
            _ => true,
        };
        begins && self.parts.windows(2).all(is_before)
    }

    /// Whether a string has what the frame begins with, and the text before its first hole of such a
    /// kind.
    pub(super) fn can_reach_hole(&self, string: &str, is_one: impl Fn(&HoleKind) -> bool) -> bool {
        let is_hole = |part: &FramePart| matches!(part, FramePart::Hole(kind) if is_one(kind));
        let Some(at) = self.parts.iter().position(is_hole) else { return false };
        let has = |part: Option<&FramePart>, has: fn(&str, &str) -> bool| match part {
            Some(FramePart::Literal(text)) => has(string, text),
            _ => false,
        };
        has(self.parts.first(), |string, text| string.starts_with(text))
            && has(at.checked_sub(1).map(|at| &self.parts[at]), |string, text| {
                string.contains(text)
            })
    }

    /// Returns where the holes are in a string, if the frame holds and none is a value.
    pub fn hole_ranges(&self, string: &str) -> Option<Vec<Range<usize>>> {
        self.holes_of(string, &RunValues::default())
    }

    /// Returns where the holes are in a string of a run with these values, if the frame holds.
    pub fn holes_of(&self, string: &str, values: &RunValues) -> Option<Vec<Range<usize>>> {
        let found = self.find_holes(string, &|kind| values.texts_of(kind))?;
        Some(found.into_iter().map(|hole| hole.range).collect())
    }

    /// Finds the holes in a string. `texts` returns the texts of a value in the run that the string
    /// is from, the longest first. Returns `None` if the frame does not hold.
    pub(super) fn find_holes(
        &self,
        string: &str,
        texts: &dyn Fn(&HoleKind) -> Vec<String>,
    ) -> Option<Vec<FoundHole<'_>>> {
        let mut found = Vec::new();
        let mut at = 0;
        for (number, part) in self.parts.iter().enumerate() {
            match part {
                FramePart::Literal(text) => {
                    string[at..].strip_prefix(text.as_str())?;
                    at += text.len();
                }
                FramePart::Any => at += self.only_place(number + 1, &string[at..], texts)?,
                FramePart::Hole(kind) => {
                    let length = self.hole_length(number, &string[at..], texts)?;
                    found.push(FoundHole { range: at..at + length, kind });
                    at += length;
                }
            }
        }
        Some(found)
    }

    /// Returns the length of the hole that is a part of the frame, at the start of a string; `None` if
    /// the string does not begin with such a text.
    fn hole_length(
        &self,
        number: usize,
        string: &str,
        texts: &dyn Fn(&HoleKind) -> Vec<String>,
    ) -> Option<usize> {
        let Some(FramePart::Hole(kind)) = self.parts.get(number) else { return None };
        let next = match self.parts.get(number + 1) {
            Some(FramePart::Literal(text)) => Some(text.as_str()),
            _ => None,
        };
        let ends = |length: usize| {
            let rest = &string[length..];
            match next {
                Some(text) => rest.starts_with(text),
                None => rest.is_empty() || (!self.is_whole() && is_free(rest)),
            }
        };
        let is_here = |text: &String| string.starts_with(text.as_str()) && ends(text.len());
        match kind.is_value() {
            true => texts(kind).into_iter().find(is_here).map(|text| text.len()),
            false => kind.length_at(string, &ends),
        }
    }

    /// Returns where the text after `{{any}}` is in a string, with the hole after it, if there is one;
    /// `None` if it is not there, or more than once.
    fn only_place(
        &self,
        number: usize,
        string: &str,
        texts: &dyn Fn(&HoleKind) -> Vec<String>,
    ) -> Option<usize> {
        let Some(FramePart::Literal(text)) = self.parts.get(number) else { return Some(0) };
        let has_hole = matches!(self.parts.get(number + 1), Some(FramePart::Hole(_)));
        let is_one = |at: &usize| {
            let after = at + text.len();
            !has_hole || self.hole_length(number + 1, &string[after..], texts).is_some()
        };
        let mut places = places_of(string, text).filter(is_one);
        let place = places.next()?;
        places.next().is_none().then_some(place)
    }
}

/// Returns all places of a text in a string, also those that overlap.
fn places_of<'t>(string: &'t str, text: &'t str) -> impl Iterator<Item = usize> + 't {
    let step = text.chars().next().map_or(1, char::len_utf8);
    let next = move |from: usize| string.get(from..)?.find(text).map(|at| from + at);
    std::iter::successors(next(0), move |at| next(at + step))
}

/// Whether what was found does not go on in the rest of a string.
fn is_free(rest: &str) -> bool {
    let mut letters = rest.chars();
    match letters.next() {
        None => true,
        Some('.' | ',' | ':') => letters.next().is_none_or(|next| !next.is_alphanumeric()),
        Some(letter) => !letter.is_alphanumeric() && !matches!(letter, '-' | '_' | '/' | '%'),
    }
}

fn push_literal(parts: &mut Vec<FramePart>, text: &str) {
    if !text.is_empty() {
        parts.push(FramePart::Literal(text.replace("\\n", "\n").replace("\\t", "\t")));
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [open, close] = BRACES;
        for part in &self.parts {
            match part {
                FramePart::Literal(text) => {
                    f.write_str(&text.replace('\n', "\\n").replace('\t', "\\t"))?;
                }
                FramePart::Any => write!(f, "{open}{ANY}{close}")?,
                FramePart::Hole(kind) => write!(f, "{open}{kind}{close}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the holes that a frame finds in a string.
    fn holes(frame: &str, string: &str) -> Option<Vec<String>> {
        let frame = Frame::parse(frame).unwrap();
        let texts = |kind: &HoleKind| {
            let texts = match kind.to_string().as_str() {
                "day" => ["Friday, November 27, 2026", "2026-11-27"],
                _ => ["on branch main\nM a", "on branch main"],
            };
            texts.map(str::to_owned).to_vec()
        };
        let found = frame.find_holes(string, &texts)?;
        Some(found.into_iter().map(|hole| string[hole.range].to_owned()).collect())
    }

    #[test]
    fn holes_are_found_from_the_start_of_a_string() {
        let frame = "Chunk ID: {{hex6}}\\nWall time: {{duration}} seconds\\n";
        let text = "Chunk ID: 46e5bd\nWall time: 0.0051 seconds\nOutput: Chunk ID: aaaaaa\n";
        assert_eq!(holes(frame, text).unwrap(), ["46e5bd", "0.0051"]);
        for other in [
            " Chunk ID: 46e5bd\nWall time: 0.0051 seconds\n",
            "Chunk ID: 46e5b\nWall time: 0.0051 seconds\n",
            "Chunk ID: 46e5bdd\nWall time: 0.0051 seconds\n",
            "Chunk ID: 46e5bd\nWall time: 0.0051 minutes\n",
            "Chunk ID: 46e5bd\nWall time: soon seconds\n",
        ] {
            assert_eq!(holes(frame, other), None, "{other}");
        }
    }

    #[test]
    fn text_after_any_must_be_there_once() {
        let frame = "<env>{{any}}\\nToday's date: {{day}}\\n</env>";
        let text = "<env>\nToday's date: 2026-11-27\n</env> more";
        assert_eq!(holes(frame, text).unwrap(), ["2026-11-27"]);
        let long = "<env>x\nToday's date: Friday, November 27, 2026\n</env>";
        assert_eq!(holes(frame, long).unwrap(), ["Friday, November 27, 2026"]);
        for other in [
            "<env>\nToday's date: 2026-11-28\n</env>",
            "<env>\nToday's date: 2026-11-27\n</env>\nToday's date: 2026-11-27\n</env>",
            "<env>\nToday's date: 2026-11-27.\n</env>",
        ] {
            assert_eq!(holes(frame, other), None, "{other}");
        }
    }

    #[test]
    fn text_after_any_is_found_by_the_hole_after_it() {
        let frame = "output: {{any}}/{{uuid}}/tasks/{{hex17}}.output\\n";
        let (uuid, hex) = ("0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "add39c6c91e2e327f");
        let text = format!("output: /tmp/claude-0/-srv-app/{uuid}/tasks/{hex}.output\nDo not");
        assert_eq!(holes(frame, &text).unwrap(), [uuid, hex]);
        // Two places, or none.
        assert_eq!(holes(frame, &text.replace("/tmp", &format!("/{uuid}/tasks/x"))), None);
        assert_eq!(holes(frame, &text.replace(uuid, "x")), None);
        let frame = "<env>{{any}}\\nDay: {{day}}\\n</env>";
        let text = "<env>\nDay: 2026-11-26\n\nDay: 2026-11-27\n</env>";
        assert_eq!(holes(frame, text).unwrap(), ["2026-11-27"]);
    }

    #[test]
    fn longest_value_that_fits_is_taken_and_the_last_hole_ends_with_its_word() {
        assert_eq!(
            holes("S:\\n{{git_status}}\\n\\n", "S:\non branch main\nM a\n\n").unwrap().len(),
            1
        );
        assert_eq!(holes("S:\\n{{git_status}}\\n\\n", "S:\non branch main\n\n").unwrap().len(), 1);
        assert_eq!(
            holes("run {{uuid}}", "run 0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b."),
            Some(vec!["0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b".to_owned()])
        );
        assert_eq!(holes("PID {{pid}}", "PID 8354x"), None);
        assert_eq!(holes("{{uuid}}", "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b."), None);
    }

    #[test]
    fn frames_are_written_as_they_are_read() {
        for text in
            ["a {{day}}\\n{{any}} b {{hex40}}", "{{uuid}}", "msg_{{id}}", "x\\t{{var:tenant}}"]
        {
            assert_eq!(Frame::parse(text).unwrap().to_string(), text);
        }
        let said = |text: &str| Frame::parse(text).unwrap_err().to_string();
        assert!(said("a").contains("no hole"));
        assert!(said("a {{day}}{{uuid}}").contains("two holes touch"));
        assert!(said("a {{any}}{{uuid}}").contains("two holes touch"));
        assert!(said("a {{text}}").contains("the kinds are"), "{}", said("a {{text}}"));
        assert!(said("a {{uuid").contains("no end"));
        assert!(said(&format!("{}{{{{uuid}}}}", "a".repeat(LONGEST_FRAME))).contains("at most"));
    }
}
