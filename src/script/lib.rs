//! Scripts: answers that are given call by call, or by rules. Also what scripts and recordings have
//! in common when they answer: the form of an answer that a client needs ([`ResponseDraft`]), an
//! answer made from what was said alone ([`plain_answer`]), and the fault that an entry or a rule
//! declares for its answer ([`DeclaredFault`]).
//!
//! A script is a list of calls, each a list of entries, or a list of rules, or both; the rules are
//! tried first. [`Script::parse`] reads one, and rejects what it does not know. Each session walks
//! through the calls with its own cursor, which moves on at every call before the entries are
//! looked at. The answer takes the shape that the client's API needs.

mod declared_fault;
mod entry;
mod failure;
mod fixture_rules;
mod notation;
pub mod plain_answer;
mod progress;
mod read;
mod render;
mod response_draft;
mod rule;
mod rule_answer;
mod rule_condition;
mod rule_reader;
mod rule_report;
mod script_builder;
mod turn;

use std::sync::{Mutex, PoisonError};

pub use declared_fault::DeclaredFault;
pub use notation::{ScriptError, ScriptNotation};
pub use progress::ScriptCursor;
pub use read::parse_value;
pub use render::RenderedResponse;
pub use response_draft::ResponseDraft;
pub use rule::{RuleClaim, RuleLookup};
pub use script_builder::ScriptBuilder;
pub use turn::{NoScriptedResponse, ScriptTurn};

use entry::{RetryPhase, ScriptEntry};
use loomrec_provider::Provider;
use loomrec_recording::normalized_request::NormalizedRequest;
use progress::{CallLayout, Progress, SessionTurn};
use rule::ScriptRules;

/// A script, and how far each session has come in it.
#[derive(Debug)]
pub struct Script {
    calls: Vec<Vec<ScriptEntry>>,
    layout: CallLayout,
    retry: Option<RetryPhase>,
    rules: ScriptRules,
    /// What of the text is not played.
    notes: Vec<String>,
    progress: Mutex<Progress>,
}

/// An answer of a script.
#[derive(Debug)]
pub struct ScriptedResponse {
    /// The response.
    pub rendered: RenderedResponse,
    /// What of the script answers; `None` for a temporary failure.
    pub turn: Option<ScriptTurn>,
}

impl Script {
    /// Reads a script of one file.
    ///
    /// # Errors
    /// The text is not a script. The error says which call and entry is wrong, and what was
    /// expected.
    pub fn parse(text: &[u8], notation: ScriptNotation) -> Result<Self, ScriptError> {
        let mut builder = ScriptBuilder::default();
        builder.add_file(text, notation)?;
        Ok(Self::new(builder))
    }

    /// Returns the script of these files.
    pub fn new(files: ScriptBuilder) -> Self {
        let ScriptBuilder { calls, streams_from, retry, rules, notes, .. } = files;
        let layout = CallLayout { calls: calls.len(), streams_from };
        let rules = ScriptRules::new(rules);
        Self { calls, layout, retry, rules, notes, progress: Mutex::default() }
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
    pub fn unreached_calls(&self) -> usize {
        self.with_progress(|progress| self.calls.len() - progress.reached_calls())
    }

    /// Starts over, for one session or for all.
    pub fn reset(&self, session: Option<&str>) {
        self.rules.reset(session);
        self.with_progress(|progress| progress.reset(session));
    }

    /// Returns how far the sessions have come, `most` of them at most, and how many are left out.
    pub fn session_cursors(&self, most: usize) -> (Vec<ScriptCursor>, usize) {
        self.with_progress(|progress| progress.session_cursors(most, self.layout))
    }

    /// Returns how far a session has come; `None` if it has made no call.
    pub fn cursor(&self, session: &str) -> Option<ScriptCursor> {
        self.with_progress(|progress| progress.cursor_of(session, self.layout))
    }

    /// Returns the answer to `observed`: of the rule that `rule` names, or that is found now, else
    /// of the next call. `shape` is the shape of its errors.
    ///
    /// # Errors
    /// The script is used up, no rule holds, or the scripted call or the rule cannot answer this
    /// request. The call is used up all the same.
    pub fn answer(
        &self,
        observed: &NormalizedRequest,
        shape: Provider,
        rule: RuleLookup,
    ) -> Result<ScriptedResponse, NoScriptedResponse> {
        let rule = match rule {
            RuleLookup::Pending => self.claim_rule(observed),
            known => known,
        };
        if let RuleLookup::Claimed(claim) = rule {
            return self.answer_by_rule(claim, observed, shape);
        }
        let (session, streamed) = (observed.session.as_deref(), observed.call.streamed);
        let until = self.retry.as_ref().map(|retry| retry.until);
        let turn = self
            .with_progress(|progress| progress.next_turn(session, streamed, until, self.layout));
        let index = match (turn, &self.retry) {
            (SessionTurn::Later, Some(retry)) => {
                let rendered = RenderedResponse::from_failure(&retry.failure, observed, shape);
                return Ok(ScriptedResponse { rendered, turn: None });
            }
            (SessionTurn::Call(index), _) => index,
            _ => return Err(self.no_response(observed)),
        };
        let call = index + 1;
        let seed = format!("script#{call}");
        match RenderedResponse::from_entries(&self.calls[index], None, observed, shape, &seed) {
            Ok(rendered) => Ok(ScriptedResponse { rendered, turn: Some(ScriptTurn::Call(call)) }),
            Err(why) => Err(NoScriptedResponse::Unfit { call, why }),
        }
    }

    /// Returns why neither the calls nor the rules have an answer.
    fn no_response(&self, observed: &NormalizedRequest) -> NoScriptedResponse {
        let streamed = observed.call.streamed;
        if self.rules.len() > 0 {
            let (rules, why) = (self.rules.len(), self.rules.describe_miss(observed));
            return NoScriptedResponse::NoRule { rules, why };
        }
        match self.layout.streams_from == Some(0) && !streamed {
            true => NoScriptedResponse::OnlyStreams,
            false => NoScriptedResponse::UsedUp { calls: self.layout.call_count(streamed) },
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
        let rendered =
            rendered.map_or_else(gone, |rule| rule.render_answer(observed, shape, &seed));
        match rendered {
            Ok(rendered) => Ok(ScriptedResponse { rendered, turn: Some(ScriptTurn::Rule(claim)) }),
            Err(why) => Err(NoScriptedResponse::UnfitRule { rule: claim.name().to_owned(), why }),
        }
    }

    /// Gives back what answers a call of a session, because it was not answered after all. A call
    /// of the list is the next one again, unless the session has gone on since.
    pub fn release_turn(&self, session: Option<&str>, turn: &ScriptTurn) {
        match turn {
            ScriptTurn::Call(call) => {
                self.with_progress(|progress| progress.release_call(session, *call, self.layout));
            }
            ScriptTurn::Rule(claim) => self.rules.release_claim(session, claim),
        }
    }

    /// Undoes [`Script::release_turn`].
    pub fn consume_turn(&self, session: Option<&str>, turn: &ScriptTurn) {
        match turn {
            ScriptTurn::Call(call) => {
                self.with_progress(|progress| progress.consume_call(session, *call, self.layout));
            }
            ScriptTurn::Rule(claim) => self.rules.consume_claim(session, claim),
        }
    }

    fn with_progress<T>(&self, work: impl FnOnce(&mut Progress) -> T) -> T {
        work(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
