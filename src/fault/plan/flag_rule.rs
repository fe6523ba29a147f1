//! The rule that a flag declares: `[STEP=]FAULT[;times=N][;probability=RATE][;CONDITION=VALUE]…`.

use serde_json::{Map, Value};

use super::condition::RuleMatch;
use super::rule::FaultRule;
use crate::fault_source::FaultSource;
use crate::field::{fields_of, read_count, read_rate};
use crate::kind::{CountPer, Fault};
use crate::text::{self, RuleWord};
use loomrec_identity::typed_field::FieldError;

/// The fields of a rule that may follow its fault. `body` is a field of a fault, and the step comes
/// first.
const WORDS: [(&str, RuleWord); 15] = [
    text::TIMES,
    text::PER,
    ("probability", RuleWord::Rate),
    ("request_hash", RuleWord::Text),
    ("upstream", RuleWord::Text),
    ("provider", RuleWord::Text),
    ("operation", RuleWord::Text),
    ("method", RuleWord::Text),
    ("tool", RuleWord::Text),
    ("model", RuleWord::Text),
    ("path", RuleWord::Text),
    ("session", RuleWord::Text),
    ("call", RuleWord::Number),
    ("attempt", RuleWord::Number),
    ("connection", RuleWord::Number),
];

/// The fields that are no conditions.
const LIMITS: [&str; 3] = ["times", "per", "probability"];

impl FaultRule {
    /// Reads the rule that a flag declares, and gives it this name.
    ///
    /// # Errors
    /// If the fault, a limit or a condition is invalid, or the step's name is empty.
    pub fn from_flag(name: String, text: &str) -> Result<Self, FieldError> {
        let (step, fault) = text::split_step(text)?;
        let (fault, words) = text::with_rule_words(fault, &WORDS)?;
        let fault = Fault::from_value(&fault)?;
        let is_limit = |(name, _): &(String, Value)| LIMITS.contains(&name.as_str());
        let (limits, mut when): (Map<_, _>, Map<_, _>) = words.into_iter().partition(is_limit);
        if let Some(step) = step {
            when.insert("step_id".to_owned(), step.into());
        }
        let limits = Value::Object(limits);
        let limits = fields_of(&limits, "the limits of a rule")?;
        Ok(Self {
            name,
            when: RuleMatch::from_value(&Value::Object(when))?,
            fault,
            times: read_count(limits, "times", 1)?,
            per: limits.read_word("per", &CountPer::WORDS)?,
            probability: read_rate(limits, "probability")?,
            target: None,
            source: FaultSource::Flag,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FaultRule {
        FaultRule::from_flag("r".to_owned(), text).unwrap()
    }

    #[test]
    fn limits_and_conditions_follow_the_fault() {
        let rule = read("answer=429;retry_after=2;times=1;probability=10%;model=7b;call=2");
        assert_eq!(rule.fault, Fault::parse("http_error:429;retry_after=2").unwrap());
        assert_eq!((rule.times, rule.probability), (Some(1), Some(0.1)));
        assert_eq!(
            rule.when.to_json(),
            serde_json::json!({ "step_id": "answer", "model": "7b", "call": 2 })
        );
        assert_eq!(read("drop;0.5%;").probability, Some(0.005));
        assert_eq!(read("drop"), read("*=drop"));
        for once in ["429:once", "429;once", "http_error:429;once", "429 : once ;"] {
            assert_eq!(read(once), read("429;times=1;per=run"), "{once}");
        }
        assert_eq!(read("plan=timeout:5000;once;model=7b").times, Some(1));
        assert!(read("drop").when.is_empty());
    }

    #[test]
    fn inner_fault_takes_all_that_follows_it() {
        let rule = read("recover_after:2;times=1;fault=http_error:503");
        assert_eq!(rule.times, Some(1));
        let told = |text| FaultRule::from_flag(String::new(), text).unwrap_err().to_string();
        let text = "recover_after:2;fault=http_error:503;times=1";
        assert!(told(text).contains("unknown field of http_error, \"times\""), "{}", told(text));
    }

    #[test]
    fn refusal_names_the_field_and_what_there_is() {
        let told = |text| FaultRule::from_flag(String::new(), text).unwrap_err().to_string();
        let unknown = told("hang:5;time=1");
        assert!(
            unknown.contains("did you mean \"times\"?; there are: max_ms, times, per, probability")
        );
        assert_eq!(
            told("drop;times=0"),
            "/times: expected a whole number from 1 to 4294967295, not 0"
        );
        assert_eq!(told("drop;probability=2"), "/probability: expected a rate, from 0 to 1, not 2");
        assert_eq!(told("drop;101%"), "/probability: expected a rate, from 0 to 1, not 1.01");
        for twice in ["drop;times=1;times=2", "drop:once;times=2", "drop:once;once"] {
            assert_eq!(told(twice), "/times: it is given twice");
        }
        assert!(Fault::parse("429:once").is_err(), "a header asks for one call only");
        assert!(told("drop;upstream=").starts_with("/upstream: expected a word"));
        assert_eq!(
            told("10%=429"),
            "10% is a rate, not a step: give it behind the fault, as in `429;probability=10%`, or \
             use --chaos"
        );
    }
}
