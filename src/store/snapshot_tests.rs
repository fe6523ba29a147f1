use std::fs;

use super::super::compaction;
use super::super::disk::Disk;
use super::super::log::name_fingerprint;
use super::*;
use loomrec_recording::EntryName;

fn record(paths: &RecordingPaths, content: &str, first: bool) {
    let name = EntryName::from_step_id("a").unwrap();
    let recorded_at = Some(format!("2026-01-01T00:00:0{content}Z"));
    let entry = Entry { content: Some(content.to_owned()), recorded_at, ..Entry::default() };
    let mut log = Vec::new();
    log::write_frame(
        name_fingerprint(&name),
        &log_codec::pack_entry(&name, first, &entry),
        &mut log,
    )
    .unwrap();
    fs::write(&paths.log, log).unwrap();
}

fn compact(paths: &RecordingPaths) {
    compaction::compact_with_rules(paths, &Disk::real(), &IdentityRules::default(), true, None)
        .unwrap();
}

fn takes(source: &RecordingSnapshot) -> Vec<String> {
    let changed = source.plan.changed.values().next().cloned();
    let new = source.plan.new.first().map(|(_, takes)| takes.clone());
    let filed = || source.takes_of(0).unwrap();
    let places = changed.or(new).unwrap_or_else(filed);
    let read = |place| source.read_entry(place, &mut ReadBuffer::default()).unwrap();
    places.iter().map(|place| read(place).content.unwrap()).collect()
}

#[test]
fn log_that_is_folded_while_files_are_opened_hides_nothing_newer() {
    for moment in 0..3 {
        for logs_left in 0..3 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("r.json");
            let paths = RecordingPaths::from_path(&path).unwrap().with_state_folder();
            record(&paths, "1", true);
            let mut step = 0;
            // Two logs are compacted or moved between any two openings.
            let source = RecordingSnapshot::open_with(&path, &paths, || {
                if step == moment {
                    compact(&paths);
                    record(&paths, "2", false);
                    if logs_left < 2 {
                        compact(&paths);
                    }
                    if logs_left == 1 {
                        record(&paths, "3", false);
                        fs::rename(&paths.log, &paths.folding).unwrap();
                    }
                }
                step += 1;
            });
            let takes = takes(&source.unwrap().unwrap());
            let whole = takes.iter().zip(1..).all(|(take, number)| *take == number.to_string());
            assert!(whole && !takes.is_empty(), "{moment}, {logs_left}: {takes:?}");
            // A file that was opened last may hold all of it. Nothing may be hidden then.
            let expected = if logs_left == 1 { 3 } else { 2 };
            assert!(moment == 2 || takes.len() == expected, "{moment}, {logs_left}: {takes:?}");
        }
    }
}
