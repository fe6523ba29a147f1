//! Reading the journal as it grows: `GET /__loomrec/journal?since=…&follow=1`.
//!
//! Lines are taken out of those kept in memory when the client takes them: nothing is held
//! for a follower but its place. One that falls behind what is kept is told how many lines
//! it missed, and one that stops reading is let go.

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

use super::line::skipped;
use super::{Journal, KEPT};
use loomrec_recording::entry::RecordedCut;

/// How often a follower looks for lines.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes that are handed over at once, about.
const PIECE: usize = 64 << 10;
/// How long a follower may take nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may do so once the run is over.
const AT_THE_END: Duration = Duration::from_millis(500);
/// How many may follow at once.
const MOST: usize = 64;

/// What somebody wants of the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalQuery {
    /// Lines of later numbers only.
    pub after: u64,
    /// Lines of this time or later only, in microseconds since 1970.
    pub from: Option<i64>,
    /// And those to come.
    pub follow: bool,
}

impl JournalQuery {
    /// Reads a query; `None` where it asks for neither a place nor to follow.
    ///
    /// # Errors
    /// What cannot be understood, and how it is said.
    pub fn of(query: &str) -> Result<Option<Self>, String> {
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

/// The journal as a body of JSON lines.
pub struct JournalFollower {
    journal: Arc<Journal>,
    wanted: JournalQuery,
    look: Pin<Box<Sleep>>,
    pulse: Arc<Pulse>,
    /// Counted for as long as it is held.
    _place: Arc<()>,
}

/// When a follower last had its body asked for more, in milliseconds since it began.
struct Pulse {
    began: Instant,
    last: AtomicU64,
}

impl Pulse {
    fn beat(&self) {
        self.last.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn silent_for(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(last)
    }
}

impl JournalFollower {
    /// A follower; `None` where there are too many. `abandon` ends the connection of one that
    /// takes nothing.
    pub fn new(
        journal: &Arc<Journal>,
        wanted: JournalQuery,
        abandon: impl Fn() + Send + 'static,
    ) -> Option<Self> {
        let place = Arc::clone(&journal.followers);
        if journal.followers() > MOST {
            return None;
        }
        let pulse = Arc::new(Pulse { began: Instant::now(), last: AtomicU64::new(0) });
        tokio::spawn(attend(Arc::downgrade(&pulse), abandon, Arc::clone(journal)));
        let look = Box::pin(sleep(LOOK));
        Some(Self { journal: Arc::clone(journal), wanted, look, pulse, _place: place })
    }
}

/// Ends the connection of a follower that takes nothing.
async fn attend(pulse: Weak<Pulse>, abandon: impl Fn() + Send, journal: Arc<Journal>) {
    loop {
        tokio::time::sleep(LOOK * 4).await;
        let Some(pulse) = pulse.upgrade() else { return };
        let ended = journal.ended.load(Ordering::Acquire);
        let patience = if ended { AT_THE_END } else { PATIENCE };
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
            let lines = this.journal.lines(&mut this.wanted);
            if !lines.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(lines.into()))));
            }
            if ended || !this.wanted.follow {
                return Poll::Ready(None);
            }
            ready!(this.look.as_mut().poll(cx));
            this.look.set(sleep(LOOK));
        }
    }
}

impl Journal {
    /// The next lines that are wanted, no more than go out at once; `wanted` moves on.
    fn lines(&self, wanted: &mut JournalQuery) -> Vec<u8> {
        let mut out = Vec::new();
        let last = self.last.load(Ordering::Acquire);
        // A number that no line has yet is waited for.
        let mut missed = 0;
        while wanted.after < last && out.len() < PIECE {
            let number = wanted.after + 1;
            if number + (KEPT as u64) <= last {
                let gone = last - KEPT as u64 + 1 - number;
                (missed, wanted.after) = (missed + gone, wanted.after + gone);
                continue;
            }
            let line = self.place(number).lock().clone();
            match line {
                Some(line) if line.number == number => {
                    if wanted.from.is_none_or(|from| line.item.at() >= from) {
                        skipped(&mut out, std::mem::take(&mut missed), number - 1);
                        line.write(&mut out);
                    }
                }
                Some(line) if line.number > number => missed += 1,
                // It was let go, or is only being put there.
                _ if number < self.oldest.load(Ordering::Acquire) => missed += 1,
                _ => break,
            }
            wanted.after = number;
        }
        skipped(&mut out, missed, wanted.after);
        out
    }
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
