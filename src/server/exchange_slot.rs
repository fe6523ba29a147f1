//! Where the end of an answer and the end of its recorded exchange meet.
//!
//! A client may leave before the exchange is over, which is recorded all the same. Whichever
//! ends last reports the call.

use std::sync::{Mutex, PoisonError};

use super::Proxy;
use crate::engine::clip;
use crate::record::RecordOutcome;
use crate::telemetry::call_record::{CallRecord, ExchangeOutcome, TokenCounts};

/// Where the end of an answer and the end of its recorded exchange meet.
#[derive(Default)]
pub(super) struct ExchangeSlot(Mutex<SlotState>);

#[derive(Default)]
enum SlotState {
    /// Neither is over.
    #[default]
    Open,
    /// The answer is over: the call waits for its exchange.
    AnswerOver(Box<CallRecord>),
    /// The exchange is over; there is none where nothing came of it.
    ExchangeOver(Option<Box<RecordedExchange>>),
}

/// What a call's record takes over from its exchange.
struct RecordedExchange {
    exchange: ExchangeOutcome,
    tokens: TokenCounts,
    cost_usd: Option<f64>,
}

impl RecordedExchange {
    fn new(recorded: &RecordOutcome) -> Self {
        let (input, output) = recorded.tokens;
        Self {
            exchange: ExchangeOutcome {
                kept: recorded.outcome.is_ok(),
                times: recorded.times,
                answered_by: recorded.model.as_deref().map(clip),
            },
            tokens: TokenCounts { input, output },
            cost_usd: recorded.cost_usd,
        }
    }

    fn write_into(self, record: &mut CallRecord) {
        record.tokens = Some(self.tokens);
        record.cost_usd = self.cost_usd;
        record.exchange = Some(Box::new(self.exchange));
    }
}

impl ExchangeSlot {
    /// The exchange is over, or nothing came of it.
    pub(super) fn exchange_over(&self, proxy: &Proxy, recorded: Option<&RecordOutcome>) {
        let exchange = recorded.map(|recorded| Box::new(RecordedExchange::new(recorded)));
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut *state) {
            SlotState::AnswerOver(record) => {
                drop(state);
                report(proxy, *record, exchange);
            }
            _ => *state = SlotState::ExchangeOver(exchange),
        }
    }

    /// The answer of the call is over.
    pub(super) fn answer_over(&self, proxy: &Proxy, record: CallRecord) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut *state) {
            SlotState::ExchangeOver(exchange) => {
                drop(state);
                report(proxy, record, exchange);
            }
            _ => *state = SlotState::AnswerOver(Box::new(record)),
        }
    }
}

fn report(proxy: &Proxy, mut record: CallRecord, exchange: Option<Box<RecordedExchange>>) {
    exchange.into_iter().for_each(|exchange| exchange.write_into(&mut record));
    proxy.call_over(&mut record);
}
