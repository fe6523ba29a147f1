//! The takes that a whole replay used, according to its receipt or its journal.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::args::PruneArgs;
use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_cli::journal_lines::{JournalRead, JournalReader};
use loomrec_cli::terminal::path_line;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::Recording;
use loomrec_store::file_digest;

/// The most bytes that are read of a receipt.
const LARGEST: u64 = 256 << 20;

/// The fields of a receipt that show which takes were used.
#[derive(Deserialize)]
struct ReceiptFields {
    command: String,
    #[serde(default)]
    served: u64,
    #[serde(default)]
    missed: u64,
    #[serde(default)]
    refused: u64,
    #[serde(default)]
    unreachable: u64,
    #[serde(default)]
    defaulted: u64,
    #[serde(default)]
    forwarded: u64,
    #[serde(default)]
    faulted: u64,
    cmd_exit: Option<i64>,
    unused_entries: Option<Vec<String>>,
    recordings: Vec<ReplayedRecording>,
}

/// A recording that a receipt names.
#[derive(Deserialize)]
struct ReplayedRecording {
    sha256: Option<String>,
}

/// The end of a message about a journal that has lost lines, after the journal's name.
const LOST: &str = "does not have all lines of its run, so it does not show which takes are \
                    needed; replay again, with room for the journal";

/// The numbers of a journal's lines, which may be in any order.
#[derive(Default)]
struct JournalNumbers {
    count: u64,
    highest: u64,
    /// Whether a line has no number.
    any_without: bool,
}

impl JournalNumbers {
    fn add(&mut self, number: Option<u64>) {
        self.count += 1;
        self.highest = self.highest.max(number.unwrap_or(0));
        self.any_without |= number.is_none();
    }

    /// Whether all lines up to the highest number are present. Also true if a line has no number.
    fn is_gapless(&self) -> bool {
        self.any_without || self.count == self.highest
    }
}

/// The takes that were used.
#[derive(Debug, Default)]
pub(super) struct UsedTakes {
    /// Keys of takes that were unused in every run with a receipt. `None` if there is no receipt.
    unused: Option<HashSet<String>>,
    /// Names, or hashes, that were served according to a journal, which does not distinguish their
    /// takes. `None` if there is no journal.
    served: Option<HashSet<String>>,
    /// Keys in receipts that may mean more than one take.
    ambiguous: HashSet<String>,
}

impl UsedTakes {
    /// Reads the files that the flags name.
    ///
    /// # Errors
    /// A file that cannot be read; one that does not show which takes of this recording a whole
    /// replay used, with the reason.
    pub(super) fn read(args: &PruneArgs, recording: &Recording) -> Result<Self, CommandFailure> {
        let mut used = Self::default();
        if args.unused.is_empty() && args.journal.is_empty() {
            return Ok(used);
        }
        let hash = file_digest(&args.file);
        for path in &args.unused {
            let unused = read_receipt(path, args.file.as_path(), hash.as_deref())?;
            used.unused = Some(match used.unused.take() {
                Some(other) => other.intersection(&unused).cloned().collect(),
                None => unused,
            });
        }
        for path in &args.journal {
            used.add_journal(path)?;
        }
        used.look_at(recording);
        Ok(used)
    }

    /// Whether a take was used, or may have been.
    pub(super) fn has_take(&self, name: &EntryName, take: usize, entry: &Entry) -> bool {
        let key = name.take_key(take);
        let by_receipt =
            |unused: &HashSet<String>| !unused.contains(&key) || self.ambiguous.contains(&key);
        // If a step id cannot be put in a header, the journal has the hash instead.
        let hash = entry.request_hash.as_ref().map(|hash| hash.as_str());
        let by_journal = |served: &HashSet<String>| {
            served.contains(&name.to_string()) || hash.is_some_and(|hash| served.contains(hash))
        };
        self.unused.as_ref().is_some_and(by_receipt) || self.served.as_ref().is_some_and(by_journal)
    }

    /// Whether a journal was read.
    pub(super) fn has_journal(&self) -> bool {
        self.served.is_some()
    }

