//! The flags of `loomrec journal`, and the parser of sizes.

use std::path::PathBuf;

use clap::Args;

/// `loomrec journal`.
#[derive(Debug, Args)]
#[command(after_help = "\
record and replay write a journal with --journal: one JSON line for each call, as described in
docs/journal.md. Older parts (FILE.1, FILE.2, …) are read before FILE itself. --json prints the
lines unchanged, for other programs.

With --recovery, prints for each fault the time until the program noticed it (it closed the
connection, or made the same call again), and the time until the same call succeeded. A fault that
only delays an answer is listed, but the budget does not apply to it. FILE is one journal, or marks
of your own: a JSON list, or a YAML file; `-` for stdin. Exit code 0 if the budget was kept, 1 if it
was missed. It is also missed if no fault happened.

Examples:
  loomrec replay -r agent.json --journal run.jsonl -- pytest
  loomrec journal run.jsonl --failed
  loomrec journal run.jsonl --model gpt-4o --follow
  loomrec journal monday.jsonl tuesday.jsonl --sum
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
    /// Continue with new calls as they are written, until Ctrl-C
    #[arg(long, conflicts_with_all = ["sum", "recovery"])]
    pub follow: bool,
    /// Print totals by upstream and model
    #[arg(long, conflicts_with = "recovery")]
    pub sum: bool,
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

/// Parses a size: bytes, or a number with a unit.
///
/// # Errors
/// Describes the expected format.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "kb" => 1000,
        "m" | "mib" => 1 << 20,
        "mb" => 1_000_000,
        "g" | "gib" => 1 << 30,
        "gb" => 1_000_000_000,
        _ => 0,
    };
    let size = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    size.filter(|size| *size > 0)
        .ok_or_else(|| "give a size such as 500000, 512KiB, 64MiB or 1GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_so_many_of_a_unit() {
        let sizes = ["1", "512KiB", "64 mib", "2G", "3kb"].map(size);
        let expected = [1, 512 << 10, 64 << 20, 2 << 30, 3000].map(Ok);
        assert_eq!(sizes, expected);
        for wrong in ["", "0", "MiB", "1.5G", "-1", "9999999999999999GiB", "1TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
