use std::cell::Cell;
use std::convert::Infallible;

use super::*;
use loomrec_recording::outline::OutlineBuilder;

const TAKES: usize = 200;

fn place(origin: EntryOrigin, at: usize) -> TakeRef {
    TakeRef { origin, at: at as u64, length: 1 }
}

/// Plans a log of many takes of one name over as many in the file. Returns the number of takes
/// after that, and how often an entry was read.
fn planned(time: Option<&str>, precedence: &[TakePrecedence], failed: bool) -> (usize, usize) {
    let mut reader = OutlineBuilder::new();
    reader.feed(br#"{"a": {"content": "x"}}"#).unwrap();
    let outline = reader.finish().unwrap();
    let reads = Cell::new(0);
    let frame = |at: usize| LogFrame {
        head: PackedHead {
            name: EntryName::step("a").unwrap(),
            precedence: precedence[at % precedence.len()],
            recorded_at: time.map(str::to_owned),
        },
        place: place(EntryOrigin::Log(0), at),
    };
    let read = |place: &TakeRef| -> Result<Entry, Infallible> {
        reads.set(reads.get() + 1);
        let from = if place.origin == EntryOrigin::File { "file" } else { "log" };
        let content = Some(format!("{from} {}", place.at));
        let recorded_at = time.map(str::to_owned);
        let mut entry = Entry { content, recorded_at, ..Entry::default() };
        if failed {
            let text = r#"{"response": {"status": 500}}"#;
            entry.response = Entry::parse(&serde_json::from_str(text).unwrap()).unwrap().response;
        }
        Ok(entry)
    };
    let base: Vec<TakeRef> = (0..TAKES).map(|at| place(EntryOrigin::File, at)).collect();
    let takes_of = |_| Ok((base.clone(), false));
    let plan = plan(&outline, (0..TAKES).map(frame).collect(), takes_of, read).unwrap();
    (plan.changed.values().map(Vec::len).sum(), reads.get())
}

#[test]
fn entries_of_one_time_are_read_a_few_times_each_however_many_they_are() {
    let time = Some("2026-01-01T00:00:00Z");
    for (time, precedence, failed) in [
        (time, &[TakePrecedence::Further][..], false),
        (None, &[TakePrecedence::Further], false),
        (time, &[TakePrecedence::Further, TakePrecedence::Failed], true),
    ] {
        let (takes, reads) = planned(time, precedence, failed);
        assert_eq!(takes, 2 * TAKES);
        assert!(reads <= 8 * TAKES, "{reads} reads for {TAKES} frames, {time:?}, {precedence:?}");
    }
}

#[test]
fn takes_of_one_time_without_duplicates_are_read_once_each() {
    let reads = Cell::new(0);
    let read = |place: &TakeRef| -> Result<Entry, Infallible> {
        reads.set(reads.get() + 1);
        // There are two of each take.
        let content = Some(format!("{}", place.at / 2));
        let recorded_at = Some("2026-01-01T00:00:00Z".to_owned());
        Ok(Entry { content, recorded_at, ..Entry::default() })
    };
    let places = (0..TAKES).map(|at| place(EntryOrigin::File, at)).collect();
    let (takes, doubled) = remove_duplicates(places, read).unwrap();
    assert_eq!((takes.len(), doubled), (TAKES / 2, true));
    assert!(reads.get() <= 2 * TAKES, "{}", reads.get());
}
