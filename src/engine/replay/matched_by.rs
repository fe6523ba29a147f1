//! What a take was found by.

use loomrec_dialect::plain_entry;

/// How a take was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedBy {
    /// By the step id that the call carries.
    StepId,
    /// By the request's hash.
    RequestHash,
    /// By the request with this run's values in the place of the recorded ones.
    Bound,
    /// By the hash of what an adapter was given: of the whole request, as the adapter sees it.
    AdapterHash,
    /// By the hash of the messages alone. The rest of the request is
    /// unchecked.
    MessagesHash,
}

impl MatchedBy {
    /// Returns the value of `x-loomrec-matched-by`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StepId => "step_id",
            Self::RequestHash => "request_hash",
            Self::Bound => "bound",
            Self::AdapterHash => plain_entry::BY_HASH,
            Self::MessagesHash => plain_entry::BY_MESSAGES,
        }
    }
}
