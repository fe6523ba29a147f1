//! What may explain that two texts differ at a place: a kind of id, a known rule, the texts around,
//! or a path.

use std::cmp::Reverse;
use std::ops::Range;

use super::aligned_text::{AlignedText, TextSpan};
use loomrec_identity::{IdFinder, JsonPointer, NormalizeRule};

/// The shortest id that is taken for one without being of a kind.
const SHORTEST_ID: usize = 6;
/// The longest text before an id that a rule names.
const LONGEST_ANCHOR: usize = 40;
/// The shortest word that is taken for one.
const SHORTEST_WORD: usize = 4;
/// How far an id or a path is followed from the place where it differs.
const LONGEST_RUN: usize = 4096;
/// The most differences of one text that are looked at.
const MOST_SPANS: usize = 256;
/// The place of rules that are not at a place yet.
const NOWHERE: &str = "/x";

/// What explains a difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Explanation {
    /// A rule at the place of the difference that finds this: a kind, or two texts around.
    Finds(String),
    /// A rule that is known already.
    Known(NormalizeRule),
    /// A value of the run: the recorded text, and that of the other run.
    Value(String, String),
}

/// A difference within a text, and what may explain it. All of the explanations are of one class.
pub(super) struct ExplainedSpan {
    pub(super) options: Vec<Explanation>,
    /// What differs, on both sides.
    pub(super) texts: [String; 2],
}

