//! Fuzz target for journals: listed, summed up, and scored.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_fuzz::{commands, scratch};

const NAME: &str = "journal.jsonl";

fuzz_target!(|data: &[u8]| {
    scratch::lay_out(&[(NAME, data)]);
    let listed = commands::run("journal", NAME);
    let codes = ["journal --json", "journal --sum", "journal --sum --json"]
        .map(|words| commands::run(words, NAME));
    assert_eq!(codes, [listed; 3], "a journal is read or not, in whatever form");
    commands::run("journal --recovery --json", NAME);
    assert_eq!(scratch::contents(), [(NAME.to_owned(), data.to_vec())], "who reads writes nothing");
});
