//! The earlier call that a call continues. It is found among the calls shortly before it, so the
//! work does not grow with the run or the file.

use loomrec_curation::history::{ContinuedCall, RequestHistory, continued_calls};
use loomrec_curation::inspection::EarlierCall;
use loomrec_recording::Entry;

/// How many calls before a call are looked at.
const LOOKED_BACK: u64 = 64;
/// About how many bytes of their requests.
const LOOKED_AT: usize = 32 << 20;

/// The earlier call that a call continues.
pub(super) struct FoundEarlier {
    continued: ContinuedCall,
    seq: u64,
    entry: Entry,
}

impl FoundEarlier {
    /// Returns the call as it is shown.
    pub(super) fn as_call(&self) -> EarlierCall<'_> {
        EarlierCall { continued: self.continued, seq: self.seq, entry: &self.entry }
    }
}

/// Returns the call that the call of line `seq` continues. `read` returns the call of another line.
pub(super) fn find_earlier(
    seq: u64,
    call: &Entry,
    read: impl Fn(u64) -> Option<Entry>,
) -> Option<FoundEarlier> {
    let history = RequestHistory::of_entry(call).filter(RequestHistory::may_continue)?;
    let (mut before, mut bytes) = (Vec::new(), 0);
    for number in (seq.saturating_sub(LOOKED_BACK).max(1)..seq).rev() {
        if bytes > LOOKED_AT {
            break;
        }
        let Some(entry) = read(number) else { continue };
        if let Some(history) = RequestHistory::of_entry(&entry) {
            let entry = entry.to_unanswered();
            bytes += entry.body_size();
            before.push((number, entry, history));
        }
    }
    before.reverse();
    let histories = before.iter().map(|(_, _, history)| Some(history));
    let histories: Vec<_> = histories.chain([Some(&history)]).collect();
    let continued = continued_calls(&histories).pop()??;
    let (seq, entry, _) = before.into_iter().nth(continued.earlier)?;
    Some(FoundEarlier { continued, seq, entry })
}
