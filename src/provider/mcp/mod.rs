//! The Model Context Protocol over HTTP: calls of tools in JSON-RPC, which are recognised by their
//! bodies.

mod answer_ids;
mod error_report;
mod facts;
mod method;
mod reduction;
mod row;
mod session_ids;
mod tool_request;

pub use answer_ids::{RpcEdit, RpcIds};
pub use error_report::rpc_reports_error;
pub use facts::{RpcFacts, rpc_closed_error, rpc_error_responses};
pub use method::{RpcKind, RpcMethod, SESSION_HEADER};
pub(super) use row::recognise;
pub use session_ids::{RpcSessionIds, UnknownRpcId};
pub use tool_request::ToolRequest;
