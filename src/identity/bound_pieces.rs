//! What a request has that is written in another way when it is looked up under a binding.

use std::collections::BTreeMap;

use super::run_binding::RunBinding;
use super::run_values::RunValues;

/// The run that a request is from.
#[derive(Clone, Copy, Debug)]
pub(super) enum RequestRun<'b> {
    /// The recorded one: this run's values take the place of recorded ones.
    Recorded(&'b RunBinding),
    /// This one.
    Here(&'b RunValues),
}

impl<'b> RequestRun<'b> {
    /// Returns the values of the run.
    pub(super) fn values(self) -> &'b RunValues {
        match self {
            Self::Recorded(binding) => binding.recorded_values(),
            Self::Here(values) => values,
        }
    }
}

/// What was written as its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundText {
    /// The rule that found it.
    pub(super) rule: u16,
    /// The hash of the text.
    pub(super) hash: u64,
    /// The value that it is.
    pub(super) value: Option<FoundValue>,
}

/// A value in a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundValue {
    /// Its name.
    pub(super) name: Box<str>,
    /// The forms of the value that the text is.
    pub(super) forms: u32,
}

/// What was written in another way than in the canonical text.
#[derive(Debug, Default)]
pub(super) struct BoundPieces {
    /// How often each value was found, by name.
    pub(super) values: BTreeMap<String, usize>,
    /// How often each path was replaced by another one, by name.
    pub(super) replaced: BTreeMap<String, usize>,
    /// What the rules found.
    pub(super) found: Vec<FoundText>,
    /// Whether a text holds a path that cannot be bound.
    pub(super) is_unclear: bool,
}
