//! The means by which a program recovers from a fault.

/// By what means a program has recovered from a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryMeans {
    /// The same call was answered well.
    SameCall,
    /// A call that does the same work at another upstream, provider or model was answered well.
    Fallback,
    /// A call with the same conversation in another step was answered well.
    OtherStep,
    /// A call with the same conversation and other settings was answered well.
    OtherSettings,
    /// The program said that it reported a clean error.
    CleanError,
    /// The fault struck a connection on which nothing was asked yet, and the next call was answered
    /// well.
    NextCall,
}

impl RecoveryMeans {
    /// All means.
    pub const ALL: [Self; 6] = [
        Self::SameCall,
        Self::Fallback,
        Self::OtherStep,
        Self::OtherSettings,
        Self::CleanError,
        Self::NextCall,
    ];

    /// The word for journals and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameCall => "same_call",
            Self::Fallback => "fallback",
            Self::OtherStep => "other_step",
            Self::OtherSettings => "other_settings",
            Self::CleanError => "clean_error",
            Self::NextCall => "next_call",
        }
    }

    /// The means of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|means| means.as_str() == word)
    }
}
