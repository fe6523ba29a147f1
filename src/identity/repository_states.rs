//! The states of a repository in a run, as far as they were read.
//!
//! An agent writes the state of its repository into a prompt when a conversation begins. For a
//! sub-agent, or a second process of the same run, that is later than the start of the run.

use std::sync::{PoisonError, RwLock};

use super::run_values::RunValues;

/// The most states that are kept of a run.
const MOST_STATES: usize = 64;

/// The states of a repository after the start of a run, the last one last.
#[derive(Debug, Default)]
pub struct RepositoryStates(RwLock<Vec<RunValues>>);

impl RepositoryStates {
    /// Adds a state. The values of the repository are taken, and no others.
    pub fn add(&self, values: &RunValues) {
        let state = values.of_repository();
        let mut states = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !state.is_empty() && states.len() < MOST_STATES && !states.contains(&state) {
            states.push(state);
        }
    }

    /// Whether no further state is kept.
    pub fn is_full(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len() >= MOST_STATES
    }

    /// Returns the values of a run in each of the states, the last one first.
    pub fn of_run(&self, values: &RunValues) -> Vec<RunValues> {
        let states = self.0.read().unwrap_or_else(PoisonError::into_inner);
        states.iter().rev().map(|state| values.with_values(state)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(all: &[(&str, &str)]) -> RunValues {
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn states_are_put_over_the_values_of_a_run() {
        let states = RepositoryStates::default();
        let run = values(&[("cwd", "/srv/app"), ("git_status", "(clean)"), ("git_branch", "main")]);
        assert!(states.of_run(&run).is_empty());
        states.add(&values(&[("git_status", "?? a"), ("cwd", "/other")]));
        states.add(&values(&[("git_status", "?? a\n?? b")]));
        states.add(&values(&[("git_status", "?? a")]));
        states.add(&values(&[("home", "/home/ann")]));
        let later = states.of_run(&run);
        let statuses: Vec<_> = later.iter().map(|it| it.get("git_status")).collect();
        assert_eq!(statuses, [Some("?? a\n?? b"), Some("?? a")]);
        assert!(later.iter().all(|it| it.get("cwd") == Some("/srv/app")));
        assert!(later.iter().all(|it| it.get("git_branch") == Some("main")));
        for number in 0..100 {
            states.add(&values(&[("git_status", &format!("?? {number}"))]));
        }
        assert!(states.is_full() && states.of_run(&run).len() == MOST_STATES);
    }
}
