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
    /// The fault does not change what is sent over a WebSocket.
    #[error("the fault {fault} does not change a WebSocket")]
    Socket {
        /// Its type.
        fault: &'static str,
    },
    /// The place is one that messages of a WebSocket do not have.
    #[error("a WebSocket has messages, which after_events counts")]
    MessagePlace,
    /// Only the events of a stream have one that is an error.
    #[error("a WebSocket has no error event of every API; close it with a code")]
    ErrorEvent,
    /// A close code, and no WebSocket.
    #[error("only a WebSocket closes with a code")]
    NoSocket,
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
    /// The answer is not the result of a tool.
    #[error("the answer is not the result of a tool")]
    NoToolResult,
    /// The result of a tool has no part that could be changed.
    #[error("the result of the tool has no {part}")]
    NoResultPart {
        /// The part.
        part: &'static str,
    },
    /// The stream cannot be merged, or the changed answer cannot be split.
    #[error(transparent)]
    Mode(#[from] ModeError),
}
