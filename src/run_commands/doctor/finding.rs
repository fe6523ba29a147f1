//! A finding of the doctor: how serious it is, and what to do about it.

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FindingLevel {
    Fine,
    Warning,
    Wrong,
}

/// The result of one check.
#[derive(Debug)]
pub(super) struct DoctorFinding {
    pub(super) level: FindingLevel,
    /// What was checked.
    pub(super) about: String,
    /// What was found.
    pub(super) text: String,
    /// What to do about it.
    pub(super) remedy: Option<String>,
}

impl DoctorFinding {
    pub(super) fn fine(about: impl Into<String>, text: impl Into<String>) -> Self {
        Self { level: FindingLevel::Fine, about: about.into(), text: text.into(), remedy: None }
    }

    pub(super) fn warning(
        about: impl Into<String>,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (about, text, remedy) = (about.into(), text.into(), Some(remedy.into()));
        Self { level: FindingLevel::Warning, about, text, remedy }
    }

    pub(super) fn wrong(
        about: impl Into<String>,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { level: FindingLevel::Wrong, ..Self::warning(about, text, remedy) }
    }
}
