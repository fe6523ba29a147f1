//! Makes answers in other forms. A large one is made once for all callers that get it at one time: a
//! recorded answer of 60 MB that holds a path of the recorded run is not in memory for each of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Mutex as AsyncMutex;

use super::decode_room::{DecodeRoom, DeliveryError, SMALL};
use super::end_turn::EndTurn;
use super::form_change::{ChangeKind, DecodedBound, FormChange};
use super::matcher::TakeMatch;
use super::ready_response::ReadyResponse;
use loomrec_identity::RunBinding;
use loomrec_recording::normalized_request::NormalizedRequest;

/// Makes answers in other forms. Sessions over the same takes share what it has made.
#[derive(Clone, Debug, Default)]
pub(super) struct FormMaker {
    room: DecodeRoom,
    slots: Arc<Mutex<HashMap<FormKey, Arc<FormSlot>>>>,
}

/// A form, as long as a call has it. It is locked while it is made.
type FormSlot = AsyncMutex<Weak<ReadyResponse>>;

/// What a form depends on. Another mode or framing also depends on the request: its form is not
/// shared.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FormKey {
    take: usize,
    /// The caller's `accept-encoding`, if the encoding changes.
    accepted: Option<Option<String>>,
    /// The address of the binding, which lives as long as the takes.
    binding: Option<usize>,
}

impl FormMaker {
    /// Creates what makes forms within this room.
    #[cfg(test)]
    pub(super) fn new(room: DecodeRoom) -> Self {
        Self { room, slots: Arc::default() }
    }

    /// Returns the answer of a take in the form that `observed` asks for.
    ///
    /// # Errors
    /// As for [`FormChange::run`].
    pub(super) async fn change_form(
        &self,
        hit: &mut TakeMatch<'_>,
        change: FormChange,
        observed: &NormalizedRequest,
    ) -> Result<Arc<ReadyResponse>, DeliveryError> {
        let bound = hit.take.decoded_bound().unwrap_or_default();
        let slot = self.slot_of_form(hit.index, &change, bound);
        let Some(slot) = slot else { return self.make_answer(hit, change, observed).await };
        let mut form = EndTurn::step_aside(hit.turn.as_deref_mut(), slot.lock()).await;
        if let Some(answer) = form.upgrade() {
            return Ok(answer);
        }
        let answer = self.make_answer(hit, change, observed).await?;
        *form = Arc::downgrade(&answer);
        Ok(answer)
    }

    /// Returns the slot of the form that a change of this take makes. `None` if it is small, or made
    /// for one call alone.
    fn slot_of_form(
        &self,
        take: usize,
        change: &FormChange,
        bound: DecodedBound,
    ) -> Option<Arc<FormSlot>> {
        if change.ids.is_some() || change.most_bytes(bound) <= SMALL {
            return None;
        }
        let accepted = match &change.kind {
            None => None,
            Some(ChangeKind::Encoding { accepted }) => Some(accepted.clone()),
            Some(ChangeKind::Mode | ChangeKind::Framing) => return None,
        };
        let address = |binding: &Arc<RunBinding>| Arc::as_ptr(binding).addr();
        let key = FormKey { take, accepted, binding: change.binding.as_ref().map(address) };
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(slots.entry(key).or_default()))
    }

    async fn make_answer(
        &self,
        hit: &mut TakeMatch<'_>,
        change: FormChange,
        observed: &NormalizedRequest,
    ) -> Result<Arc<ReadyResponse>, DeliveryError> {
        let bound = hit.take.decoded_bound().unwrap_or_default();
        let changed = change.run(observed, &self.room, bound, hit.turn.as_deref_mut()).await;
        match &changed {
            Ok(changed) => hit.take.set_decoded_bound(Some(changed.bound)),
            Err(DeliveryError::TooLarge) => hit.take.set_decoded_bound(None),
            Err(_) => {}
        }
        changed.map(|changed| changed.answer)
    }
}
