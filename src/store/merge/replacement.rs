//! The replacement of takes that earlier runs left under a name, in one scope.
//!
//! The takes of a run come before those of earlier runs. The Nth of them takes the place of the Nth
//! earlier one, so those stay that the run has not reached. A call that failed never replaces a
//! take whose call succeeded: as long as all calls of the run have failed, they are left out where
//! there is such a take; once one has succeeded, they are kept, and the takes whose places they got
//! move to the end.
//!
//! The places do not depend on how many logs the takes of a run came in: an earlier take keeps its
//! place until it is replaced or moves to the end. A take of a step replaces the first earlier one
//! with the same request, or else the first one.

use std::collections::HashSet;

use loomrec_recording::Entry;
use loomrec_recording::log_codec::RunPosition;

use super::named_frame::{NamedFrame, TakeRef};
use super::take::{CompactionTake, distinct_takes, find_each, insertion_index};

/// A frame that replaces a take.
pub(super) struct ReplacingFrame {
    take: CompactionTake,
    time: Option<String>,
    position: RunPosition,
}

impl ReplacingFrame {
    pub(super) fn from_frame(frame: &NamedFrame) -> Option<Self> {
        let (take, time) = (CompactionTake::in_log(frame), frame.time.clone());
        Some(Self { take, time, position: frame.run_position()? })
    }
}

/// The takes of a name and a scope after a log was merged.
#[derive(Default)]
pub(super) struct MergedTakes {
    /// Those of the run.
    pub(super) new: Vec<CompactionTake>,
    /// Those of earlier runs that stay.
    pub(super) old: Vec<CompactionTake>,
    /// The number of those that stay although they could have been replaced.
    pub(super) kept: usize,
    /// The number of those that were replaced.
    pub(super) replaced: usize,
    /// The number of failed takes that were left out.
    pub(super) left_out: usize,
}

/// A take of an earlier run and its place among all takes.
struct EarlierTake {
    place: usize,
    take: CompactionTake,
    failed: bool,
}

/// A frame whose entry is known to be in the file or not.
struct PlacedFrame {
    frame: ReplacingFrame,
    is_known: bool,
}

