//! `loomrec review --list`: what waits beside recordings, which are requests for answers and answers
//! for review.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::super::args::{LogFormat, ReviewArgs};
use super::super::ls::{QUESTION, question_of};
use super::changes::ReviewDesk;
use super::report::new_of_several;
use super::view::{View, review_command};
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::output::{Output, print};
use loomrec_cli::terminal::quote_word;
use loomrec_cli::waiting_recordings::{WAITING, find_below, find_in, is_there};
use loomrec_cli::{serve_setup, terminal};
use loomrec_curation::review::ChangeStanding;
use loomrec_provider::RecognisedCall;
use loomrec_recording::pending::{PendingChange, ReplacedTake};
use loomrec_recording::{Entry, EntryName, PendingKind};
use loomrec_store::RecordingLocation;

/// Where recordings are looked for if none is named.
const FOLDERS: [&str; 2] = ["", "recordings"];
/// How many lines of one kind are shown to people for a file.
const SHOWN: usize = 20;

/// Prints what waits. Returns the exit code.
///
/// # Errors
/// A recording, or the file of pending items beside it, that is missing, damaged or too new (4), or
/// that is not of the expected kind (2).
pub fn print_list(args: &ReviewArgs) -> Result<u8, CommandFailure> {
    if args.output.is_some() && (args.files.len() != 1 || args.files[0].names_folder()) {
        return Err(new_of_several());
    }
    let output = Output::new(LogFormat::Human, false, false);
    let files = match args.files.is_empty() {
        true => default_recordings(args.configured.as_ref(), &output).into_iter().collect(),
        false => named_recordings(&args.files, &output)?,
    };
    let (mut count, mut text, mut all) = (0, String::new(), Vec::new());
    for file in &files {
        let waits = PendingItems::from_files(file, args.output.as_ref(), &output)?;
        count += waits.changes.len() + waits.requests.len();
        match args.json {
            true => all.push(waits.to_json()),
            false => text.push_str(&waits.to_text()),
        }
    }
    if args.json {
        let value = json!({ "files": all, "pending": count });
        text = terminal::printable_json(&format!("{value:#}\n")).into_owned();
    } else if count == 0 {
        text = "nothing is pending\n".to_owned();
    }
    print(&text)?;
    Ok(if args.check && count > 0 { NO } else { 0 })
}

/// Returns the recordings with pending items in the default folders, and that of the settings.
fn default_recordings(
    configured: Option<&RecordingLocation>,
    output: &Output,
) -> BTreeSet<RecordingLocation> {
    let mut files = BTreeSet::new();
    files.extend(configured.filter(|file| is_there(file)).cloned());
    for folder in FOLDERS {
        let place = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
        files.extend(find_in(place, &WAITING, output));
    }
    files
}

/// Returns the recordings that the command line names: for a folder, those in it with pending items.
fn named_recordings(
    files: &[RecordingLocation],
    output: &Output,
) -> Result<Vec<RecordingLocation>, CommandFailure> {
    let mut all = Vec::new();
    for file in files {
        match file.names_folder() {
            true => all.extend(find_below(file.as_path(), &WAITING, output)?),
            false => all.push(file.clone()),
        }
    }
    Ok(all)
}

/// The pending items beside one recording.
struct PendingItems {
    file: RecordingLocation,
    new: RecordingLocation,
    pending: RecordingLocation,
    changes: Vec<PendingItem>,
    requests: Vec<PendingItem>,
    /// The command that reviews the changes.
    review: String,
}

/// One pending item.
struct PendingItem {
    key: String,
    reason: String,
    replaces: Option<String>,
    /// The state of a change in relation to the recording.
    standing: Option<ChangeStanding>,
    /// Key and call, for people.
    line: String,
    /// The beginning of what the call asks.
    asks: Option<String>,
}

impl PendingItems {
    fn from_files(
        file: &RecordingLocation,
        new: Option<&RecordingLocation>,
        output: &Output,
    ) -> Result<Self, CommandFailure> {
        let desk = ReviewDesk::open_to_view(file, new, output)?;
        let mut changes = Vec::new();
        let mut review = String::new();
        if let Some(desk) = &desk {
            let view = View::from_desk(desk)?;
            for at in desk.open_changes() {
                let change = &desk.changes[at];
                let replaces = change.replaces.as_ref();
                changes.push(PendingItem {
                    key: change.entry.name.take_key(change.entry.take),
                    reason: desk.reasons[at].clone(),
                    replaces: replaces.map(|replaced| replaced.name.take_key(replaced.take)),
                    standing: Some(desk.standings[at]),
                    line: view.change_line(at)?,
                    asks: view.change_question(at)?,
                });
            }
            review = review_command(desk, "");
        }
        let pending = file.pending_file();
        let mut requests = waiting_requests(&pending, output)?;
        if let Some(desk) = &desk {
            // Requests whose answers have arrived no longer wait.
            let mut answers: Vec<usize> = desk.open_changes();
            requests.retain(|(asked, _)| {
                let answer = answers.iter().position(|at| desk.is_answer(*at, asked));
                answer.map(|at| answers.swap_remove(at)).is_none()
            });
        }
        let requests = requests.into_iter().map(|(_, waited)| waited).collect();
        let new = new.map_or_else(|| file.with_suffix(".new"), RecordingLocation::clone);
        Ok(Self { file: file.to_owned(), new, pending, changes, requests, review })
    }

