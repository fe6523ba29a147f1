//! Text decoded from a source, with a mapping from each byte to the source.
//!
//! Credentials are searched in decoded text. The matches become edits of the source bytes. So all
//! bytes outside a match stay as they are.

use std::ops::Range;

use loomrec_identity::json_text;

use super::wide_text::WideEncoding;

/// How the source encodes a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// Literally.
    Verbatim,
    /// With the escapes of a JSON string.
    Json,
    /// With percent escapes, and `+` for a space.
    Form,
    /// In UTF-16 or UTF-32.
    Wide(WideEncoding),
    /// It is not in the source: it marks a boundary.
    Absent,
}

impl Spelling {
    /// Returns the lengths of the first run of a source that is not empty.
    fn first_run_lengths(self, source: &[u8]) -> Lengths {
        match self {
            Self::Json => json_step(source).0,
            Self::Form => form_step(source).0,
            Self::Wide(encoding) => {
                let (meant, source) = encoding.first_character(source);
                Lengths { decoded: meant.len_utf8(), source }
            }
            Self::Verbatim | Self::Absent => same_lengths(source.len()).0,
        }
    }
}

/// A piece of decoded text that has one encoding.
#[derive(Clone, Debug)]
struct DecodedPiece {
    /// Where it ends in the decoded text.
    end: usize,
    source: Range<usize>,
    spelling: Spelling,
}

/// Text decoded from pieces of a source, in the order of the source.
#[derive(Clone, Debug, Default)]
pub(super) struct DecodedText {
    bytes: Vec<u8>,
    pieces: Vec<DecodedPiece>,
}

/// Decoded bytes and their source bytes. Both have the same length if each byte encodes itself.
struct Run {
    decoded: Range<usize>,
    source: Range<usize>,
}

impl DecodedText {
    /// Returns the decoded text.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends source bytes literally.
    pub(super) fn push_verbatim(&mut self, source: &[u8], range: Range<usize>) {
        self.bytes.extend_from_slice(&source[range.clone()]);
        self.close_piece(range, Spelling::Verbatim);
    }

    /// Appends the decoded JSON string whose bytes between the quotes are at `range`.
    pub(super) fn push_json(&mut self, source: &[u8], range: Range<usize>, escaped: bool) {
        if !escaped {
            return self.push_verbatim(source, range);
        }
        push_decoded(&source[range.clone()], json_step, &mut self.bytes);
        self.close_piece(range, Spelling::Json);
    }

    /// Appends the decoded value of a form or of a query.
    pub(super) fn push_form(&mut self, source: &[u8], range: Range<usize>) {
        push_decoded(&source[range.clone()], form_step, &mut self.bytes);
        self.close_piece(range, Spelling::Form);
    }

