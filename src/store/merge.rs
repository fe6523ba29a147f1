//! The merge of a recording's log into its file: for each name, where its takes are.
//!
//! A plan is made from the file's outline and the heads of the log's entries. Of the file's own
//! entries, only those are read that a new one must be ordered after or that it may replace. Readers
//! follow the plan and a compaction writes it, so a reader sees what a compaction would write.
//! Merging the same entries again changes nothing.

mod name_takes;
mod named_frame;
mod replacement;
mod take;

use std::collections::HashMap;

use loomrec_recording::log_codec::PackedHead;
use loomrec_recording::outline::RecordingOutline;
use loomrec_recording::{Entry, EntryName};
use name_takes::NameTakes;
pub(super) use named_frame::EntryOrigin;
use named_frame::NamedFrame;
pub use named_frame::TakeRef;

/// An entry in a log.
#[derive(Clone, Debug)]
pub(super) struct LogFrame {
    pub(super) head: PackedHead,
    pub(super) place: TakeRef,
}

/// The differences from the file alone.
#[derive(Clone, Debug, Default)]
pub(super) struct LogMerge {
    /// The takes of a name in the file, by its place in [`RecordingOutline::names`]. Other names
    /// are as they are in the file.
    pub(super) changed: HashMap<usize, Vec<TakeRef>>,
    /// The names of the file that are renamed. Their takes are among the changed ones.
    pub(super) renamed: HashMap<usize, EntryName>,
    /// The names that are not in the file, in order.
    pub(super) new: Vec<(EntryName, Vec<TakeRef>)>,
    /// The number of takes that are left out: their calls failed, and a take of the same name
    /// exists whose call succeeded.
    pub(super) failures: usize,
    /// The names whose takes of earlier runs were replaced, or could have been.
    pub(super) replacements: Vec<TakeReplacement>,
}

/// What a merge replaced of the takes that earlier runs left under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeReplacement {
    /// The name.
    pub name: EntryName,
    /// The number of takes that were replaced.
    pub replaced: usize,
    /// The number of faults that the replaced takes declared.
    pub faults: usize,
    /// The number of takes that the run has not reached, so that they stay.
    pub kept: usize,
}

impl LogMerge {
    /// Whether the file holds everything already.
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.new.is_empty()
    }
}

/// Makes the plan. `frames` are in the order in which they were appended. `read` reads an entry.
/// `takes_of` returns the takes of a name of the file, by its number in the outline.
///
/// A frame that replaces goes before the takes of earlier runs, in place of one of them: see
/// [`replacement`]. Any other frame goes after the last take that was not recorded later, or to the
/// end if it has no time. It is left out if the same entry is there already.
///
/// # Errors
/// The error of `read`, or that of `takes_of` for a name of the file that holds no entries.
pub(super) fn plan_merge<E>(
    outline: &RecordingOutline,
    frames: Vec<LogFrame>,
    takes_of: impl Fn(usize) -> Result<Vec<TakeRef>, E>,
    read: impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<LogMerge, E> {
    let mut plan = LogMerge::default();
    if frames.is_empty() {
        return Ok(plan);
    }
    for (name, frames) in by_name(frames) {
        let known = outline.find_name(&name);
        let before = known.map_or_else(|| Ok(Vec::new()), &takes_of)?;
        let mut takes = NameTakes::new(&before, name.step_id().is_some());
        // A log is merged as a whole, as its compaction does.
        for frames in frames.chunk_by(|one, next| one.place.origin == next.place.origin) {
            takes.merge_frames(frames, &read)?;
        }
        plan.failures += takes.left_out;
        let (replaced, faults, kept) = (takes.replaced, takes.faults, takes.kept);
        if replaced + kept > 0 {
            plan.replacements.push(TakeReplacement { name: name.clone(), replaced, faults, kept });
        }
        let takes = takes.into_places();
        match known {
            Some(place) if takes != before => {
                plan.changed.insert(place, takes);
            }
            Some(_) => {}
            None if takes.is_empty() => {}
            None => plan.new.push((name, takes)),
        }
    }
    Ok(plan)
}

/// Returns the frames of each name, with the names in the order of their first frames.
fn by_name(frames: Vec<LogFrame>) -> Vec<(EntryName, Vec<NamedFrame>)> {
    let mut groups: Vec<(EntryName, Vec<NamedFrame>)> = Vec::new();
    let mut places: HashMap<EntryName, usize> = HashMap::new();
    for LogFrame { head, place } in frames {
        let PackedHead { name, precedence, mut scope, recorded_at: time } = head;
        // Earlier versions wrote no form, and counted the takes of a step at all upstreams together.
        if scope.form.is_none() && name.step_id().is_some() {
            scope.upstream = None;
        }
        let next = groups.len();
        let group = *places.entry(name.clone()).or_insert(next);
        if group == next {
            groups.push((name, Vec::new()));
        }
        groups[group].1.push(NamedFrame { precedence, scope, time, place });
    }
    groups
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
