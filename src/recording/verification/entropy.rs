//! Texts that look like credentials though they have no shape that is known: long runs
//! of letters and digits that no word, path, id or hash is like.
//!
//! The bar is low behind a name that tells (`api_key`, `password=`), and high
//! anywhere else: ids, hashes, signatures, images and vectors are full of chance too,
//! and a check that shouts at them is switched off.

use std::ops::Range;

/// Runs below are not looked at, whatever stands in front of them.
const SHORTEST: usize = 16;

/// What a run must have where nothing in front of it tells: a key of 32 characters or
/// more, and no image.
const ALONE: Range<usize> = 32..161;

/// Bits a character at least: where a name tells, and where none does. Random letters
/// and digits have 4.4 and more at 32 characters, English words about 3.5.
const BITS: (f64, f64) = (3.0, 4.2);

/// Of the places between two characters, how many at least are between two kinds of
/// characters. Names in camel case come to 0.35, random letters and digits to 0.6.
const CHANGES: f64 = 0.45;

/// Names that tell of a credential, by a part of them.
const TELLING: [&str; 13] = [
    "secret",
    "token",
    "passw",
    "passphrase",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "credential",
    "authorization",
];

/// Names with such a part that tell of something else.
const HARMLESS: [&str; 8] = [
    "tokens",
    "token_count",
    "tokenizer",
    "page_token",
    "pagetoken",
    "author_",
    "token_type",
    "secretary",
];

/// Names whose values are made of chance and open nothing.
const OPEN: [&str; 24] = [
    "id",
    "ids",
    "signature",
    "thoughtsignature",
    "thought_signature",
    "encrypted_content",
    "encrypted_index",
    "redacted_thinking",
    "data",
    "b64_json",
    "url",
    "uri",
    "image_url",
    "file_data",
    "embedding",
    "audio",
    "bytes",
    "hash",
    "digest",
    "sha256",
    "etag",
    "nonce",
    "system_fingerprint",
    "obfuscation",
];

/// How the ids of providers begin.
const IDS: [&str; 32] = [
    "chatcmpl",
    "cmpl",
    "msg",
    "call",
    "toolu",
    "srvtoolu",
    "req",
    "resp",
    "rs",
    "fc",
    "run",
    "file",
    "asst",
    "thread",
    "step",
    "ws",
    "ci",
    "batch",
    "msgbatch",
    "modr",
    "vs",
    "item",
    "event",
    "conv",
    "gen",
    "fs",
    "mcp",
    "ig",
    "cu",
    "org",
    "proj",
    "container",
];

/// What stands for a secret, or for one that is to be put there.
const STAND_INS: [&str; 9] =
    ["redacted", "example", "placeholder", "xxxx", "your", "dummy", "changeme", "0000", "1234567"];

/// Where runs that look like credentials stand.
pub(super) fn find(bytes: &[u8]) -> Vec<Range<usize>> {
    runs(bytes).filter(|run| is_suspect(bytes, run)).collect()
}

/// The runs of characters that keys are made of.
fn runs(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(|byte| is_key(*byte))?;
            let length = bytes[start..].iter().position(|byte| !is_key(*byte));
            at = length.map_or(bytes.len(), |length| start + length);
            if at - start >= SHORTEST {
                return Some(start..at);
            }
        }
    })
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-')
}

fn is_suspect(bytes: &[u8], run: &Range<usize>) -> bool {
    let text = &bytes[run.clone()];
    let alone = ALONE.contains(&text.len());
    if text.len() >= ALONE.end || classes(text) < 2 {
        return false;
    }
    let name = name_before(bytes, run.start);
    if is_open(&name) || bytes[..run.start].ends_with(b";base64,") {
        return false;
    }
    let telling = TELLING.iter().any(|part| name.contains(part))
        && !HARMLESS.iter().any(|part| name.contains(part));
    let bits = if telling { BITS.0 } else { BITS.1 };
    (telling || (alone && classes(text) == 3 && changes(text) >= CHANGES && !is_id(text)))
        && entropy(text) >= bits
        && !is_stand_in(text)
        && (!telling || text.iter().any(u8::is_ascii_digit))
}

/// Whether a value under this name, in lower case, may be made of chance.
pub(super) fn is_open(name: &str) -> bool {
    OPEN.contains(&name)
        || ["_id", "-id", "_ids", "_hash", "_url"].iter().any(|end| name.ends_with(end))
}

