//! Fuzz target for a recording that is a folder, with files of any names and bytes. It is read,
//! listed, shown, verified and replayed in the same way as a single file. The input is a file's
//! name, a line feed and its bytes. 0xfe separates two files.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::{commands, scratch, verifying};

const NAME: &str = "agent";

fuzz_target!(|data: &[u8]| -> Corpus {
    let files: BTreeMap<String, &[u8]> =
        data.split(|byte| *byte == 0xfe).take(16).filter_map(file).collect();
    if files.is_empty() {
        return Corpus::Reject;
    }
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    let path = scratch::lay_out(&files).join(NAME);
    let listed = commands::run("ls", NAME) == 0;
    let loaded = loomrec_store::load(&path);
    assert_eq!(listed, loaded.is_ok(), "what is listed can be read whole: {:?}", loaded.err());
    commands::run("show --text", NAME);
    let verified = commands::run("verify", NAME) == 0;
    if verified {
        assert!(verifying::can_be_replayed(&path), "verify says ok of what replay refuses");
    }
    let expected: Vec<(String, Vec<u8>)> =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    assert_eq!(scratch::contents(), expected, "who reads writes nothing");
    Corpus::Keep
});

/// Returns a file within the folder, or a sidecar file beside it.
fn file(piece: &[u8]) -> Option<(String, &[u8])> {
    let end = piece.iter().position(|byte| *byte == b'\n')?;
    let name = std::str::from_utf8(&piece[..end]).ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "#+,-.=@_%~".contains(c);
    if name.is_empty() || name.len() > 120 || !name.chars().all(is_plain) {
        return None;
    }
    let name = match name.strip_prefix('@') {
        Some("log" | "lock" | "run" | "pending" | "new") => format!("{NAME}.{}", &name[1..]),
        _ if matches!(name, "." | "..") => return None,
        _ => format!("{NAME}/{name}"),
    };
    Some((name, &piece[end + 1..]))
}
