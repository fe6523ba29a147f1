//! One recorded take: only what matching and serving need. The rest of its entry stays in the
//! recording.
//!
//! A recording may have a million takes. A small take of a large recording is kept as text, and its
//! answer is made from that when a call gets it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::decode_room::DeliveryError;
use super::entry_texts::{EntryTexts, TextPlace};
use super::form_change::{ChangeKind, DecodedBound};
use super::mode::{RecordedMode, RequestedMode};
use super::name_ids::NameId;
use super::ready_response::ReadyResponse;
use super::take_answer::{PlainAnswer, TakeAnswer};
use loomrec_provider::{AnswerOutcome, TokenUsage, begins_with_version};
use loomrec_recording::entry::{ClientLeft, Entry};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::similarity::RequestSketch;
use loomrec_recording::{EntryName, encoding};
use loomrec_script::DeclaredFault;
use loomrec_script::plain_answer;
use loomrec_store::{Recording, TakeRef};

/// What stands for the bound of a body that decodes to too many bytes.
const TOO_LARGE: u8 = u8::MAX;

/// A take of a recording: one entry under one name.
#[derive(Debug)]
pub struct ReplayTake {
    /// The number of its name in the recording.
    pub(super) name: u32,
    /// The number of the take under that name, from 1.
    number: u32,
    /// The index of its recording among the matcher's sources.
    source: u16,
    pub(super) form: RecordedMode,
    /// Whether the answer was recorded to its end.
    pub(super) servable: bool,
    /// Whether it may answer another request than its entry shows.
    unchecked: bool,
    /// The outcome of its answer.
    outcome: AnswerOutcome,
    is_plain: bool,
    /// Whether the path of its request begins with `/v1`; `None` if it is not known.
    pub(super) has_version: Option<bool>,
    /// The bound that its decoded body kept to, or [`TOO_LARGE`].
    decoded_bound: AtomicU8,
    /// The ids of the names it was recorded under. A name that its entry does not state is `None`.
    pub(super) under: TakeLabels,
    /// Fields that only some takes have.
    details: Option<Box<TakeDetails>>,
    held: HeldAnswer,
    served: AtomicU32,
}

/// The answer of a take, and what of its form has to change for a call.
pub(super) struct TakeDelivery {
    pub(super) answer: Arc<ReadyResponse>,
    /// `None` if it has the form that the call asks for.
    pub(super) change: Option<ChangeKind>,
}

/// What an entry may state beside its answer.
#[derive(Debug, Default)]
struct TakeDetails {
    usage: TokenUsage,
    /// `None` if it is unknown.
    cost_usd: Option<f64>,
    latency_ms: Option<f64>,
    /// What the nearest call is chosen by, if the request is recorded.
    sketch: Option<RequestSketch>,
    /// The fault that the entry declares.
    declared_fault: Option<DeclaredFault>,
    /// How much of the answer its client got, if it left before the end.
    client_left: Option<ClientLeft>,
    /// Whether that was nothing.
    is_undelivered: bool,
    host: Option<NameId>,
}

/// What is kept of an entry, to answer with it and to read it again.
#[derive(Debug)]
enum HeldAnswer {
    /// Its answer, and where its entry can be read again.
    Ready(Box<(TakeAnswer, TakeRef)>),
    /// The place of its text.
    Text(TextPlace),
}

/// Where an entry comes from, and how it is kept.
pub(super) struct TakeOrigin {
    /// The index of its recording among the matcher's sources.
    pub(super) source: usize,
    /// The number of its name there.
    pub(super) name: u32,
    /// Where it can be read again.
    pub(super) place: TakeRef,
    /// The place of its text, if that is kept instead of its answer.
    pub(super) text: Option<TextPlace>,
    /// The host of its provider, if it was recorded there.
    pub(super) host: Option<NameId>,
}

/// Ids of the matcher's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TakeLabels {
    /// The step id it was recorded under.
    pub(super) step: Option<NameId>,
    pub(super) session: Option<NameId>,
    pub(super) upstream: Option<NameId>,
    /// The mount of its request's path.
    pub(super) mount: Option<NameId>,
}

