//! The cost of an entry's call: recorded, stated by its answer, or unknown.

use super::entry::Entry;
use super::gateway_cost::gateway_cost;
use super::summary_check::{SummaryCheck, decoded_body};
use loomrec_provider::{TokenUsage, directory};

impl Entry {
    /// Returns the recorded cost in US dollars; `None` if it is unknown. Older recordings have 0.0
    /// for models without a price, too.
    pub fn known_cost(&self) -> Option<f64> {
        let has_tokens = self.usage.is_some_and(|usage| usage != TokenUsage::default());
        match self.cost_usd.filter(|cost| *cost != 0.0) {
            Some(cost) => Some(cost),
            None if !has_tokens || self.is_free() => Some(0.0),
            None => self.stated_cost(),
        }
    }

    /// Whether its call is free of charge, whatever its tokens are.
    pub fn is_free(&self) -> bool {
        let call = || self.request.as_ref().map(|request| request.recognise_parsed(None));
        self.upstream.as_deref() == Some("ollama")
            || call().is_some_and(|call| call.operation.is_free())
    }

    /// Returns the cost in US dollars that its answer states, if answers of its upstream do, or its
    /// gateway.
    pub fn stated_cost(&self) -> Option<f64> {
        let response = self.response.as_ref()?;
        let is_stated = self.upstream.as_deref().is_some_and(directory::states_cost);
        let read = || SummaryCheck::new(self, response, &decoded_body(response)).answer.cost_usd;
        is_stated.then(read).flatten().or_else(|| gateway_cost(&response.headers))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cost_is_known_if_it_is_recorded_stated_or_nothing() {
        let entry = |value: serde_json::Value| Entry::parse(&value).unwrap().known_cost();
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6});
        assert_eq!(entry(json!({"content": "a", "cost_usd": 0.5, "usage": usage})), Some(0.5));
        assert_eq!(entry(json!({"content": "a", "usage": usage})), None);
        assert_eq!(entry(json!({"content": "a", "cost_usd": 0.0, "usage": usage})), None);
        assert_eq!(entry(json!({"content": "a", "upstream": "ollama", "usage": usage})), Some(0.0));
        assert_eq!(entry(json!({"content": "a"})), Some(0.0));
        let count = json!({"method": "POST", "path": "/v1/messages/count_tokens", "headers": {}});
        assert_eq!(entry(json!({"content": "", "usage": usage, "request": count})), Some(0.0));
    }
}
