//! Fuzz target for manifests of remote recordings: any text, compressed as in a bucket, and any
//! bytes. What can be read is written and read again without a change.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_remote::{ContentHash, StateManifest, pack_text, unpack_text};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let packed = match kind % 4 {
        0 => rest.to_vec(),
        _ => pack_text(rest).expect("memory takes every write"),
    };
    let hash = ContentHash::from_bytes(rest);
    if let Ok(text) = unpack_text(&packed, &hash, 1 << 20) {
        assert_eq!(text, rest, "a text has its hash");
    }
    let Ok(manifest) = StateManifest::from_packed(&packed) else { return Corpus::Keep };
    let text = manifest.to_text();
    let again = pack_text(&text).expect("memory takes every write");
    let again = StateManifest::from_packed(&again).expect("what was written can be read");
    assert_eq!(again, manifest, "nothing is lost");
    assert_eq!(again.to_text(), text, "equal manifests have equal texts");
    Corpus::Keep
});
