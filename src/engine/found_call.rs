//! The way from a call to its answer. [`Engine::find_answer`] finds the take of the call, or the
//! miss and the rule of the script that answers instead. [`FoundCall::answer`] makes the answer of
//! that.

use std::time::Instant;

use super::call_result::CallResult;
use super::incoming_call::IncomingCall;
use super::live_call;
use super::miss;
use super::parsed_request::ParsedRequest;
use super::replay_call::{self, FoundTake};
use super::take_lease::TakeLease;
use super::{Engine, MissPolicy};
use crate::record::OnRecorded;
use crate::replay::{RecordingMismatchError, ReplayTake, UnexplainedMiss};
use loomrec_fault::DecidedFault;
use loomrec_recording::EntryName;
use loomrec_script::{DeclaredFault, Script, ScriptTurn};

/// A call, and what was found for it: a take, which is leased to it, or a miss.
#[must_use = "the take of a call that is dropped is given back"]
pub struct FoundCall<'a> {
    engine: &'a Engine,
    parsed: &'a ParsedRequest,
    found: Result<FoundTake<'a>, UnexplainedMiss>,
}

/// A call that no take answers.
#[must_use = "a call gets an answer"]
pub struct UnrecordedCall<'a> {
    engine: &'a Engine,
    miss: UnexplainedMiss,
}

/// What would answer a call, and the faults that it declares.
pub struct AnswerDeclarer<'a> {
    /// The name of the entry or the rule.
    pub name: String,
    /// The faults that it declares.
    pub declared: Option<&'a DeclaredFault>,
}

impl Engine {
    /// Finds what answers a call. A take is used up, and leased to the call; a rule of the script
    /// counts the call.
    pub fn find_answer<'a>(&'a self, parsed: &'a ParsedRequest) -> FoundCall<'a> {
        let mut found = self.find_take(parsed);
        if let (Err(miss), Some(script)) = (&mut found, self.script()) {
            miss.rule = script.claim_rule(parsed.redacted.storable_request());
        }
        FoundCall { engine: self, parsed, found }
    }

    /// Finds the take for a call.
    ///
    /// # Errors
    /// A miss if no take answers the call; always, if the run does not replay.
    fn find_take<'a>(
        &'a self,
        parsed: &'a ParsedRequest,
    ) -> Result<FoundTake<'a>, UnexplainedMiss> {
        let Some(replay) = self.replay_engine() else { return Err(UnexplainedMiss::unknown()) };
        let found = replay_call::find_take(replay, parsed)?;
        if self.goes_upstream() && found.take_match().take.is_undelivered() {
            // The upstream has an answer, where the recording has one that no client got.
            return Err(UnexplainedMiss::unknown());
        }
        Ok(found)
    }

    /// Returns the script that answers what the recordings do not.
    fn script(&self) -> Option<&Script> {
        match self {
            Self::Replay { replay, .. } => replay.script(),
            Self::Record { .. } | Self::NewEpisodes { .. } => None,
        }
    }
}

