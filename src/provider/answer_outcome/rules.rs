//! How the answers of an operation end and fail, as its row says it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

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
    /// Texts of which an answer that reports a failure holds at least one. An answer without any is
    /// only searched for its end.
    pub(crate) words: fn() -> &'static FailureWords,
    /// The failure that a complete body reports; `None` if it reports none.
    pub(crate) document: fn(&Json<'_>) -> Option<JudgedAnswer>,
    /// Takes the data of an event into the progress of its stream; `None` for operations whose
    /// streams are not known.
    pub(crate) event: Option<TakeData>,
    /// What a stream ends with, for people.
    pub(crate) end_mark: &'static str,
}

/// Texts to look for in each answer, prepared once.
pub(crate) struct FailureWords(LazyLock<Vec<Finder<'static>>, fn() -> Vec<Finder<'static>>>);

impl FailureWords {
    /// Prepares the texts that `prepare` returns, when they are first looked for.
    pub(crate) const fn new(prepare: fn() -> Vec<Finder<'static>>) -> Self {
        Self(LazyLock::new(prepare))
    }

    /// Whether one of them is in the bytes.
    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|word| word.find(bytes).is_some())
    }
}

/// Returns the words of most errors, a member and the name of an event, and further ones.
pub(crate) fn error_words(more: &[&'static str]) -> Vec<Finder<'static>> {
    let words = ["\"error\"", "event: error", "event:error"].into_iter();
    words.chain(more.iter().copied()).map(Finder::new).collect()
}

impl OutcomeRules {
    /// Those of an unknown protocol.
    pub(crate) const HTTP_ONLY: Self = Self {
        body: ExpectedBody::Anything,
        words: || {
            static WORDS: FailureWords = FailureWords::new(|| error_words(&[]));
            &WORDS
        },
        document: |json| error_in(json).map(|text| JudgedAnswer::failed(&text)),
        event: None,
        end_mark: "its end",
    };

    /// Those of an operation that answers with JSON, and never with a stream.
    pub(crate) const JSON: Self = Self { body: ExpectedBody::Json, ..Self::HTTP_ONLY };
}
