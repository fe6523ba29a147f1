//! The time limits within which a program must notice a fault and recover from it.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::field::{LONGEST_MS, MILLISECONDS};
use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldStyle, NullRule, PlaceForm, ShownValue,
};

const FIELDS: [&str; 3] = ["max_detection_ms", "max_recovery_ms", "require_clean_timeout"];

/// A field that is `null` counts as absent.
const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Path, null: NullRule::Absent, shown: ShownValue::Always };

/// A name without a value in text is `null`, and that is a wrong value.
const TEXT_STYLE: FieldStyle = FieldStyle { null: NullRule::Value, ..STYLE };

/// The time to notice if no budget sets one. It is the default timeout of SDKs (OpenAI's and
/// Anthropic's: ten minutes).
pub const DEFAULT_DETECTION: Duration = Duration::from_secs(600);

/// The time limits for every fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryBudget {
    /// The longest time to notice the fault, inclusive. A later notice is a miss only if
    /// `require_clean_timeout` is set. A hang that nothing ended counts as this long. `None` counts
    /// as [`DEFAULT_DETECTION`].
    pub max_detection: Option<Duration>,
    /// The longest time until the program has recovered, inclusive. If `None`, the program
    /// must still recover, with no time limit.
    pub max_recovery: Option<Duration>,
    /// Whether the program must have noticed within `max_detection`.
    pub require_clean_timeout: bool,
}

impl RecoveryBudget {
    /// Reads `max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout`.
    ///
    /// # Errors
    /// If a name is unknown or given twice, a value is invalid, no time is given, or
    /// `require_clean_timeout` is set without `max_detection_ms`.
    pub fn parse(text: &str) -> Result<Self, FieldError> {
        let mut object = Map::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), plain_value(value.trim())),
                // Only this field may be given without a value.
                None if part == FIELDS[2] => (part, Value::Bool(true)),
                None => (part, Value::Null),
            };
            if object.insert(name.to_owned(), value).is_some() {
                return Err(FieldError::from_reason(name, "it is given twice"));
            }
        }
        Self::from_fields(FieldReader::new(&object, "", TEXT_STYLE))
    }

    /// Reads an object with the same names.
    ///
    /// # Errors
    /// As [`RecoveryBudget::parse`].
    pub fn from_value(value: &Value) -> Result<Self, FieldError> {
        let expected = "a budget: an object with max_detection_ms or max_recovery_ms";
        Self::from_fields(FieldReader::from_value(value, "", expected, STYLE)?)
    }

    fn from_fields(fields: FieldReader<'_>) -> Result<Self, FieldError> {
        fields.refuse_unknown("a budget", &FIELDS)?;
        let [detection, recovery, clean] = FIELDS;
        let time = |name| fields.read_whole_number(name, 0..=LONGEST_MS, MILLISECONDS);
        let max_detection = time(detection)?.map(Duration::from_millis);
        let max_recovery = time(recovery)?.map(Duration::from_millis);
        let require_clean_timeout = fields.read_flag(clean)?.unwrap_or(false);
        if max_detection.is_none() && (require_clean_timeout || max_recovery.is_none()) {
            let why = match require_clean_timeout {
                true => {
                    "require_clean_timeout needs max_detection_ms: how long the program may take \
                     to notice"
                }
                false => {
                    "a budget needs max_detection_ms or max_recovery_ms: how long the program may \
                     take to notice, or to recover"
                }
            };
            return Err(FieldError::from_reason("", why));
        }
        Ok(Self { max_detection, max_recovery, require_clean_timeout })
    }

    /// The budget as an object.
    pub fn to_json(&self) -> Value {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        serde_json::json!({
            "max_detection_ms": self.max_detection.map(ms),
            "max_recovery_ms": self.max_recovery.map(ms),
            "require_clean_timeout": self.require_clean_timeout,
        })
    }
}

/// A value in a line of text.
fn plain_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(text.to_owned()),
    }
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
            max_detection: Some(Duration::from_secs(3)),
            max_recovery: Some(Duration::from_secs(5)),
            require_clean_timeout: true,
        };
        let text = "max_detection_ms=3000, max_recovery_ms = 5000,require_clean_timeout,";
        assert_eq!(RecoveryBudget::parse(text), Ok(budget));
        let text = "max_detection_ms=3e3,max_recovery_ms=5000.0,require_clean_timeout=true";
        assert_eq!(RecoveryBudget::parse(text), Ok(budget));
        assert_eq!(RecoveryBudget::from_value(&budget.to_json()), Ok(budget));
        let least = RecoveryBudget { max_recovery: None, require_clean_timeout: false, ..budget };
        assert_eq!(RecoveryBudget::parse("max_detection_ms=3000"), Ok(least));
        assert_eq!(RecoveryBudget::from_value(&least.to_json()), Ok(least));
        assert_eq!(
            RecoveryBudget::parse("max_detection_ms=3000,require_clean_timeout=false"),
            Ok(least)
        );
    }

    #[test]
    fn one_of_the_times_is_enough() {
        let budget = RecoveryBudget {
            max_detection: None,
            max_recovery: Some(Duration::from_secs(5)),
            require_clean_timeout: false,
        };
        assert_eq!(RecoveryBudget::parse("max_recovery_ms=5000"), Ok(budget));
        assert_eq!(RecoveryBudget::from_value(&budget.to_json()), Ok(budget));
    }

    #[test]
    fn refusal_names_what_is_wrong() {
        assert_eq!(
            told("max_detection=3000"),
            "max_detection: unknown field of a budget, \"max_detection\", did you mean \
             \"max_detection_ms\"?; there are: max_detection_ms, max_recovery_ms, \
             require_clean_timeout"
        );
        let needed = "a budget needs max_detection_ms or max_recovery_ms: how long the program may \
                      take to notice, or to recover";
        assert_eq!((told(""), told("require_clean_timeout=false")), (needed.into(), needed.into()));
        let needed = "require_clean_timeout needs max_detection_ms: how long the program may take to \
                      notice";
        assert_eq!(told("max_recovery_ms=1,require_clean_timeout"), needed);
        assert_eq!(told("require_clean_timeout"), needed);
        assert_eq!(
            told("max_detection_ms=1,max_detection_ms=2"),
            "max_detection_ms: it is given twice"
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
        let error = RecoveryBudget::from_value(&json!([])).unwrap_err().to_string();
        assert_eq!(
            error,
            "expected a budget: an object with max_detection_ms or max_recovery_ms, not a list"
        );
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
                prop_assert_eq!(RecoveryBudget::from_value(&budget.to_json()), Ok(budget));
            }
        }
    }
}
