//! The words of other tools that a running server speaks beside its own: headers, control paths, the
//! journal, and the names of metrics and of attributes of spans.
//!
//! Everything here is a table or a pure function. What the words mean is done by the server. The words
//! are those of aimock 1.43, apart from some of `telemetry_name`, which are AgentLoom's.

pub mod control;
pub mod header_chaos;
pub mod journal;
pub mod route_label;
pub mod telemetry_name;
pub mod test_name;
