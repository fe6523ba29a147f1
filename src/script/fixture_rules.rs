//! Fixture files as rules of a script.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::notation::ScriptError;
use super::read;
use super::rule::{RuleAnswer, RuleOrder, ScriptRule};
use super::rule_condition::RuleCondition;
use crate::declared_fault::DeclaredFault;
use loomrec_dialect::interchange::{FixtureMatch, ForeignFixture, TextAnswer};
use loomrec_identity::typed_field::{FieldError, quoted_text};

/// The most fixtures of a script.
const MOST_FIXTURES: usize = 100_000;

/// Reads fixture files, one after the other: their fixtures are numbered through, and those that
/// differ in their sequence index alone belong together, in whichever file they are.
#[derive(Debug, Default)]
pub(super) struct FixtureReader {
    /// How many fixtures were read.
    count: usize,
    groups: HashMap<FixtureMatch, usize>,
}

/// The rules of a fixture file.
#[derive(Debug, Default)]
pub(super) struct FixtureRules {
    pub(super) rules: Vec<ScriptRule>,
    /// What of the file is not played, one thing each.
    pub(super) notes: Vec<String>,
}

impl FixtureReader {
    /// Reads the fixtures of a file.
    ///
    /// # Errors
    /// If a fixture has the wrong shape, or its answer cannot be said.
    pub(super) fn read_fixtures(
        &mut self,
        file: &Map<String, Value>,
    ) -> Result<FixtureRules, ScriptError> {
        let Some(Value::Array(fixtures)) = file.get("fixtures") else {
            return Err(FieldError::from_reason("fixtures", "expected a list of fixtures").into());
        };
        if self.count + fixtures.len() > MOST_FIXTURES {
            let why = format!("a script has at most {MOST_FIXTURES} fixtures");
            return Err(FieldError::from_reason("fixtures", why).into());
        }
        let mut read = FixtureRules::default();
        let others = file.keys().filter(|name| *name != "fixtures" && !name.starts_with('$'));
        read.notes.extend(others.map(|name| format!("{} of the file", quoted_text(name))));
        for (index, value) in fixtures.iter().enumerate() {
            self.count += 1;
            self.add_fixture(&mut read, index + 1, value)?;
        }
        Ok(read)
    }

    /// Adds the fixture that has this number in its file.
    fn add_fixture(
        &mut self,
        read: &mut FixtureRules,
        number: usize,
        value: &Value,
    ) -> Result<(), ScriptError> {
        let place = format!("fixture {number}");
        let refuse = |why: String| ScriptError {
            place: format!("{place}: "),
            problem: FieldError::from_reason("", why),
        };
        let fixture = ForeignFixture::read(value).map_err(refuse)?;
        let known = format!("fixture {}", self.count);
        if let Some(why) = fixture.unplayable_reason(value) {
            read.notes.push(format!("{known} ({why})"));
            return Ok(());
        }
        if !fixture.unplayed.is_empty() {
            read.notes.push(format!("{} of {known}", fixture.unplayed.join(", ")));
        }
        let order = rule_order(&fixture.rule, &mut self.groups);
        let name = format!("fixture#{}", self.count).into();
        let faults = DeclaredFault::of_rule(None, true, fixture.chaos.clone());
        let answer = Some(fixture_answer(&place, &fixture)?);
        let when = RuleCondition::Fixture(Box::new(fixture.rule));
        read.rules.push(ScriptRule { name, when, order, times: None, answer, faults });
        Ok(())
    }
}

/// Returns the place of a fixture among those that differ from it in their sequence index alone.
fn rule_order(rule: &FixtureMatch, groups: &mut HashMap<FixtureMatch, usize>) -> RuleOrder {
    let Some(index) = rule.sequence else { return RuleOrder::Any };
    let alike = FixtureMatch { sequence: None, ..rule.clone() };
    let next = groups.len();
    let group = *groups.entry(alike).or_insert(next);
    RuleOrder::Sequence { group, index }
}

fn fixture_answer(place: &str, fixture: &ForeignFixture) -> Result<RuleAnswer, ScriptError> {
    let (said, model) = match &fixture.said {
        Ok(TextAnswer::Answer(answer)) if !answer.embeddings.is_empty() => {
            return Ok(RuleAnswer::Vectors(Box::new(answer.clone())));
        }
        Ok(TextAnswer::Answer(answer)) => (fixture.script_entries(answer), answer.model.clone()),
        Ok(TextAnswer::Error { status, kind, message }) => {
            let mut error = Map::new();
            error.insert("status".to_owned(), (*status).into());
            for (name, word) in [("type", kind), ("message", message)] {
                let word = word.clone().map(Value::String);
                word.and_then(|word| error.insert(name.to_owned(), word));
            }
            (vec![json!({ "error": error })], None)
        }
        Err(_) => (Vec::new(), None),
    };
    let entries = read::read_call_entries(place, Value::Array(said))?;
    Ok(RuleAnswer::Paced { entries, model, pace: fixture.pace.clone() })
}
