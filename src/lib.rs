//! loomrec, a proxy between a program and the LLM APIs it calls: it records every call exactly and
//! replays it strictly.
//!
//! This package is the command line: flags, output, exit codes, progress ([`cli`]). Everything else
//! is in members of the workspace, crates of their own in `src/NAME`. The compiler enforces what
//! each may import:
//!
//! | member | what lives there |
//! |---|---|
//! | [`loomrec_arguments`] | the definition of the command line: commands, flags, the types of their values |
//! | [`loomrec_proxy`] | the server in front of the engines: connections, faults, telemetry, control endpoints, the inspector |
//! | [`loomrec_engine`] | a call and the engines that answer it: recorded from its upstream, or replayed |
//! | [`loomrec_store`] | recordings on disk: files and folders, log, compaction, locks, salvage |
//! | [`loomrec_curation`] | checking, comparing, merging, reviewing, showing, importing, exporting and repairing recordings |
//! | [`loomrec_recording`] | entries, the file format, redaction, prices |
//! | [`loomrec_fault`] | what can go wrong with an answer, at which calls, and how well a program recovers |
//! | [`loomrec_provider`] | the wire shapes of providers: what a request asks for, what an answer says |
//! | [`loomrec_identity`] | what makes two requests the same: exact JSON, canonical text, keys, rules, differences; names and text for people |
//! | [`loomrec_os`] | what depends on the operating system: files, processes, signals, the terminal |

// The receipt has more members than the `json!` macro takes by default.
#![recursion_limit = "256"]

pub mod cli;

// The members, under the names that `cli`, the tests and the fuzz targets use.
pub use loomrec_curation as curation;
pub use loomrec_curation::{
    comparison, inspection, interchange, merge, noise, review, verification,
};
pub use loomrec_engine as engine;
pub use loomrec_engine::{record, replay, upstream};
pub use loomrec_fault as fault;
pub use loomrec_fault::recovery;
pub use loomrec_identity as identity;
pub use loomrec_identity::{printable, spelling};
pub use loomrec_os as os;
pub use loomrec_provider as provider;
pub use loomrec_proxy::{guard, inspector, server, telemetry};
pub use loomrec_recording as recording;
pub use loomrec_store as store;
