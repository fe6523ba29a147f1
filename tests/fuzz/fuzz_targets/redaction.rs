//! Redaction: no secret survives in what a body says, and all else stays as it was. `@@` in
//! the input stands for a secret, `@u` for one in JSON's escapes.

#![no_main]

use std::sync::LazyLock;

use bytes::Bytes;
use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec::provider::framing::events;
use loomrec::provider::{Framing, Operation, read};
use loomrec::recording::Chunk;
use loomrec::recording::redact::{Placeholders, Redactor, Secrets};
use serde_json::Value;

const SECRET: &str = "hush-ab12cd34";
const ESCAPED: &str = r"\u0068\u0075sh-ab12cd3\u0034";

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(&["hush-[a-z0-9]{8}".to_owned()]).expect("a regular expression")
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let body = with_secrets(rest);
    match kind % 3 {
        0 => check_body("application/json", &body),
        1 => check_body("text/plain", &body),
        _ => check_stream(&body, 1 + usize::from(kind / 3)),
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
    let secrets = Secrets::default();
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
    if media == "application/json" && loomrec::identity::parse(body).is_ok() {
        compare(&before, &after.expect("JSON stays JSON"));
    }
}

/// The same document, but for secrets in the texts of its values.
fn compare(before: &Value, after: &Value) {
    match (before, after) {
        (Value::String(before), Value::String(after)) => {
            assert!(!after.contains(SECRET), "a secret survives: {after:?}");
            if !before.contains(SECRET) && REDACTOR.find(before.as_bytes()).is_empty() {
                assert_eq!(before, after, "a text without a secret stays as it is");
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len());
            before.iter().zip(after).for_each(|(before, after)| compare(before, after));
        }
        (Value::Object(before), Value::Object(after)) => {
            assert!(before.keys().eq(after.keys()), "names stay as they are");
            before.values().zip(after.values()).for_each(|(before, after)| compare(before, after));
        }
        (before, after) => assert_eq!(before, after, "what is no text stays as it is"),
    }
}

/// A stream of a chat, in chunks of so many bytes.
fn check_stream(body: &[u8], size: usize) {
    let chunk = |(place, data): (usize, &[u8])| {
        let at_ms = f64::from(u32::try_from(place).expect("a small number"));
        Chunk { at_ms, data: Bytes::copy_from_slice(data) }
    };
    let before: Vec<Chunk> = body.chunks(size).enumerate().map(chunk).collect();
    let mut chunks = before.clone();
    let secrets = Secrets::default();
    let framing = Some(Framing::Sse);
    let media = "text/event-stream";
    let joined = REDACTOR.redact_payload(
        framing,
        media,
        &mut chunks,
        &secrets,
        &mut Placeholders::default(),
    );
    let times = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.at_ms).collect::<Vec<_>>();
    assert_eq!(times(&chunks), times(&before), "number and times of chunks stay");
    let sent: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect();
    assert_eq!(text(&sent), text(&joined));
    let count = |bytes: &[u8]| events(Framing::Sse, bytes).count();
    assert_eq!(count(&sent), count(body), "the number of events stays");
    let said = |bytes: &[u8]| read(Operation::ChatCompletions, framing, bytes);
    if let (Some(before), Some(after)) = (said(body), said(&sent)) {
        let spread = REDACTOR.is_spread(framing, &after, &sent);
        assert!(spread || !after.content.contains(SECRET), "a secret is told: {}", after.content);
        if !before.content.contains(SECRET) && text(&sent) == text(body) {
            assert_eq!(before.content, after.content);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
