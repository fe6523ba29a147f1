//! Fuzz target for entries, as JSON and packed: what is written is read again as the same entry.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_recording::{CallScope, Entry, EntryName, log_codec};
use serde_json::Value;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let entry = if kind % 2 == 0 {
        let Ok(value) = serde_json::from_slice::<Value>(rest) else { return Corpus::Reject };
        Entry::parse(&value).ok()
    } else {
        let peeked = log_codec::read_head(rest);
        let unpacked = log_codec::unpack_entry(rest).ok();
        if let Some((head, _)) = &unpacked {
            assert_eq!(peeked.as_ref(), Ok(head), "a glance sees what reading sees");
        }
        unpacked.map(|(_, entry)| entry)
    };
    if let Some(entry) = entry {
        check(&entry);
    }
    Corpus::Keep
});

fn check(entry: &Entry) {
    let text = entry.to_text();
    let value: Value = serde_json::from_slice(&text).expect("an entry's text is JSON");
    assert_eq!(value, read(&entry.to_json().to_string()), "both writers write the same");
    let filed = Entry::parse(&value).expect("what is written can be read");
    assert_eq!(String::from_utf8_lossy(&filed.to_text()), String::from_utf8_lossy(&text));
    let name = EntryName::from_step_id("step").expect("a name");
    let mut bytes = Vec::new();
    let precedence = log_codec::TakePrecedence::Replacing(log_codec::RunPosition::default());
    let scope = CallScope::from_entry(entry);
    log_codec::pack_to(&mut bytes, &name, precedence, &scope, entry);
    let (head, logged) = log_codec::unpack_entry(&bytes).expect("what is packed can be unpacked");
    assert_eq!((head.name, head.precedence, head.scope), (name, precedence, scope));
    assert_eq!(head.recorded_at, entry.recorded_at);
    let logged = String::from_utf8(logged.to_text()).expect("text");
    assert_eq!(logged, String::from_utf8_lossy(&text), "the log holds what the file holds");
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}
