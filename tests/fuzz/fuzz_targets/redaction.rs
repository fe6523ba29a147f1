//! Fuzz target for redaction: no secret survives in the content of a body, and everything else
//! stays as it was. `@@` in the input stands for a secret, `@u` for one in JSON escapes.

#![no_main]

use std::sync::LazyLock;

use bytes::Bytes;
use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_provider::framing::events;
use loomrec_provider::{Framing, Operation, read_answer};
use loomrec_recording::Chunk;
use loomrec_recording::redact::{CallCredentials, Placeholders, Redactor};
use serde_json::Value;

const SECRET: &str = "hush-ab12cd34";
const ESCAPED: &str = r"\u0068\u0075sh-ab12cd3\u0034";

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(&["hush-[a-z0-9]{8}".to_owned()]).expect("a regular expression")
});

static SHAPES: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&[]).expect("no pattern"));

static NAMED: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(&["KEY=hush-[a-z0-9]{8}".to_owned()]).expect("a regular expression")
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let body = with_secrets(rest);
    let size = 1 + usize::from(kind / 8);
    match kind % 8 {
        0 => check_body("application/json", &body),
        1 => check_body("text/plain", &body),
        2 => check_stream(Operation::CHAT_COMPLETIONS, Framing::Sse, &body, size),
        3 => check_stream(Operation::OLLAMA_CHAT, Framing::Lines, &body, size),
        4 => check_stream(Operation::GENERATE_CONTENT, Framing::Array, &body, size),
        5 => check_stream(Operation::MESSAGES, Framing::Sse, &body, size),
        6 => check_stream(Operation::RESPONSES, Framing::Sse, &body, size),
        _ => check_named(&body),
    }
    Corpus::Keep
});

fn with_secrets(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * data.len());
    let mut rest = data;
    while let Some((&first, after)) = rest.split_first() {
        let (text, left): (&[u8], &[u8]) = match (first, after.first()) {
            (b'@', Some(b'@')) => (SECRET.as_bytes(), &after[1..]),
            (b'@', Some(b'u')) => (ESCAPED.as_bytes(), &after[1..]),
            _ => (&rest[..1], after),
        };
        out.extend_from_slice(text);
        rest = left;
    }
    out
}

fn redacted(media: &str, body: &[u8]) -> Vec<u8> {
    let secrets = CallCredentials::default();
    REDACTOR.redact_body(media, body, &secrets, &mut Placeholders::default()).into_owned()
}

fn check_body(media: &str, body: &[u8]) {
    let clean = redacted(media, body);
    assert_eq!(text(&redacted(media, &clean)), text(&clean), "what is clean stays as it is");
    assert!(REDACTOR.find_in_body(media, &clean).is_empty(), "nothing is found any more");
    if REDACTOR.find_in_body(media, body).is_empty() {
        assert_eq!(text(&clean), text(body), "what holds no secret stays as it is");
    }
    let (before, after) = (serde_json::from_slice(body), serde_json::from_slice(&clean));
    let Ok(before): Result<Value, _> = before else { return };
    if media == "application/json" && loomrec_identity::parse(body).is_ok() {
        compare(&before, &after.expect("JSON stays JSON"));
    }
}

/// Checks that the documents are equal, except for secrets in their string values.
fn compare(before: &Value, after: &Value) {
    match (before, after) {
        (Value::String(before), Value::String(after)) => {
            assert!(!after.contains(SECRET), "a secret survives: {after:?}");
            if !before.contains(SECRET) && REDACTOR.find_matches(before.as_bytes()).is_empty() {
                assert_eq!(before, after, "a text without a secret stays as it is");
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len());
            before.iter().zip(after).for_each(|(before, after)| compare(before, after));
        }
        // A member name that contains a key of a well-known form is replaced.
        (Value::Object(before), _)
            if before.keys().any(|name| !SHAPES.find_matches(name.as_bytes()).is_empty()) => {}
        (Value::Object(before), Value::Object(after)) => {
            assert!(before.keys().eq(after.keys()), "names stay as they are");
            before.values().zip(after.values()).for_each(|(before, after)| compare(before, after));
        }
        (before, after) => assert_eq!(before, after, "what is no text stays as it is"),
    }
}

