//! The scan of a log: every whole frame, and which bytes around them are damaged or torn.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::damage::{DamageFinder, DamagedTail};
use super::{
    ABOUT, BUFFER, FramePlace, FrameSearch, HEAD, buffered_reader, read_about, read_frame,
    read_payload,
};
use loomrec_identity::IdentityRules;
use loomrec_recording::KeyVariables;

/// How many bytes are read at one time after a damaged frame. If many frames are damaged, most of
/// what is read at once is read again.
const BUFFER_BEHIND_DAMAGE: usize = 16 * 1024;

/// What a log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogContents {
    /// The whole frames, in order.
    pub(crate) frames: Vec<FramePlace>,
    /// The ranges of damaged frames, in order. They were once written in full, and their checksums
    /// no longer match. The cause is bad storage, not a crash.
    pub(crate) damaged: Vec<Range<u64>>,
    /// Where the last frame ends, whole or damaged. The rest is a torn tail, if there is any.
    pub(crate) whole: u64,
    /// The log's length.
    pub(crate) len: u64,
    /// The rules that the entries' keys were made under. A log that a recorder began states them.
    /// If there is no recording yet, they are its rules.
    pub(crate) rules: Option<IdentityRules>,
    /// The key variables that the recorded programs had.
    pub(crate) key_variables: KeyVariables,
    /// Whether there is a frame that only a newer loomrec can read. The scan ended there, and what
    /// follows is not torn.
    pub(crate) newer: bool,
}

impl LogContents {
    /// Returns the number of bytes of the torn tail; 0 if there is none.
    pub(crate) fn torn_length(&self) -> u64 {
        if self.newer { 0 } else { self.len - self.whole }
    }
}

/// Finds the whole frames of a log, even after damage. Payloads are streamed, not kept.
pub(crate) fn scan_frames(file: &File) -> io::Result<LogContents> {
    scan_from(file, 0)
}

/// The same, from the beginning of a frame.
pub(crate) fn scan_from(file: &File, from: u64) -> io::Result<LogContents> {
    let len = file.metadata()?.len();
    let mut damage = DamageFinder::new(file, len.saturating_sub(from));
    let mut scanned = LogContents { whole: from.min(len), len, ..LogContents::default() };
    let mut source = buffered_reader(file, from, BUFFER);
    while scanned.whole < len {
        match read_frame(&mut source, len - scanned.whole)? {
            Some(FrameSearch::Frame { len, name, sum }) => {
                let frame = FramePlace { at: scanned.whole + HEAD as u64, len, name, sum };
                if name == ABOUT {
                    match read_about(&read_payload(file, frame)?) {
                        Some(about) => {
                            scanned.key_variables.add(about.key_variables());
                            // The recorders of one log have rules that make the same keys.
                            scanned.rules.get_or_insert_with(|| about.rules().clone());
                        }
                        None => {
                            scanned.newer = true;
                            break;
                        }
                    }
                } else {
                    scanned.frames.push(frame);
                }
                scanned.whole = frame.end_offset();
            }
            Some(FrameSearch::Newer) => {
                scanned.newer = true;
                break;
            }
            None => {
                let DamagedTail { damaged, at, torn } =
                    damage.find_damaged_tail(scanned.whole, len)?;
                scanned.damaged.extend(damaged);
                scanned.whole = at;
                if torn {
                    break;
                }
                source = buffered_reader(file, at, BUFFER_BEHIND_DAMAGE);
            }
        }
    }
    Ok(scanned)
}
