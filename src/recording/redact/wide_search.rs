//! The search for credentials in UTF-16 and UTF-32. What replaces them is written in the encoding
//! of the text around it.

use std::ops::Range;

use super::decoded_text::DecodedText;
use super::edit::{SearchMatch, merge_found};
use super::json_tokens::is_json;
use super::search::{RedactSearch, place_in_source};
use super::wide_text::{WideEncoding, WideRun, wide_runs};

/// The number of bytes by which the place of a character may be taken for its neighbour's.
const SLACK: usize = 3;

/// Returns the encoding of a body that is a text in UTF-16 or UTF-32 as a whole. JSON in UTF-8 under
/// the charset of another encoding stays what it is.
pub(super) fn wide_encoding(content_type: &str, body: &[u8]) -> Option<WideEncoding> {
    WideEncoding::of_body(content_type, body).filter(|_| !is_json(body))
}

/// Whether `is_wanted` holds for the text of any run of UTF-16 or UTF-32, read in UTF-8.
pub(super) fn any_wide_text(text: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> bool {
    wide_runs(text).any(|run| {
        let mut decoded = DecodedText::default();
        decoded.push_wide(text, run.range, run.encoding);
        is_wanted(decoded.as_bytes())
    })
}

impl RedactSearch<'_> {
    /// Searches a body that is a text in this encoding as a whole: its text by `search`, and its
    /// bytes as they are.
    pub(super) fn in_wide_body(
        &self,
        encoding: WideEncoding,
        body: &[u8],
        search: impl Fn(&Self, &[u8]) -> Vec<SearchMatch>,
    ) -> Vec<SearchMatch> {
        let mut decoded = DecodedText::default();
        decoded.push_wide(body, 0..body.len(), encoding);
        let within = search(self, decoded.as_bytes());
        let mut found = placed_in(encoding, within, &decoded, body);
        let known = merge_found(found.clone());
        // In another order of bytes, the same text is found one byte beside it.
        let is_known = |place: &Range<usize>| {
            let behind = known.partition_point(|edit| edit.range.start <= place.start + SLACK);
            behind > 0 && place.end <= known[behind - 1].range.end + SLACK
        };
        let mut others = self.in_text(body);
        others.retain(|other| !other.places.iter().all(is_known));
        found.extend(others);
        found
    }

    /// Searches the runs of UTF-16 and of UTF-32 in any bytes.
    pub(super) fn in_wide_runs(
        &self,
        text: &[u8],
        search: impl Fn(&Self, &[u8]) -> Vec<SearchMatch>,
    ) -> Vec<SearchMatch> {
        let mut found = Vec::new();
        for encoding in [WideEncoding::Utf16Le, WideEncoding::Utf32Le] {
            let mut decoded = DecodedText::default();
            for WideRun { range, .. } in wide_runs(text).filter(|run| run.encoding == encoding) {
                let end = range.end;
                decoded.push_wide(text, range, encoding);
                decoded.push_boundary(b'\n', end);
            }
            if !decoded.as_bytes().is_empty() {
                let within = search(self, decoded.as_bytes());
                found.extend(placed_in(encoding, within, &decoded, text));
            }
        }
        found
    }
}

/// Maps matches in a decoded text to ranges of the source, which has this encoding.
fn placed_in(
    encoding: WideEncoding,
    found: Vec<SearchMatch>,
    decoded: &DecodedText,
    source: &[u8],
) -> Vec<SearchMatch> {
    if found.is_empty() {
        return found;
    }
    let mut found = place_in_source(found, decoded, source);
    found.iter_mut().for_each(|found| found.encoding = Some(encoding));
    found
}

#[cfg(test)]
#[path = "wide_search_tests.rs"]
mod tests;
