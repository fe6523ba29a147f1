//! Attempts: each call counts as one, until a call of its key is answered well. What becomes of the
//! count is decided here, by how the call was concluded.

/// How a call was concluded, as far as the attempts of its key depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallConclusion {
    /// Its client gets its answer, and no fault changes that.
    Answered {
        /// Whether the answer is a good one.
        is_good: bool,
    },
    /// Its client did not get that answer after all.
    NotReceived,
}

/// The attempt that a call is.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallAttempt {
    /// Which attempt since the key was last answered well, from 1; 0 if the call does not count.
    number: u64,
    /// Whether the call was answered well, so that the next attempt is the first.
    is_answered: bool,
}

/// What becomes of the attempts of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptChange {
    /// The next call is a first attempt.
    Reset,
    /// The next call is the one after this attempt.
    Restore(u64),
}

impl CallAttempt {
    /// Creates the attempt with this number, which has just been counted.
    pub fn new(number: u64) -> Self {
        Self { number, is_answered: false }
    }

    /// Decides what becomes of the attempts: they stay counted, start over, or are restored. A call
    /// may be concluded several times, the last time when its answer is over.
    pub(super) fn conclude_call(&mut self, conclusion: CallConclusion) -> Option<AttemptChange> {
        match (conclusion, self.is_answered) {
            (CallConclusion::Answered { is_good: true }, false) => {
                self.is_answered = true;
                Some(AttemptChange::Reset)
            }
            (CallConclusion::NotReceived, true) => {
                self.is_answered = false;
                Some(AttemptChange::Restore(self.number))
            }
            (CallConclusion::Answered { .. } | CallConclusion::NotReceived, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: CallConclusion = CallConclusion::Answered { is_good: true };
    const BAD: CallConclusion = CallConclusion::Answered { is_good: false };

    #[test]
    fn attempts_start_over_once_for_a_good_answer_and_are_restored_if_it_was_not_received() {
        let mut attempt = CallAttempt::new(3);
        assert_eq!(attempt.conclude_call(BAD), None);
        assert_eq!(attempt.conclude_call(CallConclusion::NotReceived), None);
        assert_eq!(attempt.conclude_call(GOOD), Some(AttemptChange::Reset));
        assert_eq!(attempt.conclude_call(GOOD), None);
        assert_eq!(attempt.conclude_call(BAD), None);
        let restored = attempt.conclude_call(CallConclusion::NotReceived);
        assert_eq!(restored, Some(AttemptChange::Restore(3)));
        assert_eq!(attempt.conclude_call(CallConclusion::NotReceived), None);
    }
}
