//! Texts in UTF-16 and UTF-32: recognized by a byte-order mark, a charset or their zero bytes, and
//! read so that each character is known by its place in the bytes.
//!
//! A body that is such a text as a whole is decoded as a whole. In any other bytes, runs of such
//! characters are found by their zero bytes, so that a text within a binary file is found, too.

use std::ops::Range;

/// An encoding whose units have several bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WideEncoding {
    Utf16Le,
    Utf16Be,
    Utf32Le,
    Utf32Be,
}

use WideEncoding::{Utf16Be, Utf16Le, Utf32Be, Utf32Le};

/// Byte-order marks. That of UTF-32 begins with that of UTF-16, and so comes first.
const MARKS: [(&[u8], WideEncoding); 4] = [
    (b"\xff\xfe\0\0", Utf32Le),
    (b"\0\0\xfe\xff", Utf32Be),
    (b"\xff\xfe", Utf16Le),
    (b"\xfe\xff", Utf16Be),
];

/// The fewest characters of a run: as many as the shortest credential has.
const SHORTEST: usize = 8;

/// How many bytes show the order of bytes in a text without a mark.
const SAMPLED: usize = 512;

impl WideEncoding {
    /// Returns the encoding of a body with this content type. `None` if it is no such text as a
    /// whole, or if that cannot be seen.
    pub(super) fn of_body(content_type: &str, body: &[u8]) -> Option<Self> {
        if let Some((_, encoding)) = MARKS.iter().find(|(mark, _)| body.starts_with(mark)) {
            return Some(*encoding);
        }
        Self::of_charset(content_type, body).or_else(|| Self::of_zeros(body))
    }

    /// The encoding that a `charset` names. A name without the order of bytes leaves that to the
    /// body.
    fn of_charset(content_type: &str, body: &[u8]) -> Option<Self> {
        if !content_type.contains('=') {
            return None;
        }
        let lower = content_type.to_ascii_lowercase();
        let (_, charset) = lower.split_once("charset")?;
        let name: String =
            charset.chars().filter(char::is_ascii_alphanumeric).take(16).collect::<String>();
        let names = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
        if !names(&["utf16", "utf32", "ucs", "unicode", "iso10646"]) {
            return None;
        }
        if names(&["utf16le", "ucs2le"]) {
            Some(Utf16Le)
        } else if names(&["utf16be", "ucs2be"]) {
            Some(Utf16Be)
        } else if names(&["utf32le", "ucs4le"]) {
            Some(Utf32Le)
        } else if names(&["utf32be", "ucs4be"]) {
            Some(Utf32Be)
        } else if names(&["utf32", "ucs4", "iso10646ucs4"]) {
            Self::of_zeros(body).or(Some(Utf32Le))
        } else {
            Self::of_zeros(body).or_else(|| Self::by_most_zeros(body)).or(Some(Utf16Le))
        }
    }

    /// The encoding of a text that begins with two ASCII characters: the zero bytes of these.
    fn of_zeros(body: &[u8]) -> Option<Self> {
        if !body.iter().take(8).any(|byte| *byte == 0) {
            return None;
        }
        let ascii = |at: usize| body.get(at).copied().is_some_and(is_text);
        let zero = |at: usize| body.get(at) == Some(&0);
        let zeros = |places: &[usize]| places.iter().all(|at| zero(*at));
        if ascii(0) && ascii(4) && zeros(&[1, 2, 3, 5, 6, 7]) {
            Some(Utf32Le)
        } else if ascii(3) && ascii(7) && zeros(&[0, 1, 2, 4, 5, 6]) {
            Some(Utf32Be)
        } else if ascii(0) && ascii(2) && zeros(&[1, 3]) {
            Some(Utf16Le)
        } else if ascii(1) && ascii(3) && zeros(&[0, 2]) {
            Some(Utf16Be)
        } else {
            None
        }
    }

    /// The order of bytes in UTF-16, by where most zero bytes are.
    fn by_most_zeros(body: &[u8]) -> Option<Self> {
        let sample = &body[..body.len().min(SAMPLED)];
        let [even, odd] = [0, 1]
            .map(|first| sample.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count());
        (even != odd).then_some(if even > odd { Utf16Be } else { Utf16Le })
    }

    /// Returns a text in this encoding.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Utf32Le => text.chars().flat_map(|it| u32::from(it).to_le_bytes()).collect(),
            Utf32Be => text.chars().flat_map(|it| u32::from(it).to_be_bytes()).collect(),
        }
    }

    /// Returns the first character of a text that is not empty, and how many bytes it has. What is
    /// no character becomes a replacement character. A cut character whose lower bytes are there is
    /// read as if its upper bytes were zero.
    pub(super) fn first_character(self, source: &[u8]) -> (char, usize) {
        let byte = |at: usize| source.get(at).copied();
        let low = |at: usize| byte(at).unwrap_or(0);
        let little = |at: usize| Some(u16::from_le_bytes([byte(at)?, low(at + 1)]));
        let big = |at: usize| Some(u16::from_be_bytes([byte(at)?, byte(at + 1)?]));
        let (code, length) = match self {
            Utf16Le => utf16_code(little(0), little(2)),
            Utf16Be => utf16_code(big(0), big(2)),
            Utf32Le => (Some(u32::from_le_bytes([low(0), low(1), low(2), low(3)])), 4),
            Utf32Be => (source.first_chunk::<4>().map(|four| u32::from_be_bytes(*four)), 4),
        };
        let meant = code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        (meant, length.min(source.len()))
    }
}

