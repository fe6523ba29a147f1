//! Open exchanges, and what each of them needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::cost_limit::CostLimit;
use super::overlap::{OverlapCounter, OverlapWatch};
use super::writer::RecordWriter;
use loomrec_identity::{IdentityRules, RunValueFinder};
use loomrec_recording::cost::PriceTable;
use loomrec_recording::redact::Redactor;

/// How a recorder behaves.
#[derive(Clone, Debug)]
pub struct RecordConfig {
    /// A copy larger than this many bytes is dropped and marked `truncated`.
    pub max_copy: usize,
    /// How long loomrec waits for a response, or the rest of one, after its client has left.
    pub drain: Duration,
    /// Whether the audio that clients send over WebSockets is kept.
    pub keep_audio: bool,
    /// The rules that keys are made under.
    pub rules: IdentityRules,
    /// The prices of models.
    pub prices: PriceTable,
    /// What the run may spend.
    pub cost_limit: Option<Arc<CostLimit>>,
    /// The values of this run, such as the working directory.
    pub run_values: Arc<RunValueFinder>,
    /// The place of this recorder in its run: [`store::Recorder::place`].
    ///
    /// [`store::Recorder::place`]: loomrec_store::RecordingAppender::place_in_run
    pub place: usize,
}

/// The state that all exchanges share.
pub(crate) struct RecordContext {
    /// Whether an exchange was stored that holds a value of the run.
    pub(super) has_run_values: AtomicBool,
    /// The number of open exchanges.
    pub(super) busy: AtomicUsize,
    /// Which exchanges were open at the same time.
    pub(super) overlap: OverlapCounter,
    /// Notified when no exchange is open any more.
    pub(super) idle: Notify,
    pub(crate) config: RecordConfig,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) writer: RecordWriter,
}

/// One open exchange. [`RecordEngine::finish_exchanges`](super::RecordEngine::finish_exchanges) waits
/// for it.
pub(crate) struct ActiveExchange {
    pub(crate) shared: Arc<RecordContext>,
    watch: OverlapWatch,
}

impl ActiveExchange {
    pub(super) fn new(shared: &Arc<RecordContext>) -> Self {
        shared.busy.fetch_add(1, Ordering::AcqRel);
        Self { shared: Arc::clone(shared), watch: shared.overlap.begin_exchange() }
    }

    /// Notes that the answer ends. Returns whether another exchange was open at the same time.
    pub(super) fn end_answer(&self) -> bool {
        self.shared.overlap.end_answer(&self.watch)
    }
}

impl Drop for ActiveExchange {
    fn drop(&mut self) {
        self.end_answer();
        if self.shared.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.idle.notify_waiters();
        }
    }
}
