//! Scripts: answers that are given call by call, or by rules.
//!
//! A script is a list of calls, each a list of entries, or a list of rules, or both; the rules are
//! tried first. [`Script::parse`] reads one, and rejects what it does not know. Each session walks through the calls with its own cursor, which moves on
//! at every call before the entries are looked at. The answer takes the shape that the client's API
//! needs.

mod aimock_fixture;
mod entry;
mod notation;
mod read;
mod render;
mod rule;
mod rule_answer;
mod rule_condition;
mod rule_reader;
mod rule_report;
mod turn;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use notation::{ScriptError, ScriptNotation};
pub use read::value;
pub(super) use render::RenderedResponse;
pub use rule::{RuleClaim, RuleLookup};
pub use turn::{NoScriptedResponse, ScriptTurn};

use aimock_fixture::FixtureRules;
use entry::{RetryPhase, ScriptEntry};
use loomrec_provider::Provider;
use loomrec_recording::normalized_request::NormalizedRequest;
use read::ScriptParts;
use rule::ScriptRules;

/// A script, and how far each session has come in it.
#[derive(Debug)]
pub struct Script {
    calls: Vec<Vec<ScriptEntry>>,
    retry: Option<RetryPhase>,
    rules: ScriptRules,
    /// What of the text is not played.
    notes: Vec<String>,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    unnamed: Cursor,
    named: BTreeMap<String, Cursor>,
    /// The most calls that any session has used up.
    furthest: usize,
}

impl Progress {
    /// Returns the cursor of a session that has made a call.
    fn cursor(&mut self, session: Option<&str>) -> Option<&mut Cursor> {
        match session {
            None => Some(&mut self.unnamed),
            Some(name) => self.named.get_mut(name),
        }
    }
}

/// How far one session has come.
#[derive(Debug, Default)]
struct Cursor {
    /// Calls made.
    made: u64,
    /// Scripted calls used up.
    used: usize,
}

/// The turn of a call in a session.
#[derive(Debug, PartialEq)]
enum Turn {
    /// None yet: the call fails temporarily.
    Later,
    /// The scripted call with this index.
    Call(usize),
    /// The script is used up.
    Over,
}

/// An answer of a script.
#[derive(Debug)]
pub(super) struct ScriptedResponse {
    pub(super) rendered: RenderedResponse,
    /// What of the script answers; `None` for a temporary failure.
    pub(super) turn: Option<ScriptTurn>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// The text is not a script. The error says which call and entry is wrong, and what was
    /// expected.
    pub fn parse(text: &[u8], notation: ScriptNotation) -> Result<Self, ScriptError> {
        let ScriptParts { calls, retry, rules, fixtures } = read::script(text, notation)?;
        let FixtureRules { rules, notes } = match fixtures {
            Some(file) => aimock_fixture::read(&file)?,
            None => FixtureRules { rules: rule_reader::rules(&rules)?, notes: Vec::new() },
        };
        let rules = ScriptRules::new(rules);
        Ok(Self { calls, retry, rules, notes, progress: Mutex::default() })
    }

    /// Returns the number of its calls.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether it has no calls.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns how many of its calls no session has reached.
    pub fn left(&self) -> usize {
        self.with(|progress| self.calls.len() - progress.furthest)
    }

    /// Starts over, for one session or for all.
    pub fn reset(&self, session: Option<&str>) {
        self.rules.reset(session);
        self.with(|progress| match session {
            None => {
                progress.unnamed = Cursor::default();
                progress.named.clear();
            }
            Some(name) => drop(progress.named.remove(name)),
        });
    }

