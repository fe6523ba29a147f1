//! Fuzz target for the files of pending items of a recording: missed requests, and changes that
//! wait for review.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::{commands, scratch, verifying};
use loomrec_recording::{PendingChange, format};

const NAME: &str = "recording.json";
const RECORDING: &[u8] = include_bytes!("../corpus/recording/chat");

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let beside =
        if kind % 2 == 0 { ".loomrec/recording.json.pending" } else { "recording.json.new" };
    let folder = scratch::lay_out(&[(NAME, RECORDING), (beside, rest)]);
    commands::run("review --list", NAME);
    commands::run("review --list --json", NAME);
    verifying::is_sound(&folder.join(beside));
    commands::run("ls", beside);
    let mut expected = [(NAME.to_owned(), RECORDING.to_vec()), (beside.to_owned(), rest.to_vec())];
    expected.sort();
    assert_eq!(scratch::contents(), expected, "who reads writes nothing");
    if let Ok(cassette) = format::parse(rest) {
        for (_, _, entry) in cassette.entries() {
            let Some(pending) = PendingChange::from_entry(entry) else { continue };
            let mut other = entry.clone();
            PendingChange::remove_from(&mut other);
            assert_eq!(PendingChange::from_entry(&other), None, "a mark can be taken off");
            pending.add_to(&mut other);
            assert_eq!(PendingChange::from_entry(&other), Some(pending), "and set again");
        }
    }
    Corpus::Keep
});
