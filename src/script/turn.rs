//! What of a script answers a call, or why nothing of it does.

use super::rule::RuleClaim;

/// What of a script answers a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptTurn {
    /// The call of its list with this number, from 1.
    Call(usize),
    /// A rule.
    Rule(RuleClaim),
}

impl ScriptTurn {
    /// Returns the name that the answer's header gives.
    pub fn label(&self) -> String {
        match self {
            Self::Call(call) => format!("script#{call}"),
            Self::Rule(claim) => claim.label(),
        }
    }

    /// Returns the number of the call, or of the rule's answer, from 1.
    pub fn number(&self) -> usize {
        match self {
            Self::Call(call) => *call,
            Self::Rule(claim) => usize::try_from(claim.nth).unwrap_or(usize::MAX),
        }
    }
}

/// The reason why a script has no answer for a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoScriptedResponse {
    /// All calls of the script are used up.
    #[error("no scripted response: the script is used up (calls: {calls}); add a call to it")]
    UsedUp {
        /// How many calls it has.
        calls: usize,
    },
    /// The script only has calls for streams.
    #[error(
        "no scripted response: the script has no calls but those under stream_script, and this \
         call asks for a complete answer; add script or scripts"
    )]
    OnlyStreams,
    /// The scripted call cannot answer this request.
    #[error("no scripted response: call {call} of the script cannot answer this: {why}")]
    Unfit {
        /// The number of the scripted call, from 1.
        call: usize,
        /// The reason.
        why: String,
    },
    /// The rule cannot answer this request.
    #[error("no scripted response: rule {rule} of the script cannot answer this: {why}")]
    UnfitRule {
        /// The name of the rule.
        rule: String,
        /// The reason.
        why: String,
    },
    /// No rule answers this request, and there is no list of calls, or none is left of it.
    #[error("no scripted response: none of the script's {rules} rules answers this call ({why})")]
    NoRule {
        /// How many rules it has.
        rules: usize,
        /// What was looked at, and the nearest rule.
        why: String,
    },
}