    /// Appends the decoded text of UTF-16 or UTF-32.
    pub(super) fn push_wide(&mut self, source: &[u8], range: Range<usize>, encoding: WideEncoding) {
        let mut rest = &source[range.clone()];
        while !rest.is_empty() {
            let (meant, length) = encoding.first_character(rest);
            self.bytes.extend_from_slice(meant.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[length..];
        }
        self.close_piece(range, Spelling::Wide(encoding));
    }

    /// Appends a byte that is not in the source.
    pub(super) fn push_boundary(&mut self, byte: u8, at: usize) {
        self.bytes.push(byte);
        self.close_piece(at..at, Spelling::Absent);
    }

    fn close_piece(&mut self, source: Range<usize>, spelling: Spelling) {
        self.pieces.push(DecodedPiece { end: self.bytes.len(), source, spelling });
    }

    /// Returns the source ranges of each range of the decoded text. A range across a boundary has
    /// several. The ranges must be in order and must not overlap.
    pub(super) fn source_ranges(
        &self,
        source: &[u8],
        ranges: &[Range<usize>],
    ) -> Vec<Vec<Range<usize>>> {
        let mut found: Vec<Vec<Range<usize>>> = vec![Vec::new(); ranges.len()];
        let mut first = 0;
        self.each_run(source, |run| {
            while ranges.get(first).is_some_and(|range| range.end <= run.decoded.start) {
                first += 1;
            }
            for (range, places) in ranges.iter().zip(&mut found).skip(first) {
                if range.start >= run.decoded.end {
                    break;
                }
                let Some(place) = run.source_of(range) else { continue };
                match places.last_mut() {
                    Some(last) if last.end == place.start => last.end = place.end,
                    _ => places.push(place),
                }
            }
            first < ranges.len()
        });
        found
    }

    /// Calls `see` with each run until it returns `false`.
    fn each_run(&self, source: &[u8], mut see: impl FnMut(Run) -> bool) {
        let mut start = 0;
        for piece in &self.pieces {
            let decoded = start..piece.end;
            start = piece.end;
            match piece.spelling {
                Spelling::Absent => continue,
                Spelling::Verbatim => {
                    if !see(Run { decoded, source: piece.source.clone() }) {
                        return;
                    }
                    continue;
                }
                _ => {}
            }
            let (mut meant, mut at) = (decoded.start, piece.source.start);
            while at < piece.source.end {
                let run = piece.spelling.first_run_lengths(&source[at..piece.source.end]);
                let decoded = meant..meant + run.decoded;
                (meant, at) = (decoded.end, at + run.source);
                if !see(Run { decoded, source: at - run.source..at }) {
                    return;
                }
            }
        }
    }
}

impl Run {
    /// Returns the source of the part of `range` that is in this run.
    fn source_of(&self, range: &Range<usize>) -> Option<Range<usize>> {
        if self.source.is_empty() {
            return None;
        }
        if self.decoded.len() != self.source.len() {
            return Some(self.source.clone());
        }
        let from = range.start.max(self.decoded.start) - self.decoded.start;
        let to = range.end.min(self.decoded.end) - self.decoded.start;
        Some(self.source.start + from..self.source.start + to)
    }
}

/// How many bytes a decoder has read, and how many decoded bytes they give.
struct Lengths {
    decoded: usize,
    source: usize,
}

/// Reads the beginning of a source: a literal run (`None`), or one escape and its meaning.
type DecodeStep = fn(&[u8]) -> (Lengths, Option<char>);

fn push_decoded(mut source: &[u8], step: DecodeStep, out: &mut Vec<u8>) {
    while !source.is_empty() {
        let (lengths, meant) = step(source);
        match meant {
            Some(meant) if lengths.decoded == 1 && lengths.source == 3 => out.push(meant as u8),
            Some(meant) => out.extend_from_slice(meant.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend_from_slice(&source[..lengths.source]),
        }
        source = &source[lengths.source..];
    }
}

fn same_lengths(length: usize) -> (Lengths, Option<char>) {
    (Lengths { decoded: length, source: length }, None)
}

/// Decodes JSON escapes. An unpaired surrogate becomes a replacement character. A backslash that
/// begins no escape is literal.
fn json_step(source: &[u8]) -> (Lengths, Option<char>) {
    if source[0] != b'\\' {
        return same_lengths(memchr::memchr(b'\\', source).unwrap_or(source.len()));
    }
    let (meant, length) = match json_text::read_escape(source) {
        Ok(escape) => escape,
        Err(json_text::BadEscape::Surrogate) => (char::REPLACEMENT_CHARACTER, 6),
        Err(json_text::BadEscape::Syntax) => return same_lengths(1),
    };
    (Lengths { decoded: meant.len_utf8(), source: length }, Some(meant))
}

/// Decodes a percent escape to one byte, which need not be a character.
fn form_step(source: &[u8]) -> (Lengths, Option<char>) {
    let digit = |at: usize| source.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    match (source[0], digit(1), digit(2)) {
        (b'%', Some(high), Some(low)) => {
            let byte = u8::try_from(high * 16 + low).unwrap_or_default();
            (Lengths { decoded: 1, source: 3 }, Some(char::from(byte)))
        }
        (b'+', ..) => (Lengths { decoded: 1, source: 1 }, Some(' ')),
        (b'%', ..) => same_lengths(1),
        _ => same_lengths(memchr::memchr2(b'%', b'+', source).unwrap_or(source.len())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(source: &str) -> DecodedText {
        let mut text = DecodedText::default();
        text.push_json(source.as_bytes(), 0..source.len(), true);
        text
    }

    /// Returns the source ranges of a range, each as start and end.
    fn sources(text: &DecodedText, source: &[u8], range: Range<usize>) -> Vec<(usize, usize)> {
        let found = text.source_ranges(source, std::slice::from_ref(&range)).concat();
        found.into_iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn an_escape_is_the_source_of_what_it_means() {
        let source = r"a\u0042c\/\ud83d\ude00\n\ud800.";
        let text = json(source);
        assert_eq!(text.as_bytes(), "aBc/😀\n\u{fffd}.".as_bytes());
        let at = |part: &str| {
            let from = memchr::memmem::find(text.as_bytes(), part.as_bytes()).unwrap();
            sources(&text, source.as_bytes(), from..from + part.len())
        };
        let place = |part: &str| {
            let from = source.find(part).unwrap();
            vec![(from, from + part.len())]
        };
        assert_eq!(at("B"), place(r"\u0042"));
        assert_eq!(at("c/"), place(r"c\/"));
        assert_eq!(at("😀\n"), place(r"\ud83d\ude00\n"));
        assert_eq!(at("aB"), place(r"a\u0042"));
    }

    #[test]
    fn a_range_across_pieces_has_several_sources() {
        let source = b"one|two|three";
        let mut text = DecodedText::default();
        text.push_verbatim(source, 0..3);
        text.push_boundary(b'\n', 3);
        text.push_verbatim(source, 4..7);
        text.push_verbatim(source, 8..13);
        assert_eq!(text.as_bytes(), b"one\ntwothree");
        assert_eq!(sources(&text, source, 1..2), [(1, 2)]);
        assert_eq!(sources(&text, source, 2..9), [(2, 3), (4, 7), (8, 10)]);
        let both = text.source_ranges(source, &[2..9, 10..12]);
        assert_eq!(both.concat(), [2..3, 4..7, 8..10, 11..13]);
    }

    #[test]
    fn a_form_value_is_decoded() {
        let source = b"a%20b+c%zz%e9";
        let mut text = DecodedText::default();
        text.push_form(source, 0..source.len());
        assert_eq!(text.as_bytes(), b"a b c%zz\xe9");
        assert_eq!(sources(&text, source, 1..2), [(1, 4)]);
        assert_eq!(sources(&text, source, 3..4), [(5, 6)]);
    }

    proptest! {
        #[test]
        fn json_is_decoded_as_serde_does(value in ".{0,20}", ascii: bool) {
            let mut source = serde_json::to_string(&value).unwrap();
            if ascii {
                source = value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
                source = format!("\"{source}\"");
            }
            let inner = &source[1..source.len() - 1];
            let text = json(inner);
            prop_assert_eq!(text.as_bytes(), value.as_bytes());
            if !inner.is_empty() {
                let whole = sources(&text, inner.as_bytes(), 0..text.as_bytes().len());
                prop_assert_eq!(whole, [(0, inner.len())]);
            }
        }

        #[test]
        fn any_bytes_have_sources_in_order(bytes: Vec<u8>, form: bool, cut in 0_usize..40) {
            let mut text = DecodedText::default();
            match form {
                true => text.push_form(&bytes, 0..bytes.len()),
                false => text.push_json(&bytes, 0..bytes.len(), true),
            }
            let length = text.as_bytes().len();
            let cut = cut.min(length);
            let found = text.source_ranges(&bytes, &[0..cut, cut..length]);
            let all: Vec<_> = found.concat();
            prop_assert!(all.iter().all(|range| range.end <= bytes.len()));
            prop_assert!(all.windows(2).all(|pair| pair[0].start <= pair[1].start));
        }
    }
}
