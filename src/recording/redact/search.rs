//! The search for credentials in decoded text: JSON is searched value by value, anything else as a
//! whole.

use std::ops::Range;

use super::decoded_text::DecodedText;
use super::edit::{SearchMatch, merge_found};
use super::json_tokens::{JsonText, JsonToken, JsonTokens};
use super::placeholder::{RedactionMark, find_placeholders};
use super::wide_text::has_wide_run;
use super::{CallCredentials, MARK, Redactor};

/// The deepest nesting of JSON in strings of JSON that is searched.
const NESTED: usize = 4;

/// A search for these credentials, and for what the patterns find.
#[derive(Clone, Copy)]
pub(super) struct RedactSearch<'r> {
    pub(super) redactor: &'r Redactor,
    pub(super) secrets: &'r CallCredentials,
}

/// What a text is searched for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Shapes of keys, matches of rules, and the call's own credentials.
    All,
    /// The same without rules, which do not apply to names.
    Credentials,
    /// Only the call's own credentials.
    Own,
}

impl RedactSearch<'_> {
    /// Whether it is certain, without parsing, that neither the JSON text nor its decoded strings
    /// hold anything to redact: no escape hides a letter, and no key begins in it.
    pub(super) fn is_plainly_clean(&self, json: &[u8]) -> bool {
        self.redactor.rules.is_empty()
            && !hides_a_letter(json)
            && !self.begins_in(json)
            && !self.secrets.values().any(is_escaped_in_json)
    }

    /// Whether it is certain, without decoding, that a text that is not JSON holds nothing to
    /// redact: it has no JSON escapes, and no key begins in it.
    pub(super) fn is_plainly_clean_text(&self, text: &[u8]) -> bool {
        self.redactor.rules.is_empty() && !text.contains(&b'\\') && !self.begins_in(text)
    }

    /// Whether a key may begin in the bytes, or a credential may be in them. A text in UTF-16 or
    /// UTF-32 may hold either.
    pub(super) fn begins_in(&self, bytes: &[u8]) -> bool {
        self.redactor.shapes.begin_in(bytes)
            || self.secrets.could_be_in(bytes)
            || has_wide_run(bytes)
    }

    /// Searches a text that is not JSON, both as it is written and without the JSON escapes that
    /// parts of it may have.
    pub(super) fn in_text(&self, text: &[u8]) -> Vec<SearchMatch> {
        self.in_text_at(text, 0, Wanted::All)
    }

    /// Searches a text that is not JSON for credentials only, without rules.
    pub(super) fn credentials_in_text(&self, text: &[u8]) -> Vec<SearchMatch> {
        self.in_text_at(text, 0, Wanted::Credentials)
    }

    /// Searches a text at this nesting depth.
    fn in_text_at(&self, text: &[u8], depth: usize, wanted: Wanted) -> Vec<SearchMatch> {
        let mut found = self.search_bytes(text, depth, wanted);
        if depth >= NESTED || !text.contains(&b'\\') {
            return found;
        }
        let mut decoded = DecodedText::default();
        decoded.push_json(text, 0..text.len(), true);
        if decoded.as_bytes() == text {
            return found;
        }
        let mut inner = self.in_text_at(decoded.as_bytes(), depth + 1, wanted);
        inner = place_in_source(inner, &decoded, text);
        // Of two named values, the longer one counts: `ann` and not `nn` if `a` is an escape.
        drop_named_within(&mut inner, &found);
        drop_named_within(&mut found, &inner);
        found.extend(inner);
        found
    }

    /// Searches a string. A string that is itself JSON is searched value by value.
    pub(super) fn in_value(&self, text: &[u8], depth: usize) -> Vec<SearchMatch> {
        let start = text.trim_ascii_start().first();
        if depth >= NESTED || !matches!(start, Some(b'{' | b'[')) {
            return self.in_text_at(text, depth, Wanted::All);
        }
        let mut found = self.in_json(text, depth + 1);
        found.extend(self.search_bytes(text, depth, Wanted::Own));
        found
    }

    /// Searches the name of a member or of a field.
    pub(super) fn in_name(&self, name: &[u8]) -> Vec<SearchMatch> {
        self.search_bytes(name, 0, Wanted::Credentials)
    }

    /// Searches JSON documents: each value and each name by itself. A text that is not complete
    /// JSON is also searched as a text.
    pub(super) fn in_json(&self, json: &[u8], depth: usize) -> Vec<SearchMatch> {
        let mut found = Vec::new();
        // Then a string without escapes holds nothing to redact.
        let only_escaped = self.redactor.rules.is_empty() && !self.begins_in(json);
        let mut tokens = JsonTokens::new(json);
        for token in tokens.by_ref() {
            let (text, is_name) = match token {
                JsonToken::Value(text) => (text, false),
                JsonToken::Name(text) => (text, true),
                _ => continue,
            };
            if text.escaped || !only_escaped {
                found.extend(self.in_json_text(json, &text, is_name, depth));
            }
        }
        if tokens.is_complete() {
            self.note_rules_that_match_elsewhere(json);
        } else if depth == 0 {
            found.extend(self.in_broken_json(json));
        } else {
            found.extend(self.in_text_at(json, depth, Wanted::All));
        }
        found
    }

    /// Searches a body that only begins as JSON does. The match of a rule ends at a quote, as it
    /// does in JSON. Otherwise it could swallow the rest of the body, and two requests would become
    /// the same.
    fn in_broken_json(&self, json: &[u8]) -> Vec<SearchMatch> {
        let mut found = self.credentials_in_text(json);
        if !self.redactor.rules.is_empty() {
            let text = |search: &Self, text: &[u8]| search.in_text(text);
            let pieces = split_at_quotes(json);
            found.extend(pieces.flat_map(|piece| self.search_range(piece, json, text)));
        }
        found
    }

    /// Searches one string of a JSON text.
    pub(super) fn in_json_text(
        &self,
        json: &[u8],
        text: &JsonText,
        is_name: bool,
        depth: usize,
    ) -> Vec<SearchMatch> {
        let within = |text: &[u8]| match is_name {
            true => self.in_name(text),
            false => self.in_value(text, depth),
        };
        let range = text.range.clone();
        if !text.escaped {
            let mut found = within(&json[range.clone()]);
            found.iter_mut().flat_map(|found| &mut found.places).for_each(|place| {
                *place = place.start + range.start..place.end + range.start;
            });
            return found;
        }
        let mut decoded = DecodedText::default();
        decoded.push_json(json, range, true);
        place_in_source(within(decoded.as_bytes()), &decoded, json)
    }

    /// Records the rules that match no text, only the name of a member or a number. They have no
    /// effect.
    fn note_rules_that_match_elsewhere(&self, json: &[u8]) {
        for rule in &self.redactor.rules {
            if !rule.is_unmatched() || !rule.regex.is_match(json) {
                continue;
            }
            let matches = |token| match token {
                JsonToken::Name(JsonText { range, .. }) | JsonToken::Scalar(range) => {
                    rule.regex.is_match(&json[range])
                }
                _ => false,
            };
            if JsonTokens::new(json).any(matches) {
                rule.note_elsewhere();
            }
        }
    }

    /// Searches the bytes as they are, and texts in UTF-16 and UTF-32 among them.
    fn search_bytes(&self, text: &[u8], depth: usize, wanted: Wanted) -> Vec<SearchMatch> {
        let mut found = self.find_literal(text, wanted);
        if depth <= NESTED && text.contains(&0) {
            let within = |search: &Self, text: &[u8]| search.in_text_at(text, depth + 1, wanted);
            found.extend(self.in_wide_runs(text, within));
        }
        found
    }

    /// Searches the bytes as they are.
    fn find_literal(&self, text: &[u8], wanted: Wanted) -> Vec<SearchMatch> {
        let mut found = Vec::new();
        let mut ranges = Vec::new();
        let mut add = |ranges: &mut Vec<Range<usize>>, own: bool, name: Option<usize>| {
            for range in ranges.drain(..) {
                if range.is_empty() || self.is_inside_mark(text, &range) {
                    continue;
                }
                let value = || text[range.clone()].to_vec();
                let mark = name.map_or(RedactionMark::Plain, |name| RedactionMark::Named {
                    name,
                    value: value(),
                });
                found.push(SearchMatch { places: vec![range], own, mark, encoding: None });
            }
        };
        if wanted != Wanted::Own {
            self.redactor.shapes.find_ranges(text, &mut ranges);
            add(&mut ranges, false, None);
        }
        if wanted == Wanted::All {
            for rule in &self.redactor.rules {
                ranges.extend(rule.regex.find_iter(text).map(|found| found.range()));
                if !ranges.is_empty() {
                    rule.note_text();
                    add(&mut ranges, false, rule.name);
                }
            }
        }
        self.secrets.find_ranges(text, &mut ranges);
        add(&mut ranges, true, None);
        if wanted == Wanted::All && !self.redactor.names.is_empty() {
            let placeholders = find_placeholders(text, &self.redactor.names);
            found.extend(placeholders.map(|(range, name, number)| SearchMatch {
                places: vec![range],
                own: false,
                mark: RedactionMark::Placeholder { name, number },
                encoding: None,
            }));
        }
        found
    }

    /// Whether a match overlaps or touches a mark or a placeholder. Then it is a remainder of what
    /// was removed, read together with its mark.
    pub(super) fn touches_mark(&self, text: &[u8], found: &SearchMatch) -> bool {
        found.places.iter().any(|place| {
            let around = place.start.saturating_sub(MARK.len())..place.end + MARK.len();
            let around = &text[around.start..around.end.min(text.len())];
            let mut placeholders = find_placeholders(around, &self.redactor.names);
            memchr::memmem::find(around, MARK.as_bytes()).is_some() || placeholders.next().is_some()
        })
    }

    /// Whether a range is inside a mark or a placeholder. A pattern as wide as `\w+` must leave
    /// these as they are.
    fn is_inside_mark(&self, text: &[u8], range: &Range<usize>) -> bool {
        let names = &self.redactor.names;
        let longest = names.iter().map(|name| name.len() + 12).max().unwrap_or(0).max(MARK.len());
        if range.len() > longest {
            return false;
        }
        let from = range.start.saturating_sub(longest);
        let around = &text[from..text.len().min(range.end + longest)];
        let marks =
            memchr::memmem::find_iter(around, MARK.as_bytes()).map(|at| at..at + MARK.len());
        let placeholders = find_placeholders(around, names).map(|(range, ..)| range);
        marks
            .chain(placeholders)
            .any(|mark| from + mark.start <= range.start && range.end <= from + mark.end)
    }
}

