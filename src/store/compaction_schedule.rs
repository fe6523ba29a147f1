//! The schedule of compactions: when a log is merged into its recording.

use std::time::{Duration, Instant};

/// After this long without an append, there is time for a compaction.
const IDLE: Duration = Duration::from_secs(2);

/// A log whose oldest entry is older than this is compacted, however busy it is.
const AGE: Duration = Duration::from_secs(30);

/// Size alone is no reason to compact a log of fewer bytes: as long as there is traffic, that has
/// the processor.
const SIZE: u64 = 128 << 20;

/// The pause after a compaction that failed. It doubles after each further failure, up to [`AGE`].
const RETRY: Duration = Duration::from_secs(2);

/// Compactions of a busy log take at most one part in this many of the time. Otherwise copying a
/// large recording could become the main work.
const SHARE: u32 = 20;

/// What is known about the entries that were not compacted.
#[derive(Debug, Default)]
pub(super) struct CompactionSchedule {
    /// When the oldest of them was appended; `None` if there are none.
    since: Option<Instant>,
    /// When the last append was.
    last: Option<Instant>,
    /// When the present compaction began. `took` is how long the last one took.
    begun: Option<Instant>,
    took: Duration,
    /// Whether there are failed calls among them, which a retry may follow.
    expects_retry: bool,
    /// No compaction is tried before this time; and the length of that pause.
    retry: Option<(Instant, Duration)>,
}

impl CompactionSchedule {
    /// Notes an append. After a failed call that may be retried (`expects_retry`), idle time alone
    /// does not cause a compaction: a compaction leaves out the failures of a run whose retry has
    /// not succeeded yet.
    pub(super) fn note_append(&mut self, now: Instant, expects_retry: bool) {
        self.since.get_or_insert(now);
        self.last = Some(now);
        self.expects_retry |= expects_retry;
    }

    /// Notes that a compaction begins. Entries that are appended from now on are for the next one.
    pub(super) fn note_begin(&mut self, now: Instant) {
        self.since = None;
        self.expects_retry = false;
        self.begun = Some(now);
    }

    /// Notes that a compaction is done. `left` says that there is more to compact.
    pub(super) fn note_completion(&mut self, now: Instant, left: bool) {
        self.retry = None;
        self.took = self.begun.take().map_or(Duration::ZERO, |begun| now - begun);
        if left && self.since.is_none() {
            // These entries are from other recorders, which may append more.
            (self.since, self.last) = (Some(now), Some(now));
        }
    }

    /// Notes that another process is compacting. There is nothing to do until it is done.
    pub(super) fn note_busy(&mut self, now: Instant) {
        self.begun = None;
        self.retry = Some((now + RETRY, RETRY / 2));
        self.since.get_or_insert(now);
    }

    /// Notes that a compaction failed. Its entries are still in the log.
    pub(super) fn note_failure(&mut self, now: Instant) {
        let pause = self.retry.map_or(RETRY, |(_, pause)| (pause * 2).min(AGE));
        self.retry = Some((now + pause, pause));
        self.since.get_or_insert(now);
    }

    /// Returns when the next compaction is due, for a log and a file of these lengths; `None` if
    /// there is nothing to compact.
    pub(super) fn next_due(&self, log: u64, file: u64) -> Option<Instant> {
        let since = self.since?;
        let last = self.last.unwrap_or(since);
        let idle = if self.expects_retry { AGE } else { IDLE };
        let by_time = (last + idle).min(since + AGE.max(self.took * SHARE));
        let due = if log > SIZE.max(file) { since } else { by_time };
        Some(self.retry.map_or(due, |(earliest, _)| due.max(earliest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fold_is_due_when_idle_old_or_large() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut schedule = CompactionSchedule::default();
        assert_eq!(schedule.next_due(SIZE + 1, 0), None);
        schedule.note_append(at(0), false);
        assert_eq!(schedule.next_due(1, 0), Some(at(2000)));
        for second in 1..60 {
            schedule.note_append(at(second * 1000), false);
        }
        assert_eq!(schedule.next_due(1, 0), Some(at(30_000)));
        assert_eq!(schedule.next_due(SIZE + 1, SIZE), Some(at(0)));
        assert_eq!(schedule.next_due(SIZE + 1, SIZE + 1), Some(at(30_000)));
    }

    #[test]
    fn fold_waits_longer_where_a_failed_call_may_be_made_again() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::default();
        schedule.note_append(start, true);
        assert_eq!(schedule.next_due(1, 0), Some(start + AGE));
        schedule.note_begin(start + AGE);
        schedule.note_completion(start + AGE, false);
        schedule.note_append(start + AGE, false);
        assert_eq!(schedule.next_due(1, 0), Some(start + AGE + IDLE));
    }

    #[test]
    fn fold_takes_what_was_there_when_it_began() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::default();
        schedule.note_append(start, false);
        schedule.note_begin(start);
        assert_eq!(schedule.next_due(1, 0), None);
        schedule.note_append(start + IDLE, false);
        schedule.note_completion(start, false);
        assert_eq!(schedule.next_due(1, 0), Some(start + IDLE + IDLE));
        schedule.note_begin(start + AGE);
        schedule.note_completion(start + AGE, true);
        assert_eq!(schedule.next_due(1, 0), Some(start + AGE + IDLE));
    }

    #[test]
    fn fold_waits_while_another_one_folds() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::default();
        schedule.note_append(start, false);
        let mut now = start + AGE;
        for _ in 0..3 {
            schedule.note_begin(now);
            schedule.note_append(now, false);
            schedule.note_busy(now);
            let due = schedule.next_due(SIZE + 1, 0).unwrap();
            assert_eq!(due, now + RETRY);
            now = due;
        }
    }

    #[test]
    fn fold_that_takes_long_is_done_less_often_while_busy() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::default();
        schedule.note_append(start, false);
        schedule.note_begin(start);
        schedule.note_completion(start + Duration::from_secs(5), false);
        for second in 5..200 {
            schedule.note_append(start + Duration::from_secs(second), false);
        }
        assert_eq!(schedule.next_due(1, 0), Some(start + Duration::from_secs(5 + 100)));
    }

    #[test]
    fn fold_that_failed_is_tried_again_less_and_less_often() {
        let start = Instant::now();
        let mut schedule = CompactionSchedule::default();
        schedule.note_append(start, false);
        let mut now = start + IDLE;
        let mut pauses = Vec::new();
        for _ in 0..6 {
            schedule.note_begin(now);
            schedule.note_failure(now);
            let due = schedule.next_due(SIZE + 1, 0).unwrap();
            pauses.push((due - now).as_secs());
            now = due;
        }
        assert_eq!(pauses, [2, 4, 8, 16, 30, 30]);
        schedule.note_begin(now);
        schedule.note_completion(now, false);
        schedule.note_append(now, false);
        assert_eq!(schedule.next_due(1, 0), Some(now + IDLE));
    }
}
