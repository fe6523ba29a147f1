//! The list of pending changes as text, each with the commands that decide about it.

use owo_colors::OwoColorize as _;

use super::changes::ReviewDesk;
use super::view::{View, review_command, typed_key};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, stdout_failure};
use loomrec_cli::result_output::ResultOutput;
use loomrec_cli::waiting_recordings::is_there;
use loomrec_cli::{serve_setup, terminal};
use loomrec_recording::PendingKind;
use loomrec_store::RecordingLocation;

/// Prints all changes. They are read one after the other.
///
/// # Errors
/// An entry that cannot be read; a stdout that cannot be written.
pub(super) fn print_changes(desk: &ReviewDesk) -> Result<(), CommandFailure> {
    let view = View::from_desk(desk)?;
    let all = desk.open_changes();
    let mut out = ResultOutput::open();
    let (mut takes, mut conflicts) = (false, 0);
    for (index, change) in all.iter().enumerate() {
        let reason = terminal::printable_line(&desk.reasons[*change]).into_owned();
        let key = typed_key(desk, *change);
        takes |= key.contains('#');
        let is_conflict = desk.standings[*change].is_conflict();
        conflicts += usize::from(is_conflict);
        let mut accept = if is_conflict { "--force " } else { "" }.to_owned();
        if desk.replaces_success_by_failure(*change) {
            accept.push_str("--keep-failures ");
        }
        accept.push_str("--accept");
        let text = format!(
            "{}\n{}  {} {key}\n  {} {key}\n\n",
            format!("change {} of {}, {reason}", index + 1, all.len()).bold(),
            view.change_text(*change, false)?,
            review_command(desk, &accept),
            review_command(desk, "--reject"),
        );
        if !out.write(&text).map_err(stdout_failure)? {
            return Ok(());
        }
    }
    let count = all.len();
    let wait =
        if count == 1 { "1 change waits".to_owned() } else { format!("{count} changes wait") };
    let mut text = match conflicts {
        0 => format!("{wait}\n"),
        _ => format!("{wait}, {conflicts} of them in conflict\n"),
    };
    text.push_str(&format!(
        "all of them: {}, or {}\n",
        review_command(desk, "--accept"),
        review_command(desk, "--reject")
    ));
    if takes {
        text.push_str("several takes of one key: name them in one command, KEY#1 KEY#2\n");
    }
    out.write(&text).map_err(stdout_failure)?;
    out.finish().map_err(stdout_failure)
}

/// Returns how many requests beside a recording wait for answers.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn count_requests(
    file: &RecordingLocation,
    output: &Output,
) -> Result<usize, CommandFailure> {
    let path = file.pending_file();
    if !is_there(&path) {
        return Ok(0);
    }
    let requests = serve_setup::open(&path, output)?;
    if requests.meta().waits_for() != Some(PendingKind::Answers) {
        return Ok(0);
    }
    Ok(requests.entries().map(|stored| stored.map(drop)).collect::<Result<Vec<_>, _>>()?.len())
}

/// Returns the message for a recording without pending changes.
pub(super) fn nothing_message(file: &RecordingLocation, requests: usize) -> String {
    let shown =
        terminal::printable_line(&terminal::quote_word(&file.display().to_string())).into_owned();
    let next = match requests {
        0 => return format!("nothing waits for a review of {shown}\n"),
        1 => "1 request waits for its answer".to_owned(),
        more => format!("{more} requests wait for their answers"),
    };
    format!("nothing waits for a review of {shown}\n{next}: loomrec rerecord {shown} --pending\n")
}
