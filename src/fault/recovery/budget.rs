//! How long a program may take to notice a fault and to recover from it.

use std::time::Duration;

use serde_json::{Map, Number, Value};

use loomrec_identity::spelling::nearest;

const FIELDS: [&str; 3] = ["max_detection_ms", "max_recovery_ms", "require_clean_timeout"];

/// The longest time that is taken for one, in milliseconds: a day.
const LONGEST_MS: u64 = 86_400_000;

/// What every fault is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryBudget {
    /// To notice it; this long is not too long.
    pub max_detection: Duration,
    /// To have the same call answered well; not asked for where it is not said.
    pub max_recovery: Option<Duration>,
    /// Whether the program must have noticed by the end of its time to do so.
    pub require_clean_timeout: bool,
}

/// A budget that is none. Messages read after where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// No object.
    #[error("a budget is an object with max_detection_ms, not {found}")]
    NotObject {
        /// What it is.
        found: &'static str,
    },
    /// A name that no budget has.
    #[error(
        "a budget has no {name:?}{hint}; it has max_detection_ms, max_recovery_ms, \
         require_clean_timeout"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The one that was meant, perhaps.
        hint: String,
    },
    /// The same name twice.
    #[error("{name} is given twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A value that cannot be.
    #[error("{name}: expected {expected}, not {found}")]
    Value {
        /// The name.
        name: &'static str,
        /// What would be right.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// The one that must be given.
    #[error("a budget needs max_detection_ms: how long the program may take to notice")]
    Missing,
}

impl RecoveryBudget {
    /// Reads `max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout`.
    ///
    /// # Errors
    /// A name that no budget has, or one twice; a value that cannot be; no
    /// `max_detection_ms`.
    pub fn parse(text: &str) -> Result<Self, BudgetError> {
        let mut object = Map::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), word(value.trim())),
                // Only a switch says something by being there.
                None if part == FIELDS[2] => (part, Value::Bool(true)),
                None => (part, Value::Null),
            };
            if object.insert(name.to_owned(), value).is_some() {
                return Err(BudgetError::Twice { name: name.to_owned() });
            }
        }
        Self::of(&object, true)
    }

    /// Reads an object with the same names.
    ///
    /// # Errors
    /// As [`RecoveryBudget::parse`].
    pub fn read(value: &Value) -> Result<Self, BudgetError> {
        match value {
            Value::Object(object) => Self::of(object, false),
            other => Err(BudgetError::NotObject { found: kind(other) }),
        }
    }

    /// `bare`: a name without a value is one that lacks it; else it is not given.
    fn of(object: &Map<String, Value>, bare: bool) -> Result<Self, BudgetError> {
        if let Some(name) = object.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            return Err(BudgetError::Unknown { name: name.clone(), hint: hint(name) });
        }
        let get = |name| object.get(name).filter(|value: &&Value| bare || !value.is_null());
        let time = |name| match get(name) {
            None => Ok(None),
            Some(value) => match value.as_number().and_then(whole) {
                Some(ms) => Ok(Some(Duration::from_millis(ms))),
                None => Err(wrong(name, "whole milliseconds, from 0 to 86400000 (a day)", value)),
            },
        };
        let [detection, recovery, clean] = FIELDS;
        let max_detection = time(detection)?;
        let max_recovery = time(recovery)?;
        let require_clean_timeout = match get(clean) {
            None => false,
            Some(Value::Bool(value)) => *value,
            Some(value) => return Err(wrong(clean, "true or false", value)),
        };
        let max_detection = max_detection.ok_or(BudgetError::Missing)?;
        Ok(Self { max_detection, max_recovery, require_clean_timeout })
    }

    /// The budget as an object.
    pub fn to_json(&self) -> Value {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        serde_json::json!({
            "max_detection_ms": ms(self.max_detection),
            "max_recovery_ms": self.max_recovery.map(ms),
            "require_clean_timeout": self.require_clean_timeout,
        })
    }
}

/// A value as it stands in a line of text.
fn word(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}

