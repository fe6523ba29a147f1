//! The server: accepts connections, places each request, has an engine answer it.
//!
//! [`run`] owns nothing but its connections: the caller gives the bound listener
//! and the signal to stop, so tests bind port 0 and commands decide when to end.

mod accept;
pub mod access;
mod account;
mod asked;
mod authority;
mod caller;
pub mod clock;
pub mod control;
mod cors;
mod credential;
mod door;
mod excess;
pub mod fault;
pub mod handler;
mod head;
pub mod inspector;
pub mod journal;
mod known;
pub mod limit;
mod live;
pub mod log;
mod memo;
pub mod metric;
pub mod observe;
mod patience;
mod request_body;
pub mod respond;
pub mod route;
mod script;
pub mod seen;
mod side_poll;
pub mod socket;
pub mod span;
mod stream;
pub mod tally;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use http::HeaderName;

use crate::record::Recorder;
use crate::recording::redact::Redactor;
use crate::replay::{Missed, RecordingMismatchError, Replayer};
use crate::upstream::Client;
pub use accept::run;
use access::AccessPolicy;
use fault::Faults;
use inspector::Inspector;
use journal::Journal;
use limit::ConnectionLimit;
use metric::Metrics;
use observe::Observer;
use route::Routes;
use seen::Seen;
use span::Spans;
use tally::Tally;

/// What a call without a recorded answer gets.
#[derive(Clone, Debug)]
pub enum OnMiss {
    /// A mismatch error.
    Error,
    /// The placeholder answer.
    Default,
    /// The live upstream's answer, not recorded.
    Forward(Client),
}

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// What may call, and by which names.
    pub access: AccessPolicy,
    /// How long a client may keep a request's head or body waiting, and its connection idle.
    pub client_timeout: Duration,
    /// Request bodies above this many bytes are refused.
    pub max_body: usize,
    /// Pass the client's own `accept-encoding` on, instead of `identity`.
    pub keep_encoding: bool,
    /// Lets callers that are not on this machine use the control paths.
    pub control_token: Option<String>,
    /// The header that names a call's step where [`observe::STEP_HEADER`] does not.
    pub step_header: Option<HeaderName>,
}

/// Something the person at the terminal should hear of at once.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A call without a recorded answer.
    Missed(&'a RecordingMismatchError),
    /// An upstream gave no answer, or a request could not be placed or was too large.
    Refused(&'a str),
    /// An exchange could not be kept; said once for each reason.
    Unkept(&'a str),
    /// Something that is well again, or was put right, and is worth knowing.
    Warning(&'a str),
    /// A call is over.
    Call(&'a Seen),
    /// An exchange was kept, but not whole: it will not be replayed.
    Incomplete(&'a str),
}

/// Told of every [`Notice`].
pub type OnNotice = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

/// Everything a request needs.
pub struct Gateway {
    /// Behaviour.
    pub config: Config,
    /// How many connections there may be.
    pub connections: ConnectionLimit,
    /// Where requests go.
    pub routes: Routes,
    /// What must never be stored or shown.
    pub redactor: Arc<Redactor>,
    /// What is made of a request before an engine has it.
    pub observer: Observer,
    /// The recording engine, where this run records.
    pub recorder: Option<Arc<Recorder>>,
    /// The replaying engine, where this run replays.
    pub replayer: Option<Replayer>,
    /// What a miss gets, where this run does not record it.
    pub on_miss: OnMiss,
    /// Where requests without a recorded answer are kept, where they are.
    pub missed: Option<Arc<Missed>>,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// The counts.
    pub tally: Arc<Tally>,
    /// The same and more, for scrapers.
    pub metrics: Arc<Metrics>,
    /// A line for each call.
    pub journal: Journal,
    /// A span for each call, where they are made.
    pub spans: Spans,
    /// What is kept for those who look at the run in a browser.
    pub inspector: Inspector,
    /// Told at once of what went wrong.
    pub notify: OnNotice,
    /// The last arrival time given out, in microseconds since 1970.
    pub clock: AtomicI64,
}

impl Gateway {
    /// What the run does, in a word.
    pub fn mode(&self) -> &'static str {
        match (&self.recorder, &self.replayer) {
            (Some(_), Some(_)) => "new_episodes",
            (Some(_), None) => "record",
            (None, _) => "replay",
        }
    }

    /// A call is over: everybody who counts or writes down calls learns of it here, once.
    /// What is left in its place is of no use.
    pub(crate) fn over(&self, seen: &mut Seen) {
        log::call(seen);
        self.metrics.over(seen);
        (self.notify)(Notice::Call(seen));
        let seen = self.journal.add(seen);
        self.spans.add(&seen);
    }
}
