//! Keys with a well-known shape: a prefix, followed by enough characters of an alphabet.
//!
//! One pass finds the prefixes. Only the bytes after a prefix are examined more closely, each of
//! them at most twice, so hostile input costs no more.

use std::ops::Range;

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, BuildError, Input, Span};

/// The characters that may follow the prefix of a key.
#[derive(Clone, Copy)]
enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Token,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Digits, `a` to `f` and `-`.
    Hex,
}

/// What must be before a prefix for it to count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Anything: the prefix is long enough to rule out chance.
    Anything,
    /// The beginning of a word.
    Word,
    /// The beginning of a word that is not part of a base64 text.
    Base64,
}

use Alphabet::{Alnum, Base64, Hex, Token, Word};

struct KeyShape {
    prefix: &'static str,
    alphabet: Alphabet,
    /// The least number of characters after the prefix.
    least: usize,
    before: Before,
}

const fn shape(prefix: &'static str, alphabet: Alphabet, least: usize, before: Before) -> KeyShape {
    KeyShape { prefix, alphabet, least, before }
}

/// The keys of services that are likely in a program which calls LLMs.
const SHAPES: [KeyShape; 43] = [
    shape("sk-ant-", Token, 20, Before::Anything),
    shape("sk-proj-", Token, 20, Before::Anything),
    shape("sk-svcacct-", Token, 20, Before::Anything),
    shape("sk-admin-", Token, 20, Before::Anything),
    shape("sk-None-", Token, 20, Before::Anything),
    shape("sk-or-v1-", Hex, 64, Before::Anything),
    shape("sk-or-", Hex, 64, Before::Word),
    shape("sk-lf-", Hex, 36, Before::Word),
    shape("pk-lf-", Hex, 36, Before::Word),
    shape("sk-", Alnum, 32, Before::Word),
    shape("ek_", Token, 16, Before::Word),
    shape("AIza", Token, 35, Before::Base64),
    shape("AQ.", Token, 30, Before::Word),
    shape("ya29.", Token, 20, Before::Word),
    shape("ABSK", Base64, 40, Before::Base64),
    shape("bedrock-api-key-", Base64, 20, Before::Anything),
    shape("gsk_", Alnum, 40, Before::Word),
    shape("xai-", Alnum, 60, Before::Word),
    shape("pplx-", Alnum, 40, Before::Word),
    shape("pa-", Token, 43, Before::Base64),
    shape("r8_", Alnum, 37, Before::Word),
    shape("fw_", Alnum, 20, Before::Word),
    shape("hf_", Alnum, 30, Before::Word),
    shape("ghp_", Alnum, 36, Before::Word),
    shape("gho_", Alnum, 36, Before::Word),
    shape("ghu_", Alnum, 36, Before::Word),
    shape("ghs_", Alnum, 36, Before::Word),
    shape("ghr_", Alnum, 36, Before::Word),
    shape("github_pat_", Word, 60, Before::Anything),
    shape("glpat-", Token, 20, Before::Word),
    shape("xoxa-", Token, 10, Before::Word),
    shape("xoxb-", Token, 10, Before::Word),
    shape("xoxe-", Token, 10, Before::Word),
    shape("xoxp-", Token, 10, Before::Word),
    shape("xoxr-", Token, 10, Before::Word),
    shape("xoxs-", Token, 10, Before::Word),
    shape("sk_live_", Alnum, 16, Before::Word),
    shape("sk_test_", Alnum, 16, Before::Word),
    shape("rk_live_", Alnum, 16, Before::Word),
    shape("rk_test_", Alnum, 16, Before::Word),
    shape("npm_", Alnum, 36, Before::Word),
    shape("pypi-AgEI", Token, 50, Before::Anything),
    shape("tvly-", Token, 20, Before::Word),
];

/// Prefixes of shapes that need more than a prefix and a run.
const AWS: [&str; 4] = ["AKIA", "ASIA", "ABIA", "ACCA"];
const SENDGRID: &str = "SG.";
const JWT: &str = "eyJ";
const PEM: &str = "-----BEGIN ";
const URL: &str = "://";

