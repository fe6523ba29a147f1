//! The cost of recorded calls: recorded, computed from a price table, or unknown.

use super::cost::{PriceTable, priced_model};
use super::entry::Entry;

/// How the cost of a call is determined.
#[derive(Clone, Debug, Default)]
pub struct PriceSource {
    /// The prices of models.
    pub table: PriceTable,
    /// Whether it is computed anew, whatever was recorded.
    pub anew: bool,
}

impl PriceSource {
    /// Uses the built-in prices for calls without a recorded cost.
    pub fn built_in() -> Self {
        Self { table: PriceTable::built_in(), anew: false }
    }

    /// Returns the cost of a call, or `None` if it is unknown. `model` is the model that answered.
    pub fn call_cost(&self, entry: &Entry, model: Option<&str>) -> Option<f64> {
        let recorded = entry.recorded_cost().filter(|_| !self.anew);
        let known = match self.anew {
            true => entry.is_free().then_some(0.0),
            false => entry.known_cost(),
        };
        if known.is_some() {
            return known;
        }
        let usage = entry.used_tokens()?;
        let asked = entry.model_in_head();
        let upstream = entry.upstream.as_deref();
        let model = priced_model(upstream, asked.as_deref(), model);
        let priced = self.table.call_cost(upstream, model.unwrap_or_default(), &usage)?;
        // A model that was free when it was recorded stays free. Older recordings have 0.0 for
        // models without a price, too.
        Some(recorded.unwrap_or(priced))
    }
}

impl PriceTable {
    /// Whether the price of the model that a call is priced by is known. `model` is the model that
    /// answered.
    pub fn has_call_price(&self, entry: &Entry, model: Option<&str>) -> bool {
        let asked = entry.model_in_head();
        let upstream = entry.upstream.as_deref();
        let model = priced_model(upstream, asked.as_deref(), model);
        model.is_some_and(|model| self.has_price(upstream, model))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cost(entry: serde_json::Value) -> Option<f64> {
        let entry = Entry::parse(&entry).unwrap();
        PriceSource::built_in().call_cost(&entry, entry.model.as_deref())
    }

    #[test]
    fn unknown_cost_is_told_from_none() {
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6});
        let said = |status: u16| json!({"status": status, "headers": {}, "end": "complete"});
        assert_eq!(cost(json!({"content": "", "model": "mystery-9", "usage": usage})), None);
        let old = json!({"content": "", "model": "mystery-9", "usage": usage, "cost_usd": 0.0});
        assert_eq!(cost(old), None);
        let own = json!({"content": "", "model": "m", "upstream": "ollama", "usage": usage});
        assert_eq!(cost(own), Some(0.0));
        let known = cost(json!({"content": "", "model": "gpt-4o", "usage": usage}));
        assert!(known.unwrap() > 0.0);
        let call = |status| json!({"content": "", "model": "m", "response": said(status)});
        assert_eq!((cost(call(200)), cost(call(429))), (None, Some(0.0)));
        assert_eq!(cost(json!({"content": "", "response": said(200)})), Some(0.0));
        assert_eq!(cost(json!({"content": "words"})), Some(0.0));
    }

    #[test]
    fn cost_that_an_answer_states_is_taken_before_a_price() {
        let answered = |upstream: &str, cost: serde_json::Value| {
            let answer = json!({"choices": [], "model": "gpt-4o",
                "usage": {"prompt_tokens": 5, "completion_tokens": 1, "cost": cost}});
            let request = json!({"method": "POST", "path": "/v1/chat/completions",
                "headers": {}, "body": {"model": "gpt-4o"}});
            json!({"content": "", "model": "gpt-4o", "upstream": upstream, "request": request,
                "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
                "response": {"status": 200, "headers": {}, "end": "complete", "body": answer}})
        };
        assert_eq!(cost(answered("openrouter", json!(0.25))), Some(0.25));
        assert_eq!(cost(answered("openrouter", json!(0))), Some(0.0));
        assert_eq!(cost(answered("openrouter", json!(null))), None);
        assert_eq!(cost(answered("mine", json!(0.25))), None);
    }
}
