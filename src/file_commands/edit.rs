//! The `loomrec edit` command: opens a recorded answer in the user's editor, and keeps what comes
//! back.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::args::{EditArgs, LogFormat};
use super::show::contents::{ListedEntry, RecordingContents};
use super::show::{choose_take, no_such_take};
use loomrec_cli::exit::{CommandFailure, NO, NOT_KEPT, UNEXPECTED};
use loomrec_cli::output::Output;
use loomrec_cli::{serve_setup, terminal};
use loomrec_os::ProcessSignal;
use loomrec_recording::answer_edit::EditableAnswer;
use loomrec_recording::cost::PriceTable;
use loomrec_recording::entry_maker::{CompletedExchange, EntryMaker, MadeEntry, UpstreamReply};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{Entry, encoding, timestamp};
use loomrec_store::{Recording, RecordingChanges, RecordingLocation, TakeChange};
use tempfile::NamedTempFile;

/// Runs the command.
///
/// # Errors
/// A key that names no take (1); an editor that fails, or a text that is no answer (2); a recording
/// that is missing or damaged (4), or that cannot be written (5).
pub fn run(args: &EditArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let recording = serve_setup::open_to_change(&args.file, &output)?;
    let contents = RecordingContents::from_recording(&recording)?;
    let choice = choose_take("edit", &args.file, &recording, &contents, args.key.as_deref())?;
    let at = choice.take.wrapping_sub(1);
    let Some(chosen) = choice.named.takes.get(at) else {
        return Err(no_such_take(&args.file, choice.named, choice.take));
    };
    let entry = recording.read_entry(&chosen.place)?;
    let key = choice.named.name.take_key(choice.take);
    let key = terminal::printable_line(&key).into_owned();
    let answer = EditableAnswer::of_entry(&entry)
        .map_err(|reason| CommandFailure::new(NO, format!("failed to edit {key}: {reason}")))?;
    let edited = EditedText::open(&answer)?;
    if edited.text == answer.text {
        output.info(&format!("{key}: nothing was changed"));
        return Ok(0);
    }
    let made = make_entry(&recording, &entry, &answer, &edited.text)
        .map_err(|failure| CommandFailure {
            message: format!("{key}: {}", failure.message),
            ..failure
        })
        .and_then(|made| {
            keep_entry(&recording, choice.named, at, &made.entry, &args.file).map(|()| made)
        });
    let made = match made {
        Ok(made) => made,
        Err(failure) => return Err(keep_file(edited.file, failure)),
    };
    if made.judged.is_failure() {
        output.warning(&format!("{key}: the answer now counts as failed: {}", made.judged.reason));
    }
    output.info(&format!("{key}: edited in {}", args.file.display()));
    Ok(0)
}

/// Returns the entry with the edited text as its answer.
fn make_entry(
    recording: &Recording,
    entry: &Entry,
    answer: &EditableAnswer<'_>,
    text: &str,
) -> Result<MadeEntry, CommandFailure> {
    let reply =
        answer.reply_with_text(text).map_err(|error| CommandFailure::usage(error.to_string()))?;
    edit_entry(recording, entry, reply)
}

/// Writes the edited entry in place of the take at an index.
fn keep_entry(
    recording: &Recording,
    named: &ListedEntry,
    at: usize,
    edited: &Entry,
    file: &RecordingLocation,
) -> Result<(), CommandFailure> {
    let mut changes = RecordingChanges::new()?;
    let takes = named.takes.iter().enumerate().map(|(number, take)| match number == at {
        true => TakeChange::Entry(Box::new(edited.clone())),
        false => TakeChange::Place(take.place),
    });
    changes.set_takes(named.name.clone(), takes.collect())?;
    if !recording.rewrite(&changes)? {
        let why = format!("{}: it was changed in the meantime", file.display());
        return Err(CommandFailure::new(NOT_KEPT, why));
    }
    Ok(())
}

/// The text that came back from the editor, and its file.
struct EditedText {
    text: String,
    file: NamedTempFile,
}

