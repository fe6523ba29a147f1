//! AgentLoom's recordings: entries as ours have them, without requests and responses.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::TurnCounter;
