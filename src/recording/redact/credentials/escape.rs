//! Decoding of escapes: JSON and program text (`\u0041`, `\x41`, `\101`, `\/`), URLs (`%41`,
//! `%u0041`) and HTML (`&#65;`, `&#x41;`, `&amp;`), all in one pass.

use memchr::{memchr3, memchr3_iter};

use super::layer::{LayerSpelling, TextLayer};

/// The meaning of one escape: up to four bytes.
struct Meaning {
    bytes: [u8; 4],
    length: usize,
    /// The number of source bytes in the escape.
    source: usize,
}

impl Meaning {
    fn from_byte(byte: u8, source: usize) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1, source }
    }

    fn from_code(code: u32, source: usize) -> Option<Self> {
        let mut bytes = [0; 4];
        let length = char::from_u32(code)?.encode_utf8(&mut bytes).len();
        Some(Self { bytes, length, source })
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The first bytes of escapes: of JSON and programs, of URLs, of HTML.
const MARKS: [u8; 3] = [b'\\', b'%', b'&'];

/// Returns the text without its escapes. The first layer decodes all kinds. If escapes of one kind
/// spell parts of another kind, further layers decode only one kind each. Returns no layers if no
/// escape can be part of a credential. `token` says that the credentials hold only
/// [`token bytes`](is_token_byte), so an escaped line feed, quote or non-ASCII letter cannot be
/// part of one.
pub(super) fn unescaped_layers(text: &[u8], token: bool) -> Vec<TextLayer> {
    if !may_hold(text, token) {
        return Vec::new();
    }
    let (all, mixed) = decode_escapes(text, MARKS);
    let mut layers = vec![all];
    if mixed {
        let single = MARKS.map(|mark| decode_escapes(text, [mark; 3]).0);
        layers.extend(single.into_iter().filter(|layer| layer.decoded_text().len() < text.len()));
    }
    layers
}

/// Decodes the escapes that begin with these bytes. Also returns whether one of them is inside
/// another.
fn decode_escapes(text: &[u8], [first, second, third]: [u8; 3]) -> (TextLayer, bool) {
    let mut layer = TextLayer::with_capacity(text.len());
    let mut mixed = false;
    let mut literal = 0;
    let mut at = 0;
    while let Some(found) = memchr3(first, second, third, &text[at..]).map(|found| at + found) {
        let Some(meaning) = escape_meaning(&text[found..]) else {
            mixed |= is_broken(&text[found..]);
            at = found + 1;
            continue;
        };
        if literal < found {
            layer.begin_piece(literal, LayerSpelling::Literal);
            layer.extend(&text[literal..found]);
        }
        layer.begin_piece(found, LayerSpelling::Escape(meaning.source));
        layer.extend(meaning.as_bytes());
        at = found + meaning.source;
        literal = at;
        mixed |= text[found] == b'\\' && ends_coded_backslash(&text[..found]);
        // An escaped backslash of a URL or of HTML, followed by a plain backslash, means a single
        // backslash.
        let is_backslash = meaning.as_bytes() == b"\\";
        mixed |= is_backslash && begins_coded_backslash(&text[at..]);
        let joins = text[found] != b'\\' && is_backslash;
        at += usize::from(joins && text.get(at) == Some(&b'\\'));
    }
    if literal < text.len() {
        layer.begin_piece(literal, LayerSpelling::Literal);
        layer.extend(&text[literal..]);
    }
    (layer, mixed)
}

/// Whether a text may end with a backslash that a URL or HTML escapes, once or several times.
fn ends_coded_backslash(text: &[u8]) -> bool {
    [&b"5c"[..], b"5C", b"5c;", b"5C;", b"92;"].iter().any(|end| text.ends_with(end))
}

/// Whether a text begins with a backslash that a URL or HTML escapes.
fn begins_coded_backslash(text: &[u8]) -> bool {
    let coded = matches!(text.first(), Some(b'%' | b'&'));
    coded && escape_meaning(text).is_some_and(|meaning| meaning.as_bytes() == b"\\")
}

/// Whether an invalid escape is cut short by an escape of another kind.
fn is_broken(text: &[u8]) -> bool {
    let part = |byte: &&u8| byte.is_ascii_hexdigit() || matches!(byte, b'u' | b'x' | b'#' | b'{');
    let length = 1 + text[1..].iter().take(7).take_while(part).count();
    let next = &text[length..];
    next.first().is_some_and(|mark| MARKS.contains(mark) && *mark != text[0])
        && escape_meaning(next).is_some()
}

/// Whether a byte may occur in a token. Nearly all credentials consist of such bytes.
pub(super) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\')
}

/// The number of bytes that are checked together.
const BLOCK: usize = 64;

/// How many of the next bytes are needed to decide whether an escape begins at a byte.
const AHEAD: usize = 3;

/// Whether a text has an escape that may be part of a credential.
fn may_hold(text: &[u8], token: bool) -> bool {
    let Some(first) = memchr3(b'\\', b'%', b'&', text) else { return false };
    if !token {
        return true;
    }
    (first..text.len()).step_by(BLOCK).any(|start| {
        let rest = &text[start..];
        let tells = match rest.first_chunk() {
            Some(block) => may_tell(block),
            None => {
                let mut block = [0; BLOCK + AHEAD];
                block[..rest.len()].copy_from_slice(rest);
                may_tell(&block)
            }
        };
        let block = &rest[..rest.len().min(BLOCK)];
        tells
            && memchr3_iter(b'\\', b'%', b'&', block).map(|at| start + at).any(|at| {
                let byte = escape_meaning(&text[at..]).map(|meaning| meaning.bytes[0]);
                let own = text[at + 1..].first() == Some(&b'\\');
                byte.is_some_and(|byte| {
                    // A zero byte may belong to a character of UTF-16 or UTF-32.
                    is_token_byte(byte) || byte == 0 || (byte == b'\\' && !own)
                })
            })
    })
}

