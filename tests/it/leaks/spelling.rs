//! Ways to write a text, and the reading of them again: what nobody may find in an output.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::support::chance::Chance;

/// Stands in the middle of every secret, so that a part that is left shows.
pub(super) const MARKER: &str = "Zq7kWx";

/// A secret of its own.
pub(super) fn secret(chance: &mut Chance) -> String {
    let mut part =
        || text(chance, b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_", 8);
    [part(), MARKER.to_owned(), part()].concat()
}

fn text(chance: &mut Chance, of: &[u8], length: usize) -> String {
    (0..length).map(|_| char::from(of[chance.below(of.len())])).collect()
}

/// A text spelled in one to three ways, one upon the other.
pub(super) fn spelled(secret: &str, chance: &mut Chance) -> String {
    let times = 1 + chance.below(3);
    (0..times).fold(secret.to_owned(), |text, _| once(&text, chance))
}

fn once(plain: &str, chance: &mut Chance) -> String {
    let around = b"ABCDEFabcdef0123456789 .,;:(){}<>=";
    let (before, after) = (chance.below(7), chance.below(7));
    let (before, after) = (text(chance, around, before), text(chance, around, after));
    let share = 1 + chance.below(8);
    let mut each = |write: &dyn Fn(u32) -> String| -> String {
        let mut one = |c: char| if chance.below(8) < share { write(c.into()) } else { c.into() };
        plain.chars().map(&mut one).collect()
    };
    match share % 8 {
        0 => plain.to_owned(),
        1 => {
            let escaped = each(&|c| format!("\u{e000}{c:04x}")).replace('\\', "\\\\");
            escaped.replace('"', "\\\"").replace('\u{e000}', "\\u")
        }
        2 => plain.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect(),
        3 => each(&|c| format!("%{c:02X}")),
        4 => each(&|c| format!("%25{c:02x}")),
        5 => STANDARD.encode(format!("{before}{plain}{after}")),
        6 => URL_SAFE_NO_PAD.encode(format!("{before}{plain}{after}")),
        _ => each(&|c| format!("&#{c};")),
    }
}

/// A text as hex writes it.
pub(super) fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Undoes one kind of escapes.
type Unescape = fn(&[u8]) -> Vec<u8>;

/// Whether the marker is in these bytes, in any spelling; slow and simple on purpose.
pub(super) fn reveals(bytes: &[u8], depth: usize) -> bool {
    if contains(bytes) {
        return true;
    }
    if depth == 0 {
        return false;
    }
    let escapes: [Unescape; 3] = [json, percent, html];
    let inner = escapes.iter().map(|unescape| unescape(bytes)).filter(|text| text != bytes);
    inner.chain(runs(bytes)).any(|text| reveals(&text, depth - 1))
}

fn contains(bytes: &[u8]) -> bool {
    let marker = MARKER.as_bytes();
    bytes.windows(marker.len()).any(|window| window.eq_ignore_ascii_case(marker))
}

fn number(digits: Option<&[u8]>, radix: u32) -> Option<u8> {
    u8::try_from(u32::from_str_radix(std::str::from_utf8(digits?).ok()?, radix).ok()?).ok()
}

fn unescaped(bytes: &[u8], read: impl Fn(&[u8]) -> Option<(u8, usize)>) -> Vec<u8> {
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let (byte, length) = read(&bytes[at..]).unwrap_or((bytes[at], 1));
        out.push(byte);
        at += length;
    }
    out
}

fn json(bytes: &[u8]) -> Vec<u8> {
    unescaped(bytes, |rest| match (rest.first()?, rest.get(1)?) {
        (b'\\', b'u') => Some((number(rest.get(2..6), 16)?, 6)),
        (b'\\', b'n') => Some((b'\n', 2)),
        (b'\\', next) if next.is_ascii_punctuation() => Some((*next, 2)),
        _ => None,
    })
}

fn percent(bytes: &[u8]) -> Vec<u8> {
    unescaped(bytes, |rest| {
        (rest.first()? == &b'%').then(|| number(rest.get(1..3), 16)).flatten().map(|byte| (byte, 3))
    })
}

fn html(bytes: &[u8]) -> Vec<u8> {
    unescaped(bytes, |rest| {
        let digits = rest.strip_prefix(b"&#")?;
        let length = digits.iter().take(4).position(|byte| *byte == b';')?;
        Some((number(digits.get(..length), 10)?, length + 3))
    })
}

/// What runs of base64 and hex say, at each place where they may begin.
fn runs(bytes: &[u8]) -> Vec<Vec<u8>> {
    let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let runs = bytes.split(|byte| !is_in(byte)).filter(|run| run.len() >= 13);
    let mut out = Vec::new();
    for run in runs {
        let url: String = run.iter().map(|byte| char::from(*byte)).collect();
        let url = url.replace('+', "-").replace('/', "_");
        for offset in 0..4.min(url.len()) {
            let whole = (url.len() - offset) / 4 * 4;
            let tail = if url.len() - offset - whole == 1 { whole } else { url.len() - offset };
            let text = &url[offset..offset + tail];
            let decoded = URL_SAFE_NO_PAD
                .decode(text)
                .or_else(|_| URL_SAFE_NO_PAD.decode(&text[..whole.min(text.len())]));
            out.extend(decoded.ok().filter(|text| contains(text) || is_text(text)));
        }
        for digits in run.split(|byte| !byte.is_ascii_hexdigit()).filter(|run| run.len() >= 12) {
            let pairs = |from: usize| {
                digits[from..].chunks_exact(2).filter_map(|pair| number(Some(pair), 16)).collect()
            };
            out.extend([pairs(0), pairs(1)]);
        }
    }
    out
}

/// Whether bytes are mostly plain text, and so may spell something.
fn is_text(bytes: &[u8]) -> bool {
    let plain = bytes.iter().filter(|byte| (32..127).contains(*byte)).count();
    plain * 10 >= bytes.len() * 7
}
