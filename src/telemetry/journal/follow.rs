//! Reading of the journal as it grows: `GET /__loomrec/journal?since=…&follow=1`.
//!
//! Lines are taken from those kept in memory when the client reads: a follower holds nothing but
//! its position. A follower that falls behind the kept lines is told how many lines it missed. One
//! that stops reading is disconnected.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Sleep, sleep};

use super::line::write_skipped;
use super::{Journal, KEPT};
use loomrec_recording::entry::RecordedCut;

/// How often a follower checks for lines.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// About how many bytes of lines are sent at once.
const PIECE: usize = 64 << 10;
/// How long a follower may go without reading.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may do so once the run is over.
const FINAL_PATIENCE: Duration = Duration::from_millis(500);
/// At most this many may follow at once.
const MOST: usize = 64;

/// Which lines of the journal a client wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalQuery {
    /// Only lines with higher numbers than this.
    pub after: u64,
    /// Only lines of this time or later, in microseconds since 1970.
    pub from: Option<i64>,
    /// Also the lines to come.
    pub follow: bool,
}

impl JournalQuery {
    /// Reads a query. Returns `None` if it asks neither for a position nor to follow.
    ///
    /// # Errors
    /// Names the invalid parameter, and says what is valid.
    pub fn from_query(query: &str) -> Result<Option<Self>, String> {
        let (mut wanted, mut asked) = (Self::default(), false);
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match (&*name, &*value) {
                ("follow", "1" | "true") => (wanted.follow, asked) = (true, true),
                ("follow", "" | "0" | "false") => asked = true,
                ("follow", _) => return Err("follow is 1 or 0".to_owned()),
                ("since", value) => {
                    asked = true;
                    if let Ok(number) = value.parse() {
                        wanted.after = number;
                    } else if let Ok(time) = OffsetDateTime::parse(value, &Rfc3339) {
                        let micros = time.unix_timestamp_nanos() / 1000;
                        wanted.from = Some(i64::try_from(micros).unwrap_or(i64::MAX));
                    } else {
                        return Err("since is a line's number (its seq), or a time such as \
                                    2026-01-31T12:00:00Z"
                            .to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(asked.then_some(wanted))
    }
}

/// A body that sends the journal as JSON lines.
pub struct JournalFollower {
    journal: Arc<Journal>,
    wanted: JournalQuery,
    check: Pin<Box<Sleep>>,
    pulse: Arc<FollowerPulse>,
    /// Counts as one follower while it is held.
    _place: Arc<()>,
}

/// When a follower was last polled, in milliseconds since it began.
struct FollowerPulse {
    began: Instant,
    last: AtomicU64,
}

impl FollowerPulse {
    fn beat(&self) {
        self.last.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn silent_for(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(last)
    }
}

impl JournalFollower {
    /// Creates a follower, or returns `None` if there are too many. `abandon` ends its connection
    /// if it stops reading.
    pub fn new(
        journal: &Arc<Journal>,
        wanted: JournalQuery,
        abandon: impl Fn() + Send + 'static,
    ) -> Option<Self> {
        let place = Arc::clone(&journal.followers);
        if journal.follower_count() > MOST {
            return None;
        }
        let pulse = Arc::new(FollowerPulse { began: Instant::now(), last: AtomicU64::new(0) });
        tokio::spawn(watch_follower(Arc::downgrade(&pulse), abandon, Arc::clone(journal)));
        let check = Box::pin(sleep(CHECK_INTERVAL));
        Some(Self { journal: Arc::clone(journal), wanted, check, pulse, _place: place })
    }
}

/// Ends the connection of a follower that stops reading.
async fn watch_follower(
    pulse: Weak<FollowerPulse>,
    abandon: impl Fn() + Send,
    journal: Arc<Journal>,
) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL * 4).await;
        let Some(pulse) = pulse.upgrade() else { return };
        let ended = journal.ended.load(Ordering::Acquire);
        let patience = if ended { FINAL_PATIENCE } else { PATIENCE };
        if pulse.silent_for() > patience {
            abandon();
            return;
        }
    }
}

impl Body for JournalFollower {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let this = &mut *self;
        loop {
            this.pulse.beat();
            let ended = this.journal.ended.load(Ordering::Acquire);
            let lines = this.journal.next_lines(&mut this.wanted);
            if !lines.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(lines.into()))));
            }
            if ended || !this.wanted.follow {
                return Poll::Ready(None);
            }
            ready!(this.check.as_mut().poll(cx));
            this.check.set(sleep(CHECK_INTERVAL));
        }
    }
}

impl Journal {
    /// Returns the next lines of a query, about [`PIECE`] bytes at most, and advances `wanted`.
    fn next_lines(&self, wanted: &mut JournalQuery) -> Vec<u8> {
        let mut out = Vec::new();
        let last = self.last.load(Ordering::Acquire);
        // A number beyond the last line is waited for.
        let mut missed = 0;
        while wanted.after < last && out.len() < PIECE {
            let number = wanted.after + 1;
            if number + (KEPT as u64) <= last {
                let gone = last - KEPT as u64 + 1 - number;
                (missed, wanted.after) = (missed + gone, wanted.after + gone);
                continue;
            }
            let line = self.slot_for_line(number).lock().clone();
            match line {
                Some(line) if line.number == number => {
                    if wanted.from.is_none_or(|from| line.item.recorded_at() >= from) {
                        write_skipped(&mut out, std::mem::take(&mut missed), number - 1);
                        line.write(&mut out);
                    }
                }
                Some(line) if line.number > number => missed += 1,
                // It was removed, or is only being added.
                _ if number < self.oldest.load(Ordering::Acquire) => missed += 1,
                _ => break,
            }
            wanted.after = number;
        }
        write_skipped(&mut out, missed, wanted.after);
        out
    }
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
