//! Checks of a recording, or of the place where one would be created.

use std::path::Path;

use super::finding::DoctorFinding;
use loomrec_cli::amount::format_count;
use loomrec_cli::store_note::store_note;
use loomrec_store::{Recording, RecordingLocation, StoreError};

/// How many rules are named.
const NAMED: usize = 5;

/// Checks the recording at `path`.
pub(super) fn check(path: &RecordingLocation, findings: &mut Vec<DoctorFinding>) {
    let about = path.display().to_string();
    let recording = match Recording::open(path) {
        Ok(recording) => recording,
        Err(StoreError::Missing { .. }) => return check_missing(path, findings),
        Err(error) => {
            let text = format!("failed to {}", error.error_chain());
            let remedy = match error {
                StoreError::IsFolder { .. } => "name the file with -r",
                _ => "restore it (git checkout), or record it again",
            };
            return findings.push(DoctorFinding::wrong(about, text, remedy));
        }
    };
    for note in recording.opening_events() {
        findings.push(DoctorFinding::warning(
            &about,
            store_note(note),
            "nothing is lost; look at it",
        ));
    }
    let (mut entries, mut cut, mut bare) = (0_usize, 0_usize, 0_usize);
    for stored in recording.entries() {
        match stored {
            Ok(stored) => {
                entries += 1;
                cut += usize::from(!stored.entry.is_servable());
                bare += usize::from(!stored.entry.has_response());
            }
            Err(error) => {
                let text = format!("failed to {}", error.error_chain());
                let remedy = "restore it (git checkout), or record it again";
                return findings.push(DoctorFinding::wrong(about, text, remedy));
            }
        }
    }
    let rules = recording.meta().rules().rule_descriptions();
    if !rules.is_empty() {
        let shown: Vec<&str> = rules.iter().take(NAMED).map(String::as_str).collect();
        let more = match rules.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        findings.push(DoctorFinding::fine(
            &about,
            format!("rules of identity in force: {}{more}", shown.join(", ")),
        ));
    }
    let plain =
        if bare > 0 { format!(", {bare} of them without a response") } else { String::new() };
    findings.push(DoctorFinding::fine(
        &about,
        format!("readable: {}{plain}", format_count(entries, "call")),
    ));
    if cut > 0 {
        let text = format!("{cut} answers were left by their client or are cut: never replayed");
        findings.push(DoctorFinding::warning(about, text, "record these calls again"));
    }
}

/// Checks whether a missing recording could be created.
fn check_missing(path: &RecordingLocation, findings: &mut Vec<DoctorFinding>) {
    let about = path.display().to_string();
    let folder = path.as_path().parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // The nearest existing folder: recording creates those below it.
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    match tempfile::tempfile_in(there) {
        Ok(_) => findings.push(DoctorFinding::warning(
            &about,
            "there is no such recording yet",
            format!("loomrec record -r {about} -- CMD makes it"),
        )),
        Err(error) => findings.push(DoctorFinding::wrong(
            about,
            format!(
                "there is no such recording, and {} cannot be written: {error}",
                there.display()
            ),
            "make the folder writable, or name another place with -r",
        )),
    }
}
