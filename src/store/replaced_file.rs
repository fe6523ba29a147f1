//! Output files that replace the output of an earlier run, and nothing else.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use loomrec_os::{FileId, FileKind, FileStatus, refuse_links_and_waits};

/// Accepts an open output file if it may be emptied: it is empty, or begins with one of
/// `beginnings`. A pipe or a device holds nothing.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if the file begins with anything else, or the error of reading it.
pub fn accept_replacing(file: &File, path: &Path, beginnings: &[&[u8]]) -> io::Result<()> {
    let opened = FileStatus::from_file(file)?;
    if opened.kind != FileKind::Regular || opened.length == 0 {
        return Ok(());
    }
    let longest = beginnings.iter().map(|beginning| beginning.len()).max().unwrap_or(0);
    let start = first_bytes(path, opened.id, longest)?;
    match beginnings.iter().any(|beginning| start.starts_with(beginning)) {
        true => Ok(()),
        false => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "it holds something that loomrec has not written there; delete it, or name another \
             file",
        )),
    }
}

/// Returns the first bytes of the file at `path`, which must be the one that was opened.
fn first_bytes(path: &Path, opened: FileId, count: usize) -> io::Result<Vec<u8>> {
    let file = refuse_links_and_waits(OpenOptions::new().read(true)).open(path)?;
    if FileId::from_file(&file)? != opened {
        return Err(io::Error::other("another file took its place"));
    }
    let mut start = Vec::new();
    file.take(count as u64).read_to_end(&mut start)?;
    Ok(start)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_an_empty_file_and_one_that_begins_as_ours_may_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let accepts = |text: &str| {
            fs::write(&path, text).unwrap();
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            accept_replacing(&file, &path, &[b"{\"v\":", b"<a"]).is_ok()
        };
        for (text, is_accepted) in
            [("", true), ("{\"v\":1}", true), ("<a>", true), ("{\"v", false), ("key", false)]
        {
            assert_eq!(accepts(text), is_accepted, "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
