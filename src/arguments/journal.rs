//! The flags of `loomrec journal`.

use std::path::PathBuf;

use clap::Args;

/// `loomrec journal`.
#[derive(Debug, Args)]
#[command(after_help = "\
record and replay write a journal with --journal: one JSON line for each call, as described in
docs/journal.md. --json prints the lines unchanged, for other programs.

With --recovery, prints for each fault the time until the program noticed it (it closed the
connection, or made the same call again), and the time until the same call succeeded. A fault that
only delays an answer is listed, but the budget does not apply to it. FILE is one journal, or marks
of your own: a JSON list, or a YAML file; `-` for stdin. Exit code 0 if the budget was kept, 1 if it
was missed. It is also missed if no fault happened.

Examples:
  loomrec replay -r agent.json --journal run.jsonl -- pytest
  loomrec journal run.jsonl --failed
  loomrec journal run.jsonl --model gpt-4o --json
  loomrec journal run.jsonl --recovery max_detection_ms=3000,max_recovery_ms=5000
  loomrec journal run.jsonl --recovery budget.json --junit recovery.xml")]
pub struct JournalArgs {
    /// The journals to read
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only calls that failed: an error, no answer, or one that was cut
    #[arg(long, conflicts_with = "recovery")]
    pub failed: bool,
    /// Only calls that request this model
    #[arg(long, value_name = "MODEL", conflicts_with = "recovery")]
    pub model: Option<String>,
    /// Only calls to this upstream
    #[arg(long, value_name = "NAME", conflicts_with = "recovery")]
    pub upstream: Option<String>,
    /// Report how well the program recovered from faults, and judge it by this budget:
    /// max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout, or a file with these
    /// members (.json, .yaml, .yml); name FILE before this flag
    #[arg(long, value_name = "BUDGET", num_args = 0..=1)]
    pub recovery: Option<Option<String>>,
    /// Do not fail if no fault put the budget to the test
    #[arg(long, requires = "recovery")]
    pub allow_unfired: bool,
    /// With --recovery: write a JUnit report with one test case per fault
    #[arg(long, value_name = "FILE", requires = "recovery")]
    pub junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
