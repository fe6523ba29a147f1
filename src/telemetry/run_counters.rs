//! Counters of a run: the numbers in the receipt.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::bound_counts::BoundCounts;
use super::call_record::{CallRecord, SendEnd};
pub use super::counter_detail::{CounterDetail, EarlierTakes, UpstreamFailure};
use loomrec_engine::record::{CallFailure, RecordOutcome};
use loomrec_engine::replay::{MatchedBy, MissReason, RecordingMismatchError};
use loomrec_engine::{AnswerOrigin, CallOutcome, clip_text};
use loomrec_recording::ResponseEnd;

/// How many mismatches are kept in full.
const MAX_MISMATCHES: usize = 1000;
/// How many models without a price are counted separately: their names come from upstreams.
const MAX_UNPRICED: usize = 100;
/// How many different failures of upstreams are counted separately.
const MAX_FAILURES: usize = 100;
/// How many misses that are answered all the same are shown one by one.
const SHOWN_MISSES: u64 = 20;
/// How many methods whose answers a protocol prescribes are counted separately.
const MAX_PRESCRIBED: usize = 100;
/// How many addresses that lead around loomrec are counted separately.
const MAX_ADDRESSES: usize = 100;
/// The name under which all others are counted.
const ALL_OTHERS: &str = "other";

/// The counts of one run.
#[derive(Debug, Default)]
pub struct RunCounters {
    /// Calls answered from a recording.
    pub served: AtomicU64,
    /// Of these, calls of which only the messages were compared.
    pub by_messages: AtomicU64,
    /// Of these, calls that had this run's values where the recorded ones had others.
    pub bound: BoundCounts,
    /// Calls answered with the placeholder.
    pub defaulted: AtomicU64,
    /// Calls answered by a script, including errors that it declares.
    pub scripted: AtomicU64,
    /// Calls that a script had no answer for.
    pub unscripted: AtomicU64,
    /// Scripted streams that were sent to their end, be it a cut that the script asks for.
    pub streams_drained: AtomicU64,
    /// Scripted streams whose client left before their end.
    pub streams_left: AtomicU64,
    /// Calls that got a fault in place of any answer.
    pub faulted: AtomicU64,
    /// Calls passed on to a live upstream and not kept.
    pub forwarded: AtomicU64,
    /// Exchanges kept.
    pub recorded: AtomicU64,
    /// Of these, exchanges that were not kept whole and will not be replayed.
    pub incomplete: AtomicU64,
    /// Of the kept ones, exchanges whose client left before it got anything of the answer.
    pub given_up: AtomicU64,
    /// Exchanges that could not be kept.
    pub unkept: AtomicU64,
    /// Calls that no upstream answered.
    pub unreachable: AtomicU64,
    /// Calls that were read and never answered. They fail the run.
    pub unanswered: AtomicU64,
    /// Calls that were read and are not over.
    pub open: AtomicU64,
    /// Calls refused before they reached an engine (too large, no upstream named).
    pub refused: AtomicU64,
    /// Requests for a WebSocket, all of them refused. They are not among `refused`.
    pub refused_upgrades: AtomicU64,
    /// Misses that a placeholder or an upstream answered, when they were noticed.
    lenient_misses: AtomicU64,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
    /// The bits of a floating-point sum of US dollars.
    cost_usd: AtomicU64,
    /// The same of the answers that were replayed.
    saved_usd: AtomicU64,
    /// Calls whose cost is unknown.
    unknown_costs: AtomicU64,
    /// Details behind a lock, which answered calls do not need. Its sums are filled in when it is
    /// read.
    more: Mutex<CounterDetail>,
}

impl RunCounters {
    /// Adds one to a counter.
    pub fn add_one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a counter's value.
    pub fn counter_value(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// Returns a copy of the details.
    pub fn to_detail(&self) -> CounterDetail {
        CounterDetail {
            input_tokens: Self::counter_value(&self.input_tokens),
            output_tokens: Self::counter_value(&self.output_tokens),
            cost_usd: f64::from_bits(Self::counter_value(&self.cost_usd)),
            unknown_costs: Self::counter_value(&self.unknown_costs),
            ..self.with_detail(|more| more.clone())
        }
    }

    /// Returns the mismatches by reason.
    pub fn missed_by_reason(&self) -> BTreeMap<&'static str, u64> {
        self.with_detail(|more| more.missed.clone())
    }

    /// Returns the cost so far, in US dollars.
    pub fn cost_usd(&self) -> f64 {
        f64::from_bits(Self::counter_value(&self.cost_usd))
    }

    /// Returns how much of it replayed answers have saved.
    pub fn saved_usd(&self) -> f64 {
        f64::from_bits(Self::counter_value(&self.saved_usd))
    }

    /// Returns the number of mismatches so far.
    pub fn missed_calls(&self) -> u64 {
        self.with_detail(|more| more.missed.values().sum())
    }

