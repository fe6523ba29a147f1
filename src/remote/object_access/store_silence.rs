//! Requests that the store leaves without an answer.

use std::error::Error;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};

/// How long nothing may arrive from a store.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// The slowest upload that is waited for, in bytes a second. The client of the store does not show
/// how much of a body was sent; the system ends a connection whose bytes do not arrive.
const SLOWEST_UPLOAD: u64 = 2048;

/// Nothing arrived from the store for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing arrived for {} s", .after.as_secs())]
pub(super) struct StoreSilence {
    after: Duration,
    /// Whether the request may succeed with fewer others under way.
    had_others: bool,
}

impl StoreSilence {
    pub(super) fn new(after: Duration, had_others: bool) -> Self {
        Self { after, had_others }
    }

    /// Returns the error of the client.
    pub(super) fn into_error(self) -> HttpError {
        HttpError::new(HttpErrorKind::Timeout, self)
    }
}

/// Returns how long an answer may take to begin, if its request has a body of `body` bytes.
pub(super) fn answer_patience(body: usize) -> Duration {
    LONGEST_SILENCE + Duration::from_secs(body as u64 / SLOWEST_UPLOAD)
}

/// Whether a request failed that may succeed with fewer others under way.
pub(super) fn may_succeed_alone(error: &object_store::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(silence) = error.downcast_ref::<StoreSilence>() {
            return silence.had_others;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_grows_with_the_body() {
        assert_eq!(answer_patience(0), LONGEST_SILENCE);
        assert_eq!(answer_patience(600_000), LONGEST_SILENCE + Duration::from_secs(292));
    }

    #[test]
    fn silence_is_found_below_the_errors_of_the_client() {
        for had_others in [true, false] {
            let silence = StoreSilence::new(LONGEST_SILENCE, had_others).into_error();
            let error = object_store::Error::Generic { store: "S3", source: Box::new(silence) };
            assert_eq!(may_succeed_alone(&error), had_others);
        }
        let other = object_store::Error::Generic { store: "S3", source: "gone".into() };
        assert!(!may_succeed_alone(&other));
    }
}
