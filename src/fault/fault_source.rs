//! The places where faults are declared.

/// Where a fault was declared, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultSource {
    /// In a header of the call.
    Header,
    /// In the entry that would have answered it.
    Entry,
    /// In a plan.
    Plan,
    /// By a flag.
    Flag,
    /// By chance.
    Chaos,
}

impl FaultSource {
    /// A word for journals and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Entry => "entry",
            Self::Plan => "plan",
            Self::Flag => "flag",
            Self::Chaos => "chaos",
        }
    }

    /// Whether the fault was declared before the run, so that it is meant to happen.
    pub fn is_planned(self) -> bool {
        matches!(self, Self::Plan | Self::Flag)
    }
}
