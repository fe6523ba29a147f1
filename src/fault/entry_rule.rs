//! The fault that an entry of a recording declares, and which of the entry's calls get it.

use serde_json::Value;

use super::field::{fields_of, read_count, read_numbers};
use super::kind::Fault;
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult};

/// The fields that stand in the object of the fault and are not the fault's own.
const LIMITS: [&str; 2] = ["times", "attempt"];
/// The value of `times` for no limit.
const ALWAYS: &str = "always";

/// The fault of an entry, and which of its calls get it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryFaultRule {
    /// The fault.
    pub fault: Fault,
    /// How often it happens; `None` if the entry does not say.
    pub times: Option<FaultTimes>,
    /// The attempts that get it, from 1; empty for all.
    pub attempt: Vec<u64>,
    /// Whether a fault beside an answer happens at each call if the entry does not say how often.
    pub repeats: bool,
}

/// How often a fault happens for each key or step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTimes {
    /// At every call.
    Always,
    /// At this many calls.
    AtMost(u32),
}

impl EntryFaultRule {
    /// Reads the fault that an entry declares: an object with the fields of the fault, and with
    /// `times` and `attempt`.
    ///
    /// # Errors
    /// As [`Fault::from_value`], and if `times` or `attempt` is invalid.
    pub fn from_value(value: &Value) -> Result<Self, FieldError> {
        let Value::Object(object) = value else {
            let (fault, attempt) = (Fault::from_value(value)?, Vec::new());
            return Ok(Self { fault, times: None, attempt, repeats: false });
        };
        let fields = fields_of(value, "a fault: an object with a type")?;
        let (times, attempt) = (read_times(fields)?, read_numbers(fields, "attempt")?);
        let mut own = object.clone();
        own.retain(|name, _| !LIMITS.contains(&name.as_str()));
        Ok(Self { fault: Fault::from_value(&Value::Object(own))?, times, attempt, repeats: false })
    }

    /// Returns at how many calls the fault happens at most; `None` for no limit. `alone` says
    /// whether the entry has the fault in place of an answer.
    ///
    /// If the entry does not say, a fault in place of an answer happens at every call, and one
    /// beside an answer at one call, unless it `repeats`, or its type or `attempt` limits it.
    pub fn call_limit(&self, alone: bool) -> Option<u32> {
        match self.times {
            Some(FaultTimes::AtMost(times)) => Some(times),
            Some(FaultTimes::Always) => None,
            None => {
                let is_limited =
                    matches!(self.fault, Fault::RecoverAfter { .. }) || !self.attempt.is_empty();
                (!alone && !self.repeats && !is_limited).then_some(1)
            }
        }
    }
}

/// Reads a number from 1, or `always`.
fn read_times(fields: FieldReader<'_>) -> FieldResult<FaultTimes> {
    if fields.get("times").and_then(Value::as_str) == Some(ALWAYS) {
        return Ok(Some(FaultTimes::Always));
    }
    let found = read_count(fields, "times", 1);
    let found =
        found.map_err(|_| fields.wrong_value("times", "a whole number from 1, or \"always\""))?;
    Ok(found.map(FaultTimes::AtMost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<EntryFaultRule, String> {
        EntryFaultRule::from_value(&value).map_err(|error| error.to_string())
    }

    #[test]
    fn times_and_attempt_stand_beside_the_fields_of_the_fault() {
        let rule = read(json!({ "type": "hang", "max_ms": 5, "times": 2, "attempt": [1, 3] }));
        let fault = Fault::Hang { max_ms: 5 };
        let times = Some(FaultTimes::AtMost(2));
        assert_eq!(
            rule.unwrap(),
            EntryFaultRule { fault, times, attempt: vec![1, 3], repeats: false }
        );
        let rule = read(json!({ "type": "drop", "times": "always", "attempt": 2 })).unwrap();
        assert_eq!((rule.times, rule.attempt), (Some(FaultTimes::Always), vec![2]));
        let rule = read(json!({ "type": "drop", "times": null, "attempt": null })).unwrap();
        assert_eq!(
            rule,
            EntryFaultRule { fault: Fault::Drop, times: None, attempt: vec![], repeats: false }
        );
    }

    #[test]
    fn a_fault_comes_as_often_as_its_entry_says() {
        for (fault, beside, alone) in [
            (json!({ "type": "drop" }), Some(1), None),
            (json!({ "type": "drop", "times": 3 }), Some(3), Some(3)),
            (json!({ "type": "drop", "times": "always" }), None, None),
            (json!({ "type": "drop", "attempt": [1, 2] }), None, None),
            (json!({ "type": "drop", "attempt": 1, "times": 1 }), Some(1), Some(1)),
            (json!({ "type": "recover_after", "failures": 2 }), None, None),
        ] {
            let rule = read(fault.clone()).unwrap();
            assert_eq!((rule.call_limit(false), rule.call_limit(true)), (beside, alone), "{fault}");
            let repeated = EntryFaultRule { repeats: true, ..rule };
            let beside = beside.filter(|_| fault.get("times").is_some());
            assert_eq!(
                (repeated.call_limit(false), repeated.call_limit(true)),
                (beside, alone),
                "{fault}"
            );
        }
    }

    #[test]
    fn wrong_limits_are_refused_with_their_place() {
        let times = "a whole number from 1, or \"always\"";
        let attempt = "a whole number from 1, or a list of them";
        for (fault, place, expected) in [
            (json!({ "type": "drop", "times": 0 }), "/times", times),
            (json!({ "type": "drop", "times": "often" }), "/times", times),
            (json!({ "type": "drop", "times": [1] }), "/times", times),
            (json!({ "type": "drop", "attempt": 0 }), "/attempt", attempt),
            (json!({ "type": "drop", "attempt": ["1"] }), "/attempt", attempt),
            (json!({ "type": "drop", "attempt": [] }), "/attempt", attempt),
            (json!({ "type": "drop", "time": 1 }), "/time", "drop"),
        ] {
            let error = read(fault.clone()).unwrap_err();
            assert!(error.starts_with(place), "{fault}: {error}");
            assert!(error.contains(expected), "{fault}: {error}");
        }
    }
}
