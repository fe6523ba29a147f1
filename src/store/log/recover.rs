//! The recovery of a log that may be damaged anywhere.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::damage::{DamageFinder, FrameMarks};
use super::scan::scan_up_to;
use super::{BARE, BUFFER, FramePlace, FrameSearch, HEAD, next, reader};
use loomrec_identity::IdentityRules;
use loomrec_recording::KeyVariables;

/// What was found in a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecoveredLog {
    /// The whole frames, in order.
    pub(crate) frames: Vec<FramePlace>,
    /// The ranges that are not a whole frame, or one that only a newer loomrec can read.
    pub(crate) lost: Vec<Range<u64>>,
    /// The rules that the entries' keys were made under, if a frame states them.
    pub(crate) rules: Option<IdentityRules>,
    /// The key variables that the recorded programs had.
    pub(crate) key_variables: KeyVariables,
}

/// Whether there is any mark of a frame in a file.
pub(crate) fn is_log(file: &File) -> io::Result<bool> {
    let len = file.metadata()?.len();
    Ok(FrameMarks::new(file).find(0, len)?.is_some())
}

/// Finds every whole frame, even after damage and after frames of newer versions.
pub(crate) fn recover_log(file: &File) -> io::Result<RecoveredLog> {
    let len = file.metadata()?.len();
    let (mut recovered, mut at) = (RecoveredLog::default(), 0);
    let mut damage = DamageFinder::new(file, len);
    loop {
        let scanned = scan_up_to(file, at, len, &mut damage)?;
        recovered.frames.extend(scanned.frames);
        recovered.lost.extend(scanned.damaged);
        recovered.rules = scanned.rules.or(recovered.rules);
        recovered.key_variables.add(&scanned.key_variables);
        let begin = scanned.whole;
        if !scanned.newer {
            recovered.lost.extend((begin < len).then_some(begin..len));
            return Ok(recovered);
        }
        at = match next(&mut reader(file, begin, BUFFER), len - begin)? {
            Some(FrameSearch::Newer { len }) => begin + BARE as u64 + u64::from(len),
            Some(FrameSearch::Frame { len, .. }) => begin + HEAD as u64 + u64::from(len),
            None => len,
        };
        recovered.lost.push(begin..at);
    }
}
