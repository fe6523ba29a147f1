//! The log beside a recording: what has been recorded and is not in the file yet.
//!
//! A log is frames behind one another, each of them whole or not there:
//!
//! | bytes | hold |
//! |---|---|
//! | 0 to 3 | the mark `8b 4c 52 0a` |
//! | 4 to 7 | the frame's format version, 1 |
//! | 8 to 11 | how many bytes there are from 16 on |
//! | 12 to 15 | the CRC-32 (IEEE) over bytes 4 to 11 and all from 16 on |
//! | 16 to 31 | the fingerprint of the entry's name: see [`fingerprint`] |
//! | from 32 | the payload: the entry, packed |
//!
//! Numbers are unsigned and little-endian. The fingerprint spares a recorder
//! reading the entries of others to know which names a run has recorded. The first
//! frame's is 0: it is no entry, but says the rules the keys were made under.
//! A frame is written in one go at the
//! log's end, under the recording's lock; one that was not finished, by a crash or
//! a full disk, does not check and counts as never written.

mod damage;
mod frame;
pub(super) mod recover;
mod scan;

pub(super) use frame::{
    ABOUT, FramePlace, HEAD, LONGEST, NameFingerprint, begin, fingerprint, frame, from, payload,
    seal,
};
use frame::{BARE, BUFFER, FrameSearch, MARK, filled, next, read_about, reader};

pub(super) use scan::{LogContents, scan, scan_from};

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
