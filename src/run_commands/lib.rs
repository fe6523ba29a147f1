//! Commands that answer, send or transfer calls: they record, replay, record again, and bring
//! recordings to object stores and back.

// The receipt has more members than the `json!` macro takes by default.
#![recursion_limit = "256"]

pub mod commands;
mod demo;
mod doctor;
mod expiry;
mod fault;
mod guard;
mod in_force;
mod interception;
mod log;
mod mcp;
mod no_call;
mod open_files;
mod progress;
mod prove;
mod receipt;
mod record;
#[cfg(feature = "remote")]
mod remote;
#[cfg(not(feature = "remote"))]
#[path = "remote_absent.rs"]
mod remote;
mod remote_arguments;
mod replay;
mod rerecord;
mod run_time_chaos;
mod score;
mod script;
mod server_run;
mod session;
mod stand_ins;
mod stop_signals;
mod store_secrets;
mod trace;
mod ui;

use loomrec_arguments as args;
