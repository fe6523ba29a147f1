//! Fuzz target for the segments of remote recordings: any bytes, frames with correct lengths and
//! checksums, and frames of entries. Each take that is read has the length and the hash of its text.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::frames;
use loomrec_recording::Entry;
use loomrec_remote::{ContentHash, ListedSegment, read_segment};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let bytes = frames::log(kind, rest);
    let segment = ListedSegment { recorder: "fuzz".to_owned(), number: 1, hash: None };
    let Ok(contents) = read_segment("s3://bucket/agent", &segment, &bytes) else {
        return Corpus::Keep;
    };
    for (take, text) in contents.takes {
        assert_eq!(take.recorder.as_deref(), Some("fuzz"));
        assert_eq!(take.bytes, text.len() as u64);
        assert_eq!(take.object, ContentHash::from_bytes(&text));
        let entry = Entry::from_text(&text).expect("what is uploaded can be read");
        assert_eq!(entry.to_text(), text, "and says the same");
    }
    Corpus::Keep
});