/// Returns all prefixes of keys. No prefix begins with another.
fn key_prefixes() -> Vec<&'static str> {
    let single = [SENDGRID, JWT, PEM, URL];
    let shapes = SHAPES.iter().map(|shape| shape.prefix);
    let mut prefixes: Vec<&str> = shapes.chain(AWS).chain(single).collect();
    // A prefix also finds the longer ones that begin with it.
    let all = prefixes.clone();
    prefixes.retain(|prefix| !all.iter().any(|other| other != prefix && prefix.starts_with(other)));
    prefixes
}

/// The finder of well-known shapes.
#[derive(Clone, Debug)]
pub(super) struct ShapeFinder {
    prefixes: Prefixes,
}

/// A search for all prefixes at once.
#[derive(Clone, Debug)]
enum Prefixes {
    /// Compares many bytes at a time.
    Packed(Searcher),
    /// Byte by byte, on processors that cannot.
    Automaton(AhoCorasick),
}

impl Prefixes {
    /// # Errors
    /// If the automaton cannot be built.
    fn new() -> Result<Self, BuildError> {
        let prefixes = key_prefixes();
        match Searcher::new(&prefixes) {
            Some(searcher) => Ok(Self::Packed(searcher)),
            None => AhoCorasick::new(&prefixes).map(Self::Automaton),
        }
    }

    /// Returns the start of the next prefix, from `at` on.
    fn find_next(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let span = Span::from(at..bytes.len());
        match self {
            Self::Packed(searcher) => searcher.find_in(bytes, span),
            Self::Automaton(automaton) => automaton.find(Input::new(bytes).span(span)),
        }
        .map(|found| found.start())
    }
}

impl ShapeFinder {
    /// # Errors
    /// If the search cannot be built.
    pub(super) fn new() -> Result<Self, BuildError> {
        Ok(Self { prefixes: Prefixes::new()? })
    }

    /// Whether a key may begin in the bytes: they contain a prefix.
    pub(super) fn begin_in(&self, bytes: &[u8]) -> bool {
        self.prefixes.find_next(bytes, 0).is_some()
    }

    /// Appends the ranges of keys.
    pub(super) fn find_ranges(&self, bytes: &[u8], ranges: &mut Vec<Range<usize>>) {
        let mut at = 0;
        while let Some(start) = self.prefixes.find_next(bytes, at) {
            at = start + 1;
            if let Some(range) = key_at(bytes, start) {
                at = range.end;
                ranges.push(range);
            }
        }
    }
}

/// Returns the range of the key whose prefix is at `at`, if it is one.
fn key_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let text = &bytes[at..];
    if text.starts_with(URL.as_bytes()) {
        return url_credentials(bytes, at + URL.len());
    }
    if text.starts_with(PEM.as_bytes()) {
        return private_key(text).map(|length| at..at + length);
    }
    // The bytes before the prefix are checked first. So in a run of repeated prefixes, only the
    // first is followed to the end of the run.
    let shapes = SHAPES
        .iter()
        .filter(|shape| text.starts_with(shape.prefix.as_bytes()))
        .filter(|shape| can_begin_word(bytes, at, shape.before))
        .filter_map(|shape| {
            let tail = run_length(&text[shape.prefix.len()..], shape.alphabet);
            (tail >= shape.least).then_some(shape.prefix.len() + tail)
        });
    let in_base64 = can_begin_word(bytes, at, Before::Base64).then(|| aws_key(text));
    let in_word = can_begin_word(bytes, at, Before::Word)
        .then(|| sendgrid_key(text).or_else(|| json_web_token(text)));
    let others = [in_base64, in_word].into_iter().flatten().flatten();
    let length = shapes.chain(others).max()?;
    Some(at..at + length)
}

fn aws_key(text: &[u8]) -> Option<usize> {
    if !AWS.iter().any(|prefix| text.starts_with(prefix.as_bytes())) {
        return None;
    }
    let id = text.get(4..20)?;
    let upper = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let ends = !text
        .get(20)
        .is_some_and(|&byte| is_in(byte, Alphabet::Word) || matches!(byte, b'+' | b'/'));
    (id.iter().all(upper) && ends).then_some(20)
}

