use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::MARK;
use super::*;
use loomrec_provider::Framing;
use loomrec_provider::framing::{EventFrame, events};

const KEY: &str = "canary/Key+42-7f3a";

fn redactor() -> Redactor {
    Redactor::new(&["patient-[0-9]{5}".to_owned()]).unwrap()
}

fn secrets() -> CallCredentials {
    CallCredentials::of_value(KEY)
}

fn frame(name: &'static str, data: Value) -> Vec<u8> {
    Framing::EventStream
        .write_events(&[EventFrame { name: Some(name), data: Some(data), exception: false }])
        .concat()
}

/// Returns a model's own event, as InvokeModel streams it.
fn native(event: &Value) -> Vec<u8> {
    frame("chunk", json!({ "bytes": STANDARD.encode(event.to_string()), "p": "abc" }))
}

fn chunks(parts: &[&[u8]]) -> Vec<Chunk> {
    let chunk = |part: &&[u8]| Chunk { at_ms: 1.0, data: Bytes::copy_from_slice(part) };
    parts.iter().map(chunk).collect()
}

fn lengths(chunks: &[Chunk]) -> Vec<usize> {
    chunks.iter().map(|chunk| chunk.data.len()).collect()
}

/// Returns the redacted chunks, and all their bytes.
fn redacted(parts: &[&[u8]]) -> (Vec<Chunk>, Vec<u8>) {
    let mut chunks = chunks(parts);
    let joined = redactor().redact_messages(&mut chunks, &secrets(), &mut Placeholders::default());
    assert_eq!(joined, join_chunks(&chunks));
    (chunks, joined.to_vec())
}

#[test]
fn a_secret_leaves_its_message_with_fitting_checksums() {
    let said = |text: &str| frame("contentBlockDelta", json!({ "delta": { "text": text } }));
    let before = [said("one"), said(&format!("my {KEY} and patient-12345")), said("three")];
    let (after, _) = redacted(&[&before[0], &before[1], &before[2]]);
    let clean = said("my [REDACTED] and [REDACTED]");
    assert_eq!(after[0].data, before[0]);
    assert_eq!(after[1].data, clean);
    assert_eq!(after[2].data, before[2]);
}