/// The word in front of a value, in lower case: the name of a member, or what an
/// assignment in a text gives it to. Empty where nothing assigns.
fn name_before(bytes: &[u8], at: usize) -> String {
    let before = &bytes[at.saturating_sub(64)..at];
    let assigns = |byte: &u8| matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b':' | b'=' | b'`');
    let end = before.iter().rposition(|byte| !assigns(byte)).map_or(0, |at| at + 1);
    let between = &before[end..];
    if !between.iter().any(|byte| matches!(byte, b':' | b'=')) {
        return String::new();
    }
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let start = before[..end].iter().rposition(|byte| !is_name(byte)).map_or(0, |at| at + 1);
    String::from_utf8_lossy(&before[start..end]).to_ascii_lowercase()
}

/// How many of lower case, upper case and digits there are in it.
fn classes(text: &[u8]) -> usize {
    let any = |is: fn(&u8) -> bool| usize::from(text.iter().any(is));
    any(u8::is_ascii_lowercase) + any(u8::is_ascii_uppercase) + any(u8::is_ascii_digit)
}

/// The part of the places between characters where their kind changes.
fn changes(text: &[u8]) -> f64 {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let count = text.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    count as f64 / (text.len().max(2) - 1) as f64
}

/// Shannon's entropy, in bits a character.
fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let length = text.len() as f64;
    let bits = |count: &u32| f64::from(*count) / length * (length / f64::from(*count)).log2();
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

/// Whether it is an id as providers make them: a short word, and chance behind it.
fn is_id(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| matches!(byte, b'_' | b'-'));
    let head = end.and_then(|end| std::str::from_utf8(&text[..end]).ok());
    head.is_some_and(|head| IDS.contains(&head))
}

fn is_stand_in(text: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(text).to_ascii_lowercase();
    STAND_INS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        find(text.as_bytes()).into_iter().map(|run| text[run].to_owned()).collect()
    }

    /// As a key of an unknown service looks.
    const KEY: &str = "q7Zt2LmX9aRf4KpW8sVd1NcY6hBj3Gu5";

    #[test]
    fn a_long_run_of_chance_is_suspect_wherever_it_stands() {
        assert_eq!(found(&format!("use {KEY}, please")), [KEY]);
        assert_eq!(found(&format!(r#"{{"note":"{KEY}"}}"#)), [KEY]);
    }

    #[test]
    fn a_shorter_one_is_suspect_behind_a_name_that_tells() {
        for text in [
            r#"{"api_key": "9f86d081884c7d65"}"#,
            "DB_PASSWORD=hunter2-and-17-more",
            r#"{"content":"client_secret: \"kZ83hf7dGh2k1LmQ\""}"#,
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
        assert_eq!(found("hunter2-and-17-more"), [""; 0]);
    }

    #[test]
    fn what_programs_are_full_of_is_no_credential() {
        let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let image = format!(r#"{{"url":"data:image/png;base64,{}"}}"#, KEY.repeat(4));
        for text in [
            hex,
            "550e8400-e29b-41d4-a716-446655440000",
            "chatcmpl-Aq7Zt2LmX9aRf4KpW8sVd1NcY6hBj3",
            "toolu_01Aq7Zt2LmX9aRf4KpW8sVd1NcY6hBj3",
            "src/components/HelloWorldPage/indexOfAllThings2.test",
            "AbstractSingletonProxyFactoryBeanConfiguration2Impl",
            "the_quick_brown_fox_jumps_over_13_lazy_dogs_at_noon",
            image.as_str(),
            r#"{"max_tokens":"q7Zt2LmX9aRf4KpW"}"#,
            r#"{"api_key":"your-key-goes-here-12"}"#,
            r#"{"api_key":"[REDACTED]"}"#,
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        for name in ["signature", "tool_call_id", "encrypted_content", "system_fingerprint"] {
            assert_eq!(found(&format!(r#"{{"{name}": "{KEY}"}}"#)), [""; 0], "{name}");
        }
        assert_eq!(found(&KEY.repeat(100)), [""; 0]);
    }

    #[test]
    fn hostile_bytes_are_no_danger() {
        assert!(find(b"").is_empty() && find(&[0xff; 100]).is_empty());
        assert!(find(&vec![b'a'; 1 << 20]).is_empty());
    }
}
