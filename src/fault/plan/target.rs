//! What a fault of an mcptest suite strikes.

use super::condition::RuleMatch;

/// What a fault of a suite strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// The upstream of this name, if there is one, else the step.
    Named(String),
    /// The upstream of this name.
    Upstream(String),
    /// The step of this name.
    Step(String),
}

impl FaultTarget {
    /// Reads a target.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (kind, name) = match text.split_once(':') {
            Some(("server" | "upstream", name)) => (Self::Upstream as fn(String) -> Self, name),
            Some(("tool" | "step", name)) => (Self::Step as fn(String) -> Self, name),
            _ => (Self::Named as fn(String) -> Self, text),
        };
        let name = name.trim();
        (!name.is_empty()).then(|| kind(name.to_owned()))
    }

    /// Adds the target to the conditions of its rule. `is_upstream` says whether there is an upstream
    /// of a name.
    pub fn restrict(&self, when: &mut RuleMatch, is_upstream: impl Fn(&str) -> bool) {
        match self {
            Self::Named(name) if is_upstream(name) => when.upstream = vec![name.clone()],
            Self::Upstream(name) => when.upstream = vec![name.clone()],
            Self::Named(name) | Self::Step(name) => when.step_id = vec![name.clone()],
        }
    }
}
