//! loomrec stands between a program and the LLM APIs it calls: it records every
//! call exactly and replays it strictly.
//!
//! The lower floors are members of the workspace, crates of their own in `src/NAME`; the
//! compiler holds what each may import:
//!
//! | member | what lives there |
//! |---|---|
//! | [`loomrec_store`] | recordings on disk: files and folders, log, compaction, locks, salvage |
//! | [`loomrec_recording`] | entries, the file format, redaction, prices; checking, comparing, merging, reviewing, showing, importing and exporting recordings |
//! | [`loomrec_fault`] | what can go wrong with an answer, at which calls, and how well a program recovers |
//! | [`loomrec_provider`] | the wire shapes of providers: what a request asks for, what an answer says |
//! | [`loomrec_identity`] | what makes two requests the same: exact JSON, canonical text, keys, rules, differences; names and text for people |
//! | [`loomrec_os`] | what depends on the operating system: files, processes, signals, the terminal |
//!
//! The modules of this package stand on floors; a module imports only from lower floors or
//! from its own folder (`tests/it/architecture` holds this):
//!
//! | floor | modules | what lives there |
//! |---|---|---|
//! | 7 | [`cli`] | the process edge: flags, output, exit codes, progress |
//! | 6 | [`server`] | sockets, routing, errors into responses, control endpoints |
//! | 5 | [`inspector`] | what a browser is shown of a run or a file |
//! | 4 | [`telemetry`] | the record of a call, and whoever reads it: counters, metrics, journal, spans, log |
//! | 3 | [`engine`] | a call and its engine: record, replay, or both |
//! | 2 | [`replay`], [`record`] | the two engines; they never import each other |
//! | 1 | [`upstream`] | effects: the HTTP client |

pub mod cli;
pub mod engine;
pub mod inspector;
pub mod record;
pub mod replay;
pub mod server;
pub mod telemetry;
pub mod upstream;

// The members, by the names that the modules of this package use.
pub use loomrec_fault as fault;
pub use loomrec_fault::recovery;
pub use loomrec_identity as identity;
pub use loomrec_identity::{printable, spelling};
pub use loomrec_os as os;
pub use loomrec_provider as provider;
pub use loomrec_recording as recording;
pub use loomrec_recording::{comparison, inspection, interchange, merge, review, verification};
pub use loomrec_store as store;
