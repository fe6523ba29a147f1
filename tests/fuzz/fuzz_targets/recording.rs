//! Fuzz target for a whole recording: a file is read, listed, shown, verified and replayed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_fuzz::{commands, scratch, verifying};
use loomrec_recording::{RecordingDocument, format};

const NAME: &str = "recording.json";

fuzz_target!(|data: &[u8]| {
    let folder = scratch::lay_out(&[(NAME, data)]);
    let path = folder.join(NAME);
    let parsed = format::parse(data);
    if let Ok(cassette) = &parsed {
        check_written(cassette);
    }
    let listed = commands::run("ls", NAME) == 0;
    assert_eq!(listed, parsed.is_ok(), "what is listed can be read whole: {:?}", parsed.err());
    commands::run("show", NAME);
    let is_sound = verifying::is_sound(&path);
    // The command compiles its patterns each time, so it is run only for some inputs.
    if data.len().is_multiple_of(16) {
        let verified = commands::run("verify", NAME) == 0;
        assert_eq!(verified, is_sound, "the command says what the check finds");
    }
    if is_sound {
        assert!(verifying::can_be_replayed(&path), "verify says ok of what replay refuses");
    }
    let found = scratch::contents();
    assert_eq!(found, [(NAME.to_owned(), data.to_vec())], "who reads writes nothing");
});

/// Checks that a written recording is read and written again as the same.
fn check_written(cassette: &RecordingDocument) {
    let text = format::write_document(cassette);
    let again = format::parse(&text).expect("what is written can be read");
    assert_eq!(again.len(), cassette.len());
    assert_eq!(
        String::from_utf8_lossy(&format::write_document(&again)),
        String::from_utf8_lossy(&text),
        "writing again changes nothing"
    );
}
