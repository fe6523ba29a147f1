//! Fuzz target for `loomrec.toml`: the file is read, and a command line is parsed under it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_fuzz::command_line::CommandLine;
use loomrec_fuzz::scratch;

const COMMANDS: [&[&str]; 3] = [
    &["loomrec", "replay", "-r", "a.json", "--strict"],
    &["loomrec", "record", "-r", "a.json"],
    &["loomrec", "verify", "a.json"],
];

fuzz_target!(|data: &[u8]| {
    thread_local!(static LINE: CommandLine = CommandLine::default());
    let folder = scratch::lay_out(&[("loomrec.toml", data)]);
    let file = folder.join("loomrec.toml");
    for words in COMMANDS {
        if let Err(failure) = LINE.with(|line| line.parse_under(&file, words)) {
            assert_eq!(failure.code, 2, "a setting that is refused is a matter of usage");
            assert!(!failure.message.is_empty() && failure.message.len() < 16 << 10);
        }
    }
});