fn sendgrid_key(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(SENDGRID.as_bytes())?;
    let shaped = rest.get(22) == Some(&b'.')
        && run_length(rest.get(..22)?, Token) == 22
        && run_length(rest.get(23..66)?, Token) == 43;
    shaped.then_some(SENDGRID.len() + 66)
}

fn json_web_token(text: &[u8]) -> Option<usize> {
    if !text.starts_with(JWT.as_bytes()) {
        return None;
    }
    let head = run_length(text, Token);
    let claims = text.get(head + 1..)?;
    if text[head] != b'.' || !claims.starts_with(JWT.as_bytes()) {
        return None;
    }
    let body = run_length(claims, Token);
    let signature = run_length(claims.get(body + 1..)?, Token);
    let shaped = claims[body] == b'.' && head >= 13 && body >= 13 && signature > 0;
    shaped.then_some(head + 1 + body + 1 + signature)
}

/// Returns the length of a private key block: to its end line, or as far as the text may belong to
/// the key. Its line feeds may be escaped.
fn private_key(text: &[u8]) -> Option<usize> {
    const DASHES: &[u8] = b"-----";
    let label_length = text[PEM.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase() || **byte == b' ')
        .count();
    let head = PEM.len() + label_length;
    let label = &text[PEM.len()..head];
    if !label.ends_with(b"PRIVATE KEY") || !text[head..].starts_with(DASHES) {
        return None;
    }
    let start = head + DASHES.len();
    let body = &text[start..];
    // An encrypted key has header lines, so it holds more than base64.
    let to_end = body
        .windows(DASHES.len())
        .take_while(|window| *window != DASHES && is_pem(window[0]))
        .count();
    let tail = [b"-----END ", label, DASHES].concat();
    if body[to_end..].starts_with(&tail) {
        return Some(start + to_end + tail.len());
    }
    let cut = body
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=\r\n\\".contains(byte))
        .count();
    Some(start + cut)
}

fn is_pem(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\r\n \\,:-".contains(&byte)
}

/// Returns the range of `user:password` before a URL's `@`.
fn url_credentials(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let part = |from: usize| {
        let rest = bytes.get(from..)?;
        let length = rest.iter().take_while(|byte| is_user_info(**byte)).count();
        (length > 0).then_some(from + length)
    };
    let colon = part(start).filter(|&at| bytes.get(at) == Some(&b':'))?;
    let end = part(colon + 1).filter(|&at| bytes.get(at) == Some(&b'@'))?;
    Some(start..end)
}

fn is_user_info(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"/:@\"'`\\<>{}[]()".contains(&byte)
}

fn run_length(text: &[u8], alphabet: Alphabet) -> usize {
    text.iter().take_while(|byte| is_in(**byte, alphabet)).count()
}

fn is_in(byte: u8, alphabet: Alphabet) -> bool {
    match alphabet {
        Alphabet::Alnum => byte.is_ascii_alphanumeric(),
        Alphabet::Token => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
        Alphabet::Word => byte.is_ascii_alphanumeric() || byte == b'_',
        Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        Alphabet::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'),
    }
}

/// Whether a word may begin at `at`. A word may begin after a JSON or URL escape, although the
/// escape ends with a letter or a digit.
fn can_begin_word(bytes: &[u8], at: usize, before: Before) -> bool {
    let Some(&last) = at.checked_sub(1).and_then(|at| bytes.get(at)) else {
        return true;
    };
    let apart = match before {
        Before::Anything => true,
        Before::Word => !is_in(last, Token),
        Before::Base64 => !is_in(last, Token) && !matches!(last, b'+' | b'/'),
    };
    if apart {
        return true;
    }
    let behind = |length: usize| at.checked_sub(length).map(|from| &bytes[from..at]);
    let hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    behind(2).is_some_and(|b| b[0] == b'\\' && b"nrtbf/".contains(&b[1]))
        || behind(3).is_some_and(|b| b[0] == b'%' && hex(&b[1..]))
        || behind(6).is_some_and(|b| b.starts_with(b"\\u") && hex(&b[2..]))
}