    /// Returns the answer to `observed`: of the rule that `rule` names, or that is found now, else
    /// of the next call. `shape` is the shape of its errors.
    ///
    /// # Errors
    /// The script is used up, no rule holds, or the scripted call or the rule cannot answer this
    /// request. The call is used up all the same.
    pub(super) fn answer(
        &self,
        observed: &NormalizedRequest,
        shape: Provider,
        rule: RuleLookup,
    ) -> Result<ScriptedResponse, NoScriptedResponse> {
        let rule = match rule {
            RuleLookup::Pending => self.claim(observed),
            known => known,
        };
        if let RuleLookup::Claimed(claim) = rule {
            return self.answer_by_rule(claim, observed, shape);
        }
        let index = match (self.turn(observed.session.as_deref()), &self.retry) {
            (Turn::Later, Some(retry)) => {
                let rendered = RenderedResponse::failure(&retry.failure, observed, shape);
                return Ok(ScriptedResponse { rendered, turn: None });
            }
            (Turn::Call(index), _) => index,
            _ if self.rules.len() == 0 => {
                return Err(NoScriptedResponse::UsedUp { calls: self.calls.len() });
            }
            _ => {
                let (rules, why) = (self.rules.len(), self.rules.describe_miss(observed));
                return Err(NoScriptedResponse::NoRule { rules, why });
            }
        };
        let call = index + 1;
        let seed = format!("script#{call}");
        match RenderedResponse::of(&self.calls[index], None, observed, shape, &seed) {
            Ok(rendered) => Ok(ScriptedResponse { rendered, turn: Some(ScriptTurn::Call(call)) }),
            Err(why) => Err(NoScriptedResponse::Unfit { call, why }),
        }
    }

    /// Returns the answer of a rule to `observed`.
    fn answer_by_rule(
        &self,
        claim: RuleClaim,
        observed: &NormalizedRequest,
        shape: Provider,
    ) -> Result<ScriptedResponse, NoScriptedResponse> {
        let seed = format!("{} {}", claim.label(), claim.nth);
        let gone = || Err("it is not in the script".to_owned());
        let rendered = self.rules.get(&claim);
        let rendered = rendered.map_or_else(gone, |rule| rule.render(observed, shape, &seed));
        match rendered {
            Ok(rendered) => Ok(ScriptedResponse { rendered, turn: Some(ScriptTurn::Rule(claim)) }),
            Err(why) => Err(NoScriptedResponse::UnfitRule { rule: claim.name().to_owned(), why }),
        }
    }

    /// Returns the turn of the next call in a session, and uses it up.
    fn turn(&self, session: Option<&str>) -> Turn {
        self.with(|progress| {
            let cursor = match session {
                None => &mut progress.unnamed,
                Some(name) => progress.named.entry(name.to_owned()).or_default(),
            };
            cursor.made += 1;
            if self.retry.as_ref().is_some_and(|retry| cursor.made < retry.until) {
                return Turn::Later;
            }
            if cursor.used == self.calls.len() {
                return Turn::Over;
            }
            cursor.used += 1;
            progress.furthest = progress.furthest.max(cursor.used);
            Turn::Call(cursor.used - 1)
        })
    }

    /// Gives back what answers a call of a session, because it was not answered after all. A call
    /// of the list is the next one again, unless the session has gone on since.
    pub fn release(&self, session: Option<&str>, turn: &ScriptTurn) {
        match turn {
            ScriptTurn::Call(call) => self.release_call(session, *call),
            ScriptTurn::Rule(claim) => self.rules.release(session, claim),
        }
    }

    fn release_call(&self, session: Option<&str>, call: usize) {
        self.with(|progress| {
            if let Some(cursor) = progress.cursor(session).filter(|cursor| cursor.used == call) {
                cursor.used -= 1;
                let furthest = progress.named.values().chain([&progress.unnamed]);
                let furthest = furthest.map(|cursor| cursor.used).max();
                if progress.furthest == call {
                    progress.furthest = furthest.unwrap_or(0);
                }
            }
        });
    }

    /// Undoes [`Script::release`].
    pub fn consume(&self, session: Option<&str>, turn: &ScriptTurn) {
        match turn {
            ScriptTurn::Call(call) => self.consume_call(session, *call),
            ScriptTurn::Rule(claim) => self.rules.consume(session, claim),
        }
    }

    fn consume_call(&self, session: Option<&str>, call: usize) {
        self.with(|progress| {
            if let Some(cursor) = progress.cursor(session).filter(|cursor| cursor.used + 1 == call)
            {
                cursor.used = call;
                progress.furthest = progress.furthest.max(call);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Progress) -> T) -> T {
        work(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
