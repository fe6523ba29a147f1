//! The reader of rules. Its errors say which rule is wrong, where, and what was expected.

use std::sync::Arc;

use regex::RegexBuilder;
use serde_json::{Map, Value};

use super::entry::ScriptEntry;
use super::notation::ScriptError;
use super::read;
use super::rule::{RuleAnswer, RuleOrder, ScriptRule};
use super::rule_condition::{RuleCondition, TextCondition, WrittenCondition};
use crate::declared_fault::DeclaredFault;
use loomrec_fault::{ChaosRates, Fault, RuleMatch};
use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldResult, FieldStyle, NullRule, PlaceForm, ShownValue, shown_value,
    whole_number,
};

const RULE: [&str; 7] = ["name", "when", "answer", "error", "fault", "chaos", "times"];
/// The conditions that are not those of fault plans.
const OWN: [&str; 6] = ["user", "system", "tool_result", "tool", "input", "call"];
/// The conditions that rules share with fault plans.
const FACTS: [&str; 8] =
    ["step_id", "upstream", "provider", "operation", "model", "path", "session", "body"];
const TEXT: [&str; 3] = ["contains", "equals", "regex"];

/// The most rules of a script.
const MOST_RULES: usize = 100_000;
/// The most characters of a name, and of a pattern.
const LONGEST_NAME: usize = 200;
const LONGEST_REGEX: usize = 4096;
/// The most bytes that a compiled pattern takes.
const REGEX_SIZE: usize = 1 << 20;

const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Path, null: NullRule::Absent, shown: ShownValue::Always };

/// Reads a list of rules. `before` is how many rules other files have: rules without a name are
/// numbered through.
///
/// # Errors
/// If a rule has an unknown field or a wrong value, answers nothing, or has the name of another.
pub(super) fn read_rules(list: &[Value], before: usize) -> Result<Vec<ScriptRule>, ScriptError> {
    if before + list.len() > MOST_RULES {
        let why = format!("a script has at most {MOST_RULES} rules, and this one {}", list.len());
        return Err(FieldError::from_reason("rules", why).into());
    }
    let mut names = std::collections::BTreeMap::new();
    let mut rules = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let number = index + 1;
        let rule = read_rule(number, before + number, value)?;
        if let Some(first) = names.insert(Arc::clone(&rule.name), number) {
            let why =
                format!("rules {first} and {number} are both named {:?}: rename one", rule.name);
            return Err(FieldError::from_reason("rules", why).into());
        }
        rules.push(rule);
    }
    Ok(rules)
}

/// Reads a rule with this number in its file, and `unnamed` in the script.
fn read_rule(number: usize, unnamed: usize, value: &Value) -> Result<ScriptRule, ScriptError> {
    let refuse = |problem: FieldError| ScriptError { place: format!("rule {number}: "), problem };
    let fields = FieldReader::from_value(value, "", "a rule: an object with an answer", STYLE);
    let fields = fields.and_then(|fields| fields.refuse_unknown("a rule", &RULE).map(|()| fields));
    let fields = fields.map_err(refuse)?;
    let entries = read_answer(number, fields)?;
    read_other_fields(unnamed, fields, entries).map_err(refuse)
}

