//! How the answers of an operation end and fail, as its row says it.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::judged::JudgedAnswer;
use super::progress::TakeData;
use crate::error_text::error_in;
use loomrec_identity::Json;

/// What an operation answers with, beside a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedBody {
    /// Anything: only HTTP says whether it succeeded.
    Anything,
    /// JSON.
    Json,
    /// JSON, or text.
    TextOrJson,
    /// Bytes, such as sound.
    Bytes,
}

/// How the answers of an operation end and fail.
pub(crate) struct OutcomeRules {
    /// What it answers with.
    pub(crate) body: ExpectedBody,
    /// Texts of which an answer that reports a failure holds at least one, beside those of most
    /// errors.
    pub(crate) words: &'static [&'static str],
    /// The failure that a complete body reports; `None` if it reports none.
    pub(crate) document: fn(&Json<'_>) -> Option<JudgedAnswer>,
    /// Takes the data of an event into the progress of its stream; `None` for operations whose
    /// streams are not known.
    pub(crate) event: Option<TakeData>,
    /// What a stream ends with, for people.
    pub(crate) end_mark: &'static str,
}

/// The words of most errors: a member, and the name of an event. Preparing the search for them takes
/// longer than the search itself.
static ERROR_WORDS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["\"error\"", "event: error", "event:error"].map(Finder::new));

impl OutcomeRules {
    /// Those of an unknown protocol.
    pub(crate) const HTTP_ONLY: Self = Self {
        body: ExpectedBody::Anything,
        words: &[],
        document: |json| error_in(json).map(|text| JudgedAnswer::failed(&text)),
        event: None,
        end_mark: "its end",
    };

    /// Those of an operation that answers with JSON, and never with a stream.
    pub(crate) const JSON: Self = Self { body: ExpectedBody::Json, ..Self::HTTP_ONLY };

    /// Whether these bytes may report a failure. If not, they are only searched for their end.
    pub(super) fn may_report_failure(&self, bytes: &[u8]) -> bool {
        ERROR_WORDS.iter().any(|word| word.find(bytes).is_some())
            || self.words.iter().any(|word| memmem::find(bytes, word.as_bytes()).is_some())
    }
}
