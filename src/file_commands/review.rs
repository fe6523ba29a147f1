//! The `loomrec review` command: shows pending changes one at a time, each to be accepted, rejected
//! or left.
//!
//! Decisions are collected and applied together at the end: after the last change, on `q`, and also
//! on Ctrl-C or a signal.

mod apply;
mod changes;
mod decision;
mod dialog;
mod key;
mod lines;
mod list;
mod report;
mod screen;
mod session;
mod view;
mod waiting;

use std::io::{self, IsTerminal as _};

use super::args::{LogFormat, ReviewArgs};
use apply::{ReviewFailure, Verdict};
use changes::ReviewDesk;
use decision::TypedDecision;
use dialog::TypedBytes;
use loomrec_cli::CommandFuture;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, print};
use loomrec_store::RecordingLocation;
use report::{new_of_several, nothing_below, summary, with_changes};
use view::{review_command, typed_key};
pub use waiting::print_list;

/// Runs the command.
///
/// # Errors
/// A recording or changes that are missing, damaged or too new (4), or of the wrong kind (2); a
/// recording that changes during the review (5).
pub fn run(args: &ReviewArgs) -> CommandFuture<'_> {
    // Without the box, the code would be generated in the root package, at its level.
    Box::pin(review_recordings(args))
}

async fn review_recordings(args: &ReviewArgs) -> Result<u8, CommandFailure> {
    if args.list || args.check {
        return print_list(args);
    }
    if let Some(decision) = TypedDecision::from_flags(args) {
        return decision.apply(&args.files);
    }
    let [file] = args.files.as_slice() else {
        return Err(CommandFailure::usage(
            "name one recording or folder: loomrec review FILE; --list, --accept and --reject take several",
        ));
    };
    let output = Output::new(LogFormat::Human, false, false);
    let mut dialog = ReviewDialog::default();
    if !file.names_folder() {
        return Ok(dialog.review_recording(file, args.output.as_ref(), &output).await?.code);
    }
    if args.output.is_some() {
        return Err(new_of_several());
    }
    let files = with_changes(file, &output)?;
    if files.is_empty() {
        return print(&nothing_below(file));
    }
    for file in &files {
        let end = dialog.review_recording(file, None, &output).await?;
        if end.is_last {
            return Ok(end.code);
        }
    }
    Ok(0)
}

/// How the review of one recording ended.
struct ReviewedRecording {
    code: u8,
    /// Whether the recordings that follow are not reviewed.
    is_last: bool,
}

/// Asks about changes, on a terminal.
#[derive(Default)]
struct ReviewDialog {
    /// What is typed. `None` before the first question.
    typed: Option<TypedBytes>,
}

impl ReviewDialog {
    /// Reviews one recording: asks about each change on a terminal, and lists them elsewhere.
    async fn review_recording(
        &mut self,
        file: &RecordingLocation,
        new: Option<&RecordingLocation>,
        output: &Output,
    ) -> Result<ReviewedRecording, CommandFailure> {
        let ended = |code| Ok(ReviewedRecording { code, is_last: false });
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let open = if is_terminal { ReviewDesk::open } else { ReviewDesk::open_to_view };
        let Some(desk) = open(file, new, output)? else {
            let requests = list::count_requests(file, output)?;
            return ended(print(&list::nothing_message(file, requests))?);
        };
        if desk.open_changes().is_empty() {
            // All changes were already applied.
            let done = desk.apply_verdicts(&vec![None; desk.changes.len()])?;
            return ended(print(&summary(&desk, done))?);
        }
        if !is_terminal {
            list::print_changes(&desk)?;
            return ended(0);
        }
        self.ask_about_changes(&desk).await
    }

    /// Asks about each change, and applies the decisions.
    async fn ask_about_changes(
        &mut self,
        desk: &ReviewDesk,
    ) -> Result<ReviewedRecording, CommandFailure> {
        let typed = self.typed.get_or_insert_with(dialog::read_keys);
        let is_able =
            std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        let end = match is_able {
            true => dialog::on_screen(desk, typed).await?,
            false => dialog::by_line(desk, typed).await?,
        };
        let done = desk
            .apply_verdicts(&end.verdicts)
            .map_err(|undone| failure_with_commands(desk, &end, undone))?;
        let told = print(&format!("{}{}", if is_able { "" } else { "\n" }, summary(desk, done)));
        // After the decisions were applied, a terminal that has gone is not a failure.
        match told {
            Err(failure) if end.code == 0 => Err(failure),
            _ => Ok(ReviewedRecording { code: end.code, is_last: end.is_last }),
        }
    }
}

/// Returns a failure with the commands that apply the decisions once its cause is fixed.
fn failure_with_commands(
    desk: &ReviewDesk,
    ended: &dialog::ReviewEnd,
    undone: ReviewFailure,
) -> CommandFailure {
    let ReviewFailure::Whole(failure) = undone else { return undone.into() };
    let mut text = failure.message;
    for (verdict, name) in [(Verdict::Accept, "--accept"), (Verdict::Reject, "--reject")] {
        let of = (0..desk.changes.len()).filter(|at| ended.verdicts[*at] == Some(verdict));
        let keys: Vec<String> = of.map(|at| typed_key(desk, at)).collect();
        if !keys.is_empty() {
            text.push_str(&format!("\n  {} {}", review_command(desk, name), keys.join(" ")));
        }
    }
    CommandFailure::new(failure.code, text)
}
