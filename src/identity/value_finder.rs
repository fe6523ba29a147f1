//! The search for the paths of two runs in a text.

use std::ops::{Range, RangeInclusive};

use aho_corasick::AhoCorasick;

use super::run_values::FormEdge;

/// Where a text that stands for a path is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueMatch {
    pub(super) range: Range<usize>,
    /// The number of the text.
    pub(super) text: u16,
}

/// Finds texts at places where they stand for a path.
#[derive(Debug)]
pub(super) struct ValueFinder {
    search: AhoCorasick,
    edges: Vec<FormEdge>,
}

impl ValueFinder {
    /// Returns a finder of these texts. Returns `None` for an empty list.
    pub(super) fn new(texts: &[(String, FormEdge)]) -> Option<Self> {
        if texts.is_empty() {
            return None;
        }
        let search = AhoCorasick::new(texts.iter().map(|(text, _)| text)).ok()?;
        Some(Self { search, edges: texts.iter().map(|(_, edge)| *edge).collect() })
    }

    /// Whether the bytes hold one of the texts, wherever it is.
    pub(super) fn is_any_in(&self, bytes: &[u8]) -> bool {
        self.search.is_match(bytes)
    }

    /// Returns the texts at places where they stand for a path: the first ones first, and of
    /// several that begin at one place the longest.
    pub(super) fn find_values(&self, text: &str) -> Vec<ValueMatch> {
        let mut found: Vec<ValueMatch> = self
            .search
            .find_overlapping_iter(text)
            .map(|found| ValueMatch { range: found.range(), text: found.pattern().as_u32() as u16 })
            .filter(|found| is_at_edges(self.edges[usize::from(found.text)], text, &found.range))
            .collect();
        found.sort_by_key(|found| (found.range.start, usize::MAX - found.range.end));
        let mut end = 0;
        found.retain(|found| {
            let is_free = found.range.start >= end;
            if is_free {
                end = found.range.end;
            }
            is_free
        });
        found
    }
}

/// Whether what surrounds a place lets the text there stand for a path.
fn is_at_edges(edge: FormEdge, text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).unwrap_or_default();
    let last = before.chars().next_back();
    let mut rest = text.get(place.end..).unwrap_or_default().chars();
    let (next, after_next) = (rest.next(), rest.next());
    let is_word = |letter: Option<char>| letter.is_some_and(is_word_letter);
    let goes_on = matches!(next, Some('~' | '@' | '+' | '%'))
        || is_word(next)
        || (next == Some('.') && is_word(after_next));
    let begins = match edge {
        FormEdge::Component => last == Some('/'),
        FormEdge::Path => {
            let is_below = last == Some('/') && !before.ends_with("file://");
            !is_below && !matches!(last, Some('.' | '~' | '%' | '@' | '+')) && !is_word(last)
        }
    };
    begins && !goes_on
}

/// Whether a letter is part of a word: letters and digits of all scripts, but no quotes, dashes of
/// typography, or emoji. A mark that combines with the letter before it is part of the word, too.
fn is_word_letter(letter: char) -> bool {
    const COMBINING: RangeInclusive<char> = '\u{300}'..='\u{36f}';
    letter.is_alphanumeric() || matches!(letter, '-' | '_') || COMBINING.contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[(&str, FormEdge)], text: &str) -> Vec<(usize, u16)> {
        let texts: Vec<_> = texts.iter().map(|(text, edge)| ((*text).to_owned(), *edge)).collect();
        let found = ValueFinder::new(&texts).unwrap().find_values(text);
        found.into_iter().map(|found| (found.range.start, found.text)).collect()
    }

    #[test]
    fn path_is_found_where_it_is_the_whole_beginning_of_a_path() {
        let path = [("/srv/app", FormEdge::Path)];
        for text in [
            "/srv/app",
            "/srv/app/x",
            "in /srv/app.",
            "(/srv/app)",
            "/srv/app:3",
            "a=/srv/app",
            "file:///srv/app",
            "/srv/app\n",
            "/srv/app, x",
            "/srv/app..",
            "“/srv/app”",
            "/srv/app 🙂",
            "/srv/app🙂",
            "«/srv/app»—",
            "/srv/app…",
        ] {
            assert_eq!(found(&path, text).len(), 1, "{text}");
        }
        for text in [
            "/srv/apple",
            "/srv/app-2",
            "/srv/app_2",
            "/srv/app.json",
            "x/srv/app",
            "//srv/app",
            "/mnt//srv/app",
            "https://srv/app",
            "./srv/app",
            "~/srv/app",
            "/srv/app@2",
            "é/srv/app",
            "/srv/appé",
            "/srv/appe\u{301}",
            "/srv/app\u{301}",
            "/srv/app目",
            "/srv/ap",
        ] {
            assert_eq!(found(&path, text), [], "{text}");
        }
    }

    #[test]
    fn longest_text_at_a_place_is_found_if_it_is_at_edges() {
        let texts = [("/home", FormEdge::Path), ("/home/ann", FormEdge::Path)];
        assert_eq!(found(&texts, "/home/ann/x /home/anna /home"), [(0, 1), (12, 0), (23, 0)]);
    }

    #[test]
    fn path_as_one_name_is_found_where_it_is_a_whole_name_of_a_path() {
        let name = [("-home-ann-app", FormEdge::Component)];
        for text in ["/p/-home-ann-app/x", "/p/-home-ann-app", "`/p/-home-ann-app`"] {
            assert_eq!(found(&name, text).len(), 1, "{text}");
        }
        for text in ["-home-ann-app", "rm -home-ann-app", "/p/-home-ann-app-2", "/p/x-home-ann-app"]
        {
            assert_eq!(found(&name, text), [], "{text}");
        }
    }
}