    /// Counts calls that are still open at the end as never answered.
    pub fn leave_unanswered(&self, calls: u64) {
        self.unanswered.fetch_add(calls, Ordering::Relaxed);
    }

    /// Adds a call that is over.
    pub fn record_call(&self, call: &CallRecord) {
        match &call.outcome {
            CallOutcome::Forwarded => Self::add_one(&self.forwarded),
            CallOutcome::Unreachable { .. } => Self::add_one(&self.unreachable),
            CallOutcome::Unscripted { .. } => Self::add_one(&self.unscripted),
            CallOutcome::Placeholder => Self::add_one(&self.defaulted),
            CallOutcome::Faulted => Self::add_one(&self.faulted),
            CallOutcome::Missed(error) => self.add_mismatch(error),
            CallOutcome::Refused { .. } => Self::add_one(&self.refused),
            CallOutcome::Unanswered => Self::add_one(&self.unanswered),
            CallOutcome::Left
            | CallOutcome::Served { .. }
            | CallOutcome::Recorded
            | CallOutcome::Scripted { .. }
            // Counted when it was refused.
            | CallOutcome::UpgradeRefused => {}
            CallOutcome::Prescribed { what } => self.add_prescribed(what),
        }
        call.hidden_miss.iter().for_each(|error| self.add_mismatch(error));
        // A take or a call of the script is used up, however much of the answer the client got.
        match &call.origin {
            Some(AnswerOrigin::Take(take)) => {
                Self::add_one(&self.served);
                if let Some(bound) = &take.bound {
                    self.bound.add_call(bound);
                }
                if take.matched_by == MatchedBy::MessagesHash {
                    Self::add_one(&self.by_messages);
                }
                let status = call.status.map_or(200, |status| status.as_u16());
                if let Some(failure) = CallFailure::new(take.outcome, status, ResponseEnd::Complete)
                {
                    self.with_detail(|more| *more.failed_takes.entry(failure).or_default() += 1);
                }
                let tokens = call.tokens.unwrap_or_default();
                self.add_tokens(tokens.input, tokens.output, call.cost_usd);
                add_dollars(&self.saved_usd, call.cost_usd.unwrap_or_default());
            }
            Some(AnswerOrigin::Script { streamed }) => {
                Self::add_one(&self.scripted);
                match (streamed, call.end) {
                    (true, SendEnd::Complete | SendEnd::Aborted) => {
                        Self::add_one(&self.streams_drained)
                    }
                    (true, _) => Self::add_one(&self.streams_left),
                    (false, _) => {}
                }
            }
            Some(AnswerOrigin::Placeholder) | None => {}
        }
    }

    fn add_prescribed(&self, what: &str) {
        self.with_detail(|more| {
            let is_known = more.prescribed.contains_key(what);
            let is_counted = is_known || more.prescribed.len() < MAX_PRESCRIBED;
            let name = if is_counted { what } else { ALL_OTHERS };
            *more.prescribed.entry(name.to_owned()).or_default() += 1;
        });
    }

