//! Costs of answers, from a table of list prices.
//!
//! A price is never guessed: a model that the table does not name has no price. The table holds
//! list prices of plain calls. Batch and priority tiers, audio tokens and one-hour cache writes are
//! not told apart, since [`TokenUsage`] does not tell them apart.

mod dollars;
mod price;
mod read;

use price::{LongPromptRates, ModelPrice, TokenRates};

use std::collections::BTreeMap;
use std::ops::Range;

pub use dollars::format_dollars;
use loomrec_provider::TokenUsage;
pub use read::PriceError;

/// The most that one call can cost, in US dollars. Any number of such costs has a finite sum.
const MOST_DOLLARS: f64 = 1e9;

/// Whether a call can have this cost, in US dollars.
pub(super) fn is_possible_cost(dollars: f64) -> bool {
    (0.0..=MOST_DOLLARS).contains(&dollars)
}

/// Prices by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable {
    models: Vec<ModelPrice>,
    /// How many of them, from the first, are the user's own.
    own: usize,
    /// For each name, the indexes of its prices in `models`, in order.
    names: BTreeMap<String, Vec<usize>>,
}

impl PriceTable {
    /// Returns the table that is built into loomrec. Its file says how old it is.
    pub fn built_in() -> Self {
        // A test ensures that it parses.
        Self::parse(include_str!("prices.json")).unwrap_or_default()
    }

    /// Reads a table from a JSON text that has the shape of the built-in one.
    ///
    /// # Errors
    /// If the text has another shape, a rate is not a price, or a name is given twice.
    pub fn parse(json: &str) -> Result<Self, PriceError> {
        Ok(Self::from_models(read::parse_file(json)?.models, 0))
    }

    /// Returns the prices that a user's table asks for: its own prices ahead of the built-in ones,
    /// or only its own if it says `"replace": true`.
    ///
    /// # Errors
    /// As [`PriceTable::parse`].
    pub fn with_user_prices(json: &str) -> Result<Self, PriceError> {
        let mut user = read::parse_file(json)?;
        let own = user.models.len();
        if !user.replace {
            user.models.extend(Self::built_in().models);
        }
        Ok(Self::from_models(user.models, own))
    }

    /// Returns a table of these prices. If a name has two prices, the first counts.
    fn from_models(models: Vec<ModelPrice>, own: usize) -> Self {
        let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, price) in models.iter().enumerate() {
            for name in &price.names {
                names.entry(name.clone()).or_default().push(place);
            }
        }
        Self { models, own, names }
    }

    /// Returns the cost of these tokens in US dollars, to ten decimals; `None` if the price is not
    /// known. A call to Ollama costs nothing, since it runs on the user's own machine. `upstream`
    /// is the upstream's name. If it is `None`, the model's price at any upstream is used.
    pub fn call_cost(
        &self,
        upstream: Option<&str>,
        model: &str,
        usage: &TokenUsage,
    ) -> Option<f64> {
        if upstream == Some("ollama") {
            return Some(0.0);
        }
        let price = self.find_price(upstream, model)?;
        let rates = price.rates_for(usage.prompt_tokens);
        let (plain, cached, written) = usage.input_parts();
        let reasoning = usage.reasoning_tokens.min(usage.completion_tokens);
        let dollars = (count_as_float(plain) * rates.input
            + count_as_float(cached) * rates.cached_input
            + count_as_float(written) * rates.cache_write
            + count_as_float(usage.completion_tokens - reasoning) * rates.output
            + count_as_float(reasoning) * rates.reasoning)
            / 1e6;
        Some((dollars * 1e10).round() / 1e10)
    }

    /// Whether the price of a model is known.
    pub fn has_price(&self, upstream: Option<&str>, model: &str) -> bool {
        upstream == Some("ollama") || self.find_price(upstream, model).is_some()
    }

    /// Returns the price of a model: by its full name, that of an ARN included, or else by its name
    /// without the date. The user's prices come before the others, by either name.
    fn find_price(&self, upstream: Option<&str>, model: &str) -> Option<&ModelPrice> {
        let named = |name: &str, layer: &Range<usize>| {
            let places = self.names.get(name)?.iter().filter(|place| layer.contains(place));
            places.filter_map(|place| self.models.get(*place)).find(|price| {
                price.upstream.is_none()
                    || upstream.is_none()
                    || price.upstream.as_deref() == upstream
            })
        };
        let model = match model.strip_prefix("arn:") {
            Some(resource) => resource.rsplit('/').next().unwrap_or(resource),
            None => model,
        };
        let layers = [0..self.own, self.own..self.models.len()];
        let of_layer = |layer| named(model, layer).or_else(|| named(without_date(model)?, layer));
        layers.iter().find_map(of_layer)
    }
}

/// Returns the model by which a call is priced: the one that answered, or the requested one. Bedrock's
/// requests name the region that the price depends on, and its answers do not.
pub fn priced_model<'a>(
    upstream: Option<&str>,
    asked: Option<&'a str>,
    answered: Option<&'a str>,
) -> Option<&'a str> {
    match upstream {
        Some("bedrock") => asked.or(answered),
        _ => answered.or(asked),
    }
}

/// A count as a factor; exact up to 2^53.
fn count_as_float(count: u64) -> f64 {
    count as f64
}

/// Returns a model's name without the date at its end (`-2024-08-06`, `-20250514`, `@20250514`);
/// `None` if it has no date.
fn without_date(model: &str) -> Option<&str> {
    let dated = |len: usize, marks: &[u8], date: fn(&[u8]) -> bool| {
        let at = model.len().checked_sub(len + 1)?;
        let (name, tail) = (model.get(..at)?, model.as_bytes().get(at..)?);
        (!name.is_empty() && marks.contains(&tail[0]) && date(&tail[1..])).then_some(name)
    };
    dated(8, b"-@", |date| is_date(date, [0, 4, 6])).or_else(|| {
        dated(10, b"-@", |date| date[4] == b'-' && date[7] == b'-' && is_date(date, [0, 5, 8]))
    })
}

/// Whether the text has a valid year, month and day at these offsets.
fn is_date(date: &[u8], [year, month, day]: [usize; 3]) -> bool {
    let number = |at: usize, len: usize| -> Option<u32> {
        let digits = date.get(at..at + len)?;
        let text = std::str::from_utf8(digits).ok()?;
        let plain = digits.iter().all(u8::is_ascii_digit);
        plain.then(|| text.parse().ok()).flatten()
    };
    let (year, month, day) = (number(year, 4), number(month, 2), number(day, 2));
    year.is_some_and(|year| (2020..2100).contains(&year))
        && month.is_some_and(|month| (1..=12).contains(&month))
        && day.is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests;
