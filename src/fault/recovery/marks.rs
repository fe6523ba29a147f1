//! Marks of one's own: when faults began, and when a program noticed and recovered, from another
//! source than a journal.

use std::time::Duration;

use serde_json::Value;

use super::{FaultTimeline, RecoveryMeans};
use crate::field::fields_of;
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult};

const FIELDS: [&str; 7] = [
    "name",
    "started_ms",
    "call_start_ms",
    "detected_ms",
    "recovered_ms",
    "timeout_budget_ms",
    "recovered_by",
];
/// The latest time, in milliseconds.
const LATEST: f64 = 1e15;

/// The marks of one fault.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultMarks {
    /// The name of the fault; its number if none is given.
    pub name: String,
    /// Its times.
    pub times: FaultTimeline,
    /// By what means the program recovered, if that is given.
    pub means: Option<RecoveryMeans>,
}

impl FaultMarks {
    /// Reads a list of marks, or one: objects with `started_ms` (or `call_start_ms`), and optionally `name`, `detected_ms`, `recovered_ms`, `timeout_budget_ms` and
    /// `recovered_by`. Times are milliseconds on one clock.
    ///
    /// # Errors
    /// The first mark that is invalid, with its place.
    pub fn read_all(value: &Value) -> Result<Vec<Self>, FieldError> {
        if value.get("call_start_ms").or(value.get("started_ms")).is_some() {
            return Ok(vec![Self::from_value(1, value)?]);
        }
        let expected = "a list of marks: objects with started_ms";
        let list = value.as_array().ok_or_else(|| {
            let found = loomrec_identity::typed_field::shown_value(value);
            FieldError::unexpected("", expected, found)
        })?;
        let read = |(at, value)| {
            Self::from_value(at + 1, value)
                .map_err(|error: FieldError| error.under(&format!("/{at}")))
        };
        list.iter().enumerate().map(read).collect()
    }

    fn from_value(number: usize, value: &Value) -> Result<Self, FieldError> {
        let fields = fields_of(value, "a mark: an object with started_ms")?;
        fields.refuse_unknown("a mark", &FIELDS)?;
        let start = match (read_time(fields, "started_ms")?, read_time(fields, "call_start_ms")?) {
            (Some(_), Some(_)) => {
                let why = "it is started_ms by another name: give one of them";
                return Err(FieldError::from_reason(fields.field_place("call_start_ms"), why));
            }
            (Some(start), None) | (None, Some(start)) => start,
            (None, None) => {
                let why = "a mark needs it: when the fault began, in milliseconds";
                return Err(FieldError::from_reason(fields.field_place("started_ms"), why));
            }
        };
        let (detected, recovered) =
            (read_time(fields, "detected_ms")?, read_time(fields, "recovered_ms")?);
        let means = RecoveryMeans::ALL.map(|means| (means.as_str(), means));
        Ok(Self {
            name: fields.read_text("name")?.unwrap_or_else(|| number.to_string()),
            times: FaultTimeline {
                start,
                detected,
                recovered,
                timeout_budget: read_time(fields, "timeout_budget_ms")?,
                only_delays: false,
            },
            means: fields.read_word("recovered_by", &means)?,
        })
    }
}

fn read_time(fields: FieldReader<'_>, name: &str) -> FieldResult<Duration> {
    let expected = "a time in milliseconds, from 0 to 10^15";
    let found = fields.read_number(name, 0.0..=LATEST, expected)?;
    // In steps of a microsecond, so that sums of decimals come out as they are written.
    Ok(found.map(|ms| Duration::from_micros((ms * 1000.0).round() as u64)))
}

#[cfg(test)]
mod tests {
    use proptest::option::of;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::recovery::{RecoveryBudget, judge_faults};