    fn add_journal(&mut self, path: &Path) -> Result<(), CommandFailure> {
        let (mut reader, served) =
            (JournalReader::open(path)?, self.served.get_or_insert_default());
        let mut numbers = JournalNumbers::default();
        while reader.read()? != JournalRead::End {
            let wrong =
                |why: &str| CommandFailure::usage(format!("{}: {why}", reader.line_place()));
            let none = "this is not a line of a journal; name the file that --journal wrote";
            let line: Value =
                serde_json::from_slice(reader.last_line()).map_err(|_| wrong(none))?;
            let outcome = line.get("outcome").and_then(Value::as_str).ok_or_else(|| wrong(none))?;
            numbers.add(line.get("seq").and_then(Value::as_u64));
            let entry = line.pointer("/more/entry").and_then(Value::as_str);
            match (outcome, entry) {
                ("served", Some(key)) => drop(served.insert(key.to_owned())),
                ("served", None) => return Err(wrong("it does not say which take was served")),
                ("default" | "forwarded", _) => {
                    return Err(wrong(
                        "a call had no recorded answer, and a take may wait to be renewed for \
                         it; take the journal of a strict run",
                    ));
                }
                ("missed" | "refused" | "unreachable" | "faulted", _) => {
                    return Err(wrong(&format!(
                        "a call was {outcome}, so this run does not show which takes are needed; \
                         take the journal of one that went well"
                    )));
                }
                ("skipped", _) => {
                    return Err(wrong(&format!("it {LOST}")));
                }
                _ => {}
            }
        }
        match numbers.is_gapless() {
            true => Ok(()),
            false => Err(CommandFailure::usage(format!("{}: it {LOST}", path_line(path)))),
        }
    }

    /// Finds the keys that are ambiguous.
    fn look_at(&mut self, recording: &Recording) {
        let names: HashSet<String> = recording.names().map(|name| name.to_string()).collect();
        // `plan#2` may be a step id, or the second take of the step `plan`.
        let twofold = |name: &&String| {
            let numbered = name.rsplit_once('#');
            numbered.is_some_and(|(step, number)| {
                number.parse::<usize>().is_ok() && names.contains(step)
            })
        };
        self.ambiguous = names.iter().filter(twofold).cloned().collect();
    }
}

/// Returns the takes that were unused according to a receipt.
fn read_receipt(
    path: &Path,
    file: &Path,
    hash: Option<&str>,
) -> Result<HashSet<String>, CommandFailure> {
    let bytes =
        loomrec_os::read_input(path, LARGEST).map_err(|error| read_failure(path, &error))?;
    let wrong = |why: &str| CommandFailure::usage(format!("{}: {why}", path_line(path)));
    let receipt: ReceiptFields = serde_json::from_slice(&bytes).map_err(|error| {
        wrong(&format!("this is not a receipt ({error}); name the file that --receipt wrote"))
    })?;
    let Some(unused) = receipt.unused_entries.filter(|_| receipt.command == "replay") else {
        return Err(wrong(
            "this is not the receipt of a replay, so it does not show which takes were used; make \
             one with loomrec replay --receipt FILE",
        ));
    };
    let failed = receipt.missed + receipt.refused + receipt.unreachable > 0
        || receipt.cmd_exit.is_some_and(|code| code != 0);
    let reason = match receipt.recordings.as_slice() {
        _ if failed => {
            "that run failed, and may have used more had it gone on; take the receipt \
                        of one that went well"
        }
        _ if receipt.defaulted + receipt.forwarded > 0 => {
            "a call had no recorded answer in that run, and a take may wait to be renewed for it; \
             take the receipt of a strict one"
        }
        _ if receipt.faulted > 0 => {
            "faults replaced answers in that run; take the receipt of one without"
        }
        _ if receipt.served == 0 => "no call was answered in that run",
        [only] if only.sha256.as_deref() == hash => return Ok(unused.into_iter().collect()),
        [_] => {
            return Err(wrong(&format!(
                "{} is not what was replayed then (its SHA-256 differs); replay it again",
                path_line(file)
            )));
        }
        _ => {
            "several recordings were replayed together, and it does not distinguish their takes; \
             replay this one alone, or use --journal"
        }
    };
    Err(wrong(reason))
}

fn read_failure(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(RECORDING, format!("failed to read {}: {error}", path_line(path)))
}
