//! The strictness of a run: whether what was not typed may weaken its replay. Sessions, control
//! paths and calls that ask for faults ask it, and it counts what it let through.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most different things that are counted by name.
const MOST: usize = 100;

/// Whether what clients ask for may weaken the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// It may: the run is not a strict replay.
    #[default]
    Lenient,
    /// It may not.
    Strict,
    /// It may, and is named: `--strict --allow-control`.
    StrictWithControl,
}

/// What a control call, or a part of a call, can do to a strict replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEffect {
    /// Nothing: it changes no answer, no rule and no progress.
    Harmless,
    /// It changes answers, rules or progress. A strict replay refuses it, unless a flag allows it.
    Weakens,
    /// It depends on its members, each of which has an effect.
    ByMembers,
}

/// The strictness of a run or of a session, and what it let through.
#[derive(Debug, Default)]
pub struct RunStrictness {
    strictness: Strictness,
    admitted: Mutex<BTreeMap<String, u64>>,
    /// That of the run, for a session.
    run: Option<Arc<Self>>,
}

/// Proof that the strictness of the run lets a change through. What changes answers, rules or
/// progress at a client's request takes one.
#[derive(Clone, Copy, Debug)]
pub struct StrictAdmission(());

/// A strict replay refuses what a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{asked} would change answers, rules or progress of a replay with --strict: leave it out, or \
     start loomrec with --allow-control, which allows and reports it"
)]
pub struct StrictRefusal {
    asked: String,
}

impl RunStrictness {
    /// Returns that of a run.
    #[must_use]
    pub fn new(strictness: Strictness) -> Self {
        Self { strictness, ..Self::default() }
    }

    /// Returns that of a session of this run. What it lets through counts for the run as well.
    #[must_use]
    pub fn for_session(run: &Arc<Self>) -> Self {
        Self { run: Some(Arc::clone(run)), ..Self::new(run.strictness) }
    }

    /// Whether the run is a strict replay.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.strictness != Strictness::Lenient
    }

    /// Lets a change through, and counts it under the name of what was asked for.
    ///
    /// # Errors
    /// The replay is strict, and no flag allows it.
    pub fn admit(&self, asked: &str) -> Result<StrictAdmission, StrictRefusal> {
        let admission = self.admit_uncounted(asked)?;
        self.count_admission(asked);
        Ok(admission)
    }

    /// The same without counting: it has to be noted once it is done.
    ///
    /// # Errors
    /// As for [`Self::admit`].
    pub fn admit_uncounted(&self, asked: &str) -> Result<StrictAdmission, StrictRefusal> {
        match self.strictness {
            Strictness::Strict => Err(StrictRefusal { asked: asked.to_owned() }),
            Strictness::Lenient | Strictness::StrictWithControl => Ok(StrictAdmission(())),
        }
    }

    /// Lets something through that changes nothing.
    #[must_use]
    pub fn admit_harmless(&self) -> StrictAdmission {
        StrictAdmission(())
    }

    /// Counts what was let through, if the replay is strict.
    pub fn count_admission(&self, asked: &str) {
        if !self.is_strict() {
            return;
        }
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match admitted.len() < MOST || admitted.contains_key(asked) {
            true => asked,
            false => "others",
        };
        *admitted.entry(name.to_owned()).or_default() += 1;
        drop(admitted);
        self.run.iter().for_each(|run| run.count_admission(asked));
    }

    /// Returns what was let through, by name, and how often.
    #[must_use]
    pub fn admission_counts(&self) -> BTreeMap<String, u64> {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_refuses_a_change_unless_control_is_allowed_and_then_counts_it() {
        let lenient = RunStrictness::new(Strictness::Lenient);
        assert!(lenient.admit("reset").is_ok());
        assert!(lenient.admission_counts().is_empty());
        let strict = RunStrictness::new(Strictness::Strict);
        let why = strict.admit("reset").unwrap_err().to_string();
        assert!(why.starts_with("reset would change") && why.contains("--allow-control"), "{why}");
        assert!(strict.admission_counts().is_empty());
        let run = Arc::new(RunStrictness::new(Strictness::StrictWithControl));
        let session = RunStrictness::for_session(&run);
        assert!(session.admit("reset").is_ok() && session.admit("reset").is_ok());
        let expected = BTreeMap::from([("reset".to_owned(), 2)]);
        assert_eq!(
            (session.admission_counts(), run.admission_counts()),
            (expected.clone(), expected)
        );
    }

    #[test]
    fn number_of_names_is_bounded() {
        let run = RunStrictness::new(Strictness::StrictWithControl);
        (0..MOST + 10).for_each(|number| run.count_admission(&number.to_string()));
        assert_eq!(
            (run.admission_counts().len(), run.admission_counts()["others"]),
            (MOST + 1, 10)
        );
    }
}
