//! The reader of price tables. Its errors name the wrong field and what belongs there.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{LongPromptRates, ModelPrice, TokenRates};
use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldStyle, NullRule, PlaceForm, ShownValue,
};

/// The fields of a model's price.
const FIELDS: [&str; 8] =
    ["upstream", "names", "input", "output", "cached_input", "cache_write", "reasoning", "long"];

/// The fields of the rates for long prompts.
const LONG_FIELDS: [&str; 6] =
    ["over", "input", "output", "cached_input", "cache_write", "reasoning"];

/// What a rate must be.
const RATE: &str = "a number from 0 up, in dollars per million tokens";

/// An error shows a wrong number. Of any other value it shows only the kind.
const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Path, null: NullRule::Value, shown: ShownValue::Number };

/// Why a text is not a price table.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// It is not JSON.
    #[error(
        "read the price table: {source}; it needs {{\"models\": [{{\"names\": […], \"input\": USD, \"output\": USD}}]}} in dollars per million tokens"
    )]
    Json {
        /// The parser's error.
        #[source]
        source: serde_json::Error,
    },
    /// It does not have a table's shape.
    #[error(
        "accept the price table: {} {}; it needs {{\"models\": [{{\"names\": […], \"input\": USD, \"output\": USD}}]}} in dollars per million tokens",
        .0.place,
        .0.problem.requirement()
    )]
    Shape(FieldError),
    /// A field of a model's price has the wrong type, is out of range, is missing, or is unknown.
    #[error("accept the price of {model}: `{}` {}", .problem.place, .problem.problem.requirement())]
    Field {
        /// The model's name, or the number of its entry in the table.
        model: String,
        /// What is wrong.
        problem: FieldError,
    },
    /// A model's name is empty, or is given twice.
    #[error(
        "accept the price table: the name {model:?} must not be empty or given twice for the same upstream"
    )]
    Name {
        /// The name.
        model: String,
    },
}

/// The content of a price file.
pub(super) struct PriceFile {
    /// Its prices.
    pub(super) models: Vec<ModelPrice>,
    /// Whether it replaces the built-in prices.
    pub(super) replace: bool,
}

/// Reads a table. Fields other than `models` and `replace` (its date, its sources) are for people.
pub(super) fn parse_file(json: &str) -> Result<PriceFile, PriceError> {
    let value: Value = serde_json::from_str(json).map_err(|source| PriceError::Json { source })?;
    let top = FieldReader::from_value(&value, "", "an object", STYLE);
    let top = top.map_err(|error| PriceError::Shape(error.under("all of it")))?;
    let replace = top.read_flag("replace").map_err(table_error)?.unwrap_or(false);
    let expected = "a list of prices";
    let entries = top.read_list("models", expected).map_err(table_error)?;
    let entries = entries.ok_or_else(|| table_error(top.wrong_value("models", expected)))?;
    let mut seen = BTreeSet::new();
    let mut models = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let fields = FieldReader::from_value(entry, "", "an object", STYLE)
            .map_err(|error| PriceError::Shape(error.under("each of `models`")))?;
        let price = read_price(fields).map_err(|problem| {
            let first = entry.get("names").and_then(|names| names.get(0)?.as_str());
            let model = first.map_or_else(|| format!("entry {}", index + 1), str::to_owned);
            PriceError::Field { model, problem }
        })?;
        for name in &price.names {
            if name.is_empty() || !seen.insert((price.upstream.clone(), name.clone())) {
                return Err(PriceError::Name { model: name.clone() });
            }
        }
        models.push(price);
    }
    Ok(PriceFile { models, replace })
}

/// Returns the error for a field of the table itself.
fn table_error(error: FieldError) -> PriceError {
    let place = format!("`{}`", error.place);
    PriceError::Shape(FieldError { place, ..error })
}

/// Reads one price.
fn read_price(fields: FieldReader<'_>) -> Result<ModelPrice, FieldError> {
    fields.refuse_unknown("a price", &FIELDS)?;
    let names = |value: &Value| {
        let names = value.as_array().filter(|names| !names.is_empty())?;
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    let expected = "a list of models' names";
    let names = fields.read_with("names", expected, names)?;
    let names = names.ok_or_else(|| fields.wrong_value("names", expected))?;
    let name = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    let upstream = fields.read_with("upstream", "an upstream's name", name)?;
    let long = fields.read_object("long", "an object with `over` and rates")?;
    let long = long.map(long_rates).transpose()?;
    Ok(ModelPrice { upstream, names, rates: read_rates(fields)?, long })
}

fn long_rates(long: &Map<String, Value>) -> Result<LongPromptRates, FieldError> {
    let fields = FieldReader::new(long, "long", STYLE);
    fields.refuse_unknown("a price for long prompts", &LONG_FIELDS)?;
    let expected = "a whole number of tokens";
    let over = fields.read_integer("over", 0..=u64::MAX, expected)?;
    let over = over.ok_or_else(|| fields.wrong_value("over", expected))?;
    let rates = read_rates(fields)?;
    // The price of a long prompt's output cannot be derived from the other rates.
    if fields.get("output").is_none() {
        return Err(fields.wrong_value("output", RATE));
    }
    Ok(LongPromptRates { over, rates })
}

/// Reads the rates. A missing rate equals that of its category: no discount and no surcharge.
fn read_rates(fields: FieldReader<'_>) -> Result<TokenRates, FieldError> {
    let rate = |name| fields.read_number(name, 0.0..=f64::MAX, RATE);
    let input = rate("input")?.ok_or_else(|| fields.wrong_value("input", RATE))?;
    let output = rate("output")?.unwrap_or(0.0);
    Ok(TokenRates {
        input,
        output,
        cached_input: rate("cached_input")?.unwrap_or(input),
        cache_write: rate("cache_write")?.unwrap_or(input),
        reasoning: rate("reasoning")?.unwrap_or(output),
    })
}
