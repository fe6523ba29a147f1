//! The reasons why a request has no recorded answer.

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissReason {
    /// No unused recorded call is like it.
    Unknown,
    /// The nearest recorded call is still unused and has a similar text, or belongs to the step that
    /// this call names.
    Drifted,
    /// Every recorded take of it has been used.
    Exhausted,
    /// It was recorded, but its answer was not recorded in full.
    Incomplete,
    /// The same request was recorded at another upstream.
    OtherUpstream,
    /// The same chat was recorded at this upstream, under another path.
    OtherPath,
    /// The same request was recorded under other identity rules.
    OtherRules,
    /// The same request was recorded in another session only.
    OtherSession,
    /// The recorded answer cannot be sent in the form that the call asks for.
    OtherForm,
}

impl MissReason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Drifted,
        Self::Exhausted,
        Self::Incomplete,
        Self::OtherUpstream,
        Self::OtherPath,
        Self::OtherRules,
        Self::OtherSession,
        Self::OtherForm,
    ];

    /// Returns the text that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown request",
            Self::Drifted => "drifted",
            Self::Exhausted => "exhausted",
            Self::Incomplete => "recorded incomplete",
            Self::OtherUpstream => "other upstream",
            Self::OtherPath => "other path",
            Self::OtherRules => "other rules",
            Self::OtherSession => "other session",
            Self::OtherForm => "other form",
        }
    }
}
