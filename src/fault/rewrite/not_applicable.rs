//! Why a fault cannot be applied to an answer.

use loomrec_provider::ModeError;

/// Why a fault cannot be applied to an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// The fault does not change what an answer says.
    #[error("the fault {fault} does not change what an answer says")]
    Fault {
        /// Its type.
        fault: &'static str,
    },
    /// The fault does not change how a body is sent.
    #[error("the fault {fault} does not change how an answer is sent")]
    Body {
        /// Its type.
        fault: &'static str,
    },
    /// The bytes are not an answer of the operation, or the answer says nothing.
    #[error("the answer is not one of {operation} with text")]
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
    /// The stream cannot be merged, or the changed answer cannot be split.
    #[error(transparent)]
    Mode(#[from] ModeError),
}