/// Whether an escape of a token byte or of a backslash may begin in a block. Written so that the
/// compiler can vectorize it.
fn may_tell(block: &[u8; BLOCK + AHEAD]) -> bool {
    let is = |byte: u8, wanted: u8| u8::from(byte == wanted);
    // Most texts have escapes of quotes, line feeds and backslashes only.
    let mut other = 0;
    for at in 0..BLOCK {
        let (byte, next) = (block[at], block[at + 1]);
        let common = is(next, b'"') | is(next, b'n') | is(next, b'\\');
        let mark = is(byte, b'\\') & (common ^ 1);
        other |= mark | is(byte, b'%') | is(byte, b'&');
    }
    if other == 0 {
        return false;
    }
    let mut any = 0;
    for at in 0..BLOCK {
        let [byte, next, third, fourth] = [block[at], block[at + 1], block[at + 2], block[at + 3]];
        let lower = next | 0x20;
        // An escaped quote, backslash or control character is not part of a token. Neither is a
        // non-ASCII letter.
        let quiet = u8::from(lower.wrapping_sub(b'a') < 26) | is(next, b'"') | is(next, b'\\');
        let ascii = is(third, b'{') | (is(third, b'0') & is(fourth, b'0'));
        let coded = is(lower, b'x') | (is(lower, b'u') & ascii);
        let slash = is(byte, b'\\') & ((quiet ^ 1) | coded);
        let zero = is(next, b'0') & is(third, b'0');
        let percent =
            is(byte, b'%') & (u8::from(next.wrapping_sub(b'2') < 6) | is(lower, b'u') | zero);
        let named = is(next, b'a') | is(next, b'l') | is(next, b'g');
        any |= slash | percent | (is(byte, b'&') & (is(next, b'#') | named));
    }
    any != 0
}

/// Returns the meaning of the escape at the beginning of a text, if there is one.
fn escape_meaning(text: &[u8]) -> Option<Meaning> {
    match text.first()? {
        b'\\' => backslash_meaning(text),
        b'%' => match text.get(1)? {
            b'u' | b'U' => Meaning::from_code(parse_hex(text.get(2..6)?)?, 6),
            _ => Some(Meaning::from_byte(u8::try_from(parse_hex(text.get(1..3)?)?).ok()?, 3)),
        },
        b'&' => entity_meaning(text),
        _ => None,
    }
}

fn backslash_meaning(text: &[u8]) -> Option<Meaning> {
    let byte = *text.get(1)?;
    Some(match byte {
        b'u' if text.get(2) == Some(&b'{') => {
            let digits = text[3..].iter().take(6).take_while(|byte| byte.is_ascii_hexdigit());
            let digits = digits.count();
            let closed = text.get(3 + digits) == Some(&b'}');
            return Meaning::from_code(
                parse_hex(&text[3..3 + digits]).filter(|_| closed)?,
                digits + 4,
            );
        }
        b'u' | b'U' => return unicode_meaning(text),
        b'x' | b'X' => Meaning::from_byte(u8::try_from(parse_hex(text.get(2..4)?)?).ok()?, 4),
        b'0'..=b'3' => {
            let digits = text.get(1..4)?;
            let octal = digits.iter().all(|digit| matches!(digit, b'0'..=b'7'));
            let value = digits.iter().fold(0, |value, digit| value * 8 + u32::from(digit & 7));
            Meaning::from_byte(u8::try_from(value).ok().filter(|_| octal)?, 4)
        }
        b'n' => Meaning::from_byte(b'\n', 2),
        b'r' => Meaning::from_byte(b'\r', 2),
        b't' => Meaning::from_byte(b'\t', 2),
        b'b' => Meaning::from_byte(8, 2),
        b'f' => Meaning::from_byte(12, 2),
        // The next byte may begin an escape of another kind.
        b'%' | b'&' => return None,
        _ if byte.is_ascii_punctuation() => Meaning::from_byte(byte, 2),
        _ => return None,
    })
}

/// Decodes `\u0041`, or a surrogate pair.
fn unicode_meaning(text: &[u8]) -> Option<Meaning> {
    let unit = parse_hex(text.get(2..6)?)?;
    if !(0xd800..0xdc00).contains(&unit) {
        return Meaning::from_code(unit, 6);
    }
    let rest = text.get(6..12).filter(|rest| rest.starts_with(b"\\u"))?;
    let low = parse_hex(&rest[2..])?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    Meaning::from_code(0x10000 + ((unit - 0xd800) << 10) + low, 12)
}

fn entity_meaning(text: &[u8]) -> Option<Meaning> {
    const NAMED: [(&[u8], u8); 5] =
        [(b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
    if text.get(1) != Some(&b'#') {
        let (name, byte) = NAMED.iter().find(|(name, _)| text.starts_with(name))?;
        return Some(Meaning::from_byte(*byte, name.len()));
    }
    let is_hex = matches!(text.get(2), Some(b'x' | b'X'));
    let start = if is_hex { 3 } else { 2 };
    let is_digit =
        |byte: &&u8| if is_hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    let digits = text[start..].iter().take(8).take_while(is_digit).count();
    let digits = &text[start..start + digits];
    let end = start + digits.len();
    let code = match is_hex {
        true => parse_hex(digits)?,
        false => std::str::from_utf8(digits).ok()?.parse().ok()?,
    };
    Meaning::from_code(code, end + 1).filter(|_| text.get(end) == Some(&b';'))
}

/// Returns the value of one to eight hex digits.
fn parse_hex(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits
        .iter()
        .try_fold(0_u32, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
}
