//! Tests of the Model Context Protocol over HTTP: the identity of its calls, the ids in their recorded
//! answers, the answers that need no recording, and faults.

mod fault;
mod identity;
mod ids;
mod prescribed;
pub(crate) mod scene;
mod virtual_time;