    fn to_text(&self) -> String {
        let shown = |path: &RecordingLocation| {
            terminal::printable_line(&quote_word(&path.display().to_string())).into_owned()
        };
        let file = shown(&self.file);
        let fetch = format!("loomrec rerecord {file} --pending");
        let mut out = String::new();
        for (all, one, many, next) in [
            (
                &self.changes,
                "change waits for its review",
                "changes wait for their review",
                &self.review,
            ),
            (
                &self.requests,
                "request waits for its answer",
                "requests wait for their answers",
                &fetch,
            ),
        ] {
            if all.is_empty() {
                continue;
            }
            let what = if all.len() == 1 { one } else { many };
            out.push_str(&format!("{file}: {} {what}: {next}\n", all.len()));
            for waited in all.iter().take(SHOWN) {
                let conflict = waited.standing.is_some_and(ChangeStanding::is_conflict);
                let conflict = if conflict { ", in conflict" } else { "" };
                let reason = terminal::printable_line(&waited.reason);
                let asks = waited.asks.as_ref().map(|asks| format!(": {asks}"));
                let asks = asks.unwrap_or_default();
                out.push_str(&format!("  {}  {reason}{conflict}{asks}\n", waited.line));
            }
            if all.len() > SHOWN {
                let more = all.len() - SHOWN;
                out.push_str(&format!("  … and {more} more; --json has them\n"));
            }
        }
        out
    }

    fn to_json(&self) -> Value {
        let path = |path: &RecordingLocation| path.display().to_string();
        let change = |waited: &PendingItem| {
            json!({
                "key": waited.key,
                "reason": waited.reason,
                "replaces": waited.replaces,
                "state": waited.standing.map(ChangeStanding::as_str),
                "asks": waited.asks,
            })
        };
        let request = |waited: &PendingItem| {
            json!({
                "key": waited.key,
                "reason": waited.reason,
                "replaces": waited.replaces,
                "asks": waited.asks,
            })
        };
        json!({
            "file": path(&self.file),
            "new": path(&self.new),
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "pending": path(&self.pending),
            "requests": self.requests.iter().map(request).collect::<Vec<_>>(),
        })
    }
}

/// Returns the requests that wait for answers. Empty if there is no such file.
fn waiting_requests(
    path: &RecordingLocation,
    output: &Output,
) -> Result<Vec<(ReplacedTake, PendingItem)>, CommandFailure> {
    if !is_there(path) {
        return Ok(Vec::new());
    }
    let recording = serve_setup::open(path, output)?;
    if recording.meta().waits_for() != Some(PendingKind::Answers) {
        return Err(CommandFailure::usage(format!(
            "{} holds no requests that wait for their answers: it is another kind of file",
            path.display()
        )));
    }
    let mut all = Vec::new();
    for stored in recording.entries() {
        let stored = stored?;
        let pending = PendingChange::from_entry(&stored.entry);
        let replaces = pending.as_ref().and_then(|pending| pending.replaces.as_ref());
        let replaces = replaces.map(|replaced| replaced.name.take_key(replaced.take));
        let waited = PendingItem {
            key: stored.name.take_key(stored.take),
            line: request_line(&stored.name, stored.take, &stored.entry),
            asks: question_of(&stored.entry, QUESTION),
            replaces,
            standing: None,
            reason: pending.map_or_else(|| "unsaid".to_owned(), |pending| pending.reason),
        };
        all.push((ReplacedTake::from_entry(&stored.name, stored.take, &stored.entry), waited));
    }
    Ok(all)
}

/// Formats a request on one line.
fn request_line(name: &EntryName, take: usize, entry: &Entry) -> String {
    let key = match name {
        EntryName::Hash(hash) if take <= 1 => hash.short_form().to_owned(),
        name => name.take_key(take),
    };
    let call = entry.recognise_call();
    let upstream = entry.upstream.as_deref().or(entry.provider.as_deref());
    let operation = call.as_ref().map(RecognisedCall::operation_words);
    let model = entry.model.as_deref().or(call.as_ref().and_then(|call| call.model.as_deref()));
    let words: Vec<&str> = [upstream, operation.as_deref(), model].into_iter().flatten().collect();
    terminal::printable_line(&format!("{key}  {}", words.join(" "))).into_owned()
}
