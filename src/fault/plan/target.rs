//! What a fault of a plan strikes, if its notation names servers and tools: an upstream, a step, a
//! tool of a server.

use super::condition::RuleMatch;

/// What a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// The upstream of this name, if there is one, else the step or the tool.
    Named(String),
    /// The upstream of this name.
    Upstream(String),
    /// The step or the tool of this name.
    Step(String),
    /// The step or the tool of this name, at the upstream of this name.
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
            Self::Named(name) | Self::Step(name) => restrict_to(when, name),
            Self::StepAt { step, upstream } => {
                restrict_to(when, step);
                when.upstream = vec![upstream.clone()];
            }
        }
    }
}

/// Adds that the call is in the step, or calls the tool, of this name.
fn restrict_to(when: &mut RuleMatch, name: &str) {
    (when.step_id, when.tool) = (vec![name.to_owned()], vec![name.to_owned()]);
    when.step_or_tool = true;
}