/// Merges the frames of one log, in the order in which they were appended, into the takes of the
/// same name and scope.
///
/// # Errors
/// The error of `read`.
pub(super) fn merge_replacing<E>(
    base: Vec<CompactionTake>,
    frames: Vec<ReplacingFrame>,
    is_step: bool,
    read: &impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<MergedTakes, E> {
    let mut merged = MergedTakes::default();
    let (mut frames, others) = separate_takes(frames, base.clone(), read)?;
    let has_success = others.iter().any(|take| !take.failed);
    let pending =
        |frame: &PlacedFrame| frame.frame.position.failed && frame.frame.position.takes == 0;
    if has_success && frames.iter().all(pending) {
        merged.left_out = frames.iter().filter(|frame| !frame.is_known).count();
        merged.old = base;
        return Ok(merged);
    }
    let Some(first) = frames.first() else { return Ok(merged) };
    let own = count_own(first.frame.position, &others, has_success);
    let mut others = others.into_iter();
    merged.new = others.by_ref().take(own).map(|take| take.take).collect();
    let old: Vec<EarlierTake> = others.collect();
    for PlacedFrame { frame, .. } in &frames {
        let at = match &frame.time {
            Some(_) => insertion_index(&mut merged.new, &frame.time, read)?,
            None => merged.new.len(),
        };
        merged.new.insert(at, frame.take.clone());
    }
    match is_step {
        true => replace_by_request(&mut merged, &mut frames, old, read)?,
        false => replace_by_place(&mut merged, &frames, own, old),
    }
    merged.kept = merged.old.len();
    Ok(merged)
}

/// Separates the takes that are in the log from the others.
fn separate_takes<E>(
    frames: Vec<ReplacingFrame>,
    mut base: Vec<CompactionTake>,
    read: &impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<(Vec<PlacedFrame>, Vec<EarlierTake>), E> {
    let takes = frames.iter().map(|frame| frame.take.clone()).collect();
    let kept: Vec<usize> =
        distinct_takes(takes, read)?.into_iter().map(|(number, _)| number).collect();
    let mut frames: Vec<_> = frames
        .into_iter()
        .enumerate()
        .filter(|(number, _)| kept.binary_search(number).is_ok())
        .map(|(_, frame)| PlacedFrame { frame, is_known: false })
        .collect();
    let mut takes: Vec<_> = frames.iter().map(|frame| frame.frame.take.clone()).collect();
    let known = find_each(&mut takes, &mut base, read)?;
    for (frame, known) in frames.iter_mut().zip(known) {
        if let Some(known) = known.and_then(|known| base.get(known)) {
            frame.is_known = true;
            frame.frame.take = known.clone();
        }
    }
    let mut others = Vec::new();
    for (place, mut take) in base.into_iter().enumerate() {
        if !take.is_matched {
            let failed = take.facts(read)?.failed;
            others.push(EarlierTake { place, take, failed });
        }
    }
    Ok((frames, others))
}

/// Returns how many of the takes at the beginning are of the same run as the frames: those that
/// were merged from earlier logs. Of the calls that failed before the first success, those were
/// left out that could have replaced a success.
fn count_own(first: RunPosition, others: &[EarlierTake], has_success: bool) -> usize {
    let (failures, takes) = (first.failures as usize, first.takes as usize);
    let failures = match takes {
        0 if has_success => 0,
        0 => failures,
        _ => {
            let begin = others.iter().take(failures.saturating_add(takes));
            begin.filter(|take| take.failed).count().min(failures)
        }
    };
    failures.saturating_add(takes).min(others.len())
}

/// Replaces the takes whose places the run has got. `own` takes of the run have no frame here.
fn replace_by_place(
    merged: &mut MergedTakes,
    frames: &[PlacedFrame],
    own: usize,
    old: Vec<EarlierTake>,
) {
    let places: HashSet<usize> = old.iter().map(|take| take.place).collect();
    let mut moved = Vec::new();
    for EarlierTake { place, take, failed } in old {
        if place >= merged.new.len() {
            merged.old.push(take);
            continue;
        }
        match place.checked_sub(own).and_then(|number| frames.get(number)) {
            Some(PlacedFrame { frame, .. }) if failed || !frame.position.failed => {
                merged.replaced += 1;
            }
            _ => moved.push(take),
        }
    }
    // A retry that succeeded replaces the success whose place the failure got. After an interrupted
    // compaction that cannot be told, and nothing more is replaced.
    if frames.iter().all(|frame| !frame.is_known) {
        let free = |at: &usize| !places.contains(&(own + at));
        let successes = (0..frames.len()).filter(|&at| !frames[at].frame.position.failed);
        let gone = successes.filter(free).count().min(moved.len());
        merged.replaced += gone;
        moved.drain(..gone);
    }
    merged.old.extend(moved);
}

/// Replaces a take for each frame that is not in the file yet.
fn replace_by_request<E>(
    merged: &mut MergedTakes,
    frames: &mut [PlacedFrame],
    mut old: Vec<EarlierTake>,
    read: &impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<(), E> {
    for PlacedFrame { frame, .. } in frames.iter_mut().filter(|frame| !frame.is_known) {
        let request_key = frame.take.facts(read)?.request_key;
        let may_go = |take: &EarlierTake| take.failed || !frame.position.failed;
        let mut same = None;
        for (number, take) in old.iter_mut().enumerate() {
            if same.is_none() && may_go(take) && take.take.facts(read)?.request_key == request_key {
                same = Some(number);
            }
        }
        if let Some(number) = same.or_else(|| old.iter().position(may_go)) {
            old.remove(number);
            merged.replaced += 1;
        }
    }
    merged.old = old.into_iter().map(|take| take.take).collect();
    Ok(())
}
