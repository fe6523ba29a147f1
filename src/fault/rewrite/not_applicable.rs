//! Why a fault cannot be applied to an answer.

use loomrec_provider::ModeError;

/// Why an answer cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// The fault is none that changes what an answer says.
    #[error("the fault {fault} does not change what an answer says")]
    Fault {
        /// Its type.
        fault: &'static str,
    },
    /// The bytes are no answer of the operation, or one that says nothing in words.
    #[error("the answer is none of {operation} that says something")]
    NotAnAnswer {
        /// The operation's name.
        operation: &'static str,
    },
    /// The answer calls no tool.
    #[error("the answer calls no tool")]
    NoToolCall,
    /// The call has no argument that could be missing, or of another type.
    #[error("the call of the tool {name} has no argument")]
    NoArgument {
        /// The tool's name.
        name: String,
    },
    /// The stream cannot be taken apart, or not be put together again.
    #[error(transparent)]
    Mode(#[from] ModeError),
}
