//! The `loomrec edit` command: opens a recorded answer in the user's editor, and keeps what comes
//! back.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::args::{EditArgs, LogFormat};
use super::show::contents::RecordingContents;
use super::show::{choose_take, no_such_take};
use loomrec_cli::exit::{CommandFailure, NO, NOT_KEPT, UNEXPECTED, USAGE};
use loomrec_cli::output::Output;
use loomrec_cli::{serve_setup, terminal};
use loomrec_recording::answer_edit::EditableAnswer;
use loomrec_recording::cost::PriceTable;
use loomrec_recording::entry_maker::{CompletedExchange, EntryMaker, MadeEntry, UpstreamReply};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{Entry, encoding, timestamp};
use loomrec_store::{Recording, RecordingChanges, TakeChange};

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
    let text = EditedText::open(&answer)?;
    if text.now == answer.text {
        output.info(&format!("{key}: nothing was changed"));
        return Ok(0);
    }
    let Some(response) = &entry.response else { return Ok(0) };
    let reply = match answer.reply_with_text(response, &text.now) {
        Ok(reply) => reply,
        Err(error) => return Err(text.failure_with_file(USAGE, &format!("{key}: {error}"))),
    };
    let made = edit_entry(&recording, &entry, reply)?;
    if made.judged.is_failure() {
        output.warning(&format!("{key}: the answer now counts as failed: {}", made.judged.reason));
    }
    let mut changes = RecordingChanges::new()?;
    let takes = choice.named.takes.iter().enumerate().map(|(number, take)| match number == at {
        true => TakeChange::Entry(Box::new(made.entry.clone())),
        false => TakeChange::Place(take.place),
    });
    changes.set_takes(choice.named.name.clone(), takes.collect())?;
    if !recording.rewrite(&changes)? {
        let why = format!("{}: it was changed in the meantime", args.file.display());
        return Err(text.failure_with_file(NOT_KEPT, &why));
    }
    output.info(&format!("{key}: edited in {}", args.file.display()));
    Ok(0)
}

/// The text that came back from the editor, and its file.
struct EditedText {
    now: String,
    file: tempfile::NamedTempFile,
}

impl EditedText {
    /// Opens the answer's text in the user's editor, and waits for its end.
    fn open(answer: &EditableAnswer) -> Result<Self, CommandFailure> {
        let editor = editor_command()?;
        let failed = |error: std::io::Error| {
            CommandFailure::new(UNEXPECTED, format!("failed to write the text to edit: {error}"))
        };
        let suffix = format!(".{}", answer.extension);
        let made = tempfile::Builder::new().prefix("loomrec-edit-").suffix(&suffix).tempfile();
        let mut file = made.map_err(failed)?;
        file.write_all(answer.text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
        run_editor(&editor, file.path())?;
        // An editor may have put another file in its place.
        let unread =
            |why: String| CommandFailure::usage(format!("failed to read the edited text: {why}"));
        let bytes = loomrec_os::read_input(file.path(), encoding::LARGEST as u64)
            .map_err(|error| unread(error.to_string()))?;
        let now = String::from_utf8(bytes).map_err(|error| unread(error.to_string()))?;
        Ok(Self { now, file })
    }

    /// Returns an error that names the file, which stays.
    fn failure_with_file(self, code: u8, why: &str) -> CommandFailure {
        let path: PathBuf = match self.file.keep() {
            Ok((_, path)) => path,
            Err(error) => error.file.path().to_owned(),
        };
        let path = terminal::path_line(&path);
        CommandFailure::new(
            code,
            format!("{why}; the recording is as it was, your text is in {path}"),
        )
    }
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

/// Runs an editor as the shell does: its command may have arguments.
fn run_editor(editor: &str, path: &Path) -> Result<(), CommandFailure> {
    let line = format!("{editor} \"$1\"");
    let status = Command::new("sh").args(["-c", &line, "sh"]).arg(path).status();
    let why = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let text = format!("the editor {editor:?} failed: {why}; the recording is as it was");
    Err(CommandFailure::usage(terminal::printable_line(&text)))
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
    let request = entry.request.clone().unwrap_or_default();
    let upstream = entry.upstream.clone().unwrap_or_default();
    let observed = NormalizedRequest::new(upstream, request, std::slice::from_ref(rules));
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
    let new = std::mem::take(&mut made.entry);
    made.entry = Entry {
        content: new.content,
        model: new.model,
        usage: new.usage,
        cost_usd: new.cost_usd,
        finish_reason: new.finish_reason,
        tool_calls: new.tool_calls,
        response: new.response,
        edited_at: Some(present_time()),
        ..entry.clone()
    };
    Ok(made)
}

/// Returns the present time as entries have it.
fn present_time() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    timestamp::format_timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
