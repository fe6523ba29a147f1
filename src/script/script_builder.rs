//! A script that is read from one file or several.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::entry::{RetryPhase, ScriptEntry};
use super::fixture_rules::FixtureReader;
use super::notation::{ScriptError, ScriptNotation};
use super::read::{self, ScriptParts};
use super::rule::ScriptRule;
use super::rule_reader;
use loomrec_identity::typed_field::{FieldError, quoted_text};

/// A script that is read from its files, one after the other. Their rules are tried in that order.
#[derive(Debug, Default)]
pub struct ScriptBuilder {
    pub(super) calls: Vec<Vec<ScriptEntry>>,
    pub(super) streams_from: Option<usize>,
    pub(super) retry: Option<RetryPhase>,
    /// Whether a file has calls.
    has_calls: bool,
    pub(super) rules: Vec<ScriptRule>,
    names: BTreeSet<Arc<str>>,
    /// How many rules were written as such.
    written: usize,
    fixtures: FixtureReader,
    pub(super) notes: Vec<String>,
}

impl ScriptBuilder {
    /// Adds a file with this text.
    ///
    /// # Errors
    /// The text is not a script, or has what only one file can have. The error says which call, rule
    /// or fixture of the file is wrong, and what was expected.
    pub fn add_file(&mut self, text: &[u8], notation: ScriptNotation) -> Result<(), ScriptError> {
        let ScriptParts { calls, streams_from, retry, rules, fixtures } =
            read::parse_script(text, notation)?;
        let rules = match fixtures {
            Some(file) => {
                let read = self.fixtures.read_fixtures(&file)?;
                self.notes.extend(read.notes);
                read.rules
            }
            None => {
                let read = rule_reader::read_rules(&rules, self.written)?;
                self.written += read.len();
                read
            }
        };
        self.add_rules(rules)?;
        if calls.is_empty() && streams_from.is_none() && retry.is_none() {
            return Ok(());
        }
        if std::mem::replace(&mut self.has_calls, true) {
            let why = "another file has calls as well, and only one has a place in their order: \
                       write the calls into one file";
            return Err(FieldError::from_reason("", why).into());
        }
        (self.calls, self.streams_from, self.retry) = (calls, streams_from, retry);
        Ok(())
    }

    fn add_rules(&mut self, rules: Vec<ScriptRule>) -> Result<(), ScriptError> {
        for rule in rules {
            if !self.names.insert(Arc::clone(&rule.name)) {
                let name = quoted_text(&rule.name);
                let why = format!("another file has a rule named {name}: rename one");
                return Err(FieldError::from_reason("rules", why).into());
            }
            self.rules.push(rule);
        }
        Ok(())
    }
}
