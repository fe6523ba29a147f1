//! Requests for an error in a provider's own format.

use super::answer_draft;
use super::provider_row::{ErrorRequest, Provider};

/// The number of requests that a limit allows; the numbers are those of a small account.
pub(super) const REQUESTS: u64 = 500;
/// The number of tokens that a limit allows.
pub(super) const TOKENS: u64 = 30_000;
/// How many tokens are left of a limit that is not used up.
pub(super) const TOKENS_LEFT: u64 = 29_000;

/// The default time until a limit is over, in milliseconds.
const USUAL_WAIT: u64 = 1000;

impl<'a> ErrorRequest<'a> {
    /// The usual error for a status, not in a stream, sent in 1970.
    pub fn new(provider: Provider, upstream: &'a str, status: u16) -> Self {
        Self {
            provider,
            upstream,
            status,
            kind: None,
            message: None,
            retry_after_ms: None,
            framing: None,
            now_s: 0,
        }
    }

    /// Milliseconds until the limit is over.
    pub(super) fn limit_wait(&self) -> u64 {
        self.retry_after_ms.unwrap_or(USUAL_WAIT)
    }

    /// Makes an id for this error, the same in every run.
    pub(super) fn id(&self, prefix: &str) -> String {
        answer_draft::id(prefix, usize::from(self.status), self.message.unwrap_or_default())
    }

    /// Makes the id as a UUID.
    pub(super) fn uuid(&self) -> String {
        let digits = self.id("") + &answer_draft::id("", usize::from(self.status), "uuid");
        let group = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
        let groups = [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)];
        groups.join("-")
    }
}
