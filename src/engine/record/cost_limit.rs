//! The limit of what a run may spend: a call that would pass it is refused before it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loomrec_provider::{TokenUsage, directory};
use loomrec_recording::cost::{self, PriceTable, priced_model};
use loomrec_recording::normalized_request::NormalizedRequest;

/// Billionths of a dollar in a dollar.
const NANOS: f64 = 1e9;

/// About how many bytes of a request are a token.
const BYTES_PER_TOKEN: u64 = 4;

/// The most that a run may spend, and what it has spent. Amounts are in billionths of a dollar.
#[derive(Debug)]
pub struct CostLimit {
    most: u64,
    /// What was spent, with the estimates of open calls.
    spent: AtomicU64,
    /// The most that an answer cost more than the estimate of its request.
    largest_answer: AtomicU64,
    refused: AtomicU64,
}

/// The reason why a call is refused.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum CostRefusal {
    /// The call would pass the limit.
    #[error(
        "this call may cost {}, and {} of --max-cost {} are spent: it was not sent",
        cost::format_dollars(*estimate), cost::format_dollars(*spent), cost::format_dollars(*most)
    )]
    Passed {
        /// What the call may cost, in dollars.
        estimate: f64,
        /// What was spent, with the estimates of open calls.
        spent: f64,
        /// The limit.
        most: f64,
    },
    /// The price of the model is not known.
    #[error(
        "no price is known for the model {model}, so --max-cost cannot be kept: it was not sent; \
         give its price with --prices FILE"
    )]
    Unpriced {
        /// The requested model.
        model: String,
    },
    /// The request names no model, and may cost something.
    #[error(
        "the request names no model, so its cost is not known, and --max-cost cannot be kept: it \
         was not sent"
    )]
    Unnamed,
}

/// What is set aside for an open call.
#[derive(Debug)]
pub struct CostReserve {
    limit: Arc<CostLimit>,
    /// What is set aside.
    amount: u64,
    /// The part of it that is for the request.
    request_cost: u64,
}

impl CostLimit {
    /// Creates a limit of this many dollars.
    pub fn new(dollars: f64) -> Self {
        Self {
            most: dollars_to_nanos(dollars),
            spent: AtomicU64::new(0),
            largest_answer: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the limit in dollars.
    pub fn maximum_dollars(&self) -> f64 {
        nanos_to_dollars(self.most)
    }

    /// Returns how many calls were refused.
    pub fn refused_calls(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Sets aside what a call may cost: the estimate of its request, by its size, and as much for
    /// the answer as the most expensive one so far.
    ///
    /// # Errors
    /// The call would pass the limit, or its price is not known.
    pub fn reserve_cost(
        self: &Arc<Self>,
        request: &NormalizedRequest,
        prices: &PriceTable,
    ) -> Result<CostReserve, CostRefusal> {
        let reserved = self.request_cost(request, prices).and_then(|cost| {
            let is_free = request.is_free();
            let answer = if is_free { 0 } else { self.largest_answer.load(Ordering::Relaxed) };
            self.set_aside(cost, cost.saturating_add(answer))
        });
        if reserved.is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        reserved
    }

    fn set_aside(
        self: &Arc<Self>,
        request_cost: u64,
        amount: u64,
    ) -> Result<CostReserve, CostRefusal> {
        let before = self.spent.fetch_add(amount, Ordering::AcqRel);
        if before.saturating_add(amount) > self.most {
            self.spent.fetch_sub(amount, Ordering::AcqRel);
            return Err(CostRefusal::Passed {
                estimate: nanos_to_dollars(amount),
                spent: nanos_to_dollars(before),
                most: self.maximum_dollars(),
            });
        }
        Ok(CostReserve { limit: Arc::clone(self), amount, request_cost })
    }

    fn request_cost(
        &self,
        request: &NormalizedRequest,
        prices: &PriceTable,
    ) -> Result<u64, CostRefusal> {
        let (call, upstream) = (&request.call, Some(request.upstream.as_str()));
        let is_free = request.is_free();
        if is_free || directory::states_cost(&request.upstream) {
            return Ok(0);
        }
        let model = priced_model(upstream, call.model.as_deref(), None);
        let tokens = request.body().len() as u64 / BYTES_PER_TOKEN;
        let usage = TokenUsage { prompt_tokens: tokens, ..TokenUsage::default() };
        let cost = prices.call_cost(upstream, model.unwrap_or_default(), &usage);
        cost.map(dollars_to_nanos).ok_or_else(|| match model {
            Some(model) => CostRefusal::Unpriced { model: model.to_owned() },
            None => CostRefusal::Unnamed,
        })
    }
}

impl CostReserve {
    /// Replaces the estimate by what the call cost. If that is not known, the estimate stays.
    pub fn settle(mut self, cost_usd: Option<f64>) {
        let Some(cost) = cost_usd.map(dollars_to_nanos) else {
            self.amount = 0;
            return;
        };
        self.limit.spent.fetch_add(cost, Ordering::AcqRel);
        let answer = cost.saturating_sub(self.request_cost);
        self.limit.largest_answer.fetch_max(answer, Ordering::Relaxed);
    }
}

impl Drop for CostReserve {
    fn drop(&mut self) {
        self.limit.spent.fetch_sub(self.amount, Ordering::AcqRel);
    }
}

fn dollars_to_nanos(dollars: f64) -> u64 {
    (dollars * NANOS).round() as u64
}

fn nanos_to_dollars(nanos: u64) -> f64 {
    nanos as f64 / NANOS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserve(limit: &Arc<CostLimit>, request: u64, amount: u64) -> Option<CostReserve> {
        limit.set_aside(request, amount).ok()
    }

    #[test]
    fn estimates_of_open_calls_count_until_their_cost_is_known() {
        let limit = Arc::new(CostLimit::new(1.0));
        let open = reserve(&limit, 0, 600_000_000).unwrap();
        assert!(reserve(&limit, 0, 600_000_000).is_none());
        open.settle(Some(0.3));
        let open = reserve(&limit, 0, 600_000_000).unwrap();
        drop(open);
        reserve(&limit, 0, 700_000_000).unwrap().settle(None);
        assert!(reserve(&limit, 0, 1).is_none());
    }

    #[test]
    fn the_most_expensive_answer_is_expected_again() {
        let limit = Arc::new(CostLimit::new(1.0));
        reserve(&limit, 100_000_000, 100_000_000).unwrap().settle(Some(0.4));
        reserve(&limit, 100_000_000, 100_000_000).unwrap().settle(Some(0.2));
        assert_eq!(limit.largest_answer.load(Ordering::Relaxed), 300_000_000);
        let refused = limit.set_aside(100_000_000, 500_000_000).unwrap_err();
        assert_eq!(refused, CostRefusal::Passed { estimate: 0.5, spent: 0.6, most: 1.0 });
    }
}