/// Finds explanations.
pub(super) struct Explainer<'r> {
    /// Rules that are in force.
    own: Vec<(&'r NormalizeRule, IdFinder)>,
    kinds: Vec<(NormalizeRule, IdFinder)>,
    /// Rules for what no kind explains.
    known: Vec<(&'r NormalizeRule, IdFinder)>,
}

/// What a rule finds in both texts.
struct Matches(Vec<Range<usize>>, Vec<Range<usize>>);

impl Matches {
    fn new(finder: &IdFinder, text: &AlignedText<'_>) -> Self {
        Self(finder.find(text.old), finder.find(text.new))
    }

    /// Returns what covers a difference, if there is such a text on both sides, at the same place.
    fn covering(&self, text: &AlignedText<'_>, span: &TextSpan) -> Option<[Range<usize>; 2]> {
        let Self(old, new) = self;
        let found = &old[old.partition_point(|found| found.end < span.old.end)..];
        let found = found.first().filter(|found| found.start <= span.old.start)?;
        let other = text.in_new(found)?;
        let at = new.partition_point(|found| found.start < other.start);
        (new.get(at) == Some(&other)).then(|| [found.clone(), other])
    }
}

impl<'r> Explainer<'r> {
    /// Returns what explains differences by rules that are in force, then by kinds, and then by
    /// known rules.
    pub(super) fn new(own: &'r [NormalizeRule], known: &'r [NormalizeRule]) -> Self {
        let kinds = NormalizeRule::kinds().filter_map(|kind| rule_at(NOWHERE, kind));
        let kinds = kinds.filter_map(|rule| rule.finder().map(|finder| (rule, finder)));
        let mut known = with_finders(known);
        // The longest says most about where it belongs.
        known.sort_by_key(|(rule, _)| Reverse(rule.to_string().len()));
        Self { own: with_finders(own), kinds: kinds.collect(), known }
    }

    /// Returns each difference between two texts at this place, with what may explain it.
    pub(super) fn explain(
        &self,
        place: &JsonPointer,
        text: &AlignedText<'_>,
    ) -> Vec<(TextSpan, ExplainedSpan)> {
        let spans: Vec<TextSpan> = text.spans().take(MOST_SPANS).collect();
        let kinds = self.kinds.iter().map(|(rule, finder)| {
            let finds = Explanation::Finds(rule.kind().to_owned());
            (finds, Matches::new(finder, text))
        });
        let kinds: Vec<_> = kinds.collect();
        let at_place = |rules: &[(&NormalizeRule, IdFinder)]| -> Vec<_> {
            let here = rules.iter().filter(|(rule, _)| rule.is_at(place));
            let matches = here.map(|(rule, finder)| {
                (Explanation::Known((*rule).clone()), Matches::new(finder, text))
            });
            matches.collect()
        };
        let (own, known) = (at_place(&self.own), at_place(&self.known));
        let explained = spans.into_iter().map(|span| {
            let explained = by_rules(&own, text, &span)
                .or_else(|| by_rules(&kinds, text, &span))
                .or_else(|| by_rules(&known, text, &span))
                .or_else(|| by_prefix(text, &span))
                .or_else(|| by_anchors(text, &span))
                .or_else(|| by_path(text, &span));
            let explained = explained.unwrap_or_else(|| ExplainedSpan {
                options: Vec::new(),
                texts: [around(text.old, &span.old), around(text.new, &span.new)],
            });
            (span, explained)
        });
        explained.collect()
    }

    /// Returns the kinds that a number may be of, at a place that ends with this name.
    pub(super) fn explain_number(&self, name: &str, recorded: &str, now: &str) -> Vec<Explanation> {
        let name = name.to_ascii_lowercase();
        let is_named = |kind: &str| match kind {
            "epoch" => true,
            "duration" => {
                ["duration", "elapsed", "latency", "wall"].iter().any(|word| name.contains(word))
            }
            "pid" => name.ends_with("pid"),
            "port" => name == "port" || name.ends_with("_port"),
            _ => false,
        };
        let is_it = |(rule, finder): &&(NormalizeRule, IdFinder)| {
            is_named(rule.kind()) && [recorded, now].iter().all(|it| rule.is_number(it, finder))
        };
        let found = self.kinds.iter().filter(is_it);
        found.map(|(rule, _)| Explanation::Finds(rule.kind().to_owned())).collect()
    }
}

fn with_finders(rules: &[NormalizeRule]) -> Vec<(&NormalizeRule, IdFinder)> {
    rules.iter().filter_map(|rule| Some((rule, rule.finder()?))).collect()
}

/// Returns a rule at a place; `None` if it would not be read again as it is written.
pub(super) fn rule_at(place: &str, finds: &str) -> Option<NormalizeRule> {
    let text = format!("{place}: {finds}");
    NormalizeRule::parse(&text).ok().filter(|rule| rule.to_string() == text)
}

fn by_rules(
    rules: &[(Explanation, Matches)],
    text: &AlignedText<'_>,
    span: &TextSpan,
) -> Option<ExplainedSpan> {
    let found = rules.iter().filter_map(|(explanation, matches)| {
        Some((explanation.clone(), matches.covering(text, span)?))
    });
    let found: Vec<_> = found.collect();
    let [old, new] = found.first()?.1.clone();
    let texts = [text.old[old].to_owned(), text.new[new].to_owned()];
    Some(ExplainedSpan { options: found.into_iter().map(|(finds, _)| finds).collect(), texts })
}

/// Explains a difference by what a rule at its place finds, if it finds it.
fn by_finding(finds: String, text: &AlignedText<'_>, span: &TextSpan) -> Option<ExplainedSpan> {
    let matches = Matches::new(&rule_at(NOWHERE, &finds)?.finder()?, text);
    by_rules(&[(Explanation::Finds(finds), matches)], text, span)
}

/// Explains a difference as an id with a prefix, such as `call_`.
fn by_prefix(text: &AlignedText<'_>, span: &TextSpan) -> Option<ExplainedSpan> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let start = run(text.old, &span.old, |byte| is_name(byte) || matches!(byte, b'.' | b'/')).start;
    let before = &text.old[start..span.old.start];
    let prefix = &before[..before.rfind(|letter: char| !letter.is_ascii_alphanumeric())? + 1];
    let letters = prefix.bytes().filter(u8::is_ascii_alphabetic).count();
    if letters < 2 || prefix.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let id = |text: &str, span: &Range<usize>| {
        let end = run(text, span, is_name).end;
        is_id(&text[span.start - (before.len() - prefix.len())..end])
    };
    let is_it = text.new[..span.new.start].ends_with(before);
    let is_it = is_it && id(text.old, &span.old) && id(text.new, &span.new);
    if is_it { by_finding(format!("id({prefix})"), text, span) } else { None }
}

/// Explains a difference as an id between two texts that are the same on both sides.
fn by_anchors(text: &AlignedText<'_>, span: &TextSpan) -> Option<ExplainedSpan> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric();
    let (old, new) = (run(text.old, &span.old, is_word), run(text.new, &span.new, is_word));
    let (one, other) = (&text.old[old.clone()], &text.new[new.clone()]);
    let is_mixed = |text: &str| text.bytes().any(|byte| byte.is_ascii_alphabetic());
    if !is_id(one) || !is_id(other) || !(is_mixed(one) || is_mixed(other)) {
        return None;
    }
    // The part of the line that is the same on both sides.
    let same = text.old.as_bytes()[..old.start].iter().rev();
    let same = same.zip(text.new.as_bytes()[..new.start].iter().rev()).take(LONGEST_ANCHOR);
    let same = same.take_while(|(one, other)| one == other && **one != b'\n').count();
    let mut start = old.start - same;
    let is_within = |start: usize| {
        let before = start.checked_sub(1).and_then(|before| text.old.as_bytes().get(before));
        before.is_some_and(u8::is_ascii_alphanumeric)
    };
    while start < old.start && is_within(start) {
        start += 1;
    }
    let left = text.old.get(start..old.start)?.trim_start();
    let is_label = left.bytes().filter(u8::is_ascii_alphabetic).count() >= 2;
    if !is_label || left.contains('\\') || text.old.matches(left).nth(1).is_some() {
        return None;
    }
    let right = text.old[old.end..].chars().next();
    let right = right.map(|next| next.to_string().replace('\n', "\\n").replace('\t', "\\t"));
    by_finding(format!("{left}(…){}", right.unwrap_or_default()), text, span)
}

/// Explains a difference as a path that the run was given.
fn by_path(text: &AlignedText<'_>, span: &TextSpan) -> Option<ExplainedSpan> {
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
    let [old, new] = texts.clone();
    (old != new).then(|| ExplainedSpan { options: vec![Explanation::Value(old, new)], texts })
}

/// Returns the run of such bytes around a range.
fn run(text: &str, range: &Range<usize>, is_in: impl Fn(u8) -> bool) -> Range<usize> {
    let bytes = text.as_bytes();
    let before = bytes[..range.start].iter().rev().take(LONGEST_RUN);
    let before = before.take_while(|byte| is_in(**byte)).count();
    let after = bytes[range.end..].iter().take(LONGEST_RUN);
    let after = after.take_while(|byte| is_in(**byte)).count();
    range.start - before..range.end + after
}

/// Whether a text is an id that a program made: letters and digits without a word.
fn is_id(text: &str) -> bool {
    let is_word = |part: &str| {
        let is_such = |is: fn(&u8) -> bool| part.bytes().skip(1).all(|byte| is(&byte));
        part.len() >= SHORTEST_WORD
            && part.bytes().all(|byte| byte.is_ascii_alphabetic())
            && (is_such(u8::is_ascii_lowercase) || is_such(u8::is_ascii_uppercase))
    };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    text.len() >= SHORTEST_ID
        && text.bytes().all(is_part)
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && !text.split(['_', '-']).any(is_word)
}

/// Returns what differs with a few words around it.
pub(super) fn around(text: &str, range: &Range<usize>) -> String {
    const AROUND: usize = 32;
    const SHOWN: usize = 96;
    let before = text[..range.start].char_indices().rev().take(AROUND);
    let start = before.take_while(|(_, letter)| *letter != '\n').last();
    let start = start.map_or(range.start, |(at, _)| at);
    let is_cut = start > 0 && !text[..start].ends_with('\n');
    let skipped = text[start..range.start].find(' ').filter(|_| is_cut).map_or(0, |at| at + 1);
    let after = text[range.end..].char_indices().take(AROUND);
    let end = after.take_while(|(_, letter)| *letter != '\n').last();
    let end = end.map_or(range.end, |(at, letter)| range.end + at + letter.len_utf8());
    text[start + skipped..end].chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn explained(old: &str, new: &str) -> Vec<Explanation> {
        let place = JsonPointer::parse("/messages/0/content").unwrap();
        let known = ["/messages: Status:\\n(…)\\n\\nRecent"];
        let known = known.map(|rule| NormalizeRule::parse(rule).unwrap());
        let found = Explainer::new(&[], &known).explain(&place, &AlignedText::new(old, new, None));
        found.into_iter().flat_map(|(_, explained)| explained.options).collect()
    }

    fn finds(old: &str, new: &str) -> Vec<String> {
        let found = explained(old, new).into_iter().map(|found| match found {
            Explanation::Finds(finds) => finds,
            Explanation::Known(rule) => format!("known {rule}"),
            Explanation::Value(old, new) => format!("{old} {new}"),
        });
        found.collect()
    }

    #[test]
    fn difference_is_explained_by_the_first_that_fits() {
        assert_eq!(finds("at 10:11:12 x", "at 9:05:12 x"), ["time", "time"]);
        assert_eq!(finds("took 12ms, PGID: 7", "took 9ms, PGID: 81"), ["duration", "pid"]);
        let status = |files: &str| format!("Status:\n{files}\n\nRecent commits");
        let known = "known /messages: Status:\\n(…)\\n\\nRecent";
        assert_eq!(finds(&status("?a"), &status("some/file")), [known]);
        assert_eq!(finds("id toolu_01Ab2c!", "id toolu_01Xy9z!"), ["id(toolu_)"]);
        assert_eq!(finds("in /tmp/tmp.a1B2c3", "in /tmp/tmp.x9Y8z7"), ["id(/tmp/tmp.)"]);
        assert_eq!(finds("Chunk ID: 46e5bd\nx", "Chunk ID: 12ab99\nx"), ["Chunk ID: (…)\\n"]);
        assert_eq!(
            finds("pid: 5. Chunk ID: 46e5bd.", "pid: 6. Chunk ID: 12ab99."),
            ["pid", "Chunk ID: (…)."]
        );
        assert_eq!(finds("see /opt/one/x", "see /srv/two/x"), ["/opt /srv", "/opt/one /srv/two"]);
    }

    #[test]
    fn what_may_have_a_meaning_is_not_explained() {
        for (old, new) in [
            ("fix the test", "fix the tests"),
            ("add 41 and 1", "add 42 and 1"),
            ("use gpt-4o", "use gpt-5"),
            ("for order 123456", "for order 123457"),
            ("in src/one.rs", "in src/two.rs"),
            ("a", ""),
            ("a 0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "a word"),
        ] {
            assert_eq!(explained(old, new), [], "{old}");
        }
        // Too long to be compared in detail.
        let paths = |name: &str| (0..3000).map(|at| format!("/{name}{at} ")).collect::<String>();
        assert_eq!(explained(&paths("one"), &paths("two")), []);
    }

    #[test]
    fn difference_is_shown_with_words_around_it() {
        let text = "zero one two three four five six seven eight";
        let at = text.find("seven").unwrap();
        assert_eq!(around(text, &(at..at + 5)), "one two three four five six seven eight");
        assert_eq!(around("a\nb c\nd", &(2..3)), "b c");
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
