//! The search for marks in outputs, in all their spellings.
//!
//! It shares nothing with the search under test, and tries every possible reading: each kind of
//! escape by itself, and base64 and hex at each place where they may begin. It only reads pieces
//! without a space, a quote or the like, because no spelling contains one, and reads each piece
//! once. Compressed data is read wherever it begins.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;

use aho_corasick::AhoCorasick;
use flate2::read::MultiGzDecoder;
use memchr::memmem;
use ruzstd::decoding::StreamingDecoder;

use super::spelling::MARKS;

/// How many spellings may be nested, including those of the outputs themselves.
pub(super) const DEEPEST: usize = 9;

/// The fewest characters of base64 and of hex that hold a mark.
const SHORTEST: usize = 8;
const SHORTEST_HEX: usize = 12;

/// How many bytes around a mark are shown.
const AROUND: usize = 80;

/// A mark in an output.
#[derive(Debug)]
pub(super) struct Leak {
    /// The text around the mark, after all spellings are decoded.
    pub(super) text: String,
    /// The spellings in the output, outermost first, each with the text around the mark.
    pub(super) layers: Vec<(&'static str, String)>,
}

/// Decodes a text in one way; `None` if that changes nothing.
type Reading = fn(&[u8]) -> Option<Vec<u8>>;

const READINGS: [(&str, Reading); 9] = [
    ("JSON", |text| unescaped(text, json)),
    ("URL", |text| unescaped(text, percent)),
    ("HTML", |text| unescaped(text, html)),
    ("base64", |text| base64_from(text, 0)),
    ("base64", |text| base64_from(text, 1)),
    ("base64", |text| base64_from(text, 2)),
    ("base64", |text| base64_from(text, 3)),
    ("hex", |text| hex_from(text, 0)),
    ("hex", |text| hex_from(text, 1)),
];

/// The search for marks in outputs.
pub(super) struct LeakSearch {
    marks: AhoCorasick,
    /// The pieces that were read, by their hash, each with its depth.
    read: HashMap<u64, usize>,
}

impl LeakSearch {
    pub(super) fn new() -> Self {
        let marks = AhoCorasick::builder().ascii_case_insensitive(true).build(MARKS).unwrap();
        Self { marks, read: HashMap::new() }
    }

    /// Forgets which pieces were read.
    pub(super) fn forget(&mut self) {
        self.read.clear();
    }

    /// Finds a mark in these bytes, in any spelling, or in their joined deltas.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<Leak> {
        self.find_within(bytes, DEEPEST)
            .or_else(|| {
                let mut leak = self.find_within(&joined_deltas(bytes)?, DEEPEST)?;
                leak.layers.insert(0, ("deltas", String::new()));
                Some(leak)
            })
            .or_else(|| self.find_within(&joined_chunks(bytes)?, DEEPEST))
    }

