//! The cost of an entry's call: recorded, stated by its answer, nothing, or unknown.

use super::cost::is_possible_cost;
use super::entry::Entry;
use super::gateway_cost::gateway_cost;
use super::summary_check::{SummaryCheck, decoded_body};
use loomrec_provider::{TokenUsage, directory};

impl Entry {
    /// Returns the cost in US dollars without a price table; `None` if it is unknown. Older
    /// recordings have 0.0 for models without a price, too.
    pub fn known_cost(&self) -> Option<f64> {
        match self.recorded_cost() {
            Some(cost) if cost != 0.0 || self.used_tokens().is_none() => Some(cost),
            _ if self.is_free() => Some(0.0),
            _ => self.stated_cost(),
        }
    }

    /// Returns the recorded cost in US dollars; `None` if no cost is recorded, or one that no call can
    /// have.
    pub fn recorded_cost(&self) -> Option<f64> {
        self.cost_usd.filter(|cost| is_possible_cost(*cost))
    }

    /// Whether its recorded cost is one that no call can have. It is ignored.
    pub fn has_impossible_cost(&self) -> bool {
        self.cost_usd.is_some() && self.recorded_cost().is_none()
    }

    /// Returns the tokens that the call used, if it used any.
    pub fn used_tokens(&self) -> Option<TokenUsage> {
        self.usage.filter(|usage| usage.prompt_tokens.max(usage.completion_tokens) > 0)
    }

    /// Whether its call was free of charge: its upstream or operation is. Without tokens, also if
    /// it asked no model, its recorded usage is zero, or it has no response, or one that says
    /// nothing.
    pub fn is_free(&self) -> bool {
        if self.upstream.as_deref() == Some("ollama") {
            return true;
        }
        if self.used_tokens().is_some() {
            return self.recognise_head().is_some_and(|call| call.operation.is_free());
        }
        let said_nothing = self.content.as_deref().is_none_or(str::is_empty);
        self.usage.is_some()
            || !self.has_response()
            || said_nothing && self.answer_outcome().is_refusal()
            || self.has_free_request().unwrap_or(self.model.is_none())
    }

    /// Returns the cost in US dollars that its answer states, if answers of its upstream do, or its
    /// gateway.
    pub fn stated_cost(&self) -> Option<f64> {
        let is_stated = self.upstream.as_deref().is_some_and(directory::states_cost);
        let read = || SummaryCheck::new(self, &decoded_body(self)?).answer.cost_usd;
        let stated = is_stated.then(read).flatten().filter(|cost| is_possible_cost(*cost));
        stated.or_else(|| gateway_cost(self.answer_headers()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
        let response = json!({"status": 200, "headers": {}, "end": "complete"});
        let answered = |cost: Value| json!({"content": "a", "model": "m", "response": response, "cost_usd": cost});
        assert_eq!(entry(answered(Value::Null)), None);
        assert_eq!(entry(answered(json!(0.0))), Some(0.0));
    }

    #[test]
    fn request_is_free_if_it_asks_no_model() {
        let request = |method: &str, path: &str, headers: Value, text: &str| {
            let mut request = json!({"method": method, "path": path, "headers": headers});
            if !text.is_empty() {
                request["text"] = json!(text);
            }
            let entry = Entry::parse(&json!({"content": "", "request": request})).unwrap();
            let request = entry.request.unwrap();
            let call = request.recognise_call();
            (request.is_free(&call), call.model)
        };
        let form = json!({"content-type": "multipart/form-data; boundary=b"});
        let edit = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n\
            gpt-image-1\r\n--b--\r\n";
        let named = Some("gpt-image-1".to_owned());
        assert_eq!(request("POST", "/v1/images/edits", form.clone(), edit), (false, named));
        for (method, path, is_free) in [
            ("POST", "/v1/images/variations", false),
            ("POST", "/v1/videos", false),
            ("POST", "/v1/threads/t/runs", false),
            ("POST", "/v1/batches", false),
            ("POST", "/v1/messages/batches", false),
            ("POST", "/v1/chat/completions", false),
            ("POST", "/v1/threads", true),
            ("POST", "/v1/files", true),
            ("POST", "/v1/responses/r/cancel", true),
            ("POST", "/search", true),
            ("GET", "/v1/videos/v", true),
            ("GET", "/v1/realtime", true),
        ] {
            assert_eq!(request(method, path, json!({}), ""), (is_free, None), "{method} {path}");
        }
        let upgrade = json!({"upgrade": "websocket"});
        assert!(!request("GET", "/v1/realtime", upgrade, "").0);
    }
}