/// Checks a rule with a name: each secret has its own number.
fn check_named(body: &[u8]) {
    let secrets = CallCredentials::default();
    let named = |body: &[u8]| {
        let numbers = &mut Placeholders::default();
        NAMED.redact_body("application/json", body, &secrets, numbers).into_owned()
    };
    let clean = named(body);
    assert_eq!(text(&named(&clean)), text(&clean), "what is clean stays as it is");
    let (before, after) = (serde_json::from_slice(body), serde_json::from_slice(&clean));
    let (Ok(Value::Array(before)), true) = (before, loomrec_identity::parse(body).is_ok()) else {
        return;
    };
    let Ok(Value::Array(after)) = after else { panic!("an array stays one") };
    let pairs: Vec<(&Value, &Value)> =
        before.iter().zip(&after).filter(|(before, _)| before.is_string()).collect();
    for (one, other) in pairs.iter().zip(pairs.iter().skip(1)) {
        let (was, is) = (one.0 == other.0, one.1 == other.1);
        assert!(is || !was, "what was alike is alike: {one:?} {other:?}");
        // A placeholder that was in the input may be the number of an earlier secret. With escapes,
        // one secret may be spelled in two ways.
        let is_plain = |text: &Value| !text.to_string().contains(['<', '\\']);
        assert!(
            was || !is || !is_plain(one.0) || !is_plain(other.0),
            "what differed differs: {one:?} {other:?}"
        );
    }
}

/// Checks a stream in chunks of this many bytes.
fn check_stream(operation: Operation, framing: Framing, body: &[u8], size: usize) {
    let chunk = |(place, data): (usize, &[u8])| {
        let at_ms = f64::from(u32::try_from(place).expect("a small number"));
        Chunk { at_ms, data: Bytes::copy_from_slice(data) }
    };
    let before: Vec<Chunk> = body.chunks(size).enumerate().map(chunk).collect();
    let mut chunks = before.clone();
    let secrets = CallCredentials::default();
    let numbers = &mut Placeholders::default();
    let media = match framing {
        Framing::Sse => "text/event-stream",
        Framing::Lines => "application/x-ndjson",
        _ => "application/json",
    };
    let joined = REDACTOR.redact_payload(Some(framing), media, &mut chunks, &secrets, numbers);
    let times = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.at_ms).collect::<Vec<_>>();
    assert_eq!(times(&chunks), times(&before), "number and times of chunks stay");
    let sent: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect();
    assert_eq!(text(&sent), text(&joined));
    // Invalid JSON may have another number of events afterwards: as an invalid array, or because a
    // line is removed.
    let is_json =
        |text: &[u8]| text.trim_ascii().is_empty() || serde_json::from_slice::<Value>(text).is_ok();
    let counts = match framing {
        Framing::Array => serde_json::from_slice::<Vec<Value>>(body).is_ok(),
        Framing::Lines => body.split(|byte| *byte == b'\n').all(is_json),
        _ => true,
    };
    if counts {
        let count = |bytes: &[u8]| events(framing, bytes).count();
        assert_eq!(count(&sent), count(body), "the number of events stays");
    }
    let said = |bytes: &[u8]| read_answer(operation, Some(framing), bytes);
    if let (Some(before), Some(after)) = (said(body), said(&sent)) {
        let spread = REDACTOR.is_spread(Some(framing), &after, &sent);
        assert!(spread || !after.content.contains(SECRET), "a secret is told: {}", after.content);
        if !before.content.contains(SECRET) && text(&sent) == text(body) {
            assert_eq!(before.content, after.content);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
