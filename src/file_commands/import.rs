//! The `loomrec import` command: makes a recording from the files of another tool.
//!
//! A separate thread reads the files, so that they need not be held in memory: it passes exchanges
//! on one at a time, and they become entries on demand.

mod attached_file;
mod file_list;
mod incoming;
mod match_report;
mod per_file;
mod reader;
mod test_recording;
mod unknown_file;

use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use super::args::{ImportArgs, LogFormat};
use super::transfer_report::TransferTotals;
use file_list::{ImportFile, ImportFiles};
use incoming::IncomingEntries;
use loomrec_cli::exit::{CommandFailure, NO, RECORDING, UNEXPECTED};
use loomrec_cli::output::{Output, print};
use loomrec_cli::{output_target, prices, serve_setup};
use loomrec_dialect::interchange::{EntryImporter, ForeignFormat, UpstreamAddresses};
use loomrec_identity::IdentityRules;
use loomrec_recording::entry_maker::EntryMaker;
use loomrec_recording::{RecordingMeta, encoding};
use loomrec_store::RecordingLocation;
use match_report::MatchReport;
use per_file::RecordingFolder;
use reader::ImportReader;

/// How many exchanges may wait between the reader and the recording.
const WAITING: usize = 2;

/// The most bytes that a compressed answer may decompress to.
const UNPACKED: usize = encoding::LARGEST;

/// Runs the command.
///
/// # Errors
/// Invalid flags (2); no file that can be read, or a bad one under `--strict` (4); a recording that
/// exists already (2) or cannot be written (5).
pub fn run(args: &ImportArgs) -> Result<u8, CommandFailure> {
    let format = args.from.as_deref().map(ForeignFormat::from_name).transpose();
    let format =
        format.map_err(|error| CommandFailure::usage(format!("--from: failed to {error}")))?;
    serve_setup::check_names(&args.upstream)?;
    let addresses = UpstreamAddresses::new(serve_setup::read_addresses(&args.upstream)?);
    let substitutes = parse_substitutes(&args.substitute)?;
    let ImportFiles { files, links } = file_list::expand_folders(&args.files)?;
    if let Some(path) = &args.output {
        let inputs = files.iter().map(|file| file.path.as_path());
        output_target::refuse_input("-o", path.as_path(), inputs)?;
    }
    let prices = prices::load_table(args.prices.as_deref())?;
    let output = Output::new(LogFormat::Human, false, false);
    let rules = serve_setup::read_rules(&args.identity)?;
    let redactor = serve_setup::create_redactor(&[&args.redact, rules.redactions()].concat())?;
    let credential_params = serve_setup::credential_params(&args.identity);
    let maker = EntryMaker { redactor: &redactor, prices: &prices, max: UNPACKED };
    let import = EntryImporter {
        maker,
        addresses: &addresses,
        rules: &rules,
        credential_params: &credential_params,
        all: args.all,
        assume: !args.no_assume,
        substitutes: &substitutes,
        any_length: args.any_length,
    };
    let pass = ImportPass { args, files: &files, format, import, output: &output };
    if args.strict && args.per_file.is_some() {
        // No recording is written before all files are known to be good.
        pass.run(|incoming| {
            while incoming.file < files.len() {
                for entry in &mut *incoming {
                    entry?;
                }
            }
            incoming.strict_failure().map_or(Ok(()), Err)
        })?;
    }
    let (mut transfer, matches) = pass.run(|incoming| match (&args.output, &args.per_file) {
        (Some(path), _) => create_recording(path, &rules, args.force, incoming),
        (None, Some(folder)) => {
            RecordingFolder { folder, rules: &rules, force: args.force }.create_recordings(incoming)
        }
        (None, None) => Ok(()),
    })?;
    links.into_iter().for_each(|link| transfer.note_left_out(link));
    serve_setup::ineffective_rules(&redactor).iter().for_each(|note| output.warning(note));
    report_import(args, &transfer, &matches, &output)
}

