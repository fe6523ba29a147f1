//! The meeting point of the end of an answer and the end of its recorded exchange.
//!
//! A client may leave before the exchange is over. The exchange is recorded all the same. Whichever
//! of the two ends last reports the call.

use std::sync::{Mutex, PoisonError};

use super::Proxy;
use loomrec_engine::clip_text;
use loomrec_engine::record::RecordOutcome;
use loomrec_telemetry::call_record::{CallRecord, TokenCounts};

/// The meeting point of the end of an answer and the end of its recorded exchange.
#[derive(Default)]
pub(super) struct ExchangeSlot(Mutex<SlotState>);

#[derive(Default)]
enum SlotState {
    /// Neither is over.
    #[default]
    Open,
    /// The answer is over. The call waits for its exchange.
    AnswerOver(Box<CallRecord>),
    /// The exchange is over. `None` if nothing was recorded.
    ExchangeOver(Option<Box<RecordOutcome>>),
}

impl ExchangeSlot {
    /// Notes the outcome of the exchange, or `None` if nothing was recorded. Reports the call if
    /// its answer is over.
    pub(super) fn exchange_over(&self, proxy: &Proxy, exchange: Option<RecordOutcome>) {
        let exchange = exchange.map(Box::new);
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut *state) {
            SlotState::AnswerOver(record) => {
                drop(state);
                report_with_exchange(proxy, *record, exchange);
            }
            _ => *state = SlotState::ExchangeOver(exchange),
        }
    }

    /// Notes that the answer of the call is over. Reports the call if its exchange is over.
    pub(super) fn answer_over(&self, proxy: &Proxy, record: CallRecord) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut *state) {
            SlotState::ExchangeOver(exchange) => {
                drop(state);
                report_with_exchange(proxy, record, exchange);
            }
            _ => *state = SlotState::AnswerOver(Box::new(record)),
        }
    }
}

fn report_with_exchange(
    proxy: &Proxy,
    mut record: CallRecord,
    exchange: Option<Box<RecordOutcome>>,
) {
    if let Some(exchange) = &exchange {
        let (input, output) = exchange.tokens;
        record.tokens = Some(TokenCounts { input, output });
        record.cost_usd = exchange.cost_usd;
    }
    record.exchange = exchange.map(|mut exchange| {
        // Upstreams name the models, and a name may have any length.
        exchange.model = exchange.model.as_deref().map(clip_text);
        exchange
    });
    proxy.report_call(&mut record);
}
