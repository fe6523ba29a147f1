//! The flags of `loomrec journal`, and the parsers of sizes and times.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

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
  loomrec journal run.jsonl --model gpt-4o --since 10m --follow
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
    /// Only calls at this time or later: 2026-01-31T12:00:00Z, or 90s, 10m, 2h, 7d ago
    #[arg(
        long,
        value_name = "TIME",
        value_parser = TimeArgument::parse,
        conflicts_with = "recovery"
    )]
    pub since: Option<TimeArgument>,
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

/// A moment, given as a timestamp or as the time that has passed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArgument {
    /// Microseconds since 1970.
    At(i64),
    /// This long before now.
    Ago(Duration),
}

impl TimeArgument {
    /// Parses a moment.
    ///
    /// # Errors
    /// Describes the expected format.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Ok(time) = OffsetDateTime::parse(text, &Rfc3339) {
            let micros = time.unix_timestamp_nanos() / 1000;
            return Ok(Self::At(i64::try_from(micros).unwrap_or(i64::MAX)));
        }
        let ago = || {
            let unit = match text.chars().last()? {
                's' => 1,
                'm' => 60,
                'h' => 60 * 60,
                'd' => 24 * 60 * 60,
                _ => return None,
            };
            let number: u64 = text.get(..text.len() - 1)?.parse().ok()?;
            Some(Self::Ago(Duration::from_secs(number.checked_mul(unit)?)))
        };
        ago().ok_or_else(|| {
            "give a time such as 2026-01-31T12:00:00Z, or 90s, 10m, 2h, 7d for so long ago"
                .to_owned()
        })
    }
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

    #[test]
    fn moments_are_times_or_so_long_ago() {
        assert_eq!(TimeArgument::parse("1970-01-01T00:00:01.5Z"), Ok(TimeArgument::At(1_500_000)));
        assert_eq!(TimeArgument::parse("2h"), Ok(TimeArgument::Ago(Duration::from_secs(7200))));
        for wrong in ["", "h", "10", "-1h", "soon", "1é", "99999999999999999999d"] {
            assert!(TimeArgument::parse(wrong).is_err(), "{wrong}");
        }
    }
}
