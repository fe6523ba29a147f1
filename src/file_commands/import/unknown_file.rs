//! What is said of a file whose format is not known: what it is, and what to do with it.

use loomrec_dialect::interchange::ForeignFormat;

/// How files of other kinds begin, and what to do with them.
const BY_BEGINNING: [(&[u8], &str); 8] = [
    (b"PK\x03\x04", "it is a zip archive: unpack it, and name the HAR file in it"),
    (b"version https://git-lfs", "it is a pointer of Git LFS: run `git lfs pull` for the file"),
    (b"\x28\xB5\x2F\xFD", "it is compressed by zstd: unpack it by `zstd -d`"),
    (b"BZh", "it is compressed by bzip2: unpack it by `bunzip2`"),
    (b"SQLite format 3", "it is a database: export its calls as HAR"),
    (b"\xD4\xC3\xB2\xA1", "it is a capture of packets: let mitmproxy write HAR (`hardump`)"),
    (b"\x0A\x0D\x0D\x0A", "it is a capture of packets: let mitmproxy write HAR (`hardump`)"),
    (b"<", "it is HTML or XML, and holds no calls that can be replayed"),
];

/// Words that only files of other kinds hold, and what to do with them.
const BY_WORD: [(&str, &str); 3] = [
    ("\"_loomrec\"", "it is a recording already: use it as it is"),
    ("\"resourceSpans\"", "it holds spans, without the bytes of calls: record the program once"),
    (
        "9:websocket;",
        "it holds flows of mitmproxy: write HAR by `mitmdump -nr FILE \
                      --set hardump=calls.har`",
    ),
];

/// Returns the message about a file of unknown format.
pub(super) fn describe(beginning: &[u8]) -> String {
    if beginning.trim_ascii().is_empty() {
        return "it is empty".to_owned();
    }
    let begins = BY_BEGINNING.iter().find(|(mark, _)| beginning.starts_with(mark));
    if let Some((_, hint)) = begins {
        return (*hint).to_owned();
    }
    let text = String::from_utf8_lossy(beginning);
    if let Some((_, hint)) = BY_WORD.iter().find(|(word, _)| text.contains(word)) {
        return (*hint).to_owned();
    }
    let names: Vec<&str> = ForeignFormat::ALL.iter().map(|format| format.name()).collect();
    format!(
        "it is of no known format: it has neither `interactions` nor `log`, for example. If it \
         holds HTTP calls, say which format it is with --from ({}); else record the program once \
         with `loomrec record`",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_file_is_told_with_a_way_on() {
        for (beginning, told) in [
            (&b" \n"[..], "it is empty"),
            (b"PK\x03\x04..", "unpack it"),
            (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
            (b"{\"_loomrec\": {}}", "a recording already"),
            (b"agents:\n- a\n", "no known format"),
            (b"agents:\n- a\n", "loomrec record"),
        ] {
            assert!(describe(beginning).contains(told), "{told}: {}", describe(beginning));
        }
    }
}