impl<'a> FoundCall<'a> {
    /// Returns the take that was found.
    pub fn matched_take(&self) -> Option<&'a ReplayTake> {
        self.found.as_ref().ok().map(|found| found.take_match().take)
    }

    /// Returns the name of the entry of the take.
    pub fn entry_name(&self) -> Option<EntryName> {
        Some(self.engine.replay_engine()?.matcher().name_of(self.matched_take()?))
    }

    /// Returns what would answer the call, if it is an entry or a rule.
    pub fn answer_declarer(&self) -> Option<AnswerDeclarer<'a>> {
        match &self.found {
            Ok(found) => {
                let take = found.take_match().take;
                let name = self.engine.replay_engine()?.matcher().key_of(take);
                Some(AnswerDeclarer { name, declared: take.declared_fault() })
            }
            Err(miss) => {
                let (claim, script) = (miss.claimed_rule()?, self.engine.script()?);
                let declared = script.declared_fault(claim);
                Some(AnswerDeclarer { name: claim.label(), declared })
            }
        }
    }

    /// Whether the take has a fault in place of an answer.
    pub fn is_fault_alone(&self) -> bool {
        let declared = self.matched_take().and_then(ReplayTake::declared_fault);
        declared.is_some_and(DeclaredFault::is_alone)
    }

    /// Whether a fault uses up the take.
    pub fn is_used_by(&self, decided: &DecidedFault) -> bool {
        let found = self.matched_take().zip(self.engine.replay_engine());
        found.is_some_and(|(take, replay)| replay.matcher().is_used_by(take, decided))
    }

    /// Takes the call out of the order in which answers end, because it does not go as recorded.
    pub fn leave_order(&mut self) {
        self.found.iter_mut().for_each(FoundTake::leave_order);
    }

    /// Leaves the take used up, unless it cannot be delivered.
    pub fn consume(&mut self) {
        self.found.iter_mut().for_each(FoundTake::consume);
    }

    /// Takes the lease of the take out, if there is one.
    pub fn take_lease(&mut self) -> Option<TakeLease<'a>> {
        self.found.as_mut().ok().and_then(FoundTake::take_lease)
    }

    /// Returns the same call without its take, whose entry has a fault and no answer. The take is
    /// given back.
    pub fn without_take(self) -> Self {
        let found = self.found.and_then(|found| Err(found.without_answer()));
        Self { found, ..self }
    }

    /// Gives back the claim to the rule of the script, whose answer a fault replaces.
    pub fn release_rule(&self) {
        let claim = self.found.as_ref().err().and_then(UnexplainedMiss::claimed_rule);
        if let (Some(claim), Some(script)) = (claim, self.engine.script()) {
            let session = self.parsed.redacted.storable_request().session.as_deref();
            script.release_turn(session, &ScriptTurn::Rule(claim.clone()));
        }
    }

    /// Answers the call. If it is recorded, `on_recorded` makes the callback for the outcome of the
    /// exchange.
    pub async fn answer(
        self,
        call: &IncomingCall,
        on_recorded: impl FnOnce() -> OnRecorded,
    ) -> CallResult {
        match self.deliver_take(call, call.arrived).await {
            Ok(result) => result,
            Err(unrecorded) => unrecorded.answer(call, on_recorded).await,
        }
    }

    /// Answers the call with its take, due as if the call had arrived at `arrived`.
    ///
    /// # Errors
    /// The unrecorded call if there is no take, or if it cannot be sent in the form that the call asks
    /// for. That take is given back.
    pub async fn deliver_take(
        self,
        call: &IncomingCall,
        arrived: Instant,
    ) -> Result<CallResult, UnrecordedCall<'a>> {
        let delivered = match self.found {
            Ok(found) => replay_call::deliver_take(call, found, arrived).await,
            Err(miss) => Err(miss),
        };
        delivered.map_err(|miss| UnrecordedCall { engine: self.engine, miss })
    }

    /// Explains a miss that the client does not see because a fault replaced its answer. Returns
    /// `None` if the call would have been answered, from a recording or in another way.
    pub async fn explain_hidden_miss(self, call: &IncomingCall) -> Option<RecordingMismatchError> {
        match (self.engine, self.found) {
            (Engine::Replay { replay, on_miss: MissPolicy::Error, on_explained }, Err(miss))
                if replay.script().is_none() =>
            {
                Some(miss::explain_on_own_thread(replay, on_explained, call, miss).await)
            }
            _ => None,
        }
    }
}

impl UnrecordedCall<'_> {
    /// Answers the call: live, from the script, or as the policy for misses says.
    pub async fn answer(
        self,
        call: &IncomingCall,
        on_recorded: impl FnOnce() -> OnRecorded,
    ) -> CallResult {
        match self.engine {
            Engine::Record { record, forwarding }
            | Engine::NewEpisodes { record, forwarding, .. } => {
                live_call::record_call(record, forwarding, call, on_recorded()).await
            }
            Engine::Replay { replay, on_miss, on_explained } => {
                miss::answer_call(replay, on_miss, on_explained, call, self.miss).await
            }
        }
    }
}
