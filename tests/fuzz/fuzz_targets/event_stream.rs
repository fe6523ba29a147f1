//! Fuzz target for AWS's event stream: any bytes, and messages with correct lengths and checksums,
//! so that the fuzzer gets beyond those checks.

#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::framing;
use loomrec_provider::Framing;
use loomrec_provider::framing::{event_stream_messages, events};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let sealed;
    let bytes = match kind % 2 {
        0 => rest,
        _ => {
            sealed = seal(rest);
            &sealed
        }
    };
    framing::check(Framing::EventStream, bytes);
    rewrite(bytes);
    Corpus::Keep
});

/// Builds messages from the data. Each takes one byte for the length of its headers, two for the
/// length of its payload, and then the headers and the payload.
fn seal(mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some((&[headers, high, low], rest)) = data.split_first_chunk() {
        let headers = rest.len().min(usize::from(headers));
        let payload = (rest.len() - headers).min(usize::from(u16::from_be_bytes([high, low])));
        let total = 16 + headers + payload;
        let at = out.len();
        out.extend_from_slice(&u32::try_from(total).unwrap().to_be_bytes());
        out.extend_from_slice(&u32::try_from(headers).unwrap().to_be_bytes());
        out.extend_from_slice(&crc32fast::hash(&out[at..]).to_be_bytes());
        out.extend_from_slice(&rest[..headers + payload]);
        out.extend_from_slice(&crc32fast::hash(&out[at..]).to_be_bytes());
        data = &rest[headers + payload..];
    }
    out
}

/// Checks that messages with a replaced payload are complete, and carry the new payload.
fn rewrite(bytes: &[u8]) {
    let mut at = 0;
    for message in event_stream_messages(bytes) {
        assert_eq!(message.range.start, at, "messages follow each other without a gap");
        at = message.range.end;
        assert!(message.rewritten(Cow::Borrowed, Cow::Borrowed).is_none(), "nothing changed");
        let changed = message.rewritten(Cow::Borrowed, |_| Cow::Borrowed(b"{\"a\":1}" as &[u8]));
        let changed = changed
            .or_else(|| message.rewritten(Cow::Borrowed, |_| Cow::Owned(b"{\"a\":1}".to_vec())));
        assert_eq!(changed.is_some(), message.is_whole());
        let Some(changed) = changed else { continue };
        let read: Vec<_> = events(Framing::EventStream, &changed).collect();
        assert_eq!(read.len(), 1);
        assert!(read[0].finished);
        assert_eq!(read[0].data.as_deref(), Some(b"{\"a\":1}" as &[u8]));
    }
    assert_eq!(at, bytes.len());
}
