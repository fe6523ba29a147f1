//! loomrec, a proxy between a program and the LLM APIs it calls: it records every call exactly and
//! replays it strictly.
//!
//! This is the entry point of the binary. Everything is in members of the workspace, crates of their
//! own in `src/NAME`. The compiler enforces what each may import:
//!
//! | member | what lives there |
//! |---|---|
//! | `cli` | the command line: commands, settings, output, exit codes, progress, the wrapped command |
//! | `arguments` | the definition of the command line: commands, flags, the types of their values |
//! | `proxy` | the server in front of the engines: connections, faults, control endpoints, the inspector |
//! | `telemetry` | what observes calls: the record of a finished call, counters, metrics, the journal, spans, the log |
//! | `engine` | a call and the engines that answer it: recorded from its upstream, or replayed |
//! | `script` | scripts: answers by call or by rule; answers in the form that a client needs |
//! | `remote` | recordings in object stores |
//! | `store` | recordings on disk: files and folders, log, compaction, locks, salvage |
//! | `curation` | checking, comparing, merging, reviewing, showing, importing, exporting and repairing recordings |
//! | `recording` | entries, the file format, redaction, prices |
//! | `fault` | what can go wrong with an answer, at which calls, and how well a program recovers |
//! | `provider` | the wire shapes of providers: what a request asks for, what an answer says |
//! | `identity` | what makes two requests the same: exact JSON, canonical text, keys, rules, differences; names and text for people |
//! | `os` | what depends on the operating system: files, processes, signals, the terminal |

use std::process::ExitCode;

/// Requests are handled on several threads: memory that one thread frees is taken by another. The
/// system's allocator is slow at this.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loomrec_cli::run()
}
