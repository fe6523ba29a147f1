//! Search for texts that look like credentials although they have no known shape: long runs of
//! letters and digits that do not look like words, paths, ids or hashes.
//!
//! The threshold is low after a telling name (`api_key`, `password=`), and high everywhere else.
//! Ids, hashes, signatures, images and vectors are full of random characters too, and users switch
//! off a check that reports them.

use std::ops::Range;

/// Shorter runs are not examined, whatever the name before them.
const SHORTEST: usize = 16;

/// The length of a run that is examined without a telling name: a key has at least 32 characters,
/// and images are longer.
const ALONE: Range<usize> = 32..161;

/// The least entropy in bits per character: after a telling name, and otherwise. Random letters and
/// digits have at least 4.4 bits at 32 characters, English words about 3.5.
const BITS: (f64, f64) = (3.0, 4.2);

/// The least share of neighbouring characters of different kinds. Camel-case names reach 0.35,
/// random letters and digits 0.6.
const CHANGES: f64 = 0.45;

/// Parts of names that indicate a credential.
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

/// Parts of names that contain such a part but indicate something else.
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

/// Names whose values are random but give no access.
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

/// The prefixes of providers' ids.
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

/// Words in placeholders for secrets.
const STAND_INS: [&str; 9] =
    ["redacted", "example", "placeholder", "xxxx", "your", "dummy", "changeme", "0000", "1234567"];

/// Returns the ranges of runs that look like credentials.
pub(super) fn find(bytes: &[u8]) -> Vec<Range<usize>> {
    runs(bytes).filter(|run| is_suspect(bytes, run)).collect()
}

/// Returns the runs of characters that occur in keys.
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

/// Whether a value with this name (in lower case) may be random.
pub(super) fn is_open(name: &str) -> bool {
    OPEN.contains(&name)
        || ["_id", "-id", "_ids", "_hash", "_url"].iter().any(|end| name.ends_with(end))
}

/// Returns the word before a value, in lower case: the name of a member, or of a variable in an
/// assignment. Empty if nothing is assigned.
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

/// Returns how many of the classes lower case, upper case and digits occur.
fn classes(text: &[u8]) -> usize {
    let any = |is: fn(&u8) -> bool| usize::from(text.iter().any(is));
    any(u8::is_ascii_lowercase) + any(u8::is_ascii_uppercase) + any(u8::is_ascii_digit)
}

/// Returns the share of neighbouring characters of different kinds.
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

/// Returns the Shannon entropy in bits per character.
fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let length = text.len() as f64;
    let bits = |count: &u32| f64::from(*count) / length * (length / f64::from(*count)).log2();
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

/// Whether it looks like a provider's id: a short word followed by random characters.
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

    /// Looks like a key of an unknown service.
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