    fn find_within(&mut self, bytes: &[u8], depth: usize) -> Option<Leak> {
        if let Some(found) = self.marks.find(bytes) {
            return Some(Leak { text: around(bytes, found.start()), layers: Vec::new() });
        }
        if depth == 0 {
            return None;
        }
        for plain in unpacked(bytes) {
            if let Some(mut leak) = self.find(&plain) {
                leak.layers.insert(0, ("compressed", String::new()));
                return Some(leak);
            }
        }
        if let Some(narrow) = narrow(bytes)
            && let Some(mut leak) = self.find_within(&narrow, depth)
        {
            leak.layers.insert(0, ("UTF-16 or UTF-32", String::new()));
            return Some(leak);
        }
        let pieces = bytes.split(|byte| !is_spelling(*byte)).filter(|piece| may_spell(piece));
        for piece in pieces {
            if self.is_new(piece, depth) {
                let found = READINGS.iter().find_map(|(name, read)| {
                    let mut leak = self.find_within(&read(piece)?, depth - 1)?;
                    leak.layers.insert(0, (name, around(piece, 0)));
                    Some(leak)
                });
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn is_new(&mut self, piece: &[u8], depth: usize) -> bool {
        let mut hasher = DefaultHasher::new();
        piece.hash(&mut hasher);
        let read = self.read.entry(hasher.finish()).or_default();
        let is_new = *read < depth;
        *read = depth.max(*read);
        is_new
    }
}

/// The bytes beside zero bytes, as one byte for each character of UTF-16 and UTF-32. `None` if there
/// are too few.
fn narrow(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_zero = |at: usize| bytes.get(at) == Some(&0);
    memchr::memchr(0, bytes)?;
    let mut out = Vec::new();
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        match is_zero(at.wrapping_sub(1)) || is_zero(at + 1) {
            true => out.push(*byte),
            false if out.last() != Some(&b' ') => out.push(b' '),
            false => {}
        }
    }
    out.split(|byte| *byte == b' ').any(|text| text.len() >= SHORTEST).then_some(out)
}

/// The gzip and zstandard data in these bytes, as far as it decodes.
fn unpacked(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for at in memmem::find_iter(bytes, b"\x1f\x8b\x08") {
        let mut plain = Vec::new();
        let _damage = MultiGzDecoder::new(&bytes[at..]).read_to_end(&mut plain);
        texts.push(plain);
    }
    // A frame may come after others that do not decode.
    for at in memmem::find_iter(bytes, b"\x28\xb5\x2f\xfd") {
        if let Ok(mut frame) = StreamingDecoder::new(&bytes[at..]) {
            let mut plain = Vec::new();
            let _damage = frame.read_to_end(&mut plain);
            texts.push(plain);
        }
    }
    // The frames of a stream form one text.
    texts.push(texts.concat());
    texts.retain(|text| !text.is_empty());
    texts
}

/// The base64 chunks, joined.
fn joined_chunks(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::new();
    for at in memmem::find_iter(bytes, b"base64") {
        let rest = &bytes[at + b"base64".len()..];
        let start = rest.iter().take_while(|byte| b"\\\": ".contains(byte)).count();
        let length = rest[start..].iter().take_while(|byte| is_base64(**byte)).count();
        if let Some(mut chunk) = base64_from(&rest[start..start + length], 0) {
            chunk.pop();
            joined.extend(chunk);
        }
    }
    (!joined.is_empty()).then_some(joined)
}

fn around(bytes: &[u8], at: usize) -> String {
    let end = bytes.len().min(at + AROUND);
    String::from_utf8_lossy(&bytes[at.saturating_sub(AROUND)..end]).into_owned()
}

/// Whether a byte may be a part of a spelled mark.
fn is_spelling(byte: u8) -> bool {
    is_base64(byte) || b"=\\%&#;{}".contains(&byte)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// Whether a piece has an escape, or a run of base64 or hex.
fn may_spell(piece: &[u8]) -> bool {
    piece.len() >= SHORTEST
        && (piece.iter().any(|byte| b"\\%&".contains(byte))
            || piece.split(|byte| !is_base64(*byte)).any(|run| run.len() >= SHORTEST))
}

/// The values of `content`, joined, if there is more than one, however often the JSON around them
/// is escaped.
fn joined_deltas(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::new();
    let mut count = 0;
    for at in memmem::find_iter(bytes, b"content") {
        let rest = &bytes[at + b"content".len()..];
        let escapes = rest.iter().take_while(|byte| **byte == b'\\').count();
        let quote = [&rest[..escapes], b"\""].concat();
        let Some(rest) = rest.strip_prefix(&*quote).and_then(|rest| rest.strip_prefix(b":")) else {
            continue;
        };
        let Some(value) = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(&*quote) else {
            continue;
        };
        if let Some(end) = memmem::find(value, &quote) {
            joined.extend_from_slice(&value[..end]);
            count += 1;
        }
    }
    (count > 1).then_some(joined)
}

fn number(digits: Option<&[u8]>, radix: u32) -> Option<u8> {
    let digits = std::str::from_utf8(digits?).ok()?;
    let value = u32::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))?;
    u8::try_from(value).ok()
}

/// The text with each escape replaced by its meaning. `read` returns the byte, and how many bytes
/// the escape takes.
fn unescaped(bytes: &[u8], read: fn(&[u8]) -> Option<(u8, usize)>) -> Option<Vec<u8>> {
    let (mut out, mut at, mut changed) = (Vec::with_capacity(bytes.len()), 0, false);
    while at < bytes.len() {
        let escape = read(&bytes[at..]);
        changed |= escape.is_some();
        let (byte, length) = escape.unwrap_or((bytes[at], 1));
        out.push(byte);
        at += length;
    }
    changed.then_some(out)
}

fn json(rest: &[u8]) -> Option<(u8, usize)> {
    let [b'\\', next, rest @ ..] = rest else { return None };
    match next {
        b'u' if rest.first() == Some(&b'{') => {
            let length = rest.iter().take(8).position(|byte| *byte == b'}')?;
            Some((number(rest.get(1..length), 16)?, length + 3))
        }
        b'u' => Some((number(rest.get(..4), 16)?, 6)),
        b'x' => Some((number(rest.get(..2), 16)?, 4)),
        b'n' => Some((b'\n', 2)),
        next if next.is_ascii_punctuation() => Some((*next, 2)),
        _ => None,
    }
}

fn percent(rest: &[u8]) -> Option<(u8, usize)> {
    match rest {
        [b'%', b'u', rest @ ..] => Some((number(rest.get(..4), 16)?, 6)),
        [b'%', rest @ ..] => Some((number(rest.get(..2), 16)?, 3)),
        _ => None,
    }
}

fn html(rest: &[u8]) -> Option<(u8, usize)> {
    const NAMED: [(&[u8], u8); 5] =
        [(b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
    if rest.first() != Some(&b'&') {
        return None;
    }
    let Some(digits) = rest.strip_prefix(b"&#") else {
        let (name, byte) = NAMED.iter().find(|(name, _)| rest.starts_with(name))?;
        return Some((*byte, name.len()));
    };
    let length = digits.iter().take(6).position(|byte| *byte == b';')?;
    let byte = match digits.strip_prefix(b"x") {
        Some(digits) => number(digits.get(..length - 1), 16)?,
        None => number(digits.get(..length), 10)?,
    };
    Some((byte, length + 3))
}

/// Decodes the base64 that begins at this offset in each run.
fn base64_from(piece: &[u8], offset: usize) -> Option<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    for run in piece.split(|byte| !is_base64(*byte)) {
        if run.len() < SHORTEST + offset {
            continue;
        }
        for group in run[offset..].chunks(4) {
            let bits = group.iter().fold(0, |bits: u32, byte| bits << 6 | u32::from(value(*byte)));
            let bits = bits << (6 * (4 - group.len()));
            out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
        }
        out.push(0);
    }
    (!out.is_empty()).then_some(out)
}

/// Decodes the hex that begins at this offset in each run.
fn hex_from(piece: &[u8], offset: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for run in piece.split(|byte| !byte.is_ascii_hexdigit()) {
        if run.len() < SHORTEST_HEX + offset {
            continue;
        }
        out.extend(run[offset..].chunks_exact(2).filter_map(|pair| number(Some(pair), 16)));
        out.push(0);
    }
    (!out.is_empty()).then_some(out)
}
