//! Secrets, and ways to spell them: in JSON and programs, URLs, HTML, base64 and hex, also nested,
//! and in UTF-16 and UTF-32.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::support::chance::Chance;

/// Both are in every secret, so that a remaining part is found: if a text is cut in two, one half
/// has one of them.
pub(super) const MARKS: [&str; 2] = ["Zq7kWx", "Jv9dTp"];

/// The characters that a token may have.
pub(super) const TOKEN: &str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_";

/// The characters of other keys.
const ALPHABETS: [&str; 4] = [
    TOKEN,
    "0123456789abcdef",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=",
    "ABCDEFabcdef0123456789.~!*:@/+-_=",
];

/// The characters around a secret in base64 and hex.
const AROUND: &str = "ABCDEFabcdef0123456789 .,;:(){}<>=\"\né漢";

/// A longer text is not spelled any further.
const LONGEST: usize = 1500;

/// A random secret with the characters of one of the alphabets.
pub(super) fn secret(chance: &mut Chance) -> String {
    let alphabet = ALPHABETS[chance.below(ALPHABETS.len())];
    secret_of(alphabet, chance)
}

/// A random secret with these characters.
pub(super) fn secret_of(alphabet: &str, chance: &mut Chance) -> String {
    let mut part = || {
        let length = chance.below(10);
        text(chance, alphabet, length)
    };
    [part(), MARKS[0].to_owned(), part(), MARKS[1].to_owned(), part()].concat()
}

pub(super) fn text(chance: &mut Chance, of: &str, length: usize) -> String {
    let of: Vec<char> = of.chars().collect();
    (0..length).map(|_| of[chance.below(of.len())]).collect()
}

/// A text in one to `most` nested spellings.
pub(super) fn spelled(secret: &str, most: usize, chance: &mut Chance) -> String {
    let times = 1 + chance.below(most);
    (0..times).fold(secret.to_owned(), |text, _| once(text, chance))
}

/// How many ways there are to spell a text.
const WAYS: usize = 20;

fn once(plain: String, chance: &mut Chance) -> String {
    if plain.len() > LONGEST {
        return plain;
    }
    let (before, after) = (chance.below(7), chance.below(7));
    let (before, after) = (text(chance, AROUND, before), text(chance, AROUND, after));
    let way = chance.below(WAYS);
    let share = 1 + chance.below(8);
    let mut each = |write: &dyn Fn(u32) -> String| -> String {
        let mut one = |c: char| if chance.below(8) < share { write(c.into()) } else { c.into() };
        plain.chars().map(&mut one).collect()
    };
    match way {
        0 => plain,
        1 => as_json(&each(&|c| format!("\u{e000}u{c:04x}"))),
        2 => plain.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect(),
        3 => each(&|c| format!("%{c:02X}")),
        4 => plain.bytes().map(|c| format!("%{c:02x}")).collect(),
        5 => each(&|c| format!("%25{c:02x}")),
        6 => each(&|c| format!("%u{c:04X}")),
        7 => STANDARD.encode(format!("{before}{plain}{after}")),
        8 => URL_SAFE_NO_PAD.encode(format!("{before}{plain}{after}")),
        9 => STANDARD.encode(format!("{before}{plain}{after}")).replace('/', "\\/"),
        10 => hex(&format!("{before}{plain}{after}")),
        11 => hex(&plain).to_uppercase(),
        12 => each(&|c| format!("&#{c};")),
        13 => each(&|c| format!("&#x{c:X};")),
        14 => as_html(&plain),
        15 => as_json(&each(&|c| format!("\u{e000}x{c:02x}"))),
        16 => as_json(&each(&|c| format!("\u{e000}u{{{c:x}}}"))),
        17 => STANDARD.encode(wide(&format!("{before}{plain}{after}"), chance)),
        18 => hex_of(&wide(&format!("{before}{plain}{after}"), chance)),
        _ => as_json(&plain).replace('/', "\\/"),
    }
}

/// A text in JSON, with the escapes that it already has.
fn as_json(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\u{e000}', "\\")
}

fn as_html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&apos;")
}

/// A text in hex.
pub(super) fn hex(text: &str) -> String {
    hex_of(text.as_bytes())
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text in UTF-16 or UTF-32, with either order of bytes.
pub(super) fn wide(text: &str, chance: &mut Chance) -> Vec<u8> {
    match chance.below(4) {
        0 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        1 => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        2 => text.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect(),
        _ => text.chars().flat_map(|letter| u32::from(letter).to_be_bytes()).collect(),
    }
}
