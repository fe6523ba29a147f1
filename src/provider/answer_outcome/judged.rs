//! The outcome of an answer, and why.

use std::borrow::Cow;

use crate::error_text::clipped_line;

/// How an answer ended, as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerOutcome {
    /// It is an answer, and it is complete.
    #[default]
    Complete,
    /// The provider reported a failure: by its status, by an error in the place of the answer, or by
    /// an error in a stream that had begun.
    FailedByProvider,
    /// It ended before its end: it was cut, or the end mark of its protocol is missing.
    Unfinished,
    /// It is no answer of the operation: no bytes, a web page, another media type.
    NotAnAnswer,
}

/// The outcome of an answer, with a reason for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgedAnswer {
    /// The outcome.
    pub outcome: AnswerOutcome,
    /// The reason, in loomrec's own words; empty if the answer is complete.
    pub reason: Cow<'static, str>,
    /// What the answer says of it, on one line and of bounded length: the text of its error, or its
    /// media type.
    pub quote: Option<String>,
}

impl AnswerOutcome {
    /// All outcomes, in the order of their numbers.
    pub const ALL: [Self; 4] =
        [Self::Complete, Self::FailedByProvider, Self::Unfinished, Self::NotAnAnswer];

    /// The word for it in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::FailedByProvider => "failed",
            Self::Unfinished => "unfinished",
            Self::NotAnAnswer => "not_an_answer",
        }
    }

    /// Whether the call failed.
    pub fn is_failure(self) -> bool {
        self != Self::Complete
    }

    /// Whether there is an error, or something else, in the place of an answer.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::FailedByProvider | Self::NotAnAnswer)
    }

    /// This outcome, for this reason.
    pub(crate) fn with_reason(self, reason: impl Into<Cow<'static, str>>) -> JudgedAnswer {
        JudgedAnswer { outcome: self, reason: reason.into(), quote: None }
    }
}

impl JudgedAnswer {
    /// A complete answer.
    pub const COMPLETE: Self =
        Self { outcome: AnswerOutcome::Complete, reason: Cow::Borrowed(""), quote: None };

    /// An answer in whose place, or within which, the provider reported an error with this text.
    pub(crate) fn failed(text: &str) -> Self {
        AnswerOutcome::FailedByProvider
            .with_reason("the provider reported an error")
            .with_quote(text)
    }

    /// An answer that says of itself that more is to come.
    pub(crate) fn unfinished(reason: &'static str) -> Self {
        AnswerOutcome::Unfinished.with_reason(reason)
    }

    /// The same, with what the answer says of it.
    pub(crate) fn with_quote(self, text: &str) -> Self {
        Self { quote: Some(clipped_line(text)).filter(|text| !text.is_empty()), ..self }
    }

    /// Whether the call failed.
    pub fn is_failure(&self) -> bool {
        self.outcome.is_failure()
    }

    /// Returns the reason, with what the answer says of it; empty if the answer is complete.
    pub fn description(&self) -> Cow<'_, str> {
        match &self.quote {
            Some(quote) => format!("{}: {quote}", self.reason).into(),
            None => Cow::Borrowed(&self.reason),
        }
    }
}
