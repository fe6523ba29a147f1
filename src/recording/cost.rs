//! What an answer cost, by a table of list prices.
//!
//! A price is never guessed: a model that the table does not name has none. The
//! table knows list prices for plain calls; batch and priority tiers, audio tokens
//! and one-hour cache writes are not told apart, since [`Usage`] does not.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::provider::Usage;

/// Prices by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable {
    models: Vec<Price>,
    /// For each name, the places in `models` it is given at, in order.
    names: BTreeMap<String, Vec<usize>>,
}

/// Why a text is no price table.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// It does not have a price table's shape.
    #[error(
        "read the price table: {source}; it needs {{\"models\": [{{\"names\": […], \"input\": USD, \"output\": USD}}]}} in dollars per million tokens"
    )]
    Shape {
        /// What the reader met.
        #[source]
        source: serde_json::Error,
    },
    /// A rate that no price can be.
    #[error(
        "accept the price of {model}: its rates must be numbers from 0 up, in dollars per million tokens"
    )]
    Rate {
        /// The model it is given for.
        model: String,
    },
    /// A model's name that is given twice, or an entry without one.
    #[error(
        "accept the price table: the name {model:?} must not be empty or given twice for the same upstream"
    )]
    Name {
        /// The name.
        model: String,
    },
}

#[derive(Deserialize)]
struct File {
    models: Vec<Price>,
}

/// The price of a model under all its names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    /// The upstream it is sold by; for any upstream where it is absent.
    upstream: Option<String>,
    names: Vec<String>,
    input: f64,
    #[serde(default)]
    output: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
    long: Option<Long>,
}

/// Rates for a call with a long prompt; they hold for all of its tokens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    /// The rates hold where the prompt has more tokens than this.
    over: u64,
    input: f64,
    output: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
}

/// Dollars per million tokens.
#[derive(Clone, Copy)]
struct Rates {
    input: f64,
    output: f64,
    cached_input: f64,
    cache_write: f64,
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
        let file: File =
            serde_json::from_str(json).map_err(|source| PriceError::Shape { source })?;
        let mut seen = std::collections::BTreeSet::new();
        for price in &file.models {
            for name in &price.names {
                if name.is_empty() || !seen.insert((&price.upstream, name)) {
                    return Err(PriceError::Name { model: name.clone() });
                }
            }
            let model = price.names.first().cloned().unwrap_or_default();
            if model.is_empty() {
                return Err(PriceError::Name { model });
            }
            if !price.all_rates().all(|rate| rate.is_finite() && rate >= 0.0) {
                return Err(PriceError::Rate { model });
            }
        }
        let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, price) in file.models.iter().enumerate() {
            for name in &price.names {
                names.entry(name.clone()).or_default().push(place);
            }
        }
        Ok(Self { models: file.models, names })
    }

    /// What these tokens cost in US dollars, to ten decimals; `None` where the
    /// price is not known. An Ollama runs on the user's own machine and costs
    /// nothing. `upstream` is the upstream's name; `None` where it is not known,
    /// and then any upstream's price of that model is taken.
    pub fn cost(&self, upstream: Option<&str>, model: &str, usage: &Usage) -> Option<f64> {
        if upstream == Some("ollama") {
            return Some(0.0);
        }
        let price = self.find(upstream, model)?;
        let rates = price.rates(usage.prompt_tokens);
        let cached = usage.cached_tokens.min(usage.prompt_tokens);
        let written = usage.cache_write_tokens.min(usage.prompt_tokens - cached);
        let plain = usage.prompt_tokens - cached - written;
        let dollars = (tokens(plain) * rates.input
            + tokens(cached) * rates.cached_input
            + tokens(written) * rates.cache_write
            + tokens(usage.completion_tokens) * rates.output)
            / 1e6;
        Some((dollars * 1e10).round() / 1e10)
    }

    /// The price of a model: by its very name, else by its name before a date.
    fn find(&self, upstream: Option<&str>, model: &str) -> Option<&Price> {
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

impl Price {
    fn all_rates(&self) -> impl Iterator<Item = f64> {
        let long = self.long.iter().flat_map(|long| {
            let cache = [long.cached_input, long.cache_write];
            [long.input, long.output].into_iter().chain(cache.into_iter().flatten())
        });
        [self.input, self.output]
            .into_iter()
            .chain(self.cached_input)
            .chain(self.cache_write)
            .chain(long)
    }

    /// A cache rate that is not given is the input's: no discount, no surcharge.
    fn rates(&self, prompt_tokens: u64) -> Rates {
        match &self.long {
            Some(long) if prompt_tokens > long.over => Rates {
                input: long.input,
                output: long.output,
                cached_input: long.cached_input.unwrap_or(long.input),
                cache_write: long.cache_write.unwrap_or(long.input),
            },
            _ => Rates {
                input: self.input,
                output: self.output,
                cached_input: self.cached_input.unwrap_or(self.input),
                cache_write: self.cache_write.unwrap_or(self.input),
            },
        }
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
