//! One recorded take: what matching and serving need of it, and no more. What else
//! its entry holds stays in the recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http::HeaderValue;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::answer::Prepared;
use super::delivery::Delivery;
use super::form::{Form, Wanted};
use super::plain;
use super::trouble::Trouble;
use crate::provider::{Answer, Usage};
use crate::recording::encoding::Undecoded;
use crate::recording::entry::{End, Entry};
use crate::recording::observed::Observed;
use crate::recording::sketch::Sketch;
use crate::recording::{EntryName, RecordedResponse, encoding};
use crate::store::Place;

/// A take of a recording: one entry under one name.
#[derive(Debug)]
pub struct Take {
    /// What it is kept under.
    pub name: EntryName,
    /// Which take of that name, from 1.
    pub number: usize,
    /// Which recording it comes from, as an index of the matcher's sources.
    pub source: usize,
    /// Tokens that the recorded call used.
    pub usage: Usage,
    /// What the recorded call cost.
    pub cost_usd: f64,
    /// How long the recorded call took.
    pub latency_ms: Option<f64>,
    /// Where its entry can be read again.
    pub(super) place: Place,
    /// The ids of the names it was recorded under; what it does not say is `None`.
    pub(super) under: Under,
    pub(super) form: Form,
    /// Whether the answer was recorded to its end.
    pub(super) servable: bool,
    /// Whether it may answer another request than its entry shows.
    unchecked: bool,
    /// What the nearest call is chosen by, where the request is recorded.
    pub(super) sketch: Option<Sketch>,
    answer: Answering,
    /// What goes wrong with it.
    trouble: Option<Box<Trouble>>,
    /// Whether its body was seen to decode to too many bytes.
    is_too_large: AtomicBool,
    served: AtomicU64,
}

/// An answer of at most so many bytes, uncompressed, is changed in its form on the thread
/// that serves it.
const QUICK: usize = 64 << 10;

fn too_large() -> String {
    format!("the body {}, and the caller asks for it in another form", Undecoded::TooLarge)
}

/// Does work that may take long where no other call waits for it.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Ids of the matcher's names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Under {
    /// The step id it stands under.
    pub(super) step: Option<u32>,
    pub(super) session: Option<u32>,
    pub(super) upstream: Option<u32>,
    /// Where the path of its request is mounted.
    pub(super) mount: Option<u32>,
}

/// What a take answers with.
#[derive(Debug)]
enum Answering {
    /// The recorded response.
    Wire(Arc<Prepared>),
    /// What was said; its form is made for whoever asks.
    Words(Box<Words>),
    /// Nothing that can be served: why.
    Nothing(&'static str),
    /// A response that cannot be one.
    Unusable(Box<str>),
}

/// What was said, without the way it was sent.
#[derive(Debug)]
struct Words {
    answer: Answer,
    label: Option<HeaderValue>,
}

impl Take {
    /// What is needed of `entry`, which stands at `place` of the recording `source`.
    ///
    /// # Errors
    /// What is wrong with the fault that it declares.
    pub(super) fn new(
        (name, number): (EntryName, usize),
        (source, place): (usize, Place),
        under: Under,
        form: Form,
        sketch: Option<Sketch>,
        mut entry: Entry,
    ) -> Result<Self, String> {
        let label = label(&name, &entry);
        let trouble = Trouble::of(&mut entry)?;
        Ok(Self {
            number,
            source,
            usage: entry.usage.unwrap_or_default(),
            cost_usd: entry.cost_usd.unwrap_or(0.0),
            latency_ms: entry.latency_ms,
            place,
            under,
            form,
            servable: entry.is_servable(),
            unchecked: false,
            sketch,
            answer: Answering::of(entry, label),
            trouble: trouble.map(Box::new),
            is_too_large: AtomicBool::new(false),
            served: AtomicU64::new(0),
            name,
        })
    }

    /// The answer to `observed` in the mode and encoding it asks for.
    ///
    /// # Errors
    /// Why the recorded answer cannot be given in that form.
    pub(super) fn deliver(
        &self,
        observed: &Observed,
        wanted: Wanted,
        accept_encoding: Option<&str>,
    ) -> Result<Arc<Prepared>, String> {
        let prepared = match &self.answer {
            Answering::Wire(prepared) => prepared,
            Answering::Words(words) => return self.say(words, observed),
            Answering::Nothing(why) => return Err((*why).to_owned()),
            Answering::Unusable(why) => return Err(why.to_string()),
        };
        let change_mode = self.form.must_change_mode(wanted);
        let reframe = self.form.must_reframe(wanted);
        let accepted = |coding| encoding::accepts(accept_encoding, coding);
        if !change_mode && !reframe && prepared.coding().is_none_or(accepted) {
            return Ok(Arc::clone(prepared));
        }
        if self.is_too_large.load(Ordering::Relaxed) {
            return Err(too_large());
        }
        let change = || {
            let mut delivery = prepared.delivery();
            let accepted = accept_encoding.filter(|_| !change_mode && !reframe);
            if let Err(_too_large) = delivery.decode_unless_accepted(accepted) {
                // Whoever asks next is told at once.
                self.is_too_large.store(true, Ordering::Relaxed);
                return Err(too_large());
            }
            if change_mode {
                delivery.change_mode(observed)?;
            } else if reframe {
                delivery.reframe(observed)?;
            }
            delivery.frame();
            Ok(Arc::new(Prepared::of(delivery, None)))
        };
        match prepared.coding().is_some() || prepared.bytes.len() > QUICK {
            true => aside(change),
            false => change(),
        }
    }

