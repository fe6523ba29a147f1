//! The order of ends: which calls of this run are open, which are still to come, and which of them an
//! answer has to let end first.
//!
//! An answer waits only for calls whose answers had ended earlier in the recorded run. So the calls
//! that wait for each other are ordered by time, and never form a circle. Calls that overlapped, and
//! no others, share a lock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::order_limits::OrderLimits;
use super::recorded_ends::{ClusterMember, OverlapPlace, RecordedEnds};

/// How many takes are looked at for a call that is still to come.
const MOST_LOOKED_AT: usize = 1024;

/// The calls of a run whose takes overlapped in the recorded run.
#[derive(Debug)]
pub(super) struct EndOrder {
    recorded: Arc<RecordedEnds>,
    clusters: Box<[Mutex<OpenCluster>]>,
    limits: OrderLimits,
    /// How many answers were sent out of order, because they had waited for too long.
    broken: AtomicU64,
    /// How long answers have waited for calls that did not come, in microseconds.
    in_vain: AtomicU64,
}

/// The calls of one cluster.
#[derive(Debug, Default)]
struct OpenCluster {
    /// How many calls were opened so far.
    opened: u64,
    /// The open calls, each with the answers that wait for its end. These are woken when it is
    /// dropped.
    calls: BTreeMap<OpenPlace, Vec<oneshot::Sender<()>>>,
    /// The members that no answer waits for any more, because their calls have come, or did not come
    /// in time: a bit for each position.
    settled: Vec<u64>,
    /// The answers that wait for a call to come, by its position.
    awaited: BTreeMap<u32, Vec<oneshot::Sender<()>>>,
}

/// The place of an open call: by its session in this run, and by when its answer had ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OpenPlace {
    session: Option<Arc<str>>,
    ended: i64,
    /// Distinguishes calls of one take.
    number: u64,
}

/// What an answer waits for.
pub(super) struct EndObstacle {
    /// Ready when it is gone.
    pub(super) gone: oneshot::Receiver<()>,
    pub(super) kind: ObstacleKind,
}

/// The kinds of what an answer waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum ObstacleKind {
    /// An open call that has to end first.
    OpenCall {
        /// How long after it the waiting answer had gone on in the recorded run.
        gap: Duration,
    },
    /// A call that has to end first, and has not come.
    MissingCall {
        /// How long it may take to come.
        grace: Duration,
        /// How long after its end the waiting answer had gone on in the recorded run; zero if it had
        /// gone on before that end.
        gap: Duration,
    },
}

impl EndOrder {
    /// Returns the order of a run, or of a session, in which no call is open. `None` if no calls
    /// overlapped.
    pub(super) fn new(recorded: &Arc<RecordedEnds>, limits: OrderLimits) -> Option<Arc<Self>> {
        let clusters: Box<[_]> = (0..recorded.cluster_count()).map(|_| Mutex::default()).collect();
        (!clusters.is_empty()).then(|| {
            let recorded = Arc::clone(recorded);
            let (broken, in_vain) = (AtomicU64::new(0), AtomicU64::new(0));
            Arc::new(Self { recorded, clusters, limits, broken, in_vain })
        })
    }

    /// Returns the place of a take; `None` if its call overlapped no other.
    pub(super) fn overlap_place(&self, take: usize) -> Option<OverlapPlace> {
        self.recorded.overlap_place(take)
    }

    /// Returns how long answers wait.
    pub(super) fn limits(&self) -> &OrderLimits {
        &self.limits
    }

    /// Opens a call that has arrived: from now on, others wait for its end.
    pub(super) fn open(&self, place: &OverlapPlace, session: Option<Arc<str>>) -> OpenPlace {
        let ended = place.span.ended;
        let mut cluster = self.lock_cluster(place);
        cluster.opened += 1;
        let open = OpenPlace { session, ended, number: cluster.opened };
        cluster.calls.insert(open.clone(), Vec::new());
        let come = cluster.settle_call(place.position);
        drop(cluster);
        // Those who wait are woken when no lock is held.
        drop(come);
        open
    }

    /// Closes a call. The calls that wait for it continue.
    pub(super) fn close(&self, place: &OverlapPlace, open: &OpenPlace) {
        let closed = self.lock_cluster(place).calls.remove(open);
        drop(closed);
    }

