//! Changes of an answer's form: its content encoding, its mode of delivery, its framing.

use std::sync::Arc;

use super::decode_room::{DeliveryError, ReservedRoom};
use super::ready_response::ReadyResponse;
use loomrec_recording::encoding::DecodeError;
use loomrec_recording::normalized_request::NormalizedRequest;

/// An answer of at most this many bytes, uncompressed, is changed on the thread that serves it.
pub(super) const QUICK: usize = 64 << 10;

/// The change that a call needs in the form of its answer.
#[derive(Debug)]
pub(super) struct FormChange {
    /// The recorded answer.
    pub(super) answer: Arc<ReadyResponse>,
    pub(super) kind: ChangeKind,
    /// The memory reserved for the decoded body, if the body is compressed.
    pub(super) room: Option<ReservedRoom>,
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

impl FormChange {
    /// Whether the change is quick enough for the thread that serves the call.
    pub(super) fn is_quick(&self) -> bool {
        self.answer.coding().is_none() && self.answer.bytes.len() <= QUICK
    }

    /// Returns the answer in the form that `observed` asks for.
    ///
    /// # Errors
    /// [`DeliveryError::TooLarge`] for a body that decodes to too many bytes, and
    /// [`DeliveryError::OtherForm`] for an answer that has no such form.
    pub(super) fn apply(
        self,
        observed: &NormalizedRequest,
    ) -> Result<Arc<ReadyResponse>, DeliveryError> {
        let mut draft = self.answer.delivery();
        let accepted = match &self.kind {
            ChangeKind::Encoding { accepted } => accepted.as_deref(),
            ChangeKind::Mode | ChangeKind::Framing => None,
        };
        draft.decode_unless_accepted(accepted).map_err(|_: DecodeError| DeliveryError::TooLarge)?;
        match self.kind {
            ChangeKind::Mode => draft.change_mode(observed)?,
            ChangeKind::Framing => draft.reframe(observed)?,
            ChangeKind::Encoding { .. } => {}
        }
        draft.frame();
        Ok(Arc::new(ReadyResponse::of(draft, None).within(self.room)))
    }
}
