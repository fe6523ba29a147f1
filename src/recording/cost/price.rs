//! Prices of models' tokens.

/// The price of a model under all its names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelPrice {
    /// The upstream that sells it; any upstream if absent.
    pub(super) upstream: Option<String>,
    pub(super) names: Vec<String>,
    pub(super) rates: TokenRates,
    pub(super) long: Option<LongPromptRates>,
}

/// Rates for a call with a long prompt. They apply to all of its tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LongPromptRates {
    /// The rates apply if the prompt has more tokens than this.
    pub(super) over: u64,
    pub(super) rates: TokenRates,
}

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenRates {
    pub(super) input: f64,
    pub(super) output: f64,
    /// Input that was read from a cache.
    pub(super) cached_input: f64,
    /// Input that was written to a cache.
    pub(super) cache_write: f64,
    /// Output spent on reasoning.
    pub(super) reasoning: f64,
}

impl ModelPrice {
    pub(super) fn rates_for(&self, prompt_tokens: u64) -> TokenRates {
        match &self.long {
            Some(long) if prompt_tokens > long.over => long.rates,
            _ => self.rates,
        }
    }
}
