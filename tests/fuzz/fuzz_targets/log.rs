//! Fuzz target for the log beside a recording: any bytes, frames with correct lengths and
//! checksums, and frames of entries. A recorder must put into the file exactly what a reader sees.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::{scratch, verifying};
use loomrec_identity::IdentityRules;
use loomrec_recording::{Entry, EntryName, RecordingDocument, log_codec};
use loomrec_store::{Recording, RecordingAppender, RunChoice, SalvageResult, StoreError};

const NAME: &str = "recording.json";
const LOG: &str = ".loomrec/recording.json.log";
const RECORDING: &[u8] = include_bytes!("../corpus/recording/chat");

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let log = match kind % 4 {
        0 => rest.to_vec(),
        1 => pieces(rest).flat_map(|piece| frame(2, piece)).collect(),
        _ => pieces(rest).enumerate().flat_map(|(at, piece)| entry(at, piece)).collect(),
    };
    let files: &[(&str, &[u8])] = match kind & 16 {
        0 => &[(NAME, RECORDING), (LOG, &log)],
        _ => &[(LOG, &log)],
    };
    let path = scratch::lay_out(files).join(NAME);
    let seen = look(&path);
    verifying::is_sound(&path);
    if let Ok(salvage) = SalvageResult::open(scratch::folder().join(LOG)) {
        assert_eq!(salvage.entries().count(), salvage.len());
    }
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
        let filed = loomrec_store::load(&path).expect("what a recorder wrote can be read");
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
        cassette.record(stored.name, stored.entry, false);
    }
    Ok(cassette)
}

fn shown(cassette: &RecordingDocument) -> Vec<(String, String)> {
    let text = |entry: &Entry| String::from_utf8_lossy(&entry.to_text()).into_owned();
    cassette.entries().map(|(name, take, entry)| (name.take_key(take), text(entry))).collect()
}

/// Splits the input into pieces, from each of which a frame is made.
fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == 0xfe).take(64)
}

/// Returns a frame as the store writes it.
fn frame(name: u128, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x8b, b'L', b'R', b'\n', 1, 0, 0, 0];
    out.extend_from_slice(&(16 + payload.len() as u32).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&out[4..]);
    sum.update(&name.to_le_bytes());
    sum.update(payload);
    out.extend_from_slice(&sum.finalize().to_le_bytes());
    out.extend_from_slice(&name.to_le_bytes());
    out.extend_from_slice(payload);
    out
}

/// Returns the frame of an entry, or the piece itself if it is not an entry, as a torn write.
fn entry(at: usize, piece: &[u8]) -> Vec<u8> {
    let value = serde_json::from_slice(piece).ok();
    let Some(entry) = value.and_then(|value| Entry::parse(&value).ok()) else {
        return piece.to_vec();
    };
    let step = format!("step {}", at % 3);
    let Ok(name) = EntryName::step(&step) else { return Vec::new() };
    let mut payload = Vec::new();
    let standing = match at.is_multiple_of(5) {
        true => log_codec::TakePrecedence::Replacing(log_codec::RunPosition::default()),
        false => log_codec::TakePrecedence::Further,
    };
    log_codec::pack_to(&mut payload, &name, standing, &entry);
    frame(u128::from(2 + (at % 3) as u64), &payload)
}