/// Whole milliseconds that are no more than a day; `3.0` is whole, too.
fn whole(number: &Number) -> Option<u64> {
    let float = || number.as_f64().filter(|ms| ms.fract() == 0.0 && *ms >= 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and not negative; what is too large stays too large"
    )]
    let ms = number.as_u64().or_else(|| float().map(|ms| ms as u64));
    ms.filter(|ms| *ms <= LONGEST_MS)
}

fn wrong(name: &'static str, expected: &'static str, found: &Value) -> BudgetError {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Number(number) => number.to_string().chars().take(40).collect(),
        Value::String(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        other => kind(other).to_owned(),
    };
    BudgetError::Value { name, expected, found }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A hint to the name that was meant.
fn hint(name: &str) -> String {
    let written = name.to_ascii_lowercase().replace('-', "_");
    nearest(&written, &FIELDS).map_or_else(String::new, |near| format!(", did you mean {near:?}?"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn told(text: &str) -> String {
        RecoveryBudget::parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn text_and_object_say_the_same() {
        let budget = RecoveryBudget {
            max_detection: Duration::from_secs(3),
            max_recovery: Some(Duration::from_secs(5)),
            require_clean_timeout: true,
        };
        let text = "max_detection_ms=3000, max_recovery_ms = 5000,require_clean_timeout,";
        assert_eq!(RecoveryBudget::parse(text), Ok(budget));
        let text = "max_detection_ms=3e3,max_recovery_ms=5000.0,require_clean_timeout=true";
        assert_eq!(RecoveryBudget::parse(text), Ok(budget));
        assert_eq!(RecoveryBudget::read(&budget.to_json()), Ok(budget));
        let least = RecoveryBudget { max_recovery: None, require_clean_timeout: false, ..budget };
        assert_eq!(RecoveryBudget::parse("max_detection_ms=3000"), Ok(least));
        assert_eq!(RecoveryBudget::read(&least.to_json()), Ok(least));
        assert_eq!(
            RecoveryBudget::parse("max_detection_ms=3000,require_clean_timeout=false"),
            Ok(least)
        );
    }

    #[test]
    fn refusal_names_what_is_wrong() {
        assert_eq!(
            told("max_detection=3000"),
            "a budget has no \"max_detection\", did you mean \"max_detection_ms\"?; it has \
             max_detection_ms, max_recovery_ms, require_clean_timeout"
        );
        let needed = "a budget needs max_detection_ms: how long the program may take to notice";
        assert_eq!(told(""), needed);
        assert_eq!(told("max_recovery_ms=1,require_clean_timeout"), needed);
        assert_eq!(
            told("max_detection_ms=1,max_detection_ms=2"),
            "max_detection_ms is given twice"
        );
        let expected = "max_detection_ms: expected whole milliseconds, from 0 to 86400000 (a day)";
        for (value, found) in [
            ("=-1", "-1"),
            ("=0.5", "0.5"),
            ("=86400001", "86400001"),
            ("=1e99", "1e+99"),
            ("=3s", "\"3s\""),
            ("=", "\"\""),
            ("=true", "true"),
            ("", "nothing"),
        ] {
            assert_eq!(
                told(&format!("max_detection_ms{value}")),
                format!("{expected}, not {found}")
            );
        }
        assert_eq!(
            told("max_detection_ms=1,require_clean_timeout=1"),
            "require_clean_timeout: expected true or false, not 1"
        );
        let error = RecoveryBudget::read(&json!([])).unwrap_err().to_string();
        assert_eq!(error, "a budget is an object with max_detection_ms, not a list");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(parts in prop::collection::vec(
            (prop::sample::select(vec![FIELDS[0], FIELDS[1], FIELDS[2], "other", ""]), "[=,]?[0-9a-z.\"-]{0,5}"),
            0..4,
        )) {
            let parts = parts.iter().map(|(name, value)| format!("{name}{value}"));
            let text = parts.collect::<Vec<_>>().join(",");
            if let Ok(budget) = RecoveryBudget::parse(&text) {
                prop_assert_eq!(RecoveryBudget::read(&budget.to_json()), Ok(budget));
            }
        }
    }
}
