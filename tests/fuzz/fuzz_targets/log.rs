//! Fuzz target for the log beside a recording: any bytes, frames with correct lengths and
//! checksums, and frames of entries. A recorder must put into the file exactly what a reader sees.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::{frames, scratch, verifying};
use loomrec_identity::IdentityRules;
use loomrec_recording::{Entry, RecordingDocument};
use loomrec_store::{Recording, RecordingAppender, RunChoice, StoreError};

const NAME: &str = "recording.json";
const LOG: &str = ".loomrec/recording.json.log";
const RECORDING: &[u8] = include_bytes!("../corpus/recording/chat");

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let log = frames::log(kind, rest);
    let files: &[(&str, &[u8])] = match kind & 16 {
        0 => &[(NAME, RECORDING), (LOG, &log)],
        _ => &[(LOG, &log)],
    };
    let path = scratch::lay_out(files).join(NAME);
    let seen = look(&path);
    verifying::is_sound(&path);
    let mut expected: Vec<_> =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    expected.sort();
    assert_eq!(scratch::contents(), expected, "who reads writes nothing");
    let recorded = RecordingAppender::open(&path, &RunChoice::New, &IdentityRules::default())
        .and_then(|mut recorder| recorder.close());
    if let (Ok(seen), Ok(())) = (seen, recorded) {
        if seen.is_empty() && !path.exists() {
            return Corpus::Keep;
        }
        let filed =
            loomrec_store::load_recording(&path).expect("what a recorder wrote can be read");
        assert_eq!(shown(&seen), shown(&filed), "a recorder keeps what readers saw");
    }
    Corpus::Keep
});

/// Returns everything that a reader sees.
fn look(path: &std::path::Path) -> Result<RecordingDocument, StoreError> {
    let recording = Recording::open_to_inspect(path)?;
    let mut cassette = RecordingDocument::new(recording.meta().clone());
    for stored in recording.entries() {
        let stored = stored?;
        cassette.record_take(stored.name, stored.entry, false);
    }
    Ok(cassette)
}

fn shown(cassette: &RecordingDocument) -> Vec<(String, String)> {
    let text = |entry: &Entry| String::from_utf8_lossy(&entry.to_text()).into_owned();
    cassette.entries().map(|(name, take, entry)| (name.take_key(take), text(entry))).collect()
}