/// Reads the entries that a rule answers with, if it has any.
fn read_answer(
    number: usize,
    fields: FieldReader<'_>,
) -> Result<Option<Vec<ScriptEntry>>, ScriptError> {
    let refuse = |problem: FieldError| ScriptError { place: format!("rule {number}: "), problem };
    match (fields.get("answer"), fields.get("error")) {
        (Some(_), Some(_)) => {
            let why = "it cannot be combined with answer: put the error into the answer";
            Err(refuse(FieldError::from_reason("error", why)))
        }
        (Some(Value::String(text)), None) => Ok(Some(vec![ScriptEntry::Text(text.clone())])),
        (Some(list), None) => {
            read::read_call_entries(&format!("rule {number}"), list.clone()).map(Some)
        }
        (None, Some(error)) => {
            let mut entry = Map::new();
            entry.insert("error".to_owned(), error.clone());
            let list = Value::Array(vec![Value::Object(entry)]);
            read::read_call_entries(&format!("rule {number}"), list).map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// Reads all else of a rule.
fn read_other_fields(
    unnamed: usize,
    fields: FieldReader<'_>,
    entries: Option<Vec<ScriptEntry>>,
) -> Result<ScriptRule, FieldError> {
    let name = match fields.read_text("name")? {
        None => format!("rule#{unnamed}"),
        Some(name) => {
            let fits = (1..=LONGEST_NAME).contains(&name.chars().count());
            if !fits || name.contains(char::is_control) {
                return Err(fields.wrong_value("name", "1 to 200 characters on one line"));
            }
            name
        }
    };
    let (when, order) = match fields.read_object("when", "an object of conditions")? {
        Some(when) => read_conditions(when)?,
        None => (WrittenCondition::default(), RuleOrder::Any),
    };
    let times =
        fields.read_whole_number("times", 1..=u64::MAX, "how many calls it answers, 1 or more")?;
    let faults = read_faults(fields, entries.is_some())?;
    let is_nothing = entries.is_none() && !faults.as_ref().is_some_and(DeclaredFault::is_alone);
    if is_nothing {
        let why = "it answers nothing: give it an answer, an error, or a fault";
        return Err(FieldError::from_reason("", why));
    }
    let answer = entries.map(RuleAnswer::Entries);
    let when = RuleCondition::Written(Box::new(when));
    Ok(ScriptRule { name: name.into(), when, order, times, answer, faults })
}

/// Reads the faults of a rule.
fn read_faults(fields: FieldReader<'_>, answered: bool) -> FieldResult<DeclaredFault> {
    let fault = fields.get("fault").map(Fault::from_value).transpose();
    let fault = fault.map_err(|error| error.under("fault"))?;
    let rates = fields.get("chaos").map(ChaosRates::from_value).transpose();
    let rates = rates.map_err(|error| error.under("chaos"))?;
    if let Some(fault) = fault.as_ref().filter(|fault| !answered && !fault.replaces()) {
        let why = format!("{} needs an answer beside it", fault.name());
        return Err(FieldError::from_reason("fault", why));
    }
    Ok(DeclaredFault::of_rule(fault, answered, rates))
}

fn read_conditions(when: &Map<String, Value>) -> Result<(WrittenCondition, RuleOrder), FieldError> {
    let fields = FieldReader::new(when, "when", STYLE);
    let known: Vec<&str> = OWN.into_iter().chain(FACTS).collect();
    fields.refuse_unknown("when", &known)?;
    let facts = when.iter().filter(|(name, _)| FACTS.contains(&name.as_str()));
    let facts: Map<String, Value> =
        facts.map(|(name, value)| (name.clone(), value.clone())).collect();
    let facts =
        RuleMatch::from_value(&Value::Object(facts)).map_err(|error| error.under("when"))?;
    let expected = "a number from 1, or a list of them";
    let order = match fields.read_with("call", expected, read_numbers)? {
        Some(numbers) => RuleOrder::Calls(numbers),
        None => RuleOrder::Any,
    };
    let condition = WrittenCondition {
        facts,
        user: text_condition(fields, "user")?,
        system: text_condition(fields, "system")?,
        tool_result: text_condition(fields, "tool_result")?,
        input: text_condition(fields, "input")?,
        tool: fields.read_text("tool")?,
    };
    Ok((condition, order))
}

fn read_numbers(value: &Value) -> Option<Vec<u64>> {
    let one = |value: &Value| whole_number(value).filter(|number| *number > 0);
    match value {
        Value::Array(list) if list.is_empty() => None,
        Value::Array(list) => list.iter().map(one).collect(),
        other => one(other).map(|number| vec![number]),
    }
}

/// Reads a condition for a text: a text that it contains, or an object that says more.
fn text_condition(fields: FieldReader<'_>, name: &str) -> FieldResult<TextCondition> {
    let expected = "a text that it contains, or an object with one of contains, equals, regex";
    let place = fields.field_place(name);
    let object = match fields.get(name) {
        None => return Ok(None),
        Some(Value::String(part)) => return Ok(Some(TextCondition::Contains(part.clone()))),
        Some(Value::Object(object)) => object,
        Some(other) => return Err(FieldError::unexpected(place, expected, shown_value(other))),
    };
    let inner = FieldReader::new(object, &place, STYLE);
    inner.refuse_unknown(name, &TEXT)?;
    if object.len() != 1 {
        return Err(FieldError::from_reason(place, format!("expected {expected}")));
    }
    if let Some(part) = inner.read_text("contains")? {
        return Ok(Some(TextCondition::Contains(part)));
    }
    if let Some(whole) = inner.read_text("equals")? {
        return Ok(Some(TextCondition::Equals(whole)));
    }
    let Some(pattern) = inner.read_text("regex")? else {
        return Err(FieldError::from_reason(place, format!("expected {expected}")));
    };
    let place = inner.field_place("regex");
    if pattern.len() > LONGEST_REGEX {
        let why = format!("a pattern has at most {LONGEST_REGEX} bytes");
        return Err(FieldError::from_reason(place, why));
    }
    let compiled = RegexBuilder::new(&pattern).size_limit(REGEX_SIZE).build();
    let wrong = |error: regex::Error| {
        let last = error.to_string();
        let last = last.lines().last().unwrap_or_default().trim().to_owned();
        FieldError::from_reason(place, format!("not a regular expression: {last}"))
    };
    compiled.map(TextCondition::Regex).map(Some).map_err(wrong)
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
