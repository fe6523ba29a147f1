//! AgentLoom's recordings: the same entries as loomrec's, without requests and responses.

mod adapter_key;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::TurnCounter;