/// Returns the code of the first character of UTF-16, and how many bytes it has.
fn utf16_code(first: Option<u16>, second: Option<u16>) -> (Option<u32>, usize) {
    match (first, second) {
        (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
            let (high, low) = (u32::from(high - 0xd800), u32::from(low - 0xdc00));
            (Some(0x10000 + (high << 10) + low), 4)
        }
        (code, _) => (code.map(u32::from), 2),
    }
}

/// A run of characters with the same number of zero bytes between them. The order of bytes does
/// not matter: which zero bytes belong to a character is decided as if the lower byte came first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WideRun {
    /// From the first character to the last one, with the zero bytes behind it.
    pub(super) range: Range<usize>,
    pub(super) encoding: WideEncoding,
}

/// Returns the runs in a text, in order.
pub(super) fn wide_runs(text: &[u8]) -> impl Iterator<Item = WideRun> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let zero = at + memchr::memchr(0, text.get(at..)?)?;
            let start = zero.checked_sub(1).filter(|start| *start >= at && is_text(text[*start]));
            let Some((start, unit)) = start.and_then(|start| Some((start, unit_at(text, start)?)))
            else {
                at = zero + 1;
                continue;
            };
            let mut last = start;
            while text.get(last + unit).copied().is_some_and(is_text)
                && text[last + 1..last + unit].iter().all(|byte| *byte == 0)
            {
                last += unit;
            }
            // The last character may be the first one of a run with other units.
            at = last;
            if (last - start) / unit + 1 >= SHORTEST {
                let behind = &text[last + 1..text.len().min(last + unit)];
                let end = last + 1 + behind.iter().take_while(|byte| **byte == 0).count();
                let encoding = if unit == 2 { Utf16Le } else { Utf32Le };
                return Some(WideRun { range: start..end, encoding });
            }
        }
    })
}

/// Whether a text has such a run.
pub(super) fn has_wide_run(text: &[u8]) -> bool {
    wide_runs(text).next().is_some()
}

/// The number of bytes from the character at `start` to the next one; `None` if no character
/// follows at the distance of an encoding.
fn unit_at(text: &[u8], start: usize) -> Option<usize> {
    let zeros = text[start + 1..].iter().take(4).take_while(|byte| **byte == 0).count();
    let unit = zeros + 1;
    let follows = text.get(start + unit).copied().is_some_and(is_text);
    (matches!(unit, 2 | 4) && follows).then_some(unit)
}

/// Whether a byte is a character of a text: one of ASCII or of Latin-1.
fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0xa0..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        let text = |run: WideRun| {
            let mut rest = &bytes[run.range];
            let mut text = String::new();
            while !rest.is_empty() {
                let (letter, length) = run.encoding.first_character(rest);
                text.push(letter);
                rest = &rest[length..];
            }
            text
        };
        wide_runs(bytes).map(text).collect()
    }

    const ALL: [WideEncoding; 4] = [Utf16Le, Utf16Be, Utf32Le, Utf32Be];

    #[test]
    fn body_is_recognized_by_its_mark_its_charset_or_its_zeros() {
        for encoding in ALL {
            let json = encoding.encode("{\"a\": \"\u{6f22}\u{1f600}\"}");
            assert_eq!(WideEncoding::of_body("", &json), Some(encoding));
            let marked = encoding.encode("\u{feff}\u{6f22}");
            assert_eq!(WideEncoding::of_body("text/plain", &marked), Some(encoding));
            let name = format!("{encoding:?}").replace("Utf", "UTF-");
            let name = name.replace("Le", "LE").replace("Be", "BE");
            let kind = format!("text/plain; charset=\"{name}\"");
            let bare = encoding.encode("\u{6f22}\u{5b57}");
            assert_eq!(WideEncoding::of_body(&kind, &bare), Some(encoding), "{kind}");
        }
        let mixed = Utf16Be.encode("\u{6f22} a key");
        assert_eq!(WideEncoding::of_body("text/csv; charset=utf-16", &mixed), Some(Utf16Be));
        assert_eq!(WideEncoding::of_body("a/b; charset=utf-8", b"{\"a\":1}"), None);
        assert_eq!(WideEncoding::of_body("", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), None);
    }

    #[test]
    fn runs_are_found_at_any_place_in_any_bytes() {
        for encoding in ALL {
            for before in [&b""[..], b"\0", b"\x01\x02\x03", b"ab", b"\0\0\0"] {
                let bytes = [before, &encoding.encode("a secret, 12345"), b"\xff\0\0"].concat();
                assert_eq!(texts(&bytes).len(), 1, "{encoding:?} {before:?}");
                assert!(texts(&bytes)[0].contains("a secret, 12345"), "{:?}", texts(&bytes));
            }
        }
        assert!(texts(&[0; 100]).is_empty() && texts(&Utf16Le.encode("seven..")).is_empty());
        let two = [Utf16Le.encode("one text"), Utf32Be.encode("another text")].concat();
        assert_eq!(texts(&two), ["one text", "another text"]);
    }

    #[test]
    fn character_that_is_cut_or_none_is_replaced() {
        let replaced = char::REPLACEMENT_CHARACTER;
        assert_eq!(
            (Utf16Le.first_character(b"a"), Utf16Be.first_character(b"a")),
            (('a', 1), (replaced, 1))
        );
        assert_eq!(Utf16Be.first_character(b"\xd8\0\0a"), (replaced, 2));
        assert_eq!(Utf32Le.first_character(b"\0\0\x11\0"), (replaced, 4));
        assert_eq!(Utf16Be.first_character(&Utf16Be.encode("\u{1f600}")), ('\u{1f600}', 4));
    }
}
