//! What a flag can do to a strict replay, as an attribute of the flag at its definition:
//! `#[arg(add = StrictEffect::Weakens)]`.
//!
//! Each argument of `replay` has one. `--strict` goes by it, whatever the flag is called: a value
//! that weakens the replay counts only if it was typed.

use clap::Arg;
use clap::builder::ArgExt;

/// What a flag can do to a strict replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrictEffect {
    /// Nothing: no value makes a recorded answer serve another request, changes an answer, or lets
    /// a run pass that tests less.
    Harmless,
    /// It says what is replayed. The verdict says so too, wherever the value comes from.
    Reported,
    /// It says how the recording was made, or who may call. A value counts wherever it comes from;
    /// one that was not typed is named.
    Named,
    /// It weakens the replay. A value that was not typed is set aside and named. A typed one counts
    /// and is named.
    Weakens {
        /// The value that strict has anyway, if the flag has one.
        unless: Option<&'static str>,
    },
    /// It weakens what loomrec does with CMD. As [`Self::Weakens`], but a server without CMD may
    /// have a value from anywhere.
    WeakensCommand,
    /// It is a rule that makes requests equal. As [`Self::Weakens`], but a rule that the recording
    /// has too is in force by the recording.
    AddsRule {
        /// What stands before the value where rules are shown.
        prefix: &'static str,
    },
    /// It says the opposite of `--strict`. A typed value is refused. One that was not typed is set
    /// aside and named.
    Contradicts {
        /// The value that strict has anyway, if the flag has one.
        unless: Option<&'static str>,
    },
}

impl ArgExt for StrictEffect {}

impl StrictEffect {
    /// The effect of a flag that weakens the replay with every value.
    pub const WEAKENS: Self = Self::Weakens { unless: None };
    /// The effect of a flag that contradicts `--strict` with every value.
    pub const CONTRADICTS: Self = Self::Contradicts { unless: None };

    /// Returns the effect of a flag that weakens the replay with every value but this one, which
    /// strict has anyway.
    pub(super) const fn weakens_unless(value: &'static str) -> Self {
        Self::Weakens { unless: Some(value) }
    }

    /// Returns the effect of a flag that contradicts `--strict` with every value but this one, which
    /// strict has anyway.
    pub(super) const fn contradicts_unless(value: &'static str) -> Self {
        Self::Contradicts { unless: Some(value) }
    }

    /// Returns the effect of a flag whose values are rules, shown with this prefix.
    pub(super) const fn adds_rule(prefix: &'static str) -> Self {
        Self::AddsRule { prefix }
    }

    /// Returns the effect of an argument. One without the attribute counts as one that weakens.
    #[must_use]
    pub fn from_argument(arg: &Arg) -> Self {
        arg.get::<Self>().copied().unwrap_or(Self::WEAKENS)
    }

    /// Whether a value has to be typed. `has_command` says whether the run has a CMD.
    #[must_use]
    pub fn must_be_typed(self, has_command: bool) -> bool {
        match self {
            Self::Harmless | Self::Reported | Self::Named => false,
            Self::WeakensCommand => has_command,
            Self::Weakens { .. } | Self::AddsRule { .. } | Self::Contradicts { .. } => true,
        }
    }

    /// Returns the value that strict has anyway.
    #[must_use]
    pub fn strict_value(self) -> Option<&'static str> {
        match self {
            Self::Weakens { unless } | Self::Contradicts { unless } => unless,
            _ => None,
        }
    }
}
