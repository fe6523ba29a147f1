//! Changes of an answer's form: its content encoding, its mode of delivery, its framing, the values
//! of this run and the ids of its client in it.

use std::sync::Arc;

use super::client_ids::ClientIds;
use super::decode_room::{DecodeRoom, DeliveryError, ReservedRoom, RoomPatience, SMALL};
use super::end_turn::EndTurn;
use super::ready_response::ReadyResponse;
use crate::blocking;
use loomrec_identity::{RunBinding, UnclearPath};
use loomrec_provider::UnknownRpcId;
use loomrec_recording::encoding::{DecodeError, LARGEST};
use loomrec_recording::normalized_request::NormalizedRequest;

/// An answer of at most this many bytes, uncompressed, is changed on the thread that serves it.
const QUICK: usize = 64 << 10;

/// The most plain bytes that a body is decoded to, tried one after the other: most bodies are
/// small, and memory is reserved for no more than that.
const DECODED_BOUNDS: [usize; 5] = [SMALL, 1 << 20, 4 << 20, 16 << 20, LARGEST];

/// The most that a byte of deflate decodes to.
const DEFLATE_RATIO: usize = 1032;

/// The change that a call needs in the form of its answer.
#[derive(Debug)]
pub(super) struct FormChange {
    /// The recorded answer.
    pub(super) answer: Arc<ReadyResponse>,
    /// What changes; `None` if only values do.
    pub(super) kind: Option<ChangeKind>,
    /// What puts the paths of this run in the place of recorded ones.
    pub(super) binding: Option<Arc<RunBinding>>,
    /// The ids of the client's requests in JSON-RPC, unless those in the answer are right.
    pub(super) ids: Option<ClientIds>,
}

/// The parts of an answer that change.
#[derive(Clone, Debug)]
pub(super) enum ChangeKind {
    /// A stream becomes a complete answer, or the reverse.
    Mode,
    /// The events of a stream get another framing.
    Framing,
    /// The body is decoded, unless the caller accepts its coding.
    Encoding {
        /// The caller's `accept-encoding`.
        accepted: Option<String>,
    },
}

/// An answer whose form was changed.
pub(super) struct ChangedAnswer {
    pub(super) answer: Arc<ReadyResponse>,
    /// The bound that its decoded body kept to: where the next call of the same take begins.
    pub(super) bound: DecodedBound,
}

/// One of the bounds of decoded bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DecodedBound(pub(super) u8);

/// The result of a change that was tried within a reservation.
enum ChangeAttempt {
    /// The answer, which holds what it needs of the reservation.
    Made(Arc<ReadyResponse>),
    /// It has this many bytes, which is more than was reserved.
    IsLarger(usize),
}

impl DecodedBound {
    /// Returns the most bytes.
    fn most_bytes(self) -> usize {
        DECODED_BOUNDS.get(usize::from(self.0)).copied().unwrap_or(LARGEST)
    }

    /// Returns the next larger one.
    fn next(self) -> Option<Self> {
        (usize::from(self.0) + 1 < DECODED_BOUNDS.len()).then_some(Self(self.0 + 1))
    }
}

impl FormChange {
    /// Returns the answer in the form that `observed` asks for. A change that may take long waits
    /// for room, and runs on a thread that serves no calls. Decoding begins with `bound`. Answers that
    /// have room may wait for the `turn` of this one, so it steps aside while it waits for room.
    ///
    /// # Errors
    /// [`DeliveryError::TooLarge`] for a body that decodes to too many bytes,
    /// [`DeliveryError::NoRoom`] if there is no room in time, and [`DeliveryError::OtherForm`] for
    /// an answer that has no such form.
    pub(super) async fn run(
        self,
        observed: &NormalizedRequest,
        room: &DecodeRoom,
        mut bound: DecodedBound,
        mut turn: Option<&mut EndTurn>,
    ) -> Result<ChangedAnswer, DeliveryError> {
        if self.is_quick() {
            let made = self.make_answer(observed, LARGEST)?;
            return Ok(ChangedAnswer { answer: made.map_or(self.answer, Arc::new), bound });
        }
        let patience = RoomPatience::start();
        let mut bytes = self.most_bytes(bound);
        let work = Arc::new((self, observed.clone()));
        loop {
            let reserved = room.reserve_room(bytes, patience);
            let reserved = EndTurn::step_aside(turn.as_deref_mut(), reserved).await?;
            let (own, max) = (Arc::clone(&work), bound.most_bytes());
            let attempt = move || own.0.make_in_room(&own.1, max, reserved);
            match blocking::run_blocking(attempt).await {
                Ok(ChangeAttempt::Made(answer)) => return Ok(ChangedAnswer { answer, bound }),
                Ok(ChangeAttempt::IsLarger(needed)) => bytes = needed,
                Err(DeliveryError::TooLarge) => {
                    bound = bound.next().ok_or(DeliveryError::TooLarge)?;
                    bytes = work.0.most_bytes(bound);
                }
                Err(why) => return Err(why),
            }
        }
    }

