//! The paths of a recorded run, and those of this run in their place.
//!
//! A text is **bound** by putting this run's paths in the place of all recorded ones, as whole
//! paths, the longest first. A path that is the same in both runs takes part: it protects itself
//! from a shorter one inside it. A text is not bound, not even in part, if nothing says which path
//! of this run a recorded one stands for, or if it holds a path of this run that the recorded run
//! did not have.

use std::ops::Range;
use std::sync::Arc;

use super::run_values::{DERIVED, FormEdge, PathForm, RunValues};
use super::value_finder::ValueFinder;

/// The values of a recorded run, and those of this run.
#[derive(Debug)]
pub struct RunBinding {
    recorded: RunValues,
    here: RunValues,
    finder: Option<ValueFinder>,
    /// What becomes of each text of the finder.
    targets: Vec<PathTarget>,
    /// The values that differ.
    pairs: Arc<[BoundPair]>,
}

/// A value of the run that is not the recorded one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundPair {
    /// Its name.
    pub name: String,
    /// The recorded text.
    pub recorded: String,
    /// The text of this run.
    pub here: String,
}

/// What becomes of a path that is found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathTarget {
    /// This run's path of the same name takes its place.
    Bound { name: String, text: String },
    /// It is the same in both runs.
    Same { name: String },
    /// It stands for several paths, or for one of this run only.
    Unclear,
}

/// A text with a path that cannot be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnclearPath;

/// A path that was found, and what takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundPath<'b> {
    /// Where it is.
    pub range: Range<usize>,
    /// The name of its value.
    pub name: &'b str,
    /// The new text; `None` if it is the same in both runs.
    pub text: Option<&'b str>,
}

impl RunBinding {
    /// Returns the binding of a recorded run to this one.
    pub fn new(recorded: &RunValues, here: &RunValues) -> Self {
        let own = here.path_forms();
        let mut texts: Vec<(String, FormEdge)> = Vec::new();
        let mut targets: Vec<PathTarget> = Vec::new();
        for form in recorded.path_forms() {
            let target = target_of(&form, &own);
            match texts.iter().position(|(text, _)| *text == form.text) {
                None => {
                    texts.push((form.text, form.edge));
                    targets.push(target);
                }
                Some(at) if !is_same_text(&targets[at], &target) => {
                    targets[at] = PathTarget::Unclear
                }
                Some(_) => {}
            }
        }
        // Where the recorded run had none of this path, nothing says what it means.
        let is_needed = targets.iter().any(|target| !matches!(target, PathTarget::Same { .. }));
        for form in own.into_iter().filter(|_| is_needed) {
            if texts.iter().all(|(text, _)| *text != form.text) {
                texts.push((form.text, form.edge));
                targets.push(PathTarget::Unclear);
            }
        }
        let finder = ValueFinder::new(&texts);
        let pairs = find_differing(recorded, here).into();
        Self { recorded: recorded.clone(), here: here.clone(), finder, targets, pairs }
    }

    /// Whether a path differs between the runs.
    pub fn changes_paths(&self) -> bool {
        self.targets.iter().any(|target| matches!(target, PathTarget::Bound { .. }))
    }

    /// Returns the recorded run's values.
    pub fn recorded_values(&self) -> &RunValues {
        &self.recorded
    }

    /// Returns this run's values.
    pub fn current_values(&self) -> &RunValues {
        &self.here
    }

    /// Finds the paths of a text, in order.
    ///
    /// # Errors
    /// The text cannot be bound.
    pub fn find_paths(&self, text: &str) -> Result<Vec<BoundPath<'_>>, UnclearPath> {
        let Some(finder) = &self.finder else { return Ok(Vec::new()) };
        let bound = |range, at: u16| match &self.targets[usize::from(at)] {
            PathTarget::Bound { name, text } => Ok(BoundPath { range, name, text: Some(text) }),
            PathTarget::Same { name } => Ok(BoundPath { range, name, text: None }),
            PathTarget::Unclear => Err(UnclearPath),
        };
        finder.find_values(text).into_iter().map(|found| bound(found.range, found.text)).collect()
    }

    /// Whether a text that stands for a path may be in the bytes, as it is.
    pub fn may_hold(&self, bytes: &[u8]) -> bool {
        self.finder.as_ref().is_some_and(|finder| finder.is_any_in(bytes))
    }

    /// Returns the values that are not the recorded ones.
    pub fn differing_values(&self) -> &Arc<[BoundPair]> {
        &self.pairs
    }
}

/// Returns the values that differ, also those that follow from others.
fn find_differing(recorded: &RunValues, here: &RunValues) -> Vec<BoundPair> {
    let of_hole =
        |values: &RunValues, name: &str| values.hole_texts(name).into_iter().next().flatten();
    let names = recorded.iter().map(|(name, _)| name).chain(DERIVED);
    let pair = |name: &str| {
        let text = |values: &RunValues| match DERIVED.contains(&name) {
            true => of_hole(values, name),
            false => values.get(name).map(str::to_owned),
        };
        let (recorded, here) = (text(recorded)?, text(here)?);
        (recorded != here).then(|| BoundPair { name: name.to_owned(), recorded, here })
    };
    names.filter_map(pair).collect()
}

/// Returns what becomes of a recorded path.
fn target_of(form: &PathForm, own: &[PathForm]) -> PathTarget {
    let is_same_form = |other: &&PathForm| (&other.name, other.number) == (&form.name, form.number);
    let name = form.name.clone();
    match own.iter().find(is_same_form) {
        Some(other) if other.text != form.text => {
            PathTarget::Bound { name, text: other.text.clone() }
        }
        _ => PathTarget::Same { name },
    }
}

/// Whether two targets put the same text in the place of a path.
fn is_same_text(one: &PathTarget, other: &PathTarget) -> bool {
    match (one, other) {
        (PathTarget::Bound { text: one, .. }, PathTarget::Bound { text: other, .. }) => {
            one == other
        }
        (PathTarget::Same { .. }, PathTarget::Same { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "tests/run_binding.rs"]
mod tests;
