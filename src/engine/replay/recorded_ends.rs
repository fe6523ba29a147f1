//! When the answers of takes ended in the recorded run, and which of these calls overlapped.
//!
//! Entries of calls that overlapped hold both times: `recorded_at` and `ended_at`.

use std::cmp::Reverse;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::name_ids::NameId;
use loomrec_recording::Entry;
use loomrec_recording::body::is_plausible_time;
use loomrec_recording::timestamp::parse_micros;

/// What rounding may change of the times of chunks, which are kept to a tenth of a millisecond, in
/// microseconds.
const CHUNK_ROUNDING: i64 = 50;

/// When a call was open in the recorded run, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedSpan {
    /// When the call arrived.
    pub(super) arrived: i64,
    /// When its answer ended.
    pub(super) ended: i64,
}

impl RecordedSpan {
    /// Returns the span of an entry; `None` if it has no times, or if its answer has no end: a client
    /// that left before it may have left because of another answer.
    pub(super) fn from_entry(entry: &Entry) -> Option<Self> {
        if entry.client_left.is_some() || !entry.is_servable() {
            return None;
        }
        let ended = parse_micros(entry.ended_at.as_deref()?)?;
        let arrived = parse_micros(entry.recorded_at.as_deref()?)?;
        let is_plausible = is_plausible_time(ended.saturating_sub(arrived) as f64 / 1000.0);
        is_plausible.then_some(Self { arrived, ended })
    }

    /// Returns a time by which a chunk that came at `at_ms` had come, never later than the end.
    pub(super) fn chunk_time(&self, at_ms: f64) -> i64 {
        let at_ms = if is_plausible_time(at_ms) { at_ms } else { 0.0 };
        let at = self.arrived.saturating_add((at_ms * 1000.0) as i64);
        at.saturating_sub(CHUNK_ROUNDING).min(self.ended)
    }
}

/// The span of a take.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakeSpan {
    /// The index of the take.
    pub(super) take: u32,
    /// The index of its recording among the matcher's sources.
    pub(super) source: u32,
    /// The session that it was recorded in.
    pub(super) session: Option<NameId>,
    pub(super) span: RecordedSpan,
}

/// The place of a take among those that its call overlapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverlapPlace {
    /// The number of its cluster.
    pub(super) cluster: u32,
    /// Its position in the cluster.
    pub(super) position: u32,
    pub(super) span: RecordedSpan,
}

/// A take of a cluster: of takes whose calls overlapped, directly or through others.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterMember {
    pub(super) span: RecordedSpan,
    /// How long after the last end before it the call arrived, in microseconds; `None` if no answer
    /// of its cluster had ended by then.
    pub(super) after_end: Option<i64>,
}

/// The takes whose calls overlapped others. Those of calls that were alone are not in it.
#[derive(Debug, Default)]
pub(super) struct RecordedEnds {
    places: HashMap<u32, OverlapPlace, RandomState>,
    /// The members of each cluster, by when their answers had ended.
    clusters: Vec<Box<[ClusterMember]>>,
}

impl RecordedEnds {
    /// Finds the takes whose calls overlapped, of one recording and session each.
    pub(super) fn new(mut spans: Vec<TakeSpan>) -> Self {
        spans.sort_unstable_by_key(|it| {
            (it.source, it.session, it.span.arrived, Reverse(it.span.ended), it.take)
        });
        let (mut ends, mut from) = (Self::default(), 0);
        while let Some(first) = spans.get(from) {
            let (mut until, mut last_end) = (from + 1, first.span.ended);
            while let Some(next) = spans.get(until).filter(|next| {
                (next.source, next.session) == (first.source, first.session)
                    && next.span.arrived < last_end
            }) {
                last_end = last_end.max(next.span.ended);
                until += 1;
            }
            if until > from + 1 {
                ends.add_cluster(&mut spans[from..until]);
            }
            from = until;
        }
        ends
    }

    fn add_cluster(&mut self, members: &mut [TakeSpan]) {
        members.sort_unstable_by_key(|it| (it.span.ended, it.take));
        let cluster = self.clusters.len() as u32;
        let place = |(position, it): (usize, &TakeSpan)| {
            (it.take, OverlapPlace { cluster, position: position as u32, span: it.span })
        };
        self.places.extend(members.iter().enumerate().map(place));
        let member = |it: &TakeSpan| {
            let before = members.partition_point(|other| other.span.ended <= it.span.arrived);
            let last = before.checked_sub(1).and_then(|last| members.get(last));
            let after_end = last.map(|last| it.span.arrived - last.span.ended);
            ClusterMember { span: it.span, after_end }
        };
        self.clusters.push(members.iter().map(member).collect());
    }

