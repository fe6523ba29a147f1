//! Fuzz target for journals: listed, summed up, and scored.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_fuzz::{commands, scratch};

const NAME: &str = "journal.jsonl";

fuzz_target!(|data: &[u8]| {
    scratch::lay_out(&[(NAME, data)]);
    let listed = commands::run("journal", NAME);
    assert_eq!(commands::run("journal --json", NAME), listed, "a journal is read or not");
    let totals = ["stats", "stats --json"].map(|words| commands::run(words, NAME));
    assert_eq!(totals[0], totals[1], "its totals are read or not, in whatever form");
    commands::run("journal --recovery --json", NAME);
    assert_eq!(scratch::contents(), [(NAME.to_owned(), data.to_vec())], "who reads writes nothing");
});