/// Splits a text at the quotes that are not escaped.
pub(super) fn split_at_quotes(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    let mut escaped_at = None;
    let quotes = memchr::memchr2_iter(b'"', b'\\', text).filter(move |at| {
        let is_escaped = escaped_at == Some(*at);
        escaped_at = (text[*at] == b'\\' && !is_escaped).then_some(at + 1);
        text[*at] == b'"' && !is_escaped
    });
    quotes.chain([text.len()]).map(move |end| {
        let piece = start..end;
        start = end + 1;
        piece
    })
}

/// Whether an escape of a JSON text may stand for a letter, a digit or a slash.
fn hides_a_letter(json: &[u8]) -> bool {
    let escapes = memchr::memchr_iter(b'\\', json);
    escapes.filter_map(|at| json.get(at + 1)).any(|byte| matches!(byte, b'u' | b'/'))
}

/// Whether JSON escapes a character of this value.
fn is_escaped_in_json(value: &str) -> bool {
    value.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
}

/// Drops the named values that are inside those of `others`.
fn drop_named_within(found: &mut Vec<SearchMatch>, others: &[SearchMatch]) {
    let is_named = |found: &&SearchMatch| matches!(found.mark, RedactionMark::Named { .. });
    let named: Vec<SearchMatch> = others.iter().filter(is_named).cloned().collect();
    if named.is_empty() {
        return;
    }
    let outer = merge_found(named);
    let is_within = |place: &Range<usize>| {
        let behind = outer.partition_point(|edit| edit.range.start <= place.start);
        behind > 0 && place.end <= outer[behind - 1].range.end
    };
    found.retain(|found| !is_named(&found) || !found.places.iter().all(is_within));
}

