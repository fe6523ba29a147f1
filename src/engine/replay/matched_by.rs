//! What a take was found by.

/// How a take was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedBy {
    /// By the step id that the call carries.
    StepId,
    /// By the request's hash.
    RequestHash,
    /// By the request with this run's values in the place of the recorded ones.
    Bound,
    /// By AgentLoom's hash of what its adapter was given: of the whole request, as AgentLoom sees
    /// it.
    AgentLoomHash,
    /// By the hash of the messages alone, as AgentLoom 0.4.0 makes it. The rest of the request is
    /// unchecked.
    AgentLoomMessages,
}

impl MatchedBy {
    /// Returns the value of `x-loomrec-matched-by`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StepId => "step_id",
            Self::RequestHash => "request_hash",
            Self::Bound => "bound",
            Self::AgentLoomHash => "agentloom_hash",
            Self::AgentLoomMessages => "agentloom_messages",
        }
    }
}
