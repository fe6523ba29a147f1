//! Conversion of search matches to edits of the source, and their application.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::super::body::Chunk;
use super::placeholder::{Placeholders, RedactionMark};
use super::wide_text::WideEncoding;

/// A match in a text.
#[derive(Clone, Debug)]
pub(super) struct SearchMatch {
    /// Its ranges in order. A match across a boundary has several.
    pub(super) places: Vec<Range<usize>>,
    /// Whether it is one of the call's own credentials.
    pub(super) own: bool,
    /// What replaces it.
    pub(super) mark: RedactionMark,
    /// The encoding of the replacement, if it is not UTF-8.
    pub(super) encoding: Option<WideEncoding>,
}

impl SearchMatch {
    /// Whether it is a placeholder that is in the text already.
    pub(super) fn is_placeholder(&self) -> bool {
        matches!(self.mark, RedactionMark::Placeholder { .. })
    }
}

/// A piece of the source that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceEdit {
    pub(super) range: Range<usize>,
    /// What replaces it; `None` if the replacement is at an earlier piece.
    pub(super) mark: Option<RedactionMark>,
    /// The encoding of the replacement, if it is not UTF-8.
    pub(super) encoding: Option<WideEncoding>,
}

/// A piece of the source and its new bytes.
#[derive(Clone, Debug)]
pub(super) struct Replacement {
    pub(super) range: Range<usize>,
    pub(super) new: Vec<u8>,
    /// How many bytes at its beginning and at its end stay the same.
    pub(super) kept: (usize, usize),
    /// Whether a chunk boundary between the kept bytes is moved to the proportional place in the
    /// new bytes. Otherwise it goes after them.
    pub(super) divided: bool,
}

/// Returns the edits that remove the matches, in order and without overlap.
pub(super) fn merge_found(found: Vec<SearchMatch>) -> Vec<SourceEdit> {
    let mut spread: Vec<Range<usize>> = found
        .iter()
        .filter(|found| found.places.len() > 1)
        .flat_map(|f| f.places.clone())
        .collect();
    spread.sort_unstable_by_key(|range| (range.start, range.end));
    // A match inside a match that crosses a boundary is covered by it.
    let is_part = |places: &[Range<usize>]| {
        let [only] = places else { return false };
        let behind = spread.partition_point(|range| range.start <= only.start);
        spread[..behind].iter().rev().take(4).any(|range| only.end <= range.end)
    };
    let mut edits: Vec<SourceEdit> = Vec::with_capacity(found.len());
    for SearchMatch { places, mark, encoding, .. } in found {
        if is_part(&places) {
            continue;
        }
        let mut mark = Some(mark);
        let edit = |range| SourceEdit { range, mark: mark.take(), encoding };
        edits.extend(places.into_iter().map(edit));
    }
    merge_edits(edits)
}

/// Merges edits, so that they are in order and do not overlap.
pub(super) fn merge_edits(mut edits: Vec<SourceEdit>) -> Vec<SourceEdit> {
    edits.retain(|edit| !edit.range.is_empty());
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut merged: Vec<SourceEdit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match merged.last_mut() {
            Some(last) if edit.range.start < last.range.end => {
                let same = last.range == edit.range;
                last.range.end = last.range.end.max(edit.range.end);
                last.mark = combined_mark(last.mark.take(), edit.mark, same);
                last.encoding = last.encoding.or(edit.encoding);
            }
            _ => merged.push(edit),
        }
    }
    merged
}

/// Returns the mark for two overlapping edits.
fn combined_mark(
    one: Option<RedactionMark>,
    other: Option<RedactionMark>,
    same: bool,
) -> Option<RedactionMark> {
    use RedactionMark::{Emptied, Named, Placeholder, Plain};
    match (one, other) {
        // It covers a whole value, whatever was found in it.
        (Some(Emptied(empty)), _) | (_, Some(Emptied(empty))) => Some(Emptied(empty)),
        (None | Some(Placeholder { .. }), mark) | (mark, None | Some(Placeholder { .. })) => mark,
        (Some(Named { name, value }), Some(Named { value: more, .. })) => {
            if same && value == more {
                return Some(Named { name, value });
            }
            // Together they are a different value.
            Some(Named { name, value: [value, more].join(&[0xff_u8][..]) })
        }
        (Some(Plain), _) | (_, Some(Plain)) => Some(Plain),
    }
}

