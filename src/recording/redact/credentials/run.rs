//! Runs of base64 and hex in a text, and what they say.
//!
//! A credential inside base64 as it is needs none of this: the search knows the
//! characters it becomes. What is read here is the text behind a run, in which a
//! credential may stand escaped or encoded once more. A run that says binary data is
//! left alone, and so are the words of an ordinary text: a few characters tell.

use super::layer::{LayerSpelling, TextLayer};

/// The fewest characters of base64 that hold eight characters one of which is escaped.
const SHORTEST: usize = 13;

/// The fewest digits of hex that hold eight bytes.
const SHORTEST_HEX: usize = 16;

/// A run of at least this many characters is looked at more closely.
const LONG: usize = 32;

/// From one look into a long run to the next, at most.
const STRIDE: usize = 512;

/// The characters looked at each time, in a run that is shorter than the stride and in one
/// that is not: a whole number of groups of four.
const SAMPLES: [usize; 2] = [12, 24];

/// No character of base64.
const NONE: u8 = 64;

/// The value of each character in base64, of either alphabet.
const VALUES: [u8; 256] = values();

/// For each character, 1 where a group that begins with it says a byte of plain text.
const PLAIN: [u8; 256] = plain();

const fn plain() -> [u8; 256] {
    let mut plain = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = matches!(VALUES[byte], 2 | 3 | 8..=31) as u8;
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

fn value(byte: u8) -> u8 {
    VALUES[usize::from(byte)]
}

/// The fewest characters of a run that holds a credential of so many bytes, one of which
/// is escaped.
pub(super) fn shortest_run(credential: usize) -> usize {
    ((credential + 1) * 4).div_ceil(3).max(SHORTEST)
}

/// What the runs of a text say that have at least `shortest` characters, one behind the
/// other, with a NUL between; `None` where no run says a text. Of a run of the shortest
/// length one byte in so many is seen: only around those that a run may go through the
/// bytes between are looked at.
pub(super) fn decode_runs(text: &[u8], shortest: usize) -> Option<TextLayer> {
    let is_in = |byte: &&u8| value(**byte) != NONE;
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
        // Here no run goes on.
        at = end + shortest;
    }
    Some(layer).filter(|layer| !layer.text().is_empty())
}

/// The bytes that are looked at on each side of one.
const LOOKS: usize = 6;

/// Whether a run of at least `shortest` characters may go through a place that has so many
/// bytes before it: half of them are all before the place or all behind it. Written without
/// branches, since what stands in a text cannot be foretold.
fn may_be_in_run(text: &[u8], at: usize, shortest: usize) -> bool {
    let is_in = |at: usize| text.get(at).is_some_and(|byte| value(*byte) != NONE);
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
            layer.begin(source + offset, LayerSpelling::Base64);
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

/// Reads a run of digits, the first of which may belong to what stands before.
fn read_hex(digits: &[u8], source: usize, layer: &mut TextLayer) {
    for offset in (0..2).filter(|offset| digits.len() >= SHORTEST_HEX + offset) {
        layer.begin(source + offset, LayerSpelling::Hex);
        decode_hex(&digits[offset..], layer);
        layer.extend(&[0]);
    }
}

/// The offsets at which base64 may begin that says a plain text: the first character of
/// each group of four has six of the eight bits of a byte. One group in eight may say
/// something else, and one more, that of what stands before.
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

/// Whether long base64 that begins here seems to say a text, at one place at least: what
/// stands before and behind it may not belong to it.
fn says_text(run: &[u8]) -> bool {
    let end = run.len() - run.len() % 4;
    let sample = SAMPLES[usize::from(end >= STRIDE)];
    let last = end.saturating_sub(sample);
    let stride = (end / 32 * 4).clamp(sample, STRIDE);
    (0..last).step_by(stride).chain([last]).any(|at| is_text(&run[at..at + sample]))
}

/// Whether base64 of a few groups says a text, which may begin and end within a letter.
fn is_text(sample: &[u8]) -> bool {
    let mut bytes = [0; SAMPLES[1] / 4 * 3];
    let bytes = &mut bytes[..sample.len() / 4 * 3];
    for (group, three) in sample.chunks_exact(4).zip(bytes.chunks_exact_mut(3)) {
        three.copy_from_slice(&triple(group));
        // No text has these.
        if three
            .iter()
            .any(|byte| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127 | 192 | 193 | 245..))
        {
            return false;
        }
    }
    let inside = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    match std::str::from_utf8(&bytes[inside..]) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// The three bytes of a group of four characters; those that are missing count as zero.
fn triple(group: &[u8]) -> [u8; 3] {
    let bits = |index: usize| group.get(index).map_or(0, |byte| u32::from(value(*byte)));
    let [_, first, second, third] =
        (bits(0) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3)).to_be_bytes();
    [first, second, third]
}

fn decode_base64(run: &[u8], layer: &mut TextLayer) {
    for group in run.chunks(4) {
        // Two characters say a byte, three say two.
        layer.extend(&triple(group)[..group.len() - 1]);
    }
}

fn decode_hex(digits: &[u8], layer: &mut TextLayer) {
    let digit = |byte: u8| (byte & 15) + if byte > b'9' { 9 } else { 0 };
    for pair in digits.chunks_exact(2) {
        layer.extend(&[digit(pair[0]) << 4 | digit(pair[1])]);
    }
}
