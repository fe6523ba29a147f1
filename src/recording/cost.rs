//! What an answer cost, by a table of list prices.
//!
//! A price is never guessed: a model that the table does not name has none. The
//! table knows list prices for plain calls; batch and priority tiers, audio tokens
//! and one-hour cache writes are not told apart, since [`TokenUsage`] does not.

mod price;
mod read;

use price::{LongPromptRates, ModelPrice, TokenRates};

use std::collections::BTreeMap;

use loomrec_provider::TokenUsage;
pub use read::PriceError;

/// Prices by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable {
    models: Vec<ModelPrice>,
    /// For each name, the places in `models` it is given at, in order.
    names: BTreeMap<String, Vec<usize>>,
}

impl PriceTable {
    /// The table that loomrec comes with. Its file says how old it is.
    pub fn builtin() -> Self {
        // A test holds that it parses.
        Self::parse(include_str!("prices.json")).unwrap_or_default()
    }

    /// The table written in a JSON text, in the shape of the built-in one.
    ///
    /// # Errors
    /// Where the text has another shape, a rate is no price, or a name is given twice.
    pub fn parse(json: &str) -> Result<Self, PriceError> {
        Ok(Self::of(read::file(json)?.models))
    }

    /// The prices that a user's table asks for: its own above the built-in ones; its
    /// own alone where it says `"replace": true`.
    ///
    /// # Errors
    /// As [`PriceTable::parse`].
    pub fn own(json: &str) -> Result<Self, PriceError> {
        let mut own = read::file(json)?;
        if !own.replace {
            own.models.extend(Self::builtin().models);
        }
        Ok(Self::of(own.models))
    }

    /// A table of these prices; of two under one name, the first counts.
    fn of(models: Vec<ModelPrice>) -> Self {
        let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, price) in models.iter().enumerate() {
            for name in &price.names {
                names.entry(name.clone()).or_default().push(place);
            }
        }
        Self { models, names }
    }

    /// What these tokens cost in US dollars, to ten decimals; `None` where the
    /// price is not known. An Ollama runs on the user's own machine and costs
    /// nothing. `upstream` is the upstream's name; `None` where it is not known,
    /// and then any upstream's price of that model is taken.
    pub fn cost(&self, upstream: Option<&str>, model: &str, usage: &TokenUsage) -> Option<f64> {
        if upstream == Some("ollama") {
            return Some(0.0);
        }
        let price = self.find(upstream, model)?;
        let rates = price.rates(usage.prompt_tokens);
        let (plain, cached, written) = usage.input_parts();
        let reasoning = usage.reasoning_tokens.min(usage.completion_tokens);
        let dollars = (tokens(plain) * rates.input
            + tokens(cached) * rates.cached_input
            + tokens(written) * rates.cache_write
            + tokens(usage.completion_tokens - reasoning) * rates.output
            + tokens(reasoning) * rates.reasoning)
            / 1e6;
        Some((dollars * 1e10).round() / 1e10)
    }

    /// The price of a model: by its very name, else by its name before a date.
    fn find(&self, upstream: Option<&str>, model: &str) -> Option<&ModelPrice> {
        let named = |name: &str| {
            let places = self.names.get(name)?;
            places.iter().filter_map(|place| self.models.get(*place)).find(|price| {
                price.upstream.is_none()
                    || upstream.is_none()
                    || price.upstream.as_deref() == upstream
            })
        };
        named(model).or_else(|| named(undated(model)?))
    }
}

/// A count as a factor; exact up to 2^53.
fn tokens(count: u64) -> f64 {
    count as f64
}

/// A model's name without the date behind it (`-2024-08-06`, `-20250514`,
/// `@20250514`); `None` where there is none.
fn undated(model: &str) -> Option<&str> {
    let dated = |len: usize, marks: &[u8], date: fn(&[u8]) -> bool| {
        let at = model.len().checked_sub(len + 1)?;
        let (name, tail) = (model.get(..at)?, model.as_bytes().get(at..)?);
        (!name.is_empty() && marks.contains(&tail[0]) && date(&tail[1..])).then_some(name)
    };
    dated(8, b"-@", |date| is_date(date, [0, 4, 6])).or_else(|| {
        dated(10, b"-@", |date| date[4] == b'-' && date[7] == b'-' && is_date(date, [0, 5, 8]))
    })
}

/// Whether a year, a month and a day stand at these places.
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
