//! What explains the differences of a text: rules, or paths that the run was given.

use std::ops::Range;

use super::aligned_text::{AlignedText, TextSpan};
use super::difference::{NoiseRefusal, text_around};
use super::frame_draft;
use super::hole_search::{FoundKind, kind_of, run};
use loomrec_identity::{NormalizeRule, RunBinding};

/// The most differences of one text that are looked at.
const MOST_SPANS: usize = 256;

/// What explains a difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Explanation {
    /// A rule.
    Rule(NormalizeRule),
    /// A value of the run: the recorded text, and that of the other run.
    Value(String, String),
}

/// The differences of a text.
#[derive(Debug, Default)]
pub(super) struct ExplainedText {
    /// What explains a difference, and what differs on both sides.
    pub(super) explained: Vec<(Explanation, [String; 2])>,
    /// What nothing explains, and why.
    pub(super) refused: Vec<(NoiseRefusal, [String; 2])>,
}

/// The holes of rules, on both sides.
type Holes = Vec<(Range<usize>, Range<usize>)>;

impl ExplainedText {
    /// Explains the differences of a text. `rules` are those that hold there, and `place` is where a
    /// new one would hold.
    pub(super) fn from_aligned_text(
        place: &str,
        text: &AlignedText<'_>,
        rules: &[&NormalizeRule],
        runs: &RunBinding,
    ) -> Self {
        let mut found = Self::default();
        let known: Vec<(&NormalizeRule, Holes)> = rules
            .iter()
            .filter_map(|rule| Some((*rule, holes_of_rule(rule, text, runs)?)))
            .collect();
        let mut kinds: Vec<FoundKind> = Vec::new();
        for span in text.differing_spans().take(MOST_SPANS) {
            let is_in = |(old, new): &(Range<usize>, Range<usize>)| {
                is_within(&span.old, old) && is_within(&span.new, new)
            };
            if let Some((rule, holes)) = known.iter().find(|(_, holes)| holes.iter().any(is_in)) {
                let hole = holes.iter().find(|hole| is_in(hole));
                let texts = hole.map(|(old, new)| [&text.old[old.clone()], &text.new[new.clone()]]);
                let texts = texts.unwrap_or_default().map(str::to_owned);
                found.add_explained(Explanation::Rule((*rule).clone()), texts);
            } else if let Some(kind) = kind_of(text, &span) {
                if kinds.last() != Some(&kind) {
                    kinds.push(kind);
                }
            } else if let Some([old, new]) = differing_paths(text, &span) {
                found.add_explained(Explanation::Value(old.clone(), new.clone()), [old, new]);
            } else {
                let is_word = |text: &str| text.chars().any(char::is_alphabetic);
                let has_word =
                    is_word(&text.old[span.old.clone()]) || is_word(&text.new[span.new.clone()]);
                let why = if has_word { NoiseRefusal::Words } else { NoiseRefusal::Value };
                let texts = [text_around(text.old, &span.old), text_around(text.new, &span.new)];
                found.refused.push((why, texts));
            }
        }
        found.add_kinds(place, text, &kinds);
        found
    }

    fn add_explained(&mut self, explanation: Explanation, texts: [String; 2]) {
        let explained = (explanation, texts);
        // One id may differ in several parts.
        if self.explained.last() != Some(&explained) {
            self.explained.push(explained);
        }
    }

    /// Adds one rule for all that is of a kind.
    fn add_kinds(&mut self, place: &str, text: &AlignedText<'_>, kinds: &[FoundKind]) {
        let texts = |found: &FoundKind| {
            [text.old[found.old.clone()].to_owned(), text.new[found.new.clone()].to_owned()]
        };
        let Some(first) = kinds.first() else { return };
        match frame_draft::rule_with_holes(place, text, kinds) {
            Some(rule) => self.add_explained(Explanation::Rule(rule), texts(first)),
            None => {
                let shown = |found: &FoundKind| {
                    (
                        NoiseRefusal::Frame,
                        [text_around(text.old, &found.old), text_around(text.new, &found.new)],
                    )
                };
                self.refused.extend(kinds.iter().map(shown));
            }
        }
    }
}

/// Returns the holes of a rule if it holds on both sides.
fn holes_of_rule(rule: &NormalizeRule, text: &AlignedText<'_>, runs: &RunBinding) -> Option<Holes> {
    let frame = rule.frame()?;
    let old = frame.holes_of(text.old, runs.recorded_values())?;
    Some(old.into_iter().zip(frame.holes_of(text.new, runs.current_values())?).collect())
}

fn is_within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns the paths that a difference is a part of.
fn differing_paths(text: &AlignedText<'_>, span: &TextSpan) -> Option<[String; 2]> {
    let is_path =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b'+');
    let path = |text: &str, span: &Range<usize>| {
        let path = run(text, span, is_path);
        let end = text[span.end..path.end].find('/').map_or(path.end, |end| span.end + end);
        let path = text[path.start..end].trim_end_matches('.').to_owned();
        let is_it = path.starts_with('/')
            && !path.contains("//")
            && path.len() > "/x".len()
            && path.bytes().all(is_path);
        is_it.then_some(path)
    };
    let texts = [path(text.old, &span.old)?, path(text.new, &span.new)?];
    (texts[0] != texts[1]).then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::RunValues;
    use proptest::prelude::*;

    fn explained(old: &str, new: &str) -> ExplainedText {
        let known = NormalizeRule::parse("system: Took {{duration}} in").unwrap();
        let runs = RunBinding::new(&RunValues::default(), &RunValues::default());
        ExplainedText::from_aligned_text(
            "system",
            &AlignedText::new(old, new, None),
            &[&known],
            &runs,
        )
    }

    fn explanations(old: &str, new: &str) -> Vec<String> {
        let found = explained(old, new).explained.into_iter().map(|(found, _)| match found {
            Explanation::Rule(rule) => rule.to_string(),
            Explanation::Value(old, new) => format!("{old} {new}"),
        });
        found.collect()
    }

    #[test]
    fn difference_is_explained_by_the_first_that_fits() {
        assert_eq!(
            explanations("Took 12ms in x", "Took 9ms in x"),
            ["system: Took {{duration}} in"]
        );
        assert_eq!(
            explanations("Session a1b2c3d4e5f6 x", "Session 0f9e8d7c6b5a x"),
            ["system: Session {{hex12}} x"]
        );
        assert_eq!(
            explanations("see /opt/one/x", "see /srv/two/x"),
            ["/opt /srv", "/opt/one /srv/two"]
        );
    }

    #[test]
    fn what_may_have_a_meaning_is_not_explained() {
        for (old, new, why) in [
            ("fix the test", "fix the tests", NoiseRefusal::Words),
            ("add 41 and 1", "add 42 and 1", NoiseRefusal::Value),
            ("use gpt-4o", "use gpt-5", NoiseRefusal::Words),
            ("in src/one.rs", "in src/two.rs", NoiseRefusal::Words),
            ("2026-11-23 is it", "2026-11-26 is it", NoiseRefusal::Frame),
        ] {
            let found = explained(old, new);
            assert_eq!(found.explained, [], "{old}");
            assert_eq!(found.refused.first().map(|(why, _)| *why), Some(why), "{old}");
        }
    }

    proptest! {
        #[test]
        fn any_texts_can_be_explained(
            old in "([a-c/_. é-]|[0-9]{1,5}|\n|pid |Status:\n|abc12345){0,16}",
            new in "([a-c/_. é-]|[0-9]{1,5}|\n|pid |Status:\n|abc12345){0,16}",
        ) {
            explained(&old, &new);
        }
    }
}
