//! What declares the faults of an answer: an entry of a recording, or a rule of the script.

use super::super::Proxy;
use loomrec_engine::FoundTake;
use loomrec_engine::replay::UnexplainedMiss;
use loomrec_fault::DecidedFault;
use loomrec_script::DeclaredFault;

/// The take that answers a call, or the miss if no take does.
pub(super) type FoundAnswer<'a> = Result<FoundTake<'a>, UnexplainedMiss>;

/// What would answer a call, and the faults that it declares.
pub(super) struct AnswerDeclarer<'a> {
    /// The name of the entry or the rule; `""` if there is none.
    pub(super) name: String,
    /// The faults that it declares.
    pub(super) declared: Option<&'a DeclaredFault>,
    /// Whether there is an entry or a rule.
    pub(super) answers: bool,
}

impl<'a> AnswerDeclarer<'a> {
    pub(super) fn of(proxy: &'a Proxy, found: &FoundAnswer<'a>) -> Self {
        let none = Self { name: String::new(), declared: None, answers: false };
        let Some(replay) = proxy.engine.replay() else { return none };
        match found {
            Ok(found_take) => {
                let take = found_take.matched().take;
                let name = replay.matcher().name_of(take).take_key(take.number());
                Self { name, declared: take.declared_fault(), answers: true }
            }
            Err(miss) => match (miss.rule(), replay.script()) {
                (Some(claim), Some(script)) => {
                    let declared = script.declared_fault(claim);
                    Self { name: claim.label(), declared, answers: true }
                }
                _ => none,
            },
        }
    }

    /// Whether there is a fault in place of an answer.
    pub(super) fn is_fault_alone(&self) -> bool {
        self.declared.is_some_and(DeclaredFault::is_alone)
    }
}

/// Whether the entry that was found has a fault in place of an answer.
pub(super) fn is_fault_alone(found: &FoundAnswer<'_>) -> bool {
    let declared = found.as_ref().ok().and_then(|found| found.matched().take.declared_fault());
    declared.is_some_and(DeclaredFault::is_alone)
}

/// Returns the miss of a call whose entry has a fault and no answer. The take is given back.
pub(super) fn without_answer(found: FoundAnswer<'_>) -> FoundAnswer<'_> {
    found.and_then(|found_take| Err(found_take.without_answer()))
}

/// Whether a fault uses up the take that it applies to.
pub(super) fn is_used_by(
    proxy: &Proxy,
    found_take: &FoundTake<'_>,
    decided: &DecidedFault,
) -> bool {
    let replay = proxy.engine.replay();
    replay.is_some_and(|replay| replay.matcher().is_used_by(found_take.matched().take, decided))
}
