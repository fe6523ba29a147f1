//! The `loomrec review` command: shows pending changes one at a time, each to be accepted, rejected
//! or left.
//!
//! Decisions are collected and applied together at the end: after the last change, on `q`, and also
//! on Ctrl-C or a signal.

mod apply;
mod changes;
mod dialog;
mod key;
mod lines;
mod list;
mod screen;
mod session;
mod view;
mod waiting;

use std::io::{self, IsTerminal as _};

use super::args::{LogFormat, ReviewArgs};
pub(super) use apply::{AppliedReview, ReviewFailure, Verdict};
pub(super) use changes::{ReviewDesk, is_there};
use loomrec_cli::CommandFuture;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, print};
use loomrec_cli::terminal;
pub(super) use view::{command, key, typed};
pub use waiting::print_list;

/// Runs the command.
///
/// # Errors
/// A recording or changes that are missing, damaged or too new (4), or of the wrong kind (2); a
/// recording that changes during the review (5).
pub fn run(args: &ReviewArgs) -> CommandFuture<'_> {
    // Without the box, the code would be generated in the root package, at its level.
    Box::pin(review(args))
}

async fn review(args: &ReviewArgs) -> Result<u8, CommandFailure> {
    if args.list || args.check {
        return print_list(args);
    }
    let [file] = args.files.as_slice() else {
        return Err(CommandFailure::usage(
            "name the recording: loomrec review FILE; --list takes several",
        ));
    };
    let output = Output::new(LogFormat::Human, false, false);
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let open = if is_terminal { ReviewDesk::open } else { ReviewDesk::look };
    let Some(desk) = open(file, args.new.as_ref(), &output)? else {
        let requests = list::requests(file, &output)?;
        return print(&list::nothing(file, requests));
    };
    if desk.open_changes().is_empty() {
        // All changes were already applied.
        let done = desk.apply(&vec![None; desk.changes.len()])?;
        return print(&summary(&desk, done));
    }
    if !is_terminal {
        list::print(&desk)?;
        return Ok(0);
    }
    let is_able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    let ended = match is_able {
        true => dialog::on_screen(&desk).await?,
        false => dialog::by_line(&desk).await?,
    };
    let done = desk.apply(&ended.verdicts).map_err(|undone| again(&desk, &ended, undone))?;
    let told = print(&format!("{}{}", if is_able { "" } else { "\n" }, summary(&desk, done)));
    // After the decisions were applied, a terminal that has gone is not a failure.
    match told {
        Err(failure) if ended.code == 0 => Err(failure),
        _ => Ok(ended.code),
    }
}

/// Returns a failure with the commands that apply the decisions once its cause is fixed.
fn again(desk: &ReviewDesk, ended: &dialog::ReviewEnd, undone: ReviewFailure) -> CommandFailure {
    let ReviewFailure::Whole(failure) = undone else { return undone.into() };
    let mut text = failure.message;
    for (verdict, name) in [(Verdict::Accept, "accept"), (Verdict::Reject, "reject")] {
        let of = (0..desk.changes.len()).filter(|at| ended.verdicts[*at] == Some(verdict));
        let keys: Vec<String> = of.map(|at| typed(desk, at)).collect();
        if !keys.is_empty() {
            text.push_str(&format!("\n  {} {}", command(desk, name), keys.join(" ")));
        }
    }
    CommandFailure::new(failure.code, text)
}

/// Returns what was done, and what to do next.
pub(super) fn summary(desk: &ReviewDesk, done: AppliedReview) -> String {
    let (file, new) = (desk.file.display().to_string(), desk.new.display().to_string());
    let (shown, waiting) = (terminal::line(&file), terminal::line(&new));
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
        text.push_str(&format!("next: git add {}\n", terminal::line(&terminal::quoted(&file))));
    } else if done.rejected > 0 {
        text.push_str(&format!("{shown} is unchanged\n"));
    }
    if done.left > 0 {
        text.push_str(&format!("the rest: {}\n", command(desk, "review")));
    }
    text
}