impl ReplayTake {
    /// Returns the take of `entry`, which has this number under `name`.
    ///
    /// # Errors
    /// What is wrong with the fault that it declares.
    pub(super) fn new(
        (name, number): (&EntryName, usize),
        origin: TakeOrigin,
        under: TakeLabels,
        form: RecordedMode,
        sketch: Option<RequestSketch>,
        mut entry: Entry,
    ) -> Result<Self, String> {
        let declared_fault = DeclaredFault::from_entry(&mut entry)?;
        let servable = entry.is_servable();
        let details = TakeDetails {
            is_undelivered: entry.is_undelivered(),
            usage: entry.usage.unwrap_or_default(),
            cost_usd: entry.known_cost(),
            latency_ms: entry.latency_ms,
            sketch,
            declared_fault,
            client_left: entry.client_left,
            host: origin.host,
        };
        let outcome = entry.answer_outcome();
        let has_version = entry.request_path().map(begins_with_version);
        let answer = TakeAnswer::from_entry(name, entry);
        let (outcome, is_plain) = match answer {
            TakeAnswer::Wire(_) => (outcome, false),
            TakeAnswer::Words(_) => (outcome, true),
            TakeAnswer::Nothing(_) | TakeAnswer::Unusable(_) => (AnswerOutcome::NotAnAnswer, false),
        };
        let TakeOrigin { source, name, place, text, .. } = origin;
        Ok(Self {
            name,
            number: u32::try_from(number).unwrap_or(u32::MAX),
            source: u16::try_from(source).unwrap_or(u16::MAX),
            form,
            servable,
            unchecked: false,
            outcome,
            is_plain,
            has_version,
            decoded_bound: AtomicU8::new(DecodedBound::default().0),
            under,
            details: (!details.is_empty()).then(|| Box::new(details)),
            held: match text {
                Some(text) => HeldAnswer::Text(text),
                None => HeldAnswer::Ready(Box::new((answer, place))),
            },
            served: AtomicU32::new(0),
        })
    }

    /// Returns the number of the take under its name, from 1.
    pub fn number(&self) -> usize {
        self.number as usize
    }

    /// Returns the index of its recording among the matcher's sources.
    pub fn source_index(&self) -> usize {
        self.source.into()
    }

    /// Returns the id of the host of its provider.
    pub(super) fn provider_host(&self) -> Option<NameId> {
        self.details.as_ref()?.host
    }

    /// Returns the tokens that the recorded call used.
    pub fn usage(&self) -> TokenUsage {
        self.details.as_ref().map(|details| details.usage).unwrap_or_default()
    }

