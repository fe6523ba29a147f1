//! What a fault of a plan strikes, if its notation names servers and tools: an upstream, a step.

use super::condition::RuleMatch;

/// What a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// The upstream of this name, if there is one, else the step.
    Named(String),
    /// The upstream of this name.
    Upstream(String),
    /// The step of this name.
    Step(String),
    /// The step of this name, at the upstream of this name.
    StepAt {
        /// The step.
        step: String,
        /// The upstream.
        upstream: String,
    },
}

impl FaultTarget {
    /// Adds the target to the conditions of its rule. `is_upstream` says whether there is an upstream
    /// of a name.
    pub fn restrict(&self, when: &mut RuleMatch, is_upstream: impl Fn(&str) -> bool) {
        match self {
            Self::Named(name) if is_upstream(name) => when.upstream = vec![name.clone()],
            Self::Upstream(name) => when.upstream = vec![name.clone()],
            Self::Named(name) | Self::Step(name) => when.step_id = vec![name.clone()],
            Self::StepAt { step, upstream } => {
                (when.step_id, when.upstream) = (vec![step.clone()], vec![upstream.clone()]);
            }
        }
    }
}
