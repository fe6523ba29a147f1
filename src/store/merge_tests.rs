use std::cell::Cell;
use std::convert::Infallible;

use super::take::{CompactionTake, distinct_takes};
use super::*;
use loomrec_recording::CallScope;
use loomrec_recording::log_codec::{RunPosition, TakePrecedence};
use loomrec_recording::outline::OutlineBuilder;

const TAKES: usize = 200;

fn place(origin: EntryOrigin, at: usize) -> TakeRef {
    TakeRef { origin, at: at as u64, length: 1 }
}

/// Plans a log of many takes of one name over as many in the file. Returns the number of takes
/// after that, and how often an entry was read.
fn planned(time: Option<&str>, precedence: impl Fn(usize) -> TakePrecedence) -> (usize, usize) {
    let mut reader = OutlineBuilder::new();
    reader.feed(br#"{"a": {"content": "x"}}"#).unwrap();
    let outline = reader.finish().unwrap();
    let reads = Cell::new(0);
    let frame = |at: usize| LogFrame {
        head: PackedHead {
            name: EntryName::from_step_id("a").unwrap(),
            precedence: precedence(at),
            scope: CallScope::default(),
            recorded_at: time.map(str::to_owned),
        },
        place: place(EntryOrigin::Log(0), at),
    };
    let read = |place: &TakeRef| -> Result<Entry, Infallible> {
        reads.set(reads.get() + 1);
        let from = if place.origin == EntryOrigin::File { "file" } else { "log" };
        let content = Some(format!("{from} {}", place.at));
        let recorded_at = time.map(str::to_owned);
        Ok(Entry { content, recorded_at, ..Entry::default() })
    };
    let base: Vec<TakeRef> = (0..TAKES).map(|at| place(EntryOrigin::File, at)).collect();
    let takes_of = |_| Ok(base.clone());
    let plan = plan_merge(&outline, (0..TAKES).map(frame).collect(), takes_of, read).unwrap();
    (plan.changed.values().map(Vec::len).sum(), reads.get())
}

/// The frame of a run that made all calls of a log.
fn replacing(at: usize) -> TakePrecedence {
    TakePrecedence::Replacing(RunPosition { failures: 0, takes: at as u32, failed: false })
}

#[test]
fn entries_of_one_time_are_read_a_few_times_each_however_many_they_are() {
    for time in [Some("2026-01-01T00:00:00Z"), None] {
        let (takes, reads) = planned(time, |_| TakePrecedence::Further);
        assert_eq!(takes, 2 * TAKES);
        assert!(reads <= 8 * TAKES, "{reads} reads for {TAKES} frames, {time:?}");
        let (takes, reads) = planned(time, replacing);
        assert_eq!(takes, TAKES);
        assert!(reads <= 8 * TAKES, "{reads} reads for {TAKES} frames, {time:?}");
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
    let takes =
        (0..TAKES).map(|at| CompactionTake::in_file(place(EntryOrigin::File, at))).collect();
    let numbers: Vec<_> =
        distinct_takes(takes, &read).unwrap().into_iter().map(|(at, _)| at).collect();
    assert_eq!(numbers, (0..TAKES).step_by(2).collect::<Vec<_>>());
    assert!(reads.get() <= 4 * TAKES, "{}", reads.get());
}
