//! A difference that no rule explains, and why.

use std::ops::Range;

/// Why no rule explains a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoiseRefusal {
    /// The texts differ in words.
    Words,
    /// The numbers or signs are of no kind that a rule finds.
    Value,
    /// Nothing around it shows that the program wrote it.
    Frame,
    /// A member or a type differs.
    Structure,
    /// A list has another number of elements.
    Count,
    /// The difference is not in a JSON body.
    Head,
    /// Ids that are equal in one request are different in the other.
    Numbering,
    /// The rule would make two recorded calls with different answers one.
    Merge,
    /// Only one of the recordings has the call.
    Unpaired,
    /// The request of the call is not recorded.
    NoRequest,
}

impl NoiseRefusal {
    /// Returns its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Value => "value",
            Self::Frame => "frame",
            Self::Structure => "structure",
            Self::Count => "count",
            Self::Head => "head",
            Self::Numbering => "numbering",
            Self::Merge => "merge",
            Self::Unpaired => "unpaired",
            Self::NoRequest => "no_request",
        }
    }

    /// Returns the reason in words.
    pub fn reason_text(self) -> &'static str {
        match self {
            Self::Words => "a difference in words",
            Self::Value => "a difference of no known kind",
            Self::Frame => "a difference with no text of the program around it",
            Self::Structure => "a difference in structure",
            Self::Count => "another number of elements",
            Self::Head => "a difference outside the body",
            Self::Numbering => "ids that are equal in one request differ in the other",
            Self::Merge => "the rule would merge two calls with different answers",
            Self::Unpaired => "a call that only one of the two has",
            Self::NoRequest => "a call whose request is not recorded",
        }
    }
}

/// A difference that no rule explains.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnexplainedDifference {
    /// The reason.
    pub reason: NoiseRefusal,
    /// The place in the body, or what else differs.
    pub place: String,
    /// What the recorded request has there.
    pub recorded: Option<String>,
    /// What the other request has there.
    pub now: Option<String>,
    /// The number of calls with this difference.
    pub calls: usize,
}

impl UnexplainedDifference {
    /// Returns a difference of one call.
    pub(super) fn new(
        reason: NoiseRefusal,
        place: &str,
        [recorded, now]: [Option<String>; 2],
    ) -> Self {
        Self { reason, place: place.to_owned(), recorded, now, calls: 1 }
    }
}

/// Returns what differs with a few words around it.
pub(super) fn text_around(text: &str, range: &Range<usize>) -> String {
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

    #[test]
    fn difference_is_shown_with_words_around_it() {
        let text = "zero one two three four five six seven eight";
        let at = text.find("seven").unwrap();
        assert_eq!(text_around(text, &(at..at + 5)), "one two three four five six seven eight");
        assert_eq!(text_around("a\nb c\nd", &(2..3)), "b c");
    }
}
