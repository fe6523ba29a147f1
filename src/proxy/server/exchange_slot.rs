//! Where the end of an answer and the end of its recorded exchange meet.
//!
//! A client may leave before the exchange is over, which is recorded all the same. Whichever
//! ends last reports the call.

use std::sync::{Mutex, PoisonError};

use super::Proxy;
use crate::telemetry::call_record::{CallRecord, TokenCounts};
use loomrec_engine::clip;
use loomrec_engine::record::RecordOutcome;

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
    ExchangeOver(Option<Box<RecordOutcome>>),
}

impl ExchangeSlot {
    /// The exchange is over, or nothing came of it.
    pub(super) fn exchange_over(&self, proxy: &Proxy, exchange: Option<RecordOutcome>) {
        let exchange = exchange.map(Box::new);
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

fn report(proxy: &Proxy, mut record: CallRecord, exchange: Option<Box<RecordOutcome>>) {
    if let Some(exchange) = &exchange {
        let (input, output) = exchange.tokens;
        record.tokens = Some(TokenCounts { input, output });
        record.cost_usd = exchange.cost_usd;
    }
    record.exchange = exchange.map(|mut exchange| {
        // Upstreams name their models, at any length.
        exchange.model = exchange.model.as_deref().map(clip);
        exchange
    });
    proxy.call_over(&mut record);
}
