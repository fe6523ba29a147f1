//! The hashes by which plain entries know a request.

use super::normalized_request::NormalizedRequest;
use loomrec_identity::{AdapterInputs, IdentityRules, RequestKey};

impl NormalizedRequest {
    /// Returns the hashes that a plain entry may have for this request: of messages, model,
    /// temperature, limit and further arguments, as an adapter was given them. The likeliest comes
    /// first. Empty if no adapter can have sent the request: if it has a query, or a
    /// header that counts under any of `rules`.
    pub fn adapter_hashes(&self, rules: &[IdentityRules]) -> Vec<RequestKey> {
        self.with_inputs(rules, |inputs| inputs.request_hashes())
    }

    /// Returns the hashes that an older plain entry may have for this request: of its messages alone.
    pub fn messages_hashes(&self, rules: &[IdentityRules]) -> Vec<RequestKey> {
        self.with_inputs(rules, |inputs| inputs.messages_hashes())
    }

    fn with_inputs(
        &self,
        rules: &[IdentityRules],
        hashes: fn(&AdapterInputs<'_>) -> Vec<RequestKey>,
    ) -> Vec<RequestKey> {
        let (call, parts) = (&self.call, self.key_parts());
        let is_bare = |allowed| rules.iter().all(|rules| parts.is_bare(allowed, rules));
        if !call.operation.adapter_headers().is_some_and(is_bare) {
            return Vec::new();
        }
        let Some((body, model)) = parts.json_body().zip(call.model.as_deref()) else {
            return Vec::new();
        };
        let inputs = call.operation.adapter_inputs(&body, model);
        inputs.map(|inputs| hashes(&inputs)).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "adapter_hashes_tests.rs"]
mod tests;