    /// Counts a request for a WebSocket. Returns whether it is the first one.
    pub fn is_first_refused_upgrade(&self) -> bool {
        self.refused_upgrades.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// Has no call shown that no take answers, and that fails no run.
    pub fn hide_lenient_misses(&self) {
        self.lenient_misses.store(SHOWN_MISSES, Ordering::Relaxed);
    }

    /// Counts a miss that a placeholder or an upstream answers. Returns whether it is among the first
    /// ones, which are shown one by one.
    pub fn is_lenient_miss_shown(&self) -> bool {
        self.lenient_misses.fetch_add(1, Ordering::Relaxed) < SHOWN_MISSES
    }

    /// Returns how many such misses were not shown.
    pub fn unshown_lenient_misses(&self) -> u64 {
        Self::counter_value(&self.lenient_misses).saturating_sub(SHOWN_MISSES)
    }

    /// Adds the outcome of a recorded exchange. Returns `true` if it could not be kept, for a new
    /// reason.
    pub fn add_exchange(&self, exchange: &RecordOutcome) -> bool {
        let (input, output) = exchange.tokens;
        self.add_tokens(input, output, exchange.cost_usd);
        if let (true, Some(model)) = (exchange.is_unpriced, &exchange.model) {
            self.add_unpriced(model);
        }
        if let Err(reason) = &exchange.outcome {
            return self.add_unkept(reason);
        }
        Self::add_one(&self.recorded);
        exchange.failure.into_iter().for_each(|failure| self.failed_call(failure));
        if let Some(why) = exchange.unchecked {
            self.with_detail(|more| *more.unchecked_entries.entry(why).or_default() += 1);
        }
        if exchange.incomplete.is_some() {
            Self::add_one(&self.incomplete);
        }
        if exchange.is_given_up {
            Self::add_one(&self.given_up);
        }
        false
    }

    fn add_mismatch(&self, error: &Arc<RecordingMismatchError>) {
        self.with_detail(|more| {
            *more.missed.entry(error.reason.as_str()).or_default() += 1;
            if more.mismatches.len() < MAX_MISMATCHES {
                more.mismatches.push(Arc::clone(error));
            }
        });
    }

    /// Adds a count that an upstream chose to a sum, which ends at the largest number.
    pub(crate) fn add_count(sum: &AtomicU64, count: u64) {
        let add = |sum: u64| Some(sum.saturating_add(count));
        let _always = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Adds the tokens of a call and its cost; `None` if that is unknown.
    pub fn add_tokens(&self, input: u64, output: u64, cost_usd: Option<f64>) {
        Self::add_count(&self.input_tokens, input);
        Self::add_count(&self.output_tokens, output);
        add_dollars(&self.cost_usd, cost_usd.unwrap_or_default());
        if cost_usd.is_none() {
            Self::add_one(&self.unknown_costs);
        }
    }

    /// Adds a call that was recorded and failed.
    pub fn failed_call(&self, failure: CallFailure) {
        self.with_detail(|more| *more.failed_calls.entry(failure).or_default() += 1);
    }

    /// Adds a call to a model without a price.
    pub fn add_unpriced(&self, model: &str) {
        let mut name = clip_text(model);
        self.with_detail(|more| {
            if more.unpriced.len() >= MAX_UNPRICED && !more.unpriced.contains_key(&name) {
                name = ALL_OTHERS.to_owned();
            }
            *more.unpriced.entry(name).or_default() += 1;
        });
    }

    /// Adds an exchange that could not be kept. Returns `true` if the reason is a new one.
    pub fn add_unkept(&self, reason: &str) -> bool {
        Self::add_one(&self.unkept);
        self.with_detail(|more| {
            let times = more.keep_errors.entry(reason.to_owned()).or_default();
            *times += 1;
            *times == 1
        })
    }

    /// Adds an answer with ambiguous framing. Returns `true` for the first one of its upstream.
    pub fn is_first_ambiguous(&self, upstream: &str) -> bool {
        self.with_detail(|more| {
            let times = more.ambiguous.entry(upstream.to_owned()).or_default();
            *times += 1;
            *times == 1
        })
    }

    /// Adds an answer with an address that leads around loomrec.
    pub fn address_away(&self, address: &str) {
        let mut name = clip_text(address);
        self.with_detail(|more| {
            let known = &mut more.addresses_away;
            if known.len() >= MAX_ADDRESSES && !known.contains_key(&name) {
                name = ALL_OTHERS.to_owned();
            }
            *known.entry(name).or_default() += 1;
        });
    }

    /// Adds a call that failed because its upstream gave no answer. Returns `true` if the failure
    /// is a new one. Messages that differ only in digits are the same failure: a message may tell
    /// the time.
    pub fn is_new_upstream_failure(&self, message: &str) -> bool {
        let key: String = message.chars().filter(|c| !c.is_ascii_digit()).collect();
        self.with_detail(|more| {
            if more.upstream_failures.len() >= MAX_FAILURES
                && !more.upstream_failures.contains_key(&key)
            {
                return true;
            }
            let failure = more.upstream_failures.entry(key).or_default();
            failure.calls += 1;
            if failure.calls == 1 {
                failure.message = message.to_owned();
            }
            failure.calls == 1
        })
    }

    /// Adds exchanges that had been kept and are now lost.
    pub fn add_lost_exchanges(&self, reason: &str, exchanges: u64) {
        self.unkept.fetch_add(exchanges, Ordering::Relaxed);
        self.with_detail(|more| {
            *more.keep_errors.entry(reason.to_owned()).or_default() += exchanges
        });
    }

    /// Adds what a compaction did to the takes of earlier runs.
    pub fn add_replaced_takes(&self, name: String, takes: EarlierTakes) {
        self.with_detail(|more| {
            let earlier = more.earlier_takes.entry(name).or_default();
            earlier.replaced += takes.replaced;
            earlier.faults += takes.faults;
            earlier.kept = takes.kept;
        });
    }

    /// Notes why kept exchanges could not be moved into the recording's file.
    pub fn note_unfolded(&self, reason: &str) {
        self.with_detail(|more| more.unfolded = Some(reason.to_owned()));
    }

    /// Returns the number of mismatches with one reason.
    pub fn missed_for(&self, reason: MissReason) -> u64 {
        self.with_detail(|more| more.missed.get(reason.as_str()).copied().unwrap_or(0))
    }

    fn with_detail<T>(&self, work: impl FnOnce(&mut CounterDetail) -> T) -> T {
        work(&mut self.more.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds to a sum of US dollars, which is kept by its bits.
fn add_dollars(sum: &AtomicU64, dollars: f64) {
    let add = |bits| Some((f64::from_bits(bits) + dollars).to_bits());
    if dollars != 0.0 {
        // The closure always returns a sum, so the update never fails.
        let _before = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

#[cfg(test)]
#[path = "run_counters_tests.rs"]
mod tests;
