//! Marks of one's own in place of a journal: a JSON list, one object, or a YAML file.

use std::io::Read as _;
use std::path::Path;

use super::journal::{Incident, Reading};
use crate::script;
use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_fault::recovery::FaultMarks;
use loomrec_script::{self as scripts, ScriptNotation};

/// The most bytes of a list of marks, and of what is read from stdin.
const MOST: u64 = 64 << 20;

/// The member of a single observation.
const OBSERVED: &[u8] = b"\"call_start_ms\"";

/// What there is to score.
pub(super) enum ScoredInput {
    /// A journal in a file.
    Journal,
    /// Lines of a journal that were read from stdin.
    Lines(Reading),
    /// Marks of one's own.
    Marks(Vec<Incident>),
}

/// Finds out what a file holds, and reads it unless it is a journal: a list of marks begins with
/// `[`, a single one says when its call started, or the file is YAML. `-` is stdin.
///
/// # Errors
/// A file that cannot be read; marks that are invalid; lines that no journal has.
pub(super) fn read(path: &Path) -> Result<ScoredInput, CommandFailure> {
    let is_stdin = path.as_os_str() == "-";
    let notation = script::file_notation(path);
    let failed = |error: std::io::Error| {
        CommandFailure::new(RECORDING, format!("failed to read {}: {error}", path.display()))
    };
    if !is_stdin && notation == ScriptNotation::Json && !holds_marks(path).map_err(failed)? {
        return Ok(ScoredInput::Journal);
    }
    let mut text = Vec::new();
    match is_stdin {
        true => std::io::stdin().lock().take(MOST + 1).read_to_end(&mut text),
        false => {
            loomrec_os::open_input(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut text))
        }
    }
    .map_err(failed)?;
    let wrong = |why: String| CommandFailure::usage(format!("{}: {why}", path.display()));
    if text.len() as u64 > MOST {
        return Err(wrong(format!("it is larger than {} MiB", MOST >> 20)));
    }
    if is_stdin && !begins_like_marks(&text) {
        return read_lines(&text).map(ScoredInput::Lines).map_err(wrong);
    }
    let value = scripts::parse_value(&text, notation).map_err(wrong)?;
    let marks = FaultMarks::read_all(&value).map_err(|error| wrong(error.to_string()))?;
    Ok(ScoredInput::Marks((1..).zip(marks).map(|(id, marks)| marked_incident(id, marks)).collect()))
}

/// Whether a file begins like marks.
fn holds_marks(path: &Path) -> std::io::Result<bool> {
    // The reader of journals reports a file that is missing, and a folder. What is read of a pipe
    // would be lost to it.
    if !std::fs::metadata(path).is_ok_and(|status| status.is_file()) {
        return Ok(false);
    }
    let mut beginning = Vec::new();
    loomrec_os::open_input(path)?.take(4096).read_to_end(&mut beginning)?;
    Ok(begins_like_marks(&beginning))
}

/// Whether a text begins like a list, or like one observation.
fn begins_like_marks(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let beginning = &text[..text.len().min(4096)];
    text.starts_with(b"[") || beginning.windows(OBSERVED.len()).any(|part| part == OBSERVED)
}

/// Reads lines of a journal.
fn read_lines(text: &[u8]) -> Result<Reading, String> {
    let mut reading = Reading::default();
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let added = match serde_json::from_slice(line) {
            Ok(value) => reading.add_line(&value),
            Err(_) => Err("it is not JSON".to_owned()),
        };
        added.map_err(|why| format!("line {number}: this is not a line of a journal: {why}"))?;
    }
    Ok(reading)
}

fn marked_incident(id: u64, marks: FaultMarks) -> Incident {
    Incident {
        id,
        kind: marks.name,
        rule: None,
        source: Some("marks".to_owned()),
        key: None,
        step: None,
        session: None,
        call: None,
        attempt: None,
        by: None,
        means: marks.means,
        marks: marks.times,
    }
}
