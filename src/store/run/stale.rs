//! The check whether the file of a run belongs to the recording beside it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use super::line::{RunLine, read_line};
use super::{LARGEST, LONGEST_LINE, RunTarget};
use crate::regular_file;

/// How many of the last targets count. A compaction may have died before it put the newest in its
/// place.
const LAST: usize = 2;

/// Whether a run that nobody holds left the recording as it is now, or there is no run. A run that
/// came with a repository, or whose recording was replaced since, did not. Only under the
/// recording's lock.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn is_of(path: &Path, present: RunTarget) -> io::Result<bool> {
    let Some(file) = regular_file::open_to_read(path)? else { return Ok(true) };
    let targets = last_targets(&file)?;
    Ok(targets.contains(&present))
}

fn last_targets(file: &File) -> io::Result<Vec<RunTarget>> {
    let mut reader = BufReader::new(file.take(LARGEST));
    let (mut line, mut targets) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(targets);
        }
        if line.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
        } else if let Some(RunLine::Target(target)) = read_line(line.trim_ascii_end()) {
            targets.truncate(LAST - 1);
            targets.insert(0, target);
        }
    }
}
