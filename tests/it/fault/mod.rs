//! Tests of faults as a client's socket sees them, through the binary.

mod bad;
mod chaos;
mod declare;
mod delivered;
mod engine;
mod entry_times;
mod fallback;
mod forms;
mod garble;
mod hostile;
mod instead;
mod late;
mod noticed;
mod pace;
mod peer;
mod receipt;
mod record;
mod retry;
mod rewrite;
mod run_time;
mod stage;
mod truncate;
mod untested;
