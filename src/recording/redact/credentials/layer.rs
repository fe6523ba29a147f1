//! Text layers: the decoded form of a text's escapes or encoded runs, with a mapping from each byte
//! back to its source.

use std::ops::Range;

/// How the source encodes the bytes of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerSpelling {
    /// Literally, byte for byte.
    Literal,
    /// One escape of this many bytes.
    Escape(usize),
    /// Base64: four characters for three bytes.
    Base64,
    /// Hex: two digits for a byte.
    Hex,
    /// ASCII characters of UTF-16 or UTF-32, each of this many bytes. Only one of them counts as the
    /// source, since the others may be before or after it.
    Wide(usize),
}

/// The start of a piece, in the layer and in its source.
#[derive(Clone, Copy, Debug)]
struct LayerPiece {
    at: usize,
    source: usize,
    spelling: LayerSpelling,
}

/// A decoded text with a mapping back to its source.
#[derive(Clone, Debug, Default)]
pub(super) struct TextLayer {
    text: Vec<u8>,
    /// The pieces in the order of the text.
    pieces: Vec<LayerPiece>,
}

impl TextLayer {
    /// Returns an empty layer with memory for about this many bytes.
    pub(super) fn with_capacity(length: usize) -> Self {
        Self { text: Vec::with_capacity(length), pieces: Vec::new() }
    }

    /// Returns the decoded text.
    pub(super) fn decoded_text(&self) -> &[u8] {
        &self.text
    }

    /// Begins a piece whose source begins at `source` and has this encoding. Bytes that are
    /// appended later belong to it.
    pub(super) fn begin_piece(&mut self, source: usize, spelling: LayerSpelling) {
        self.pieces.push(LayerPiece { at: self.text.len(), source, spelling });
    }

    /// Appends bytes to the piece that was begun last.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// Returns the source range of a non-empty range of the text.
    pub(super) fn source_of(&self, range: &Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1).max(range.start);
        self.source_of_byte(range.start).start..self.source_of_byte(last).end
    }

    fn source_of_byte(&self, at: usize) -> Range<usize> {
        let next = self.pieces.partition_point(|piece| piece.at <= at);
        let Some(piece) = next.checked_sub(1).map(|index| self.pieces[index]) else {
            return at..at + 1;
        };
        let behind = at - piece.at;
        let (from, to) = match piece.spelling {
            LayerSpelling::Literal => (behind, behind + 1),
            LayerSpelling::Escape(length) => (0, length),
            LayerSpelling::Base64 => (behind * 8 / 6, ((behind + 1) * 8).div_ceil(6)),
            LayerSpelling::Hex => (behind * 2, behind * 2 + 2),
            LayerSpelling::Wide(unit) => (behind * unit, behind * unit + 1),
        };
        piece.source + from..piece.source + to
    }
}