    /// Returns the place of a take; `None` if its call was alone.
    pub(super) fn overlap_place(&self, take: usize) -> Option<OverlapPlace> {
        self.places.get(&u32::try_from(take).ok()?).copied()
    }

    /// Returns the number of clusters.
    pub(super) fn cluster_count(&self) -> usize {
        self.clusters.len()
    }

    /// Returns the members of a cluster, by when their answers had ended.
    pub(super) fn cluster_members(&self, cluster: u32) -> &[ClusterMember] {
        self.clusters.get(cluster as usize).map_or(&[], |members| members)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn spans(times: &[(i64, i64)]) -> Vec<TakeSpan> {
        let span = |(take, &(arrived, ended)): (usize, &(i64, i64))| TakeSpan {
            take: take as u32,
            source: 0,
            session: None,
            span: RecordedSpan { arrived, ended },
        };
        times.iter().enumerate().map(span).collect()
    }

    #[test]
    fn calls_that_were_alone_have_no_place() {
        let ends =
            RecordedEnds::new(spans(&[(0, 1000), (1000, 11_000), (5000, 5033), (20_000, 20_007)]));
        let cluster = |take| ends.overlap_place(take).map(|place| place.cluster);
        assert_eq!([0, 1, 2, 3].map(cluster), [None, Some(0), Some(0), None]);
        assert_eq!(ends.cluster_count(), 1);
    }

    #[test]
    fn member_knows_how_long_after_an_end_it_came() {
        let ends = RecordedEnds::new(spans(&[(0, 9000), (1, 1000), (2, 2000), (3000, 3500)]));
        let members = ends.cluster_members(0).iter().map(|it| (it.span.arrived, it.after_end));
        let expected = [(1, None), (2, None), (3000, Some(1000)), (0, None)];
        assert_eq!(members.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn takes_of_other_recordings_and_sessions_do_not_overlap() {
        let mut spans = spans(&[(0, 5001), (1, 5002), (2, 5003), (3, 5004)]);
        spans[1].source = 1;
        spans[2].session = NameId::new(7);
        let ends = RecordedEnds::new(spans);
        let has_place = |take| ends.overlap_place(take).is_some();
        assert_eq!([0, 1, 2, 3].map(has_place), [true, false, false, true]);
    }

    #[test]
    fn entry_without_an_end_of_its_own_has_no_span() {
        let whole = json!({
            "recorded_at": "1970-01-01T00:00:01.000000Z", "ended_at": "1970-01-01T00:00:01.020123Z",
            "response": {"status": 200, "text": "a"},
        });
        let span = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut entry = whole.clone();
            change(&mut entry);
            RecordedSpan::from_entry(&Entry::parse(&entry).unwrap())
        };
        let known = RecordedSpan { arrived: 1_000_000, ended: 1_020_123 };
        assert_eq!(span(&|_| {}), Some(known));
        assert_eq!(span(&|entry| entry["client_left"] = json!({"ms": 5.0})), None);
        assert_eq!(span(&|entry| entry["response"]["end"] = json!("truncated")), None);
        for time in ["1970-01-01T00:00:00Z", "9970-01-01T00:00:00Z", "later"] {
            assert_eq!(span(&|entry| entry["ended_at"] = json!(time)), None, "{time}");
        }
        for name in ["recorded_at", "ended_at"] {
            let without = |entry: &mut serde_json::Value| {
                entry.as_object_mut().unwrap().remove(name);
            };
            assert_eq!(span(&without), None, "{name}");
        }
        assert_eq!((known.chunk_time(5.0), known.chunk_time(f64::NAN)), (1_004_950, 999_950));
        assert_eq!(known.chunk_time(1e6), known.ended);
    }

    proptest! {
        #[test]
        fn takes_share_a_cluster_if_their_calls_overlapped(
            times in prop::collection::vec((0_i64..2000, 1_i64..500), 1..30),
        ) {
            let times: Vec<_> = times.into_iter().map(|(at, length)| (at, at + length)).collect();
            let spans = spans(&times);
            let ends = RecordedEnds::new(spans.clone());
            for a in &spans {
                let overlaps = |b: &&TakeSpan| {
                    b.take != a.take
                        && a.span.arrived < b.span.ended
                        && b.span.arrived < a.span.ended
                };
                let others: Vec<_> = spans.iter().filter(overlaps).collect();
                let place = ends.overlap_place(a.take as usize);
                prop_assert_eq!(place.is_some(), !others.is_empty());
                for other in others {
                    let other = ends.overlap_place(other.take as usize);
                    prop_assert_eq!(place.unwrap().cluster, other.unwrap().cluster);
                }
            }
        }
    }
}