/// Maps matches in a decoded text to ranges of the source.
pub(super) fn place_in_source(
    mut found: Vec<SearchMatch>,
    decoded: &DecodedText,
    source: &[u8],
) -> Vec<SearchMatch> {
    found.sort_by_key(|found| found.places.first().map_or(0, |place| place.start));
    // Overlapping matches are mapped in another round.
    let mut waiting = found;
    let mut placed = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let mut end = 0;
        let (round, rest): (Vec<SearchMatch>, Vec<SearchMatch>) =
            waiting.into_iter().partition(|found| {
                let (Some(first), Some(last)) = (found.places.first(), found.places.last()) else {
                    return true;
                };
                let fits = first.start >= end;
                if fits {
                    end = last.end;
                }
                fits
            });
        waiting = rest;
        let ranges: Vec<Range<usize>> =
            round.iter().flat_map(|found| found.places.iter().cloned()).collect();
        let mut places = decoded.source_ranges(source, &ranges).into_iter();
        placed.extend(round.into_iter().map(|found| {
            let places: Vec<Range<usize>> =
                places.by_ref().take(found.places.len()).flatten().collect();
            // Among escapes, the replacement is in UTF-8.
            SearchMatch { places, encoding: None, ..found }
        }));
    }
    placed.retain(|found| !found.places.is_empty());
    placed
}
