//! Decoding of base64 and hex runs in a text.
//!
//! This is not needed for a credential that was encoded in base64 directly: the search knows the
//! characters that it becomes. The decoded text of a run may contain a credential that is escaped
//! or encoded once more. Runs of binary data are skipped, and so are the words of ordinary text. A
//! few characters are enough to decide.

use super::layer::{LayerSpelling, TextLayer};

/// The shortest base64 run that can hold eight characters one of which is escaped.
const SHORTEST: usize = 13;

/// The shortest hex run that can hold eight bytes.
const SHORTEST_HEX: usize = 16;

/// Runs of at least this many characters are sampled.
const LONG: usize = 32;

/// The longest distance between two samples of a long run.
const STRIDE: usize = 512;

/// The number of characters in each sample, for runs that are shorter than the stride and for
/// others. Both are multiples of four.
const SAMPLES: [usize; 2] = [12, 24];

/// The value of a character that is not base64.
const NONE: u8 = 64;

/// The base64 value of each character, in either alphabet.
const VALUES: [u8; 256] = values();

/// For each character, 1 if a group that begins with it decodes to plain text, or to a zero byte of
/// UTF-16 or UTF-32.
const PLAIN: [u8; 256] = plain();

const fn plain() -> [u8; 256] {
    let mut plain = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = matches!(VALUES[byte], 0 | 2 | 3 | 8..=31) as u8;
        byte += 1;
    }
    plain
}

const fn values() -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < 26 {
        values[b'A' as usize + value as usize] = value;
        values[b'a' as usize + value as usize] = value + 26;
        value += 1;
    }
    value = 0;
    while value < 10 {
        values[b'0' as usize + value as usize] = value + 52;
        value += 1;
    }
    values[b'+' as usize] = 62;
    values[b'-' as usize] = 62;
    values[b'/' as usize] = 63;
    values[b'_' as usize] = 63;
    values
}

fn base64_value(byte: u8) -> u8 {
    VALUES[usize::from(byte)]
}

/// Returns the length of the shortest run that can hold a credential of this many bytes, one of
/// which is escaped.
pub(super) fn shortest_run(credential: usize) -> usize {
    ((credential + 1) * 4).div_ceil(3).max(SHORTEST)
}

/// Decodes the runs of a text that have at least `shortest` characters. Joins them with a NUL
/// between them. Returns `None` if no run decodes to a text. Only one byte in every `shortest` is
/// examined at first, and the bytes around it only if a run may include it.
pub(super) fn decode_runs(text: &[u8], shortest: usize) -> Option<TextLayer> {
    let is_in = |byte: &&u8| base64_value(**byte) != NONE;
    let mut layer = TextLayer::default();
    let mut at = shortest - 1;
    while at < text.len() {
        let mut end = at;
        if may_be_in_run(text, at, shortest) {
            let start = at - text[..at].iter().rev().take_while(is_in).count();
            end += text[at..].iter().take_while(is_in).count();
            if end - start >= shortest {
                read_run(&text[start..end], start, &mut layer);
            }
        }
        // No run continues here.
        at = end + shortest;
    }
    Some(layer).filter(|layer| !layer.decoded_text().is_empty())
}

/// The number of bytes that are examined on each side of a byte.
const LOOKS: usize = 6;

/// Whether a run of at least `shortest` characters may include the byte at `at`, which has at least
/// `shortest - 1` bytes before it. Half of such a run is entirely before or entirely after that
/// byte. Written without branches, since the content of a text is unpredictable.
fn may_be_in_run(text: &[u8], at: usize, shortest: usize) -> bool {
    let is_in = |at: usize| text.get(at).is_some_and(|byte| base64_value(*byte) != NONE);
    let half = (shortest - 1) / 2;
    let (mut before, mut behind) = (true, true);
    for look in 1..=LOOKS {
        let far = half * look / LOOKS;
        before &= is_in(at - far);
        behind &= is_in(at + far);
    }
    is_in(at) & (before | behind)
}

