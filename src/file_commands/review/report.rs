//! What a review says: of folders without changes, and of what was done.

use std::collections::BTreeSet;

use super::apply::AppliedReview;
use super::changes::ReviewDesk;
use super::view::review_command;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::terminal;
use loomrec_cli::waiting_recordings::{WAITING, find_below};
use loomrec_store::RecordingLocation;

/// Returns the recordings in a folder that have changes to be reviewed.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn with_changes(
    folder: &RecordingLocation,
    output: &Output,
) -> Result<BTreeSet<RecordingLocation>, CommandFailure> {
    find_below(folder.as_path(), &WAITING[..1], output)
}

/// Returns the refusal of one file of changes for several recordings.
pub(super) fn new_of_several() -> CommandFailure {
    CommandFailure::usage("--output names the changes of one FILE: name just that one")
}

/// Returns the message for a folder without changes.
pub(super) fn nothing_below(folder: &RecordingLocation) -> String {
    format!(
        "nothing waits for a review in {}\n",
        terminal::printable_line(&folder.display().to_string())
    )
}

/// Returns what was done, and what to do next.
pub(super) fn summary(desk: &ReviewDesk, done: AppliedReview) -> String {
    let (file, new) = (desk.file.display().to_string(), desk.new.display().to_string());
    let (shown, waiting) = (terminal::printable_line(&file), terminal::printable_line(&new));
    let mut parts = Vec::new();
    for (count, word) in [(done.accepted, "accepted"), (done.rejected, "rejected")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    if done.made > 0 {
        parts.push(format!("{} accepted before", done.made));
    }
    if parts.is_empty() {
        parts.push("nothing was changed".to_owned());
    }
    parts.push(match done.left {
        0 => format!("no change is left; {waiting} was deleted"),
        left => format!("{left} left in {waiting}"),
    });
    let mut text = format!("{}\n", parts.join(" · "));
    if done.accepted + done.made > 0 {
        text.push_str(&format!(
            "next: git add {}\n",
            terminal::printable_line(&terminal::quote_word(&file))
        ));
    } else if done.rejected > 0 {
        text.push_str(&format!("{shown} is unchanged\n"));
    }
    if done.left > 0 {
        text.push_str(&format!("the rest: {}\n", review_command(desk, "")));
    }
    text
}