/// Converts edits to replacements with their new bytes.
pub(super) fn make_replacements<K: Ord>(
    edits: Vec<SourceEdit>,
    order: impl Fn(usize) -> K,
    placeholders: &mut Placeholders,
    names: &[String],
) -> Vec<Replacement> {
    let mut by_order: Vec<usize> = (0..edits.len()).collect();
    by_order.sort_by_key(|&at| order(edits[at].range.start));
    let mut texts = vec![Vec::new(); edits.len()];
    for at in by_order {
        let text = edits[at].mark.as_ref().map(|mark| placeholders.mark_text(mark, names));
        texts[at] = match (text, edits[at].encoding) {
            (Some(text), Some(encoding)) => encoding.encode(&text),
            (text, _) => text.unwrap_or_default().into_bytes(),
        };
    }
    let is_change =
        |edit: &SourceEdit| !matches!(edit.mark, Some(RedactionMark::Placeholder { .. }));
    let pairs = edits.into_iter().zip(texts).filter(|(edit, _)| is_change(edit));
    pairs
        .map(|(edit, new)| Replacement { range: edit.range, new, kept: (0, 0), divided: false })
        .collect()
}

/// Applies replacements, which must be in order and must not overlap.
pub(super) fn apply_replacements<'a>(
    bytes: &'a [u8],
    replacements: &[Replacement],
) -> Cow<'a, [u8]> {
    if replacements.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for replacement in replacements {
        out.extend_from_slice(&bytes[at..replacement.range.start]);
        out.extend_from_slice(&replacement.new);
        at = replacement.range.end;
    }
    out.extend_from_slice(&bytes[at..]);
    Cow::Owned(out)
}

/// Applies the replacements to the chunks of `joined`, and returns their new bytes, joined. The
/// number of chunks stays the same.
pub(super) fn replace_in_chunks(
    joined: Bytes,
    chunks: &mut [Chunk],
    replacements: &[Replacement],
) -> Bytes {
    if replacements.is_empty() {
        return joined;
    }
    let out = Bytes::from(apply_replacements(&joined, replacements).into_owned());
    let mut starts = Vec::with_capacity(replacements.len());
    let (mut shift_out, mut shift_in) = (0, 0);
    for replacement in replacements {
        starts.push(replacement.range.start + shift_in - shift_out);
        shift_in += replacement.new.len();
        shift_out += replacement.range.len();
    }
    let place = |old: usize| {
        let next = replacements.partition_point(|edit| edit.range.start < old);
        let Some(last) = next.checked_sub(1) else { return old };
        let (edit, start) = (&replacements[last], starts[last]);
        match old.checked_sub(edit.range.end) {
            Some(behind) => start + edit.new.len() + behind,
            None => start + edit.moved_boundary(old - edit.range.start),
        }
    };
    let (mut old, mut new) = (0, 0);
    for chunk in chunks {
        old += chunk.data.len();
        let end = place(old);
        chunk.data = out.slice(new..end);
        new = end;
    }
    out
}

impl Replacement {
    /// Returns the new place of a boundary that was at `old` in the replaced bytes.
    fn moved_boundary(&self, old: usize) -> usize {
        let (front, back) = self.kept;
        let behind = self.range.len() - old;
        if old <= front {
            return old;
        }
        if behind <= back || !self.divided {
            return self.new.len() - back.min(behind);
        }
        let (was, is) = (self.range.len() - front - back, self.new.len() - front - back);
        front + (old - front) * is / was
    }
}
