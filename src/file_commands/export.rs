//! The `loomrec export` command: writes a recording in the format of another tool.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::Map;

use super::args::{ExportArgs, LogFormat};
use super::end_signals::EndSignals;
use super::transfer_report::TransferTotals;
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED};
use loomrec_cli::output::{Output, print, stdout_failure};
use loomrec_cli::{output_target, serve_setup, terminal};
use loomrec_dialect::interchange::{
    EntryToWrite, ExportWriter, ForeignFormat, SkippedItem, UpstreamAddresses,
};
use loomrec_identity::IdentityRules;
use loomrec_store::{Recording, StoreError, StoredEntry};

/// Listed as lost if the recording has rules.
const RULES: &str =
    "the rules under which requests are compared: an import needs the flags of the recording";

/// Runs the command.
///
/// # Errors
/// Invalid flags, or an output file that exists already (2); a recording that cannot be read (4);
/// an output that cannot be written.
pub fn run(args: &ExportArgs) -> Result<u8, CommandFailure> {
    let format = ForeignFormat::to_write(&args.to);
    let format =
        format.map_err(|error| CommandFailure::usage(format!("--to: failed to {error}")))?;
    let addresses = UpstreamAddresses::new(serve_setup::read_addresses(&args.upstream)?);
    let output = Output::new(LogFormat::Human, false, false);
    if let Some(path) = &args.output {
        output_target::refuse_folder("-o", &path.into(), "an export is one file")?;
        output_target::refuse_input("-o", path, [args.file.as_path()])?;
    }
    let recording = serve_setup::open(&args.file, &output)?;
    let target = args.output.as_ref().map(|path| path.display().to_string());
    let target = target.unwrap_or_else(|| "stdout".to_owned());
    if let Some(path) = args.output.as_ref().filter(|path| !args.force && path.exists()) {
        return Err(exists_failure(path));
    }
    // What the format cannot hold is said before anything is written.
    let survey = ExportWriter::new(format, &addresses);
    let survey = write(io::sink(), &recording, survey, |text| text.into())?;
    if let (false, Ok(transfer)) = (args.json, survey) {
        output.info(&transfer.to_text(&target));
    }
    let writer = ExportWriter::new(format, &addresses);
    let transfer = match &args.output {
        Some(path) => to_file(path, args.force, &recording, writer)?,
        None => to_stdout(&recording, writer)?,
    };
    if args.json {
        print(&transfer.to_json(&target, Map::new()))?;
    }
    Ok(if transfer.transferred_count() == 0 { NO } else { 0 })
}

fn exists_failure(path: &Path) -> CommandFailure {
    let label = path.display();
    CommandFailure::usage(format!("{label} is there already; name another file, or use --force"))
}

/// Removes a temporary file and ends this process once a signal asks for that.
async fn remove_at_end(mut signals: EndSignals, temporary: PathBuf) {
    let code = signals.wait_for_signal().await;
    // If it cannot be removed, it stays as after a kill.
    drop(std::fs::remove_file(&temporary));
    std::process::exit(code.into());
}

/// Writes a file that only its owner may read, either completely or not at all.
fn to_file(
    path: &Path,
    force: bool,
    recording: &Recording,
    writer: ExportWriter<'_>,
) -> Result<TransferTotals, CommandFailure> {
    let label = path.display();
    let failed = |error: io::Error| {
        CommandFailure::new(UNEXPECTED, format!("failed to write {label}: {error}"))
    };
    let signals = EndSignals::watch().map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let file = tempfile::Builder::new()
        .prefix(".export.")
        // The suffix of all temporary files, so that one line of `.gitignore` covers what a kill
        // leaves behind.
        .suffix(".loomrec-tmp")
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    let ending = tokio::spawn(remove_at_end(signals, file.path().to_owned()));
    let written = write(BufWriter::new(file.as_file()), recording, writer, |text| text.into());
    ending.abort();
    let transfer = written?.map_err(failed)?;
    File::sync_all(file.as_file()).map_err(failed)?;
    match force {
        true => file.persist(path).map(drop).map_err(|error| failed(error.error))?,
        false => match file.persist_noclobber(path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(exists_failure(path));
            }
            Err(error) => return Err(failed(error.error)),
        },
    }
    Ok(transfer)
}

/// Writes to stdout, without characters that a terminal would act on. All of these are in JSON
/// strings, where an escape means the same.
fn to_stdout(
    recording: &Recording,
    writer: ExportWriter<'_>,
) -> Result<TransferTotals, CommandFailure> {
    let out = BufWriter::new(io::stdout().lock());
    match write(out, recording, writer, terminal::printable_json)? {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(TransferTotals::default()),
        written => written.map_err(stdout_failure),
    }
}

/// Writes all entries. The inner error is that of the output.
fn write(
    mut out: impl Write,
    recording: &Recording,
    mut writer: ExportWriter<'_>,
    form: impl for<'a> Fn(&'a str) -> std::borrow::Cow<'a, str>,
) -> Result<io::Result<TransferTotals>, CommandFailure> {
    let mut transfer = TransferTotals::default();
    let mut put = |text: &str| out.write_all(form(text).as_bytes());
    if let Err(error) = put(&writer.opening_text()) {
        return Ok(Err(error));
    }
    let has_rules = *recording.meta().rules() != IdentityRules::default();
    for stored in in_order(recording, &mut writer)? {
        let stored = stored?;
        let key = stored.name.take_key(stored.take);
        let sent = EntryToWrite { key: &key, step: stored.name.step_id(), entry: &stored.entry };
        match writer.write_entry(&sent) {
            Ok(mut written) => {
                written.lost.extend(has_rules.then_some(RULES));
                if let Err(error) = put(&written.text) {
                    return Ok(Err(error));
                }
                transfer.count_transferred(&written.lost);
            }
            Err(reason) => transfer.note_left_out(SkippedItem::no_call(key, reason)),
        }
    }
    let ended = put(&writer.closing_text()).and_then(|()| out.flush());
    Ok(ended.map(|()| transfer))
}

/// Returns the entries in the order that the format requires. If that is not the order of the
/// recording, their positions are held in memory.
fn in_order<'a>(
    recording: &'a Recording,
    writer: &mut ExportWriter<'_>,
) -> Result<Box<dyn Iterator<Item = Result<StoredEntry, StoreError>> + 'a>, StoreError> {
    if !writer.is_ordered() {
        return Ok(Box::new(recording.entries()));
    }
    let mut places = Vec::new();
    for stored in recording.entries() {
        let StoredEntry { name, take, entry, place } = stored?;
        places.push((writer.survey(&entry), name, take, place));
    }
    places.sort_by_key(|(rank, ..)| std::cmp::Reverse(*rank));
    Ok(Box::new(places.into_iter().map(|(_, name, take, place)| {
        Ok(StoredEntry { name, take, entry: recording.read_entry(&place)?, place })
    })))
}