    #[test]
    fn marks_are_read_as_they_are_written() {
        let read = FaultMarks::read_all(&json!([
            { "name": "dead", "started_ms": 0, "detected_ms": 9000.5, "recovered_ms": 9200,
              "recovered_by": "fallback" },
            { "call_start_ms": 10, "detected_ms": null },
        ]));
        let [dead, second] = read.unwrap().try_into().unwrap();
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1000.0);
        assert_eq!((dead.name.as_str(), dead.means), ("dead", Some(RecoveryMeans::Fallback)));
        assert_eq!(
            (dead.times.detected, dead.times.recovered),
            (Some(ms(9000.5)), Some(ms(9200.0)))
        );
        assert_eq!((second.name.as_str(), second.times.start), ("2", ms(10.0)));
        assert_eq!((second.times.detected, second.times.recovered), (None, None));
    }

    #[test]
    fn single_observation_is_read_as_it_is() {
        let read = FaultMarks::read_all(&json!({
            "call_start_ms": 100, "detected_ms": 2100, "recovered_ms": null,
            "timeout_budget_ms": 1500,
        }));
        let verdict = judge_faults([read.unwrap().remove(0).times], None);
        let report = verdict.scores[0].report.to_json();
        assert_eq!(
            report,
            json!({
                "time_to_detection_ms": 2000.0, "time_to_recovery_ms": null,
                "user_visible_hang_ms": 2000.0, "recovered": false, "clean_timeout": false,
            })
        );
        // Without any mark, the hang is the observation's own budget.
        let read = FaultMarks::read_all(&json!([{ "call_start_ms": 0, "timeout_budget_ms": 700 }]));
        let verdict = judge_faults([read.unwrap().remove(0).times], None);
        assert_eq!(verdict.total.user_visible_hang, Duration::from_millis(700));
    }

    #[test]
    fn refusal_names_the_place() {
        let told = |value: Value| FaultMarks::read_all(&value).unwrap_err().to_string();
        assert_eq!(
            told(json!({})),
            "expected a list of marks: objects with started_ms, not an object"
        );
        assert_eq!(
            told(json!([{ "started_ms": 0 }, {}])),
            "/1/started_ms: a mark needs it: when the fault began, in milliseconds"
        );
        assert_eq!(
            told(json!([{ "started_ms": -1 }])),
            "/0/started_ms: expected a time in milliseconds, from 0 to 10^15, not -1"
        );
        assert!(told(json!([{ "started_ms": 0, "detected": 1 }])).contains("\"detected_ms\"?"));
        assert!(told(json!([{ "started_ms": 0, "call_start_ms": 1 }])).contains("another name"));
    }

    proptest! {
        /// The five numbers and the verdict follow the rules of docs/recovery.md, computed here in
        /// whole milliseconds.
        #[test]
        fn marks_are_scored_by_the_rules(
            (start, detected, recovered) in (0..9_000_u64, of(0..9_000_u64), of(0..9_000_u64)),
            (most, recovery, clean) in (0..9_000_u64, of(0..9_000_u64), any::<bool>()),
        ) {
            let mark = json!({
                "call_start_ms": start, "detected_ms": detected, "recovered_ms": recovered,
            });
            let budget = json!({
                "max_detection_ms": most, "max_recovery_ms": recovery,
                "require_clean_timeout": clean,
            });
            let budget = RecoveryBudget::from_value(&budget).unwrap();
            let marks = FaultMarks::read_all(&json!([mark])).unwrap();
            let verdict = judge_faults(marks.iter().map(|marks| marks.times), Some(&budget));
            let after = |mark: Option<u64>| mark.and_then(|mark| mark.checked_sub(start));
            let (to_detect, to_recover) = (after(detected), after(recovered));
            let is_clean = to_detect.is_some_and(|took| took <= most);
            let hang = [to_detect, to_recover].into_iter().flatten().min().unwrap_or(most);
            let ms = |took: Option<u64>| took.map(|took| took as f64);
            let expected = json!({
                "time_to_detection_ms": ms(to_detect),
                "time_to_recovery_ms": ms(to_recover),
                "user_visible_hang_ms": hang as f64,
                "recovered": to_recover.is_some(),
                "clean_timeout": is_clean,
            });
            prop_assert_eq!(verdict.scores[0].report.to_json(), expected);
            let in_time = to_recover.is_some_and(|took| recovery.is_none_or(|most| took <= most));
            prop_assert_eq!(verdict.has_passed(), in_time && (is_clean || !clean));
        }
    }
}
