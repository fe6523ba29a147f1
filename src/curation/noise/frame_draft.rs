//! A frame for what differs in a text: its beginning, and the text right around each hole.

use std::ops::Range;

use super::aligned_text::AlignedText;
use super::hole_search::FoundKind;
use loomrec_identity::{HoleKind, NormalizeRule};

/// The longest beginning of a text that a frame has.
const START: usize = 60;

/// The longest text right before a hole, and right after it.
const BEFORE: usize = 40;
const AFTER: usize = 16;

/// Returns a rule at this place whose frame has exactly these holes, in order; `None` if the text
/// has not enough around them.
pub(super) fn rule_with_holes(
    place: &str,
    text: &AlignedText<'_>,
    holes: &[FoundKind],
) -> Option<NormalizeRule> {
    let overlap = |pair: &[FoundKind]| {
        pair[1].old.start < pair[0].old.end || pair[1].new.start < pair[0].new.end
    };
    if holes.windows(2).any(overlap) {
        return None;
    }
    let frame = write_frame(text, holes)?;
    let rule = NormalizeRule::parse(&format!("{place}: {frame}")).ok()?;
    let found = |text: &str| rule.frame()?.hole_ranges(text);
    let old: Vec<Range<usize>> = holes.iter().map(|hole| hole.old.clone()).collect();
    let new: Vec<Range<usize>> = holes.iter().map(|hole| hole.new.clone()).collect();
    (found(text.old)? == old && found(text.new)? == new).then_some(rule)
}

/// Writes the frame.
fn write_frame(text: &AlignedText<'_>, holes: &[FoundKind]) -> Option<String> {
    let whole = text.old;
    let first = holes.first()?;
    let is_whole = holes.len() == 1 && first.old == (0..whole.len());
    if is_whole {
        return Some(hole_text(&first.kind));
    }
    let mut out = String::new();
    let mut at = 0;
    for (number, found) in holes.iter().enumerate() {
        let before = &whole[at..found.old.start];
        let (most, is_start) = if number == 0 { (START, true) } else { (BEFORE, false) };
        if before.len() <= most && is_same(text, at..found.old.start) {
            out.push_str(&literal_text(before)?);
        } else {
            let head = if is_start { START } else { AFTER };
            let head = head_of(text, at..found.old.start, head);
            let tail = tail_of(text, at + head..found.old.start);
            out.push_str(&literal_text(&before[..head])?);
            out.push_str("{{any}}");
            out.push_str(&literal_text(&whole[tail..found.old.start])?);
        }
        out.push_str(&hole_text(&found.kind));
        at = found.old.end;
    }
    let after = head_of(text, at..whole.len(), AFTER);
    out.push_str(&literal_text(&whole[at..at + after])?);
    Some(out)
}

fn hole_text(kind: &HoleKind) -> String {
    format!("{{{{{kind}}}}}")
}

/// Returns a text as a frame has it; `None` if it would be read in another way.
fn literal_text(text: &str) -> Option<String> {
    let is_clear = !text.contains("{{") && !text.contains("}}") && !text.contains('\\');
    is_clear.then(|| text.replace('\n', "\\n").replace('\t', "\\t"))
}

/// Whether a range of the old text is the same in the new one, without a value of the run.
fn is_same(text: &AlignedText<'_>, range: Range<usize>) -> bool {
    let old = &text.old[range.clone()];
    range.is_empty() || text.in_new(&range).is_some_and(|new| &text.new[new] == old)
}

/// Returns how much of the beginning of a range a frame has: its first line, and at most `most`
/// bytes of it.
fn head_of(text: &AlignedText<'_>, range: Range<usize>, most: usize) -> usize {
    let part = &text.old[range.clone()];
    let line = part.find('\n').map_or(part.len(), |end| end + 1);
    let mut length = line.min(most).min(part.len());
    while length > 0
        && !(part.is_char_boundary(length) && is_same(text, range.start..range.start + length))
    {
        length -= 1;
    }
    length
}

/// Returns where the end of a range begins that a frame has: in the line of the hole, so that it is
/// there once.
fn tail_of(text: &AlignedText<'_>, range: Range<usize>) -> usize {
    let part = &text.old[range.clone()];
    let line = part.trim_end_matches('\n').rfind('\n').unwrap_or(0);
    let mut start = range.start + line.max(part.len().saturating_sub(BEFORE));
    while start < range.end
        && !(text.old.is_char_boundary(start) && is_same(text, start..range.end))
    {
        start += 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::super::hole_search::kind_of;
    use super::*;

    /// The rule for the differences of two texts.
    fn proposed(place: &str, old: &str, new: &str) -> Option<String> {
        let text = AlignedText::new(old, new, None);
        let mut holes: Vec<FoundKind> = Vec::new();
        for span in text.differing_spans() {
            let found = kind_of(&text, &span)?;
            if holes.last() != Some(&found) {
                holes.push(found);
            }
        }
        rule_with_holes(place, &text, &holes).map(|rule| rule.to_string())
    }

    #[test]
    fn frame_has_the_beginning_and_what_is_around_the_holes() {
        let text = |day: &str, id: &str| {
            format!(
                "You are an agent.\n{}\n<env>\nDate: {day}\nSession: {id}\n</env>\nBe brief.",
                "Read the code before you change it. ".repeat(4)
            )
        };
        let (one, other) =
            ("0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "1190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b");
        assert_eq!(
            proposed("system", &text("2026-11-23", one), &text("2026-11-26", other)).unwrap(),
            "system: You are an agent.\\n{{any}}\\nDate: {{date}}\\nSession: {{uuid}}\\n"
        );
        assert_eq!(
            proposed("/metadata/x: ".trim_end_matches(": "), one, other).unwrap(),
            "/metadata/x: uuid"
        );
        assert_eq!(
            proposed("/input/*/id", "msg_a1B2c3d4", "msg_Z9y8x7w6").unwrap(),
            "/input/*/id: msg_{{id}}"
        );
    }

    #[test]
    fn words_of_people_have_no_frame() {
        assert_eq!(proposed("user", "2026-11-23 at ten", "2026-11-26 at ten"), None);
        assert_eq!(
            proposed("/messages/*/content", "Meet on 2026-11-23", "Meet on 2026-11-26"),
            None
        );
    }
}
