//! loomrec stands between a program and the LLM APIs it calls: it records every
//! call exactly and replays it strictly.
//!
//! The crate is built as a house of floors; a module imports only from lower
//! floors or from its own folder (`tests/it/architecture` holds this):
//!
//! | floor | modules | what lives there |
//! |---|---|---|
//! | 7 | [`cli`] | the process edge: flags, output, exit codes, progress |
//! | 6 | [`server`] | sockets, routing, errors into responses, control endpoints |
//! | 5 | [`inspector`] | what a browser is shown of a run or a file |
//! | 4 | [`telemetry`] | the record of a call, and whoever reads it: counters, metrics, journal, spans, log |
//! | 3 | [`engine`] | a call and its engine: record, replay, or both |
//! | 2 | [`replay`], [`record`] | the two engines; they never import each other |
//! | 1 | [`store`], [`upstream`] | effects: files and locks, the HTTP client |
//! | 0 | [`identity`], [`provider`], [`fault`], [`recording`], [`recovery`], [`comparison`], [`inspection`], [`interchange`], [`review`], [`merge`], [`verification`], `spelling`, `printable` | pure code: no I/O, clock, or randomness |

pub mod cli;
pub mod comparison;
pub mod engine;
pub mod fault;
pub mod identity;
pub mod inspection;
pub mod inspector;
pub mod interchange;
pub mod merge;
mod printable;
pub mod provider;
pub mod record;
pub mod recording;
pub mod recovery;
pub mod replay;
pub mod review;
pub mod server;
mod spelling;
pub mod store;
pub mod telemetry;
pub mod upstream;
pub mod verification;
