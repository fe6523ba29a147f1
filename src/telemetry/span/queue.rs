//! The queue between calls and the collector: bounded, and emptied by a thread, which makes the
//! spans, gathers them and sends them.
//!
//! One batch is sent at a time, and other calls wait meanwhile. Calls that do not fit, and spans
//! that the collector did not accept in time, are counted and dropped.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{
    SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::config::{OnSpanError, SpanConfig, SpanError};
use super::count::SpanCounts;
use super::{attribute, exporter};
use crate::call_record::CallRecord;

/// About how many bytes the waiting calls may take in memory.
const BYTES: usize = 16 << 20;
/// How long calls are gathered before spans are made of them, so that fewer calls have to wake the
/// thread.
const GATHER: Duration = Duration::from_millis(5);
/// How much longer than the configured time the end waits for the thread.
const SLACK: Duration = Duration::from_millis(500);

/// A call whose span is to be made, and the bytes that it takes.
type QueuedCall = (Arc<CallRecord>, usize);

/// The queue of calls.
#[derive(Debug)]
pub(super) struct SpanQueue {
    calls: mpsc::Sender<QueuedCall>,
    /// The bytes of the waiting calls.
    waiting: Arc<AtomicUsize>,
    /// How many accepted calls are neither sent nor lost nor left out yet.
    open: Arc<AtomicU64>,
    counts: Arc<SpanCounts>,
    /// When sending has to be over. `None` until the run ends.
    stop: watch::Sender<Option<Instant>>,
    patience: Duration,
    done: Mutex<Option<oneshot::Receiver<()>>>,
}

impl SpanQueue {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`SpanError::Setup`] if the exporter cannot be built.
    pub(super) fn start(
        config: SpanConfig,
        counts: Arc<SpanCounts>,
        on_error: OnSpanError,
    ) -> Result<Self, SpanError> {
        let (calls, receiver) = mpsc::channel(config.queue.max(1));
        let (waiting, open) = (Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
        let (stop, stopped) = watch::channel(None);
        let (finish, done) = oneshot::channel();
        let (ready, built) = std::sync::mpsc::sync_channel(1);
        let patience = config.patience;
        let books = SpanCounters {
            waiting: Arc::clone(&waiting),
            open: Arc::clone(&open),
            counts: Arc::clone(&counts),
        };
        let setup = |error: std::io::Error| SpanError::Setup { detail: error.to_string() };
        let runtime = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(setup(error)))),
            };
            runtime.block_on(async {
                match SpanThread::new(config, books, stopped, on_error) {
                    Ok(work) => {
                        drop(ready.send(Ok(())));
                        work.run(receiver).await;
                    }
                    Err(error) => drop(ready.send(Err(error))),
                }
            });
            // The receiver may have gone already.
            let _ = finish.send(());
            // Does not wait for a name that is still being resolved.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("loomrec-spans".to_owned());
        drop(thread.spawn(runtime).map_err(setup)?);
        let gone = SpanError::Setup { detail: "its thread has ended".to_owned() };
        built.recv().unwrap_or(Err(gone))?;
        let done = Mutex::new(Some(done));
        Ok(Self { calls, waiting, open, counts, stop, patience, done })
    }

    /// Has a span made of a call, unless too many calls are waiting already.
    pub(super) fn add(&self, seen: &Arc<CallRecord>) {
        let weight = seen.weight();
        let waiting = self.waiting.fetch_add(weight, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        let fits = waiting + weight <= BYTES;
        if !fits || self.calls.try_send((Arc::clone(seen), weight)).is_err() {
            self.waiting.fetch_sub(weight, Ordering::Relaxed);
            self.open.fetch_sub(1, Ordering::Relaxed);
            self.counts.add_lost(1);
        }
    }

    /// Has the waiting spans sent, and ends the thread.
    pub(super) async fn close(&self) {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(done) = done else { return };
        self.stop.send_replace(Some(Instant::now() + self.patience));
        // A dropped sender also means that the thread has ended.
        drop(tokio::time::timeout(self.patience + SLACK, done).await);
        let open = self.open.swap(0, Ordering::Relaxed);
        if open > 0 {
            self.counts.add_lost(open);
            self.counts.note_reason("the run ended before they were sent");
        }
    }
}

/// The counters that the thread updates.
struct SpanCounters {
    waiting: Arc<AtomicUsize>,
    open: Arc<AtomicU64>,
    counts: Arc<SpanCounts>,
}

/// Collects the sampled spans that the SDK makes.
#[derive(Clone, Debug, Default)]
struct MadeSpans(Arc<Mutex<Vec<SpanData>>>);

