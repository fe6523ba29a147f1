//! Reads a price table, and says of a wrong one where it is wrong and what belongs there.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::entry_field::describe;
use super::{LongPromptRates, ModelPrice, TokenRates};

/// The fields of a model's price.
const FIELDS: [&str; 8] =
    ["upstream", "names", "input", "output", "cached_input", "cache_write", "reasoning", "long"];

/// The fields of the rates for long prompts.
const LONG_FIELDS: [&str; 6] =
    ["over", "input", "output", "cached_input", "cache_write", "reasoning"];

/// What a rate must be.
const RATE: &str = "a number from 0 up, in dollars per million tokens";

/// Why a text is no price table.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// It is not JSON.
    #[error(
        "read the price table: {source}; it needs {{\"models\": [{{\"names\": […], \"input\": USD, \"output\": USD}}]}} in dollars per million tokens"
    )]
    Json {
        /// What the reader met.
        #[source]
        source: serde_json::Error,
    },
    /// It does not have a table's shape.
    #[error(
        "accept the price table: {field} must be {expected}, and is {found}; it needs {{\"models\": [{{\"names\": […], \"input\": USD, \"output\": USD}}]}} in dollars per million tokens"
    )]
    Shape {
        /// What is wrong.
        field: &'static str,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A field of a model's price has the wrong type or range, or is missing.
    #[error("accept the price of {model}: `{field}` must be {expected}, and is {found}")]
    Field {
        /// The model, or which entry of the table it is.
        model: String,
        /// The field: `input`, or `long.input`.
        field: String,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A field that no price has.
    #[error("accept the price of {model}: `{field}` is no field of a price; it may have {known}")]
    Unknown {
        /// The model, or which entry of the table it is.
        model: String,
        /// The field.
        field: String,
        /// The fields there are.
        known: String,
    },
    /// A model's name that is given twice, or an empty one.
    #[error(
        "accept the price table: the name {model:?} must not be empty or given twice for the same upstream"
    )]
    Name {
        /// The name.
        model: String,
    },
}

/// A table as it is written.
pub(super) struct PriceFile {
    /// Its prices.
    pub(super) models: Vec<ModelPrice>,
    /// Whether it is meant to stand alone.
    pub(super) replace: bool,
}

/// Reads a table. What stands in it beside `models` and `replace` (its date, its
/// sources) is for people.
pub(super) fn file(json: &str) -> Result<PriceFile, PriceError> {
    let value: Value = serde_json::from_str(json).map_err(|source| PriceError::Json { source })?;
    let shape = |field, expected, value: Option<&Value>| PriceError::Shape {
        field,
        expected,
        found: found(value),
    };
    let Value::Object(top) = &value else {
        return Err(shape("all of it", "an object", Some(&value)));
    };
    let replace = match top.get("replace") {
        None => false,
        Some(Value::Bool(replace)) => *replace,
        other => return Err(shape("`replace`", "true or false", other)),
    };
    let Some(Value::Array(entries)) = top.get("models") else {
        return Err(shape("`models`", "a list of prices", top.get("models")));
    };
    let mut seen = BTreeSet::new();
    let mut models = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let Value::Object(entry) = entry else {
            return Err(shape("each of `models`", "an object", Some(entry)));
        };
        let price = price(entry, index)?;
        for name in &price.names {
            if name.is_empty() || !seen.insert((price.upstream.clone(), name.clone())) {
                return Err(PriceError::Name { model: name.clone() });
            }
        }
        models.push(price);
    }
    Ok(PriceFile { models, replace })
}

/// One price: that of the entry at `index`.
fn price(entry: &Map<String, Value>, index: usize) -> Result<ModelPrice, PriceError> {
    let first = entry.get("names").and_then(|names| names.get(0)?.as_str());
    let model = first.map_or_else(|| format!("entry {}", index + 1), str::to_owned);
    let fields = Fields { map: entry, model: &model, within: "" };
    fields.all_known(&FIELDS)?;
    let names = match entry.get("names") {
        Some(Value::Array(names)) if !names.is_empty() && names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => return Err(fields.wrong("names", "a list of models' names")),
    };
    let upstream = match entry.get("upstream") {
        None => None,
        Some(Value::String(name)) if !name.is_empty() => Some(name.clone()),
        _ => return Err(fields.wrong("upstream", "an upstream's name")),
    };
    let long = match entry.get("long") {
        None => None,
        Some(Value::Object(long)) => {
            let fields = Fields { map: long, model: &model, within: "long." };
            fields.all_known(&LONG_FIELDS)?;
            let over = long.get("over").and_then(Value::as_u64);
            let over = over.ok_or_else(|| fields.wrong("over", "a whole number of tokens"))?;
            let rates = fields.rates()?;
            // What a long prompt's output costs does not follow from what is given.
            if !long.contains_key("output") {
                return Err(fields.wrong("output", RATE));
            }
            Some(LongPromptRates { over, rates })
        }
        _ => return Err(fields.wrong("long", "an object with `over` and rates")),
    };
    Ok(ModelPrice { upstream, names, rates: fields.rates()?, long })
}

/// The fields of a price, or of its rates for long prompts.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    model: &'a str,
    within: &'static str,
}

impl Fields<'_> {
    /// A rate that is not given is that of what it is a part of: no discount, no
    /// surcharge.
    fn rates(&self) -> Result<TokenRates, PriceError> {
        let input = self.rate("input")?.ok_or_else(|| self.wrong("input", RATE))?;
        let output = self.rate("output")?.unwrap_or(0.0);
        Ok(TokenRates {
            input,
            output,
            cached_input: self.rate("cached_input")?.unwrap_or(input),
            cache_write: self.rate("cache_write")?.unwrap_or(input),
            reasoning: self.rate("reasoning")?.unwrap_or(output),
        })
    }

    fn rate(&self, field: &str) -> Result<Option<f64>, PriceError> {
        let Some(value) = self.map.get(field) else { return Ok(None) };
        let rate = value.as_f64().filter(|rate| rate.is_finite() && *rate >= 0.0);
        rate.map(Some).ok_or_else(|| self.wrong(field, RATE))
    }

    fn all_known(&self, known: &[&str]) -> Result<(), PriceError> {
        let stray = self.map.keys().find(|name| !known.contains(&name.as_str()));
        stray.map_or(Ok(()), |field| {
            Err(PriceError::Unknown {
                model: self.model.to_owned(),
                field: format!("{}{field}", self.within),
                known: known.join(", "),
            })
        })
    }

    fn wrong(&self, field: &str, expected: &'static str) -> PriceError {
        PriceError::Field {
            model: self.model.to_owned(),
            field: format!("{}{field}", self.within),
            expected,
            found: found(self.map.get(field)),
        }
    }
}

/// What stands in a field.
fn found(value: Option<&Value>) -> String {
    match value {
        None => "missing".to_owned(),
        // A number is wrong for what it is.
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => describe(other),
    }
}