/// Reads `NAME=VALUE`.
fn parse_substitutes(given: &[String]) -> Result<Vec<(String, String)>, CommandFailure> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.trim_matches(['<', '>']).to_owned(), value.to_owned()))
    };
    let read = |text| {
        let wrong = || format!("--substitute {text}: use NAME=VALUE, for <NAME> in the files");
        pair(text).ok_or_else(|| CommandFailure::usage(wrong()))
    };
    given.iter().map(read).collect()
}

/// One reading of all files.
struct ImportPass<'a> {
    args: &'a ImportArgs,
    files: &'a [ImportFile],
    format: Option<ForeignFormat>,
    import: EntryImporter<'a>,
    output: &'a Output,
}

impl ImportPass<'_> {
    /// Reads the files, and passes the entries on to `write`.
    fn run(
        &self,
        write: impl FnOnce(&mut IncomingEntries<'_>) -> Result<(), CommandFailure>,
    ) -> Result<(TransferTotals, MatchReport), CommandFailure> {
        let (sender, found) = sync_channel(WAITING);
        thread::scope(|scope| {
            let Self { args, files, format, import, output } = *self;
            let addresses = import.addresses;
            let reader = ImportReader { args, files, format, addresses, output, sender };
            thread::Builder::new()
                .name("loomrec-import".to_owned())
                .spawn_scoped(scope, move || reader.read_all())
                .map_err(|error| {
                    CommandFailure::new(UNEXPECTED, format!("failed to start a thread: {error}"))
                })?;
            let mut incoming = IncomingEntries {
                found,
                import,
                files,
                transfer: TransferTotals::default(),
                matches: MatchReport::default(),
                is_strict: args.strict,
                per_file: args.per_file.is_some(),
                file: 0,
            };
            write(&mut incoming)?;
            Ok((incoming.transfer, incoming.matches))
        })
    }
}

/// Reports what was imported and what was not. Returns the exit code.
fn report_import(
    args: &ImportArgs,
    transfer: &TransferTotals,
    matches: &MatchReport,
    output: &Output,
) -> Result<u8, CommandFailure> {
    let target = args.output.as_ref();
    let folder = || args.per_file.as_ref().map(|folder| folder.display().to_string());
    let target = target.map(|target| target.display().to_string()).or_else(folder);
    let target = target.unwrap_or_else(|| "-".to_owned());
    if transfer.transferred_count() == 0 && transfer.has_file_problems() {
        return Err(CommandFailure::new(RECORDING, transfer.problem_lines()));
    }
    if args.json {
        print(&transfer.to_json(&target, matches.to_json()))?;
    } else {
        output.info(&format!("{}{}", transfer.to_text(&target), matches.to_text()));
    }
    if transfer.transferred_count() == 0 {
        let state = if Path::new(&target).exists() { "is unchanged" } else { "was not created" };
        output.error(&format!("nothing was imported; {target} {state}"));
        return Ok(NO);
    }
    if transfer.damaged_count() > 0 {
        output.error(&format!(
            "{} of the calls could not be imported as they are: see what was left out",
            transfer.damaged_count()
        ));
    }
    if transfer.has_file_problems() {
        output.error("some files could not be read: see what was not imported");
    }
    Ok(if transfer.damaged_count() > 0 || transfer.has_file_problems() { NO } else { 0 })
}

/// Creates a new recording, unless there are no entries.
fn create_recording(
    path: &RecordingLocation,
    rules: &IdentityRules,
    force: bool,
    incoming: &mut IncomingEntries<'_>,
) -> Result<(), CommandFailure> {
    let Some(first) = incoming.next() else { return Ok(()) };
    let entries = std::iter::once(first).chain(incoming);
    loomrec_store::create_recording(path, &RecordingMeta::new(rules), entries, force)?;
    Ok(())
}
