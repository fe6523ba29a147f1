//! Plain entries: those that AgentLoom writes, with summary fields and without a request or an exact
//! response. docs/recording-format.md says what loomrec's entries share with them.

/// The tool that writes them.
pub const TOOL: &str = "AgentLoom";
/// Its version that makes the hash of an entry of the messages alone.
pub const BY_MESSAGES_TOOL: &str = "AgentLoom 0.4.0";

/// The word for an answer that was found by the hash of what an adapter was given.
pub const BY_HASH: &str = "agentloom_hash";
/// The word for an answer that was found by the hash of the messages alone.
pub const BY_MESSAGES: &str = "agentloom_messages";
