//! The log beside a recording: what was recorded and is not in the file yet.
//!
//! A log is a sequence of frames, each of them whole or not there:
//!
//! | bytes | hold |
//! |---|---|
//! | 0 to 3 | the mark `8b 4c 52 0a` |
//! | 4 to 7 | the frame's format version, 1 |
//! | 8 to 11 | the number of bytes from 16 on |
//! | 12 to 15 | the CRC-32 (IEEE) over bytes 4 to 11 and all from 16 on |
//! | 16 to 31 | the fingerprint of the entry's name and scope: see [`key_in_scope`] |
//! | from 32 | the payload: the entry, packed |
//!
//! Numbers are unsigned and little-endian. With the fingerprints, a recorder knows which names a
//! run has recorded without reading the entries of others. The fingerprint of the first frame is 0:
//! it is not an entry, but states the rules that the keys were made under, and the key variables that
//! the recorded program had. A further recorder adds such a frame if its program had others. A frame is written at
//! once at the log's end, under the recording's lock. If a crash or a full disk interrupts that,
//! the frame's checksum does not match and it counts as never written.

mod damage;
mod frame;
mod scan;

pub(super) use frame::{
    ABOUT, FramePlace, HEAD, LONGEST, NameFingerprint, cursor_at, key_in_scope, name_fingerprint,
    read_payload, seal_frame, write_first_frame, write_frame,
};
use frame::{BARE, BUFFER, FrameSearch, MARK, buffered_reader, is_filled, read_about, read_frame};

pub(super) use scan::{LogContents, scan_frames, scan_from};

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
