//! Files that are not recordings, recognised by how they begin.

use super::error::FormatError;

/// How many characters of a text are shown.
const SHOWN: usize = 40;

/// What to do with a file of another tool that `loomrec import` reads.
const IMPORT: &str = "loomrec import makes a recording of it";

/// What to do if it is not known which recording was meant.
const NAME: &str = "name a recording, which loomrec record writes as a JSON file";

/// Returns the error of a file that is of another kind than a recording, from its beginning. `None`
/// if it may be a recording, whole or damaged.
pub fn other_file(beginning: &[u8]) -> Option<FormatError> {
    let text = beginning.trim_ascii_start();
    let begins = |with: &[u8]| text.starts_with(with);
    let (found, remedy) = if begins_with(text, &["{", "\"loomrec\"", ":", "\""]) {
        ("is the receipt of a run", "name the recording that it is about")
    } else if begins_with(text, &["{", "\"v\"", ":", "1", ","]) {
        ("is the journal of a run", "loomrec journal and loomrec ui read it")
    } else if begins_with(text, &["{", "\"log\"", ":", "{", "\"version\"", ":", "\""]) {
        ("looks like a HAR file", IMPORT)
    } else if begins(b"interactions:") || begins(b"http_interactions:") {
        ("looks like a cassette of VCR", IMPORT)
    } else if begins(b"version https://git-lfs") {
        ("is a pointer of Git LFS to the file", "fetch the file with git lfs pull")
    } else if begins(b"<<<<<<< ") {
        ("has conflict markers of git", "resolve the conflict first: see loomrec merge")
    } else if begins(b"<") {
        ("looks like HTML or XML", NAME)
    } else if beginning.starts_with(b"\x1f\x8b") || beginning.starts_with(b"PK\x03\x04") {
        ("is compressed", "unpack it first")
    } else {
        return None;
    };
    Some(FormatError::NotRecording { found: found.to_owned(), remedy })
}

/// Returns the error of a text that is not JSON. If it does not even begin as JSON does, it is no
/// damaged recording, but a text of another kind.
pub fn not_json(beginning: &[u8], syntax: FormatError) -> FormatError {
    let text = beginning.trim_ascii_start();
    if !matches!(syntax, FormatError::Json { .. }) {
        return syntax;
    }
    if matches!(text.first(), None | Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9')) {
        return syntax;
    }
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    // The last character may be cut where the piece ends.
    let shown: String = String::from_utf8_lossy(line).chars().take(SHOWN).collect();
    let shown = shown.trim_end_matches('\u{fffd}');
    if shown.is_empty()
        || shown.chars().any(|character| character.is_control() || character == '\u{fffd}')
    {
        return syntax;
    }
    let more = if shown.len() < line.len() { "…" } else { "" };
    let found = format!("begins with \"{shown}{more}\"");
    FormatError::NotRecording { found, remedy: NAME }
}

/// Whether a JSON text begins with these tokens.
fn begins_with(text: &[u8], tokens: &[&str]) -> bool {
    let mut rest = text;
    tokens.iter().all(|token| match rest.trim_ascii_start().strip_prefix(token.as_bytes()) {
        Some(behind) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_recognised_by_how_they_begin() {
        for (text, found) in [
            ("{\n  \"loomrec\": \"0.1.0\",", "it is the receipt of a run; name the recording"),
            ("{\"v\":1,\"seq\":1", "it is the journal of a run; loomrec journal"),
            (" {\"log\": {\"version\": \"1.2\"", "it looks like a HAR file; loomrec import"),
            ("interactions:\n- request:", "it looks like a cassette of VCR; loomrec import"),
            ("version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS"),
            ("<!doctype html>", "it looks like HTML or XML; name a recording"),
            ("\u{1f}\u{8b}", ""),
        ] {
            let told = other_file(text.as_bytes()).map(|error| error.to_string());
            match found {
                "" => assert_eq!(told, None),
                found => assert!(told.unwrap().contains(found), "{text}"),
            }
        }
        assert!(other_file(b"\x1f\x8b\x08").unwrap().to_string().contains("it is compressed"));
    }

    #[test]
    fn what_may_be_a_recording_is_left_to_the_reader() {
        for text in [
            "{\"_version\": 2",
            "{\"log\": {\"content\": \"x\"}}",
            "{\"loomrec\": {\"content\": \"x\"}}",
            "{\"v\": {}}",
            "{\"v\": 12}",
            "",
            "{",
            "tru",
        ] {
            assert_eq!(other_file(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn text_that_is_no_json_is_told_by_its_beginning() {
        let syntax = || FormatError::Json { line: 1, column: 2, message: "wrong".to_owned() };
        let told = |text: &[u8]| not_json(text, syntax()).to_string();
        assert!(told(b"\n hello there\nmore").contains("it begins with \"hello there\"; name a"));
        let long = "é".repeat(50);
        let shown = format!("it begins with \"{}…\"", "é".repeat(40));
        assert!(told(long.as_bytes()).contains(&shown), "{}", told(long.as_bytes()));
        for damaged in [&b"{\"a\""[..], b"[1,", b"\0\0\0", b"\xff\xfe", b"a\x07b", b""] {
            assert_eq!(not_json(damaged, syntax()), syntax(), "{damaged:?}");
        }
    }
}