impl MadeSpans {
    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn take_spans(&self) -> Vec<SpanData> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SpanProcessor for MadeSpans {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// The state of the thread.
struct SpanThread {
    config: SpanConfig,
    books: SpanCounters,
    stop: watch::Receiver<Option<Instant>>,
    on_error: OnSpanError,
    exporter: SpanExporter,
    tracer: SdkTracer,
    /// Kept because dropping it would shut the tracer down.
    _provider: SdkTracerProvider,
    made: MadeSpans,
    /// When the first of the gathered spans has to be sent.
    due: Option<Instant>,
}

impl SpanThread {
    fn new(
        config: SpanConfig,
        books: SpanCounters,
        stop: watch::Receiver<Option<Instant>>,
        on_error: OnSpanError,
    ) -> Result<Self, SpanError> {
        let resource = exporter::span_resource();
        let exporter = exporter::build_exporter(&config, &resource)?;
        let made = MadeSpans::default();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_span_processor(made.clone())
            .build();
        let scope = InstrumentationScope::builder("loomrec");
        let scope = scope.with_version(env!("CARGO_PKG_VERSION")).build();
        let tracer = provider.tracer_with_scope(scope);
        Ok(Self {
            config,
            books,
            stop,
            on_error,
            exporter,
            tracer,
            _provider: provider,
            made,
            due: None,
        })
    }

    /// Makes and sends spans, until the queue is closed.
    async fn run(mut self, mut calls: mpsc::Receiver<QueuedCall>) {
        let mut stop = self.stop.clone();
        loop {
            let due = self.due;
            tokio::select! {
                biased;
                _ = wait_for_stop(&mut stop) => break,
                () = wait_until_due(due) => {}
                call = calls.recv() => {
                    let Some(call) = call else { break };
                    self.make_span(call);
                    tokio::time::sleep(GATHER).await;
                }
            }
            self.take_all(&mut calls).await;
            let is_due = self.due.is_some_and(|due| due <= Instant::now());
            if is_due || self.made.len() >= self.config.batch {
                self.send_spans().await;
            }
        }
        self.take_all(&mut calls).await;
        self.send_spans().await;
    }

    /// Makes spans of all waiting calls, and sends them when a batch is full.
    async fn take_all(&mut self, calls: &mut mpsc::Receiver<QueuedCall>) {
        // No more than can wait: calls that arrive meanwhile are taken later.
        for _ in 0..self.config.queue {
            let Ok(call) = calls.try_recv() else { return };
            self.make_span(call);
            if self.made.len() >= self.config.batch {
                self.send_spans().await;
            }
        }
    }

    /// Makes the span of a call.
    fn make_span(&mut self, (seen, weight): QueuedCall) {
        self.books.waiting.fetch_sub(weight, Ordering::Relaxed);
        let before = self.made.len();
        attribute::make_span(&self.tracer, &seen, &self.config.about);
        if self.made.len() == before {
            // Not sampled.
            self.books.open.fetch_sub(1, Ordering::Relaxed);
        } else if self.due.is_none() {
            self.due = Some(Instant::now() + self.config.delay);
        }
    }

    /// Sends the gathered spans.
    async fn send_spans(&mut self) {
        self.due = None;
        let spans = self.made.take_spans();
        let number = spans.len() as u64;
        if number == 0 {
            return;
        }
        let limit = self.config.limit;
        let mut stop = self.stop.clone();
        let sent = tokio::select! {
            biased;
            sent = tokio::time::timeout(limit, self.exporter.export(spans)) => match sent {
                Ok(sent) => sent.map_err(failure_reason),
                Err(_) => Err(format!("it took longer than {} ms", limit.as_millis())),
            },
            () = last_moment(&mut stop) => {
                Err("the run ended before the collector had taken them".to_owned())
            }
        };
        match sent {
            Ok(()) => self.books.counts.add_sent(number),
            Err(why) => {
                self.books.counts.add_lost(number);
                let first = self.books.counts.note_reason(&why);
                // At the end of the run, this is reported together with the number of lost spans.
                if first && stop.borrow().is_none() {
                    (self.on_error)(&why);
                }
            }
        }
        self.books.open.fetch_sub(number, Ordering::Relaxed);
    }
}

/// Returns why an exporter failed.
fn failure_reason(error: OTelSdkError) -> String {
    match error {
        OTelSdkError::InternalFailure(why) => why,
        other => other.to_string(),
    }
}

/// Returns at that moment, or never if there is none.
async fn wait_until_due(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Returns once the run ends, with the time at which sending has to be over. If the sender was
/// dropped, that is now.
async fn wait_for_stop(stop: &mut watch::Receiver<Option<Instant>>) -> Instant {
    let last = stop.wait_for(Option::is_some).await.ok().and_then(|last| *last);
    last.unwrap_or_else(Instant::now)
}

/// Returns when sending has to be over.
async fn last_moment(stop: &mut watch::Receiver<Option<Instant>>) {
    let last = wait_for_stop(stop).await;
    tokio::time::sleep_until(last).await;
}
