//! The words of other tools that a running server speaks beside its own: headers, control paths, the
//! journal, and the names of metrics and of attributes of spans.
//!
//! Everything here is a table or a pure function. What the words mean is done by the server. The words
//! are those of aimock 1.43, apart from `span_name` and some of `metric_name`, which are AgentLoom's.

pub mod control;
pub mod header_chaos;
pub mod journal;
pub mod metric_name;
pub mod route_label;
pub mod span_name;
pub mod test_name;
