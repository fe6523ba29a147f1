//! Fuzz target for packs of remote recordings and their indexes: any bytes, any text as an index, and
//! texts that are packed. What can be read is written and read again without a change, an entry is
//! within its pack, and a pack is split into what it was made of.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_remote::{ContentHash, StateIndex, pack_text, split_pack};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    match kind % 4 {
        0 => check_index(rest),
        1 => check_index(&pack_text(rest).expect("memory takes every write")),
        2 => check_split(rest),
        _ => check_texts(rest),
    }
    Corpus::Keep
});

fn check_index(packed: &[u8]) {
    let Ok(index) = StateIndex::from_packed(packed) else { return };
    for pack in index.packs() {
        for entry in &pack.entries {
            assert!(entry.length > 0 && entry.offset + entry.length <= pack.bytes);
        }
    }
    let text = index.to_text();
    let again = pack_text(&text).expect("memory takes every write");
    let again = StateIndex::from_packed(&again).expect("what was written can be read");
    assert_eq!(again.packs(), index.packs(), "nothing is lost");
    assert_eq!(again.to_text(), text, "equal indexes have equal texts");
}

/// Entries follow one another from the beginning.
fn check_split(bytes: &[u8]) {
    let mut end = 0;
    for entry in split_pack(bytes) {
        assert_eq!(entry.offset, end);
        end += entry.length;
    }
    assert!(end <= bytes.len() as u64);
}

/// Packs the lines of a text.
fn check_texts(text: &[u8]) {
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let pack: Vec<u8> =
        lines.iter().flat_map(|line| pack_text(line).expect("memory takes every write")).collect();
    let found: Vec<ContentHash> =
        split_pack(&pack).into_iter().map(|packed| packed.entry).collect();
    let expected: Vec<ContentHash> = lines.into_iter().map(ContentHash::from_bytes).collect();
    assert_eq!(found, expected);
    check_split(&pack);
}