    /// Returns what a call at `place` has to wait for before it goes on to what came at `time`, if
    /// anything: an open call, or, if `expects` is set, one that has not come. Of several open calls,
    /// it is the one that had ended last, of others the one that had ended first.
    pub(super) fn find_obstacle(
        &self,
        place: &OverlapPlace,
        session: Option<&Arc<str>>,
        time: i64,
        expects: bool,
    ) -> Option<EndObstacle> {
        // Calls that had ended before this one arrived are of no concern.
        let from = place.span.arrived;
        if from >= time {
            return None;
        }
        let (sender, gone) = oneshot::channel();
        let at = |ended| OpenPlace { session: session.cloned(), ended, number: 0 };
        let mut cluster = self.lock_cluster(place);
        if let Some((earlier, waiting)) =
            cluster.calls.range_mut(at(from + 1)..at(time)).next_back()
        {
            waiting.push(sender);
            let gap = u64::try_from(time - earlier.ended).unwrap_or_default();
            let kind = ObstacleKind::OpenCall { gap: Duration::from_micros(gap) };
            return Some(EndObstacle { gone, kind });
        }
        let in_vain = Duration::from_micros(self.in_vain.load(Ordering::Relaxed));
        if !expects || in_vain >= self.limits.most_in_vain {
            return None;
        }
        let next = self.to_come(place, time, &cluster).next();
        let (position, member) = next.map(|(position, it)| (position, *it))?;
        cluster.awaited.entry(position).or_default().push(sender);
        let grace = self.limits.grace_period(recorded_lag(&member, from));
        let gap = u64::try_from(time - member.span.ended).unwrap_or_default();
        let gap = Duration::from_micros(gap);
        Some(EndObstacle { gone, kind: ObstacleKind::MissingCall { grace, gap } })
    }

    /// Notes that a call has waited for so long, and that what it waited for has not come. No other
    /// call waits for that.
    pub(super) fn stop_expecting(&self, place: &OverlapPlace, time: i64, waited: Duration) {
        let waited = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.in_vain.fetch_add(waited, Ordering::Relaxed);
        let mut cluster = self.lock_cluster(place);
        let absent: Vec<u32> = self.to_come(place, time, &cluster).map(|(at, _)| at).collect();
        let absent: Vec<_> = absent.into_iter().map(|at| cluster.settle_call(at)).collect();
        drop(cluster);
        drop(absent);
    }

    /// Returns the members, with their positions, whose calls have not come, and which had arrived
    /// before `time`, and had not ended when the call at `place` arrived. A program may put what came
    /// at the same time into one request, so that a call which had arrived before an end must not
    /// arrive after it.
    fn to_come<'a>(
        &'a self,
        place: &OverlapPlace,
        time: i64,
        cluster: &'a OpenCluster,
    ) -> impl Iterator<Item = (u32, &'a ClusterMember)> + use<'a> {
        let (members, from) = (self.recorded.cluster_members(place.cluster), place.span.arrived);
        let first = members.partition_point(|member| member.span.ended <= from);
        let overlapping = (first as u32..).zip(&members[first..]).take(MOST_LOOKED_AT);
        overlapping
            .filter(move |(position, it)| it.span.arrived < time && !cluster.is_settled(*position))
    }

    /// Notes that an answer goes on although an earlier one has not ended.
    pub(super) fn note_broken(&self) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many answers were sent out of order.
    pub(super) fn out_of_order_answers(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }

    fn lock_cluster(&self, place: &OverlapPlace) -> MutexGuard<'_, OpenCluster> {
        // A place comes from the same list of clusters.
        let at = place.cluster as usize;
        self.clusters[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenCluster {
    /// Notes that nobody has to wait for a call to come. Returns those who did, to be woken.
    fn settle_call(&mut self, position: u32) -> Option<Vec<oneshot::Sender<()>>> {
        let word = position as usize / 64;
        if word >= self.settled.len() {
            self.settled.resize(word + 1, 0);
        }
        self.settled[word] |= 1 << (position % 64);
        self.awaited.remove(&position)
    }

    fn is_settled(&self, position: u32) -> bool {
        let word = self.settled.get(position as usize / 64);
        word.is_some_and(|word| word & (1 << (position % 64)) != 0)
    }
}

/// Returns how long the call of a member took to come in the recorded run: after another call that
/// arrived at `from`, or after the last end before it.
fn recorded_lag(member: &ClusterMember, from: i64) -> Duration {
    let after_arrival = member.span.arrived.saturating_sub(from).max(0);
    let lag = member.after_end.map_or(after_arrival, |after_end| after_end.min(after_arrival));
    Duration::from_micros(u64::try_from(lag).unwrap_or_default())
}