    /// Whether the change is quick enough for the thread that serves the call.
    fn is_quick(&self) -> bool {
        self.answer.content_encoding().is_none() && self.answer.bytes.len() <= QUICK
    }

    /// Returns the most bytes of the body that is changed, if it decodes to at most `bound`.
    pub(super) fn most_bytes(&self, bound: DecodedBound) -> usize {
        let length = self.answer.bytes.len();
        let is_deflate = |coding: &str| {
            ["gzip", "x-gzip", "deflate"].iter().any(|name| coding.eq_ignore_ascii_case(name))
        };
        match self.answer.content_encoding() {
            None => length,
            Some(coding) if is_deflate(&coding) => {
                bound.most_bytes().min(length.saturating_mul(DEFLATE_RATIO))
            }
            Some(_) => bound.most_bytes(),
        }
    }

    /// Makes the changed answer within a reservation.
    fn make_in_room(
        &self,
        observed: &NormalizedRequest,
        max: usize,
        mut reserved: ReservedRoom,
    ) -> Result<ChangeAttempt, DeliveryError> {
        let Some(made) = self.make_answer(observed, max)? else {
            return Ok(ChangeAttempt::Made(Arc::clone(&self.answer)));
        };
        let length = made.bytes.len();
        if !reserved.has_room_for(length) {
            return Ok(ChangeAttempt::IsLarger(length));
        }
        reserved.shrink_to(length);
        Ok(ChangeAttempt::Made(Arc::new(made.with_room(reserved))))
    }

    /// Makes the answer in the form that `observed` asks for, of a body that decodes to at most
    /// `max` bytes. `None` if nothing changes.
    ///
    /// # Errors
    /// [`DeliveryError::TooLarge`] for a body that decodes to more, and
    /// [`DeliveryError::OtherForm`] for an answer that has no such form.
    fn make_answer(
        &self,
        observed: &NormalizedRequest,
        max: usize,
    ) -> Result<Option<ReadyResponse>, DeliveryError> {
        let changed =
            self.kind.as_ref().map(|kind| self.in_form(kind, observed, max)).transpose()?;
        let changed = match &self.binding {
            None => changed,
            Some(binding) => {
                let answer = changed.as_ref().unwrap_or(&self.answer);
                let replaced = answer.with_paths(binding, observed.call.operation);
                replaced.map_err(|_: UnclearPath| DeliveryError::UnclearPath)?.or(changed)
            }
        };
        let Some(here) = &self.ids else { return Ok(changed) };
        let answer = changed.as_ref().unwrap_or(&self.answer);
        let replaced = answer.with_ids(self.answer.ids.as_deref(), here);
        Ok(replaced.map_err(|_: UnknownRpcId| DeliveryError::UnknownId)?.or(changed))
    }

    fn in_form(
        &self,
        kind: &ChangeKind,
        observed: &NormalizedRequest,
        max: usize,
    ) -> Result<ReadyResponse, DeliveryError> {
        let mut draft = self.answer.to_draft();
        let accepted = match kind {
            ChangeKind::Encoding { accepted } => accepted.as_deref(),
            ChangeKind::Mode | ChangeKind::Framing => None,
        };
        let decoded = draft.decode_unless_accepted(accepted, max);
        decoded.map_err(|_: DecodeError| DeliveryError::TooLarge)?;
        match kind {
            ChangeKind::Mode => draft.change_mode(observed)?,
            ChangeKind::Framing => draft.change_framing(observed)?,
            ChangeKind::Encoding { .. } => {}
        }
        draft.correct_framing();
        Ok(ReadyResponse::from_draft(draft, None))
    }
}