#[test]
fn a_secret_in_a_models_own_event_leaves_the_base64() {
    let said = |text: &str| native(&json!({ "generation": text }));
    let (_, after) = redacted(&[&said(&format!("my {KEY}")), &said("patient-12345"), &said("x")]);
    assert_eq!(after, [said("my [REDACTED]"), said("[REDACTED]"), said("x")].concat());
    // Slashes may be escaped.
    let base64 = STANDARD.encode(json!({ "generation": "patient-12345 ???>>>~~~" }).to_string());
    assert!(base64.contains('/'));
    let escaped = |text: &str| format!("{{\"bytes\":\"{}\"}}", text.replace('/', "\\/"));
    let message = frame("chunk", json!({}));
    let message = framing::event_stream_messages(&message).next().unwrap();
    let payload = |_| Cow::Owned(escaped(&base64).into_bytes());
    let (_, clean) = redacted(&[&message.rewritten(Cow::Borrowed, payload).unwrap()]);
    let clean = events(Framing::EventStream, &clean).next().unwrap().json_data().unwrap();
    let clean = STANDARD.decode(clean["bytes"].as_str().unwrap()).unwrap();
    assert_eq!(clean, br#"{"generation":"[REDACTED] ???>>>~~~"}"#);
}

#[test]
fn a_pattern_does_not_break_base64_that_it_happens_to_fit() {
    let (event, secrets) =
        (native(&json!({ "generation": "harmless" })), CallCredentials::default());
    let wide = Redactor::new(&["[a-zA-Z0-9]{12,}".to_owned()]).unwrap();
    let mut chunks = chunks(&[&event]);
    wide.redact_messages(&mut chunks, &secrets, &mut Placeholders::default());
    assert_eq!(chunks[0].data, event);
}

#[test]
fn a_secret_in_a_header_leaves_its_value() {
    let whole = frame("chunk", json!({}));
    let message = framing::event_stream_messages(&whole).next().unwrap();
    let named = |name: &str| {
        let value = |value| {
            if value == b"chunk" { name.as_bytes().to_vec().into() } else { Cow::Borrowed(value) }
        };
        message.rewritten(value, Cow::Borrowed).unwrap()
    };
    let (_, after) = redacted(&[&named(&format!("{KEY}!"))]);
    assert_eq!(after, named("[REDACTED]!"));
}

#[test]
fn bytes_that_are_no_message_are_redacted_as_they_are() {
    let good = frame("chunk", json!({ "text": KEY }));
    let mut bad = good.clone();
    let at = bad.len() - 1;
    bad[at] ^= 1;
    let tail = format!("{KEY} behind");
    let (after, joined) = redacted(&[&bad, &good, tail.as_bytes()]);
    assert_eq!(after[1].data, frame("chunk", json!({ "text": "[REDACTED]" })));
    assert_eq!(after[2].data, "[REDACTED] behind");
    assert_eq!(after[0].data.len(), bad.len() - KEY.len() + MARK.len());
    assert!(!secrets().are_in(&joined));
    // If a secret is split, the mark is in the first piece.
    let (after, _) = redacted(&[b"x canary/Key", b"+42-7f3a y"]);
    assert_eq!((&after[0].data[..], &after[1].data[..]), (&b"x [REDACTED]"[..], &b" y"[..]));
}

#[test]
fn a_secret_where_nothing_is_rewritten_goes_all_the_same() {
    let whole = frame("chunk", json!({ "text": "x" }));
    let mut stream = Vec::new();
    // The name of a header holds the key.
    let headers = [&[KEY.len() as u8][..], KEY.as_bytes(), &[0]].concat();
    let total = (12 + headers.len() + 4) as u32;
    stream.extend(total.to_be_bytes());
    stream.extend((headers.len() as u32).to_be_bytes());
    stream.extend(crc32fast::hash(&stream).to_be_bytes());
    stream.extend(headers);
    stream.extend(crc32fast::hash(&stream).to_be_bytes());
    assert!(framing::event_stream_messages(&stream).next().unwrap().is_whole());
    let (_, joined) = redacted(&[&stream, &whole]);
    assert!(!secrets().are_in(&joined));
    assert!(joined.ends_with(&whole));
}

#[test]
fn a_message_that_was_split_stays_split_at_the_same_place() {
    let said = |text: &str| frame("contentBlockDelta", json!({ "delta": { "text": text } }));
    let (old, new) = (said(&format!("front {KEY} back")), said("front [REDACTED] back"));
    let from = memchr::memmem::find(&old, KEY.as_bytes()).unwrap();
    let place = |cut: usize| {
        let (after, joined) = redacted(&[&old[..cut], &old[cut..]]);
        assert_eq!(joined, new);
        lengths(&after)[0]
    };
    let shorter = old.len() - new.len();
    for cut in 0..=from {
        assert_eq!(place(cut), cut);
    }
    for cut in from + 1..from + KEY.len() {
        assert!((from..=from + MARK.len()).contains(&place(cut)), "{cut}");
    }
    for cut in from + KEY.len()..=old.len() {
        assert_eq!(place(cut), cut - shorter);
    }
}

/// Generates a piece of text, with or without something to redact.
fn text() -> impl Strategy<Value = String> {
    let planted = prop_oneof![
        Just(String::new()),
        Just(KEY.to_owned()),
        Just("patient-31415".to_owned()),
        Just(STANDARD.encode(KEY)),
    ];
    ("[ -~é☃]{0,12}", planted, "[ -~é☃]{0,12}").prop_map(|(a, b, c)| format!("{a} {b} {c}"))
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        text().prop_map(|text| frame("contentBlockDelta", json!({ "delta": { "text": text } }))),
        text().prop_map(|text| native(&json!({ "generation": text }))),
        text().prop_map(|text| frame("messageStop", json!({ "stopReason": text }))),
    ]
}

/// Returns everything that a stream says: names, JSON, and the content of its base64.
fn said(bytes: &[u8]) -> String {
    let mut all = String::new();
    for event in events(Framing::EventStream, bytes) {
        assert!(event.finished && !event.failed);
        let data = event.json_data().unwrap();
        let native = data.get("bytes").and_then(Value::as_str);
        let native = native.map(|base64| String::from_utf8(STANDARD.decode(base64).unwrap()));
        all += &format!("{:?} {}\n", event.name, native.map_or(data.to_string(), Result::unwrap));
    }
    all
}

proptest! {
    #[test]
    fn no_secret_is_left_and_all_else_is_as_it_was(
        messages in prop::collection::vec(message(), 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = messages.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let parts: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let (after, joined) = redacted(&parts);
        prop_assert_eq!(after.len(), parts.len());
        let (before, left) = (said(&bytes), said(&joined));
        let expected = redactor().redact_bytes(before.as_bytes(), &secrets()).into_owned();
        prop_assert_eq!(&left, &String::from_utf8(expected).unwrap());
        prop_assert!(!secrets().are_in(&joined) && !left.contains("patient-31415"));
        // A second redaction changes nothing.
        let again: Vec<&[u8]> = after.iter().map(|chunk| &chunk.data[..]).collect();
        prop_assert_eq!(redacted(&again).1, joined);
    }

    #[test]
    fn any_bytes_lose_the_secret_and_keep_their_pieces(
        noise in prop::collection::vec(any::<u8>(), 0..80), good in message(),
        at in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = noise;
        let at = at.index(bytes.len() + 1);
        bytes.splice(at..at, [good.as_slice(), KEY.as_bytes()].concat());
        let (front, back) = bytes.split_at(cut.index(bytes.len() + 1));
        let (after, joined) = redacted(&[front, back]);
        prop_assert_eq!(after.len(), 2);
        prop_assert!(!secrets().are_in(&joined));
    }
}