fn read_run(run: &[u8], source: usize, layer: &mut TextLayer) {
    let is_digit = |byte: &&u8| byte.is_ascii_hexdigit();
    if run.len() >= SHORTEST_HEX && run.iter().all(|byte| byte.is_ascii_hexdigit()) {
        return read_hex(run, source, layer);
    }
    let offsets = if run.len() < LONG { plain_offsets(run) } else { [true; 4] };
    for offset in (0..4).filter(|offset| offsets[*offset]) {
        let Some(rest) = run.get(offset..).filter(|rest| rest.len() >= SHORTEST) else { break };
        if run.len() < LONG || says_text(rest) {
            layer.begin_piece(source + offset, LayerSpelling::Base64);
            decode_base64(rest, layer);
            layer.extend(&[0]);
        }
    }
    let mut at = 0;
    while let Some(digits) = run.get(at..at + SHORTEST_HEX) {
        let back = digits.iter().rev().take_while(is_digit).count();
        if back < SHORTEST_HEX {
            at += SHORTEST_HEX - back;
            continue;
        }
        let end = at + run[at..].iter().take_while(is_digit).count();
        read_hex(&run[at..end], source + at, layer);
        at = end + 1;
    }
}

/// Decodes a run of digits, the first of which may belong to the text before the run.
fn read_hex(digits: &[u8], source: usize, layer: &mut TextLayer) {
    for offset in (0..2).filter(|offset| digits.len() >= SHORTEST_HEX + offset) {
        layer.begin_piece(source + offset, LayerSpelling::Hex);
        decode_hex(&digits[offset..], layer);
        layer.extend(&[0]);
    }
}

/// Returns the offsets at which base64 of plain text may begin. The first character of each group
/// of four holds six of the eight bits of a byte. One group in eight may decode to something else,
/// and so may the group that belongs to the text before the run.
fn plain_offsets(run: &[u8]) -> [bool; 4] {
    let mut plain = [0; 4];
    let groups = run.chunks_exact(4);
    let count = groups.len();
    for group in groups {
        for (plain, byte) in plain.iter_mut().zip(group) {
            *plain += usize::from(PLAIN[usize::from(*byte)]);
        }
    }
    plain.map(|plain| plain + 1 + count / 8 >= count)
}

/// Whether at least one sample of a long base64 run decodes to text. The samples are spread, since
/// the text before and after the run may not belong to it.
fn says_text(run: &[u8]) -> bool {
    let end = run.len() - run.len() % 4;
    let sample = SAMPLES[usize::from(end >= STRIDE)];
    let last = end.saturating_sub(sample);
    let stride = (end / 32 * 4).clamp(sample, STRIDE);
    (0..last).step_by(stride).chain([last]).any(|at| is_text(&run[at..at + sample]))
}

/// Whether a few groups of base64 decode to text. The text may begin and end within a character.
fn is_text(sample: &[u8]) -> bool {
    let mut bytes = [0; SAMPLES[1] / 4 * 3];
    let bytes = &mut bytes[..sample.len() / 4 * 3];
    for (group, three) in sample.chunks_exact(4).zip(bytes.chunks_exact_mut(3)) {
        three.copy_from_slice(&decode_group(group));
        // These bytes do not occur in text.
        if three
            .iter()
            .any(|byte| matches!(byte, 1..=8 | 11 | 12 | 14..=31 | 127 | 192 | 193 | 245..))
        {
            return false;
        }
    }
    // Zero bytes occur only between the characters of UTF-16 and UTF-32.
    if bytes.contains(&0) {
        return is_wide(bytes);
    }
    let inside = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    match std::str::from_utf8(&bytes[inside..]) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// Whether bytes may be from UTF-16 or UTF-32 of ASCII: all characters have the same number of zero
/// bytes between them.
fn is_wide(bytes: &[u8]) -> bool {
    let letters = || bytes.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(at, _)| at);
    [2, 4].iter().any(|unit| {
        let first = letters().next().unwrap_or(0) % unit;
        letters().count() > 1
            && letters().all(|at| at % unit == first)
            && bytes.iter().skip(first).step_by(*unit).all(|byte| byte.is_ascii() && *byte != 0)
    })
}

/// Returns the three bytes of a group of four characters. Missing characters count as zero.
fn decode_group(group: &[u8]) -> [u8; 3] {
    let bits = |index: usize| group.get(index).map_or(0, |byte| u32::from(base64_value(*byte)));
    let [_, first, second, third] =
        (bits(0) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3)).to_be_bytes();
    [first, second, third]
}

fn decode_base64(run: &[u8], layer: &mut TextLayer) {
    for group in run.chunks(4) {
        // Two characters encode one byte, three characters encode two.
        layer.extend(&decode_group(group)[..group.len() - 1]);
    }
}

fn decode_hex(digits: &[u8], layer: &mut TextLayer) {
    let digit = |byte: u8| (byte & 15) + if byte > b'9' { 9 } else { 0 };
    for pair in digits.chunks_exact(2) {
        layer.extend(&[digit(pair[0]) << 4 | digit(pair[1])]);
    }
}
