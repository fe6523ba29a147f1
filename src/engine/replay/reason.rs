//! Why a request has no recorded answer, in a word.

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissReason {
    /// No recorded call is like it.
    Unknown,
    /// A recorded call stands where this one is made, and differs.
    Drifted,
    /// Every recorded take of it has been used.
    Exhausted,
    /// It was recorded, but its answer was not recorded whole.
    Incomplete,
    /// The same request was recorded at another upstream.
    OtherUpstream,
    /// The same request was recorded under other identity rules.
    OtherRules,
    /// The same request was recorded in another session only.
    OtherSession,
    /// The recorded answer cannot be given in the form that is asked for.
    OtherForm,
}

impl MissReason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Unknown,
        Self::Drifted,
        Self::Exhausted,
        Self::Incomplete,
        Self::OtherUpstream,
        Self::OtherRules,
        Self::OtherSession,
        Self::OtherForm,
    ];

    /// The words people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown request",
            Self::Drifted => "drifted",
            Self::Exhausted => "exhausted",
            Self::Incomplete => "recorded incomplete",
            Self::OtherUpstream => "other upstream",
            Self::OtherRules => "other rules",
            Self::OtherSession => "other session",
            Self::OtherForm => "other form",
        }
    }
}
