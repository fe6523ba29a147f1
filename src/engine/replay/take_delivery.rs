//! The delivery of a take: its answer in the form that a call asks for, at the time that it is due.

use std::sync::Arc;

use tokio::time::Instant;

use super::asked_form::AskedForm;
use super::decode_room::DeliveryError;
use super::engine::{ReplayAnswer, ReplayEngine};
use super::explain::UnexplainedMiss;
use super::form_change::FormChange;
use super::matcher::TakeMatch;
use super::mode::RequestedMode;
use super::reason::MissReason;
use super::take::TakeDelivery;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_script::RuleLookup;

impl ReplayEngine {
    /// Returns the answer of a take to `observed`, due from `arrived` on. Waits while there is no
    /// room for a body that has to be decoded.
    ///
    /// # Errors
    /// An [`UnexplainedMiss`] if the take cannot be sent in the form that the call asks for. The
    /// caller has to give the take back.
    pub async fn deliver_take(
        &self,
        hit: &mut TakeMatch<'_>,
        observed: &NormalizedRequest,
        asked: AskedForm<'_>,
        arrived: Instant,
    ) -> Result<ReplayAnswer, UnexplainedMiss> {
        if hit.take.is_unanswered() {
            return Box::pin(self.hold_call(hit, observed, asked, arrived)).await;
        }
        // Paths and ids are put into the decoded answer.
        let is_edited = hit.bound.is_some() || asked.ids.is_some() || asked.resumes_stream;
        let accept_encoding = asked.accept_encoding.filter(|_| !is_edited);
        let delivered = match self.prepare_delivery(hit, observed, accept_encoding) {
            Ok(TakeDelivery { answer, change: kind }) => {
                let binding = hit.bound.as_ref().and_then(|bound| bound.binding.clone());
                let recorded = answer.ids.as_ref();
                self.client_ids.note_answer(observed, &asked, hit.index, recorded);
                let recorded = recorded.map(Arc::as_ref);
                let ids = self.client_ids.ids_for_answer(observed, &asked, recorded);
                match kind.is_some() || binding.is_some() || ids.is_some() {
                    false => Ok(answer),
                    true => {
                        let change = FormChange { answer, kind, binding, ids };
                        Box::pin(self.forms.change_form(hit, change, observed)).await
                    }
                }
            }
            Err(why) => Err(why),
        };
        let ready = delivered.map_err(|why| UnexplainedMiss {
            reason: MissReason::OtherForm,
            refused: Some((hit.index, why.to_string())),
            rule: RuleLookup::Pending,
        })?;
        let mut answer = self.hold_at_end(self.paced_answer(hit, ready, arrived), hit, observed);
        answer.body_mut().wait_for(hit.turn.take());
        Ok(answer)
    }

    /// Returns the answer of a take, and the change that its form needs.
    fn prepare_delivery(
        &self,
        hit: &TakeMatch<'_>,
        observed: &NormalizedRequest,
        accept_encoding: Option<&str>,
    ) -> Result<TakeDelivery, DeliveryError> {
        let name = self.matcher().take_name(hit.take);
        let (texts, wanted) = (&self.matcher().texts, RequestedMode::from_request(observed));
        let entry_name = || name.entry_name();
        hit.take.prepare_delivery(texts, &entry_name, observed, wanted, accept_encoding)
    }
}
