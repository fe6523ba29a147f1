//! Which of the segments in a bucket a state has, which are merged next, and which are missing.
//!
//! A recorder creates its segments one after the other. So a number that is missing below one that
//! is there means that a listing was made meanwhile, or that a segment is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, SystemTime};

use super::listed_segment::ListedSegment;
use super::manifest::StateManifest;
use super::remote_error::RemoteError;

/// How long a gap can be an effect of a listing that was made while segments were created.
const GAP_PATIENCE: Duration = Duration::from_secs(600);

/// The longest gap that is skipped. A longer one is no gap but an object of a wrong name.
const LONGEST_GAP: u32 = 1000;

/// How many gaps are named.
const NAMED_GAPS: usize = 20;

/// What to do with segments that come after a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapChoice {
    /// They stay, and the gap is an error.
    Refuse,
    /// They are merged, and the state notes which segments are missing.
    Skip,
}

/// Segments that are missing although later ones of their recorder are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentGap {
    recorder: String,
    first: u32,
    last: u32,
}

impl fmt::Display for SegmentGap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recorder, first, last } = self;
        write!(formatter, "runs/{recorder}/{first:06}")?;
        match first == last {
            true => Ok(()),
            false => write!(formatter, " to {last:06}"),
        }
    }
}

/// Fails with the gaps, if there are any.
pub(crate) fn refuse_gaps(url: &str, gaps: &[SegmentGap]) -> Result<(), RemoteError> {
    if gaps.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = gaps.iter().take(NAMED_GAPS).map(ToString::to_string).collect();
    let more = gaps.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(RemoteError::Gap { url: url.to_owned(), gaps: names.join(", ") + &more })
}

/// The segments of a bucket, compared with a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentPlan {
    /// Those that the state has.
    pub(crate) merged: Vec<ListedSegment>,
    /// Those to merge next.
    pub(crate) next: Vec<ListedSegment>,
    /// The gaps that last, unless they are skipped.
    pub(crate) gaps: Vec<SegmentGap>,
}

/// Compares the segments of a bucket, each with the time at which it was written, with a state.
pub(crate) fn plan_segments(
    manifest: &StateManifest,
    listed: BTreeMap<ListedSegment, SystemTime>,
    choice: GapChoice,
    now: SystemTime,
) -> SegmentPlan {
    let mut plan = SegmentPlan::default();
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let mut stopped: BTreeSet<String> = BTreeSet::new();
    for (segment, written) in listed {
        if manifest.has_segment(&segment) {
            plan.merged.push(segment);
            continue;
        }
        let merged = || manifest.merged_segments(&segment.recorder);
        let end = ends.entry(segment.recorder.clone()).or_insert_with(merged);
        if segment.number > *end + 1 {
            let recorder = segment.recorder.clone();
            let gap = SegmentGap { recorder, first: *end + 1, last: segment.number - 1 };
            let is_lasting = now.duration_since(written).is_ok_and(|age| age > GAP_PATIENCE);
            let is_skipped = choice == GapChoice::Skip && gap.last - gap.first < LONGEST_GAP;
            if stopped.contains(&segment.recorder) || !is_lasting || !is_skipped {
                let is_first = stopped.insert(segment.recorder);
                plan.gaps.extend((is_first && is_lasting).then_some(gap));
                continue;
            }
        }
        *end = segment.number.max(*end);
        plan.next.push(segment);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::ManifestRecorder;

    fn segment(recorder: &str, number: u32) -> ListedSegment {
        ListedSegment { recorder: recorder.to_owned(), number, hash: None }
    }

    fn manifest(segments: u32, missing: &[u32]) -> StateManifest {
        let recorder = ManifestRecorder {
            id: "a".to_owned(),
            run: None,
            started_at: String::new(),
            last_at: String::new(),
            segments,
            missing: missing.to_vec(),
        };
        StateManifest { recorders: vec![recorder], ..StateManifest::default() }
    }

    fn plan(
        manifest: &StateManifest,
        numbers: &[u32],
        choice: GapChoice,
        age: u64,
    ) -> (Vec<u32>, Vec<u32>, Vec<String>) {
        let now = SystemTime::now();
        let written = now - Duration::from_secs(age);
        let listed = numbers.iter().map(|&number| (segment("a", number), written)).collect();
        let plan = plan_segments(manifest, listed, choice, now);
        let numbers =
            |segments: Vec<ListedSegment>| segments.iter().map(|each| each.number).collect();
        let gaps = plan.gaps.iter().map(ToString::to_string).collect();
        (numbers(plan.merged), numbers(plan.next), gaps)
    }

    #[test]
    fn gap_that_lasts_is_named_and_skipped_on_request() {
        let (refuse, skip) = (GapChoice::Refuse, GapChoice::Skip);
        let known = manifest(2, &[]);
        let young = plan(&known, &[1, 3, 5, 8], refuse, 10);
        assert_eq!(young, (vec![1], vec![3], vec![]));
        assert_eq!(plan(&known, &[1, 3, 5, 8], skip, 10), young);
        let old = (vec![1], vec![3], vec!["runs/a/000004".to_owned()]);
        assert_eq!(plan(&known, &[1, 3, 5, 8], refuse, 1000), old);
        assert_eq!(plan(&known, &[1, 3, 5, 8], skip, 1000), (vec![1], vec![3, 5, 8], vec![]));
        let long = vec!["runs/a/000003 to 3999999999".to_owned()];
        assert_eq!(plan(&known, &[4_000_000_000], skip, 1000), (vec![], vec![], long));
    }

    #[test]
    fn segment_that_was_missing_is_merged_when_it_arrives() {
        let known = manifest(5, &[2, 4]);
        let found = plan(&known, &[1, 2, 3, 5, 6], GapChoice::Refuse, 1000);
        assert_eq!(found, (vec![1, 3, 5], vec![2, 6], vec![]));
    }
}