    /// What was said, in the shape of the caller's operation.
    fn say(&self, words: &Words, observed: &Observed) -> Result<Arc<Prepared>, String> {
        let seed = format!("{}#{}", self.name, self.number);
        let mut answer = words.answer.clone();
        answer.model = answer.model.or_else(|| observed.call.model.clone());
        let at_ms = self.latency_ms.unwrap_or(0.0);
        let delivery = plain::build(&answer, observed, &seed, at_ms)?;
        Ok(Arc::new(Prepared::of(delivery, words.label.as_ref())))
    }

    /// Whether it holds only what was said: its chunks have no times of their own.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.answer, Answering::Words(_))
    }

    /// The fault that its entry declares, and the rates of chance.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_deref()
    }

    /// Whether its fault comes at every call, there being no answer beside it.
    pub(super) fn is_fault_alone(&self) -> bool {
        self.trouble().is_some_and(Trouble::is_alone)
    }

    /// Whether its answer is a good one: no error, and not cut.
    pub fn is_well(&self) -> bool {
        match &self.answer {
            Answering::Wire(prepared) => prepared.status.as_u16() < 400 && prepared.cut().is_none(),
            Answering::Words(_) => true,
            Answering::Nothing(_) | Answering::Unusable(_) => false,
        }
    }

    /// The same take, of an entry that cannot be checked.
    pub(super) fn without_check(self) -> Self {
        Self { unchecked: true, ..self }
    }

    /// Whether it may answer another request than its entry shows.
    pub fn is_unchecked(&self) -> bool {
        self.unchecked
    }

    /// How many calls were answered by it.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Whether any call was answered by it.
    pub(super) fn is_used(&self) -> bool {
        self.served() > 0
    }

    /// One more call is answered by it.
    pub(super) fn serve(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }

    /// It was not after all.
    pub(super) fn take_back(&self) {
        self.served.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Answering {
    fn of(entry: Entry, label: Option<HeaderValue>) -> Self {
        let Some(response) = entry.response else {
            let answer = Answer {
                content: entry.content.unwrap_or_default(),
                model: entry.model,
                usage: entry.usage,
                finish_reason: entry.finish_reason,
                tool_calls: entry.tool_calls,
                embeddings: entry.embeddings,
            };
            return Self::Words(Box::new(Words { answer, label }));
        };
        if is_never_served(&response) {
            return Self::Nothing("the answer was not recorded whole");
        }
        let head = entry.request.as_ref().is_some_and(|request| request.method == "HEAD");
        match Delivery::of(response, head) {
            Ok(delivery) => Self::Wire(Arc::new(Prepared::of(delivery, label.as_ref()))),
            Err(why) => Self::Unusable(why.into()),
        }
    }
}

/// Whether nobody gets this response: its bytes need not be kept.
fn is_never_served(response: &RecordedResponse) -> bool {
    matches!(response.end, End::ClientAbort | End::Truncated)
}

/// The name as a header, else the request's hash.
fn label(name: &EntryName, entry: &Entry) -> Option<HeaderValue> {
    let hash = || entry.request_hash.as_ref().map(|hash| hash.as_str().to_owned());
    let name = HeaderValue::from_str(&name.to_string()).ok();
    name.or_else(|| HeaderValue::from_str(&hash()?).ok())
}

/// Whether two calls stand at one place: the same upstream and, for the chat form
/// whose hash has no room for it, the same mount. What a take does not say is not
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    /// `None` for an upstream that no take names.
    pub(super) upstream: Option<u32>,
    pub(super) mount: Mount,
}

/// Where the path of a call is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mount {
    /// It does not matter: the key holds the path.
    Any,
    /// Where no take is.
    Unknown,
    /// Where takes are.
    Known(u32),
}

impl Spot {
    /// Whether `take` stands there.
    pub(super) fn holds(self, take: &Take) -> bool {
        let upstream = take.under.upstream.is_none() || take.under.upstream == self.upstream;
        let mount = match self.mount {
            Mount::Any => true,
            Mount::Unknown => take.under.mount.is_none(),
            Mount::Known(mount) => take.under.mount.is_none_or(|known| known == mount),
        };
        upstream && mount
    }
}
