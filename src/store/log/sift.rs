//! What can still be read of a log that may be damaged anywhere.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use super::{
    ABOUT, BARE, Found, FrameAt, HEAD, LONGEST, MARK, find_mark, next, payload, read_about, reader,
};
use crate::identity::IdentityRules;

/// What was found in a log.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Sifted {
    /// The whole frames, in order.
    pub(in crate::store) frames: Vec<FrameAt>,
    /// The bytes that are no whole frame, or one that only a newer loomrec can read.
    pub(in crate::store) lost: Vec<Range<u64>>,
    /// The rules that the entries' keys were made under, where a frame says them.
    pub(in crate::store) rules: Option<IdentityRules>,
}

/// Whether there is any mark of a frame in a file.
pub(in crate::store) fn is_log(file: &File) -> io::Result<bool> {
    Ok(find_mark(file, 0, file.metadata()?.len())?.is_some())
}

/// Finds every whole frame, behind damage too.
pub(in crate::store) fn sift(file: &File) -> io::Result<Sifted> {
    let len = file.metadata()?.len();
    // Marks may be anywhere in a body: what is read for them is bounded.
    let mut budget = 16 * len + (64 << 20);
    let (mut sifted, mut at) = (Sifted::default(), 0);
    let mut source = reader(file, at);
    while at < len {
        let found = next(&mut source, len - at)?;
        if let Some(Found::Frame { len, name, sum }) = found {
            let frame = FrameAt { at: at + HEAD as u64, len, name, sum };
            match name {
                ABOUT => sifted.rules = read_about(&payload(file, frame)?).or(sifted.rules),
                _ => sifted.frames.push(frame),
            }
            at = frame.end();
            continue;
        }
        budget = budget.saturating_sub(source.get_ref().at - at);
        let end = match found {
            Some(Found::Newer { len }) => at + BARE as u64 + u64::from(len),
            _ if budget == 0 => len,
            _ => match claimed_end(file, at, len)? {
                Some(end) => end,
                None => find_mark(file, at + 1, len)?.unwrap_or(len),
            },
        };
        match sifted.lost.last_mut() {
            Some(last) if last.end == at && found.is_none() && !begins(file, at)? => last.end = end,
            _ => sifted.lost.push(at..end),
        }
        at = end;
        source = reader(file, at);
    }
    Ok(sifted)
}

/// How many frames there were in bytes of which none is whole: one at least.
pub(in crate::store) fn count_frames(file: &File, range: &Range<u64>) -> io::Result<usize> {
    let (mut at, mut count) = (range.start, 0);
    while at < range.end {
        count += 1;
        at = match claimed_end(file, at, range.end)? {
            Some(end) => end,
            None => find_mark(file, at + 1, range.end)?.unwrap_or(range.end),
        };
    }
    Ok(count)
}

/// Whether bytes begin with a frame that is as long as it says, though it does not check:
/// it was written in full once.
pub(in crate::store) fn is_frame(file: &File, range: &Range<u64>) -> io::Result<bool> {
    Ok(claimed_end(file, range.start, range.end)?.is_some())
}

/// Whether a mark stands there.
fn begins(file: &File, at: u64) -> io::Result<bool> {
    let mut mark = [0; MARK.len()];
    Ok(file.read_at(&mut mark, at)? == MARK.len() && mark == MARK)
}

/// Where a damaged frame ends, if its head says so and another begins there.
fn claimed_end(file: &File, at: u64, len: u64) -> io::Result<Option<u64>> {
    let mut bare = [0; BARE];
    if file.read_at(&mut bare, at)? < BARE || bare[..4] != MARK {
        return Ok(None);
    }
    let length = u32::from_le_bytes([bare[8], bare[9], bare[10], bare[11]]);
    let end = at + BARE as u64 + u64::from(length);
    let fits = length <= LONGEST && end > at + BARE as u64 && end <= len;
    Ok((fits && (end == len || begins(file, end)?)).then_some(end))
}