    /// Returns the cost of the recorded call; `None` if it is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.details.as_ref().map_or(Some(0.0), |details| details.cost_usd)
    }

    /// Returns how long the recorded call took.
    pub fn latency_ms(&self) -> Option<f64> {
        self.details.as_ref()?.latency_ms
    }

    /// Returns what the nearest call is chosen by, if the request is recorded.
    pub(super) fn sketch(&self) -> Option<&RequestSketch> {
        self.details.as_ref()?.sketch.as_ref()
    }

    /// Returns the entry, from its text or read again; `None` if that is no longer possible.
    pub(super) fn read_entry(&self, recording: &Recording, texts: &EntryTexts) -> Option<Entry> {
        match &self.held {
            HeldAnswer::Ready(ready) => recording.read_entry(&ready.1).ok(),
            HeldAnswer::Text(place) => Entry::from_text(texts.get(*place)).ok(),
        }
    }

    /// Returns the answer to `observed`, and the change that gives it the mode and encoding that
    /// `observed` asks for. `texts` holds the texts of small entries, and `name` makes the name of
    /// the take.
    ///
    /// # Errors
    /// The reason why the recorded answer cannot be sent in that form.
    pub(super) fn prepare_delivery(
        &self,
        texts: &EntryTexts,
        name: &dyn Fn() -> EntryName,
        observed: &NormalizedRequest,
        wanted: RequestedMode,
        accept_encoding: Option<&str>,
    ) -> Result<TakeDelivery, DeliveryError> {
        let read;
        let answer = match &self.held {
            HeldAnswer::Ready(ready) => &ready.0,
            HeldAnswer::Text(place) => {
                read = answer_of(texts.get(*place), &name())?;
                &read
            }
        };
        match answer {
            TakeAnswer::Wire(answer) => {
                let change = self.needed_change(answer, wanted, accept_encoding);
                if change.is_some() && self.decoded_bound().is_none() {
                    return Err(DeliveryError::TooLarge);
                }
                Ok(TakeDelivery { answer: Arc::clone(answer), change })
            }
            TakeAnswer::Words(words) => {
                let answer = self.render_plain_answer(words, name, observed)?;
                Ok(TakeDelivery { answer, change: None })
            }
            TakeAnswer::Nothing(why) => Err((*why).to_owned().into()),
            TakeAnswer::Unusable(why) => Err(why.to_string().into()),
        }
    }

    /// Returns what has to change in the form of the recorded answer.
    fn needed_change(
        &self,
        answer: &ReadyResponse,
        wanted: RequestedMode,
        accept_encoding: Option<&str>,
    ) -> Option<ChangeKind> {
        if self.form.must_change_mode(wanted) {
            return Some(ChangeKind::Mode);
        }
        if self.form.must_reframe(wanted) {
            return Some(ChangeKind::Framing);
        }
        let accepted = |coding: String| encoding::is_accepted(accept_encoding, &coding);
        let is_sent_as_it_is = answer.content_encoding().is_none_or(accepted);
        (!is_sent_as_it_is)
            .then(|| ChangeKind::Encoding { accepted: accept_encoding.map(str::to_owned) })
    }

    /// Returns the bound with which decoding its body begins; `None` if its body decodes to too many
    /// bytes.
    pub(super) fn decoded_bound(&self) -> Option<DecodedBound> {
        match self.decoded_bound.load(Ordering::Relaxed) {
            TOO_LARGE => None,
            bound => Some(DecodedBound(bound)),
        }
    }

    /// Remembers the bound that its decoded body kept to. `None` if it decodes to too many bytes:
    /// later calls fail at once.
    pub(super) fn set_decoded_bound(&self, bound: Option<DecodedBound>) {
        let bound = bound.map_or(TOO_LARGE, |bound| bound.0);
        self.decoded_bound.store(bound, Ordering::Relaxed);
    }

    /// Returns what was said, in the shape of the call's operation.
    fn render_plain_answer(
        &self,
        words: &PlainAnswer,
        name: &dyn Fn() -> EntryName,
        observed: &NormalizedRequest,
    ) -> Result<Arc<ReadyResponse>, String> {
        let seed = format!("{}#{}", name(), self.number);
        let mut answer = words.answer.clone();
        answer.model = answer.model.or_else(|| observed.call.model.clone());
        let at_ms = self.latency_ms().unwrap_or(0.0);
        let delivery = plain_answer::build(&answer, observed, &seed, at_ms)?;
        Ok(Arc::new(ReadyResponse::from_draft(delivery, words.label.as_ref())))
    }

    /// Whether it holds only what was said. Its chunks then have no times.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns how much of the answer its client got, if it left before the end.
    pub(super) fn client_left(&self) -> Option<ClientLeft> {
        self.details.as_ref()?.client_left
    }

    /// Whether its client left before the head of the answer.
    pub(super) fn is_unanswered(&self) -> bool {
        self.client_left().is_some_and(|left| left.bytes.is_none())
    }

    /// Whether no client got anything of its answer.
    pub fn is_undelivered(&self) -> bool {
        self.details.as_ref().is_some_and(|details| details.is_undelivered)
    }

    /// Returns the fault and the rates of chaos that its entry declares.
    pub fn declared_fault(&self) -> Option<&DeclaredFault> {
        self.details.as_ref()?.declared_fault.as_ref()
    }

    /// Returns the outcome of its answer.
    pub fn outcome(&self) -> AnswerOutcome {
        self.outcome
    }

    /// Whether its answer is a good one.
    pub fn is_success(&self) -> bool {
        !self.outcome.is_failure()
    }

    /// Sets whether a fault beside the words of its entry happens at each call if the entry does not
    /// say how often.
    pub(super) fn set_fault_repeats(&mut self, repeats: bool) {
        let declared = self.details.as_mut().and_then(|details| details.declared_fault.as_mut());
        if let Some(declared) = declared.filter(|_| self.is_plain) {
            declared.set_repeats(repeats);
        }
    }

    /// Returns the same take, marked as one of an entry that cannot be checked.
    pub(super) fn without_check(self) -> Self {
        Self { unchecked: true, ..self }
    }

    /// Whether it may answer another request than its entry shows.
    pub fn is_unchecked(&self) -> bool {
        self.unchecked
    }

    /// Returns the number of calls that it answered.
    pub(super) fn answered_calls(&self) -> u64 {
        self.served.load(Ordering::Relaxed).into()
    }

    /// Counts one more call that it answers. Returns which one of its calls this is, from 1.
    pub(super) fn count_answered_call(&self) -> u32 {
        self.served.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// Undoes one [`Self::count_answered_call`].
    pub(super) fn take_back(&self) {
        self.served.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TakeDetails {
    fn is_empty(&self) -> bool {
        self.usage == TokenUsage::default()
            && self.cost_usd == Some(0.0)
            && self.latency_ms.is_none()
            && self.sketch.is_none()
            && self.declared_fault.is_none()
            && self.client_left.is_none()
            && self.host.is_none()
    }
}

/// Returns the answer of an entry whose text was kept.
fn answer_of(text: &[u8], name: &EntryName) -> Result<TakeAnswer, String> {
    let mut entry = Entry::from_text(text).map_err(|_| "its entry cannot be read any more")?;
    DeclaredFault::from_entry(&mut entry).map(|_| TakeAnswer::from_entry(name, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_is_small() {
        assert_eq!(size_of::<ReplayTake>(), 64);
    }
}