impl EditedText {
    /// Opens the answer's text in the user's editor, and waits for its end. The file stays if it
    /// holds a text that cannot be used.
    fn open(answer: &EditableAnswer<'_>) -> Result<Self, CommandFailure> {
        let editor = editor_command()?;
        let failed = |error: std::io::Error| {
            CommandFailure::new(UNEXPECTED, format!("failed to write the text to edit: {error}"))
        };
        let suffix = format!(".{}", answer.extension);
        let made = tempfile::Builder::new().prefix("loomrec-edit-").suffix(&suffix).tempfile();
        let mut file = made.map_err(failed)?;
        file.write_all(answer.text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
        let ended = run_editor(&editor, file.path());
        match (ended, read_text(file.path())) {
            (Ok(()), Ok(text)) => Ok(Self { text, file }),
            (Err(failure), Ok(text)) if text == answer.text => {
                Err(CommandFailure::usage(format!("{failure}; the recording is as it was")))
            }
            (Err(why), _) | (Ok(()), Err(why)) => Err(keep_file(file, CommandFailure::usage(why))),
        }
    }
}

/// Reads the edited text. An editor may have put another file in its place.
fn read_text(path: &Path) -> Result<String, String> {
    let unread = |why: String| format!("failed to read the edited text: {why}");
    let bytes = loomrec_os::read_input(path, encoding::LARGEST as u64);
    let bytes = bytes.map_err(|error| unread(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| unread(error.to_string()))
}

/// Returns a failure that names the user's file, which stays.
fn keep_file(file: NamedTempFile, failure: CommandFailure) -> CommandFailure {
    let path: PathBuf = match file.keep() {
        Ok((_, path)) => path,
        Err(error) => error.file.path().to_owned(),
    };
    let (path, why) = (terminal::path_line(&path), failure.message);
    let message = format!("{why}; the recording is as it was, your text is in {path}");
    CommandFailure::new(failure.code, message)
}

/// Returns the command of the user's editor.
fn editor_command() -> Result<String, CommandFailure> {
    let set = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    match set.filter(|editor| !editor.trim().is_empty()) {
        Some(editor) => Ok(editor),
        None if std::io::stdin().is_terminal() => Ok("vi".to_owned()),
        None => Err(CommandFailure::usage(
            "there is no terminal to edit on: set EDITOR to a command that changes the file it is \
             given, such as EDITOR='sed -i s/sunny/rainy/'",
        )),
    }
}

/// Runs an editor as the shell does: its command may have arguments. A Ctrl-C meanwhile is for the
/// editor.
///
/// # Errors
/// Why the editor failed.
fn run_editor(editor: &str, path: &Path) -> Result<(), String> {
    // Without a handler, the system's action stays, which ends this process.
    let _interrupts = ProcessSignal::Interrupt.watch();
    let line = format!("{editor} \"$1\"");
    let status = Command::new("sh").args(["-c", &line, "sh"]).arg(path).status();
    let why = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(terminal::printable_line(&format!("the editor {editor:?} failed: {why}")).into_owned())
}

/// Returns the entry with an edited answer: its summary is read again, and credentials are removed
/// as from any answer.
fn edit_entry(
    recording: &Recording,
    entry: &Entry,
    reply: UpstreamReply,
) -> Result<MadeEntry, CommandFailure> {
    let rules = recording.meta().rules();
    let redactor = serve_setup::create_redactor(rules.redactions())?;
    let prices = PriceTable::built_in();
    let maker = EntryMaker { redactor: &redactor, prices: &prices, max: encoding::LARGEST };
    let observed = NormalizedRequest::from_entry(entry, std::slice::from_ref(rules));
    let exchange = CompletedExchange {
        key: entry.request_hash.clone().unwrap_or_else(|| observed.key_under(rules)),
        observed,
        secrets: Arc::new(CallCredentials::default()),
        recorded_at: entry.recorded_at.clone(),
        latency_ms: entry.latency_ms,
        upstream_origin: None,
        run_values: Arc::default(),
        reply,
    };
    let mut made = maker.make_entry(exchange).map_err(|unkept| {
        CommandFailure::new(NOT_KEPT, format!("failed to keep the edited answer: {unkept}"))
    })?;
    let new = std::mem::replace(&mut made.entry, entry.clone());
    made.entry.replace_answer(new);
    made.entry.clear_client_left();
    made.entry.edited_at = Some(present_time());
    Ok(made)
}

/// Returns the present time as entries have it.
fn present_time() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    timestamp::format_timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
