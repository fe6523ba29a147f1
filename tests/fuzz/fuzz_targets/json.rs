//! Fuzz target for the JSON reader and the canonical text, compared with Python's `json`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_fuzz::python::{self, Verdict};
use loomrec_fuzz::spelling::respelled;
use loomrec_identity::{
    IdentityRules, JsonError, KeyForm, RequestKey, RequestParts, canonical, parse,
};

fuzz_target!(|data: &[u8]| {
    let read = parse(data);
    if let Err(JsonError::Utf8 { .. }) = read {
        return;
    }
    let text = std::str::from_utf8(data).expect("the reader takes no other text");
    let verdict = python::ask(text);
    let value = match (read, verdict) {
        (Ok(value), Verdict::Accepted(theirs)) => {
            assert_eq!(canonical::value_text(&value), theirs, "the canonical text is Python's");
            value
        }
        (Ok(_), verdict) => panic!("Python refuses what the reader takes: {verdict:?}"),
        // These limits exist only in the reader.
        (Err(JsonError::TooDeep { .. } | JsonError::TooManyValues { .. }), _) => return,
        (Err(error), Verdict::Accepted(theirs)) => {
            panic!("Python takes what the reader refuses ({error}): {theirs}")
        }
        (Err(_), _) => return,
    };
    let ours = canonical::value_text(&value);
    match parse(ours.as_bytes()) {
        Ok(again) => assert_eq!(canonical::value_text(&again), ours, "a canonical text is its own"),
        // Python writes a number that is too large for a float as `Infinity`.
        Err(error) => assert!(ours.contains("Infinity"), "{error}: {ours}"),
    }
    let other = respelled(&value);
    for form in [KeyForm::Chat, KeyForm::Tagged { target: "/v1/x", delivery: true, known: false }] {
        assert_eq!(key(form, data), key(form, other.as_bytes()), "{other}");
    }
});

/// Returns the key of a request with this body.
fn key(form: KeyForm<'_>, body: &[u8]) -> RequestKey {
    let parts = RequestParts { form, method: "POST", query: "", headers: &[], body };
    RequestKey::from_parts(&parts, &IdentityRules::default())
}
