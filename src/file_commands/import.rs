//! The `loomrec import` command: makes a recording from the files of another tool.
//!
//! A separate thread reads the files, so that they need not be held in memory: it passes exchanges
//! on one at a time, and they become entries on demand.

mod attached_file;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::args::{ImportArgs, LogFormat};
use super::transfer_report::TransferTotals;
use loomrec_cli::exit::{CommandFailure, NO, RECORDING};
use loomrec_cli::output::{Output, print};
use loomrec_cli::{prices, serve_setup};
use loomrec_curation::interchange::{
    self, CompanionFiles, EntryImporter, FixtureList, ForeignFormat, FoundItem, ImportRefusal,
    PlacedBy, SkippedItem, UpstreamAddresses,
};
use loomrec_identity::IdentityRules;
use loomrec_recording::entry_maker::EntryMaker;
use loomrec_recording::{Entry, EntryName, RecordingMeta, encoding};
use loomrec_store::{
    Recording, RecordingChanges, RecordingLocation, StoreError, TakeChange, TakeRef,
};

/// How many bytes of a file are used to detect its format.
const BEGINNING: u64 = 64 << 10;

/// How many exchanges may wait between the reader and the recording.
const WAITING: usize = 2;

/// The most bytes that a compressed answer may decompress to.
const UNPACKED: usize = encoding::LARGEST;

/// Runs the command.
///
/// # Errors
/// Invalid flags (2); a file that cannot be read, or whose format is unknown (4); a recording that
/// exists already (2) or cannot be written (5).
pub fn run(args: &ImportArgs) -> Result<u8, CommandFailure> {
    let format = args.from.as_deref().map(ForeignFormat::named).transpose();
    let format =
        format.map_err(|error| CommandFailure::usage(format!("--from: failed to {error}")))?;
    serve_setup::check_names(&args.upstream, &args.new_upstream)?;
    let addresses = UpstreamAddresses::new(serve_setup::addresses(&args.upstream)?);
    let redactor = serve_setup::redactor(&args.redact)?;
    let prices = prices::load(args.prices.as_deref())?;
    let output = Output::new(LogFormat::Human, false, false);
    let into = args.into.as_ref().map(|path| open_target(path, &output)).transpose()?;
    let given = serve_setup::rules(&args.identity)?;
    let rules = match &into {
        Some(recording) => recording.meta().rules().clone(),
        None => given.clone(),
    };
    if rules != given && given != IdentityRules::default() {
        output.info(
            "--into: calls are kept under the rules of the recording, and not under those of the \
             environment and the settings",
        );
    }
    let credential_params = serve_setup::credential_params(&args.identity);
    let maker = EntryMaker { redactor: &redactor, prices: &prices, max: UNPACKED };
    let import = EntryImporter {
        maker,
        addresses: &addresses,
        rules: &rules,
        credential_params: &credential_params,
        all: args.all,
        any_length: args.any_length,
    };
    let (sender, found) = sync_channel(WAITING);
    let transfer = thread::scope(|scope| {
        let reader = ImportReader { args, format, addresses: &addresses, output: &output, sender };
        thread::Builder::new()
            .name("loomrec-import".to_owned())
            .spawn_scoped(scope, move || reader.read_all())
            .map_err(|error| {
                CommandFailure::new(
                    loomrec_cli::exit::UNEXPECTED,
                    format!("failed to start a thread: {error}"),
                )
            })?;
        let mut incoming = IncomingEntries {
            found,
            import,
            transfer: TransferTotals::default(),
            several: args.files.len() > 1,
        };
        match (&into, &args.output) {
            (Some(recording), _) => add(recording, &mut incoming)?,
            (None, Some(path)) => make(path, &rules, args.force, &mut incoming)?,
            (None, None) => {}
        }
        Ok::<_, CommandFailure>(incoming.transfer)
    })?;
    serve_setup::ineffective_rules(&redactor).iter().for_each(|note| output.warning(note));
    report(args, &transfer, &output)
}

/// Opens the recording to which entries are added.
fn open_target(path: &RecordingLocation, output: &Output) -> Result<Recording, CommandFailure> {
    let recording = serve_setup::open_to_change(path, output)?;
    if recording.meta().waits_for().is_some() {
        return Err(CommandFailure::usage(
            "--into: this file holds pending changes; name a recording",
        ));
    }
    Ok(recording)
}

/// Reports what was imported and what was not. Returns the exit code.
fn report(
    args: &ImportArgs,
    transfer: &TransferTotals,
    output: &Output,
) -> Result<u8, CommandFailure> {
    let target = args.into.as_ref().or(args.output.as_ref());
    let target = target.map_or_else(|| "-".to_owned(), |target| target.display().to_string());
    if args.json {
        print(&transfer.to_json(&target))?;
    } else {
        output.info(&transfer.text(&target));
    }
    if transfer.count() == 0 {
        output.error(&format!("nothing was imported; {target} is unchanged"));
        return Ok(NO);
    }
    if transfer.damaged() > 0 {
        output.error(&format!(
            "{} of the calls could not be imported as they are: see what was left out",
            transfer.damaged()
        ));
        return Ok(NO);
    }
    Ok(0)
}

/// Creates a new recording, unless there are no entries.
fn make(
    path: &RecordingLocation,
    rules: &IdentityRules,
    force: bool,
    incoming: &mut IncomingEntries<'_>,
) -> Result<(), CommandFailure> {
    let Some(first) = incoming.next() else { return Ok(()) };
    let entries = std::iter::once(first).chain(incoming);
    loomrec_store::create(path, &RecordingMeta::new(rules), entries, force)?;
    Ok(())
}

/// Adds entries to a recording. Names that it already holds get further takes.
fn add(recording: &Recording, incoming: &mut IncomingEntries<'_>) -> Result<(), CommandFailure> {
    let mut held = held(recording)?;
    let mut changes = RecordingChanges::new()?;
    for found in incoming {
        let (name, entry) = found?;
        for place in held.remove(&name).into_iter().flatten() {
            changes.push(&name, TakeChange::Place(place))?;
        }
        changes.push(&name, TakeChange::Entry(Box::new(entry)))?;
    }
    recording.rewrite(&changes)?;
    Ok(())
}

/// Returns the positions of the takes of each name.
fn held(recording: &Recording) -> Result<BTreeMap<EntryName, Vec<TakeRef>>, StoreError> {
    let mut held: BTreeMap<EntryName, Vec<TakeRef>> = BTreeMap::new();
    for stored in recording.entries() {
        let stored = stored?;
        held.entry(stored.name).or_default().push(stored.place);
    }
    Ok(held)
}

/// A message of the reading thread.
enum ReaderMessage {
    Item { file: String, item: FoundItem },
    Failed(CommandFailure),
}

/// The entries as they arrive.
struct IncomingEntries<'a> {
    found: Receiver<ReaderMessage>,
    import: EntryImporter<'a>,
    transfer: TransferTotals,
    /// Whether there are several files, so that places need the file's name.
    several: bool,
}

impl Iterator for IncomingEntries<'_> {
    type Item = Result<(EntryName, Entry), CommandFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (file, item) = match self.found.recv().ok()? {
                ReaderMessage::Item { file, item } => (file, item),
                ReaderMessage::Failed(failure) => return Some(Err(failure)),
            };
            let at = |place: String| match self.several && !file.is_empty() {
                true => format!("{file}: {place}"),
                false => place,
            };
            let (place, made) = match item {
                FoundItem::Left(left) => {
                    self.transfer.left(SkippedItem { place: at(left.place), ..left });
                    continue;
                }
                FoundItem::Exchange(exchange) => {
                    (exchange.place.clone(), self.import.entry(*exchange))
                }
                FoundItem::Words(words) => (words.place.clone(), self.import.words(*words)),
                FoundItem::Entry(named) => (named.place.clone(), self.import.named(*named)),
            };
            match made {
                Ok(made) => {
                    self.transfer.brought(&made.lost);
                    if made.by == PlacedBy::Shape {
                        let upstream = made.entry.upstream.as_deref().unwrap_or_default();
                        self.transfer.shaped(made.host, upstream);
                    }
                    return Some(Ok((made.name, made.entry)));
                }
                Err(ImportRefusal::Foreign(host)) => self.transfer.foreign(host),
                Err(ImportRefusal::Reason(reason)) => {
                    self.transfer.left(SkippedItem::no_call(at(place), reason));
                }
                Err(ImportRefusal::Damaged(reason)) => {
                    self.transfer.left(SkippedItem::damaged(at(place), reason));
                }
            }
        }
    }
}

/// Reads the files until the receiver is dropped.
struct ImportReader<'a> {
    args: &'a ImportArgs,
    format: Option<ForeignFormat>,
    addresses: &'a UpstreamAddresses,
    output: &'a Output,
    sender: SyncSender<ReaderMessage>,
}

impl ImportReader<'_> {
    fn read_all(self) {
        if let Err(failure) = self.read_each() {
            // A dropped receiver has reported its own failure.
            drop(self.sender.send(ReaderMessage::Failed(failure)));
        }
    }

    fn read_each(&self) -> Result<(), CommandFailure> {
        let mut seen = HashSet::new();
        let mut beside =
            CompanionFiles { model: self.args.model.clone(), ..CompanionFiles::default() };
        let mut rules = None;
        for path in &self.args.files {
            let label = path.display().to_string();
            if !seen.insert(path) {
                return Err(CommandFailure::usage(format!("{label} is named twice")));
            }
            self.read_one(path, &label, &mut beside, &mut rules)?;
        }
        match (rules, &self.args.requests) {
            (Some(rules), Some(requests)) => self.apply(rules, &requests.into()),
            (None, Some(requests)) => Err(CommandFailure::usage(format!(
                "--requests {}: none of the files needs a file of requests",
                requests.display()
            ))),
            _ => Ok(()),
        }
    }

    fn read_one(
        &self,
        path: &Path,
        label: &str,
        beside: &mut CompanionFiles,
        rules: &mut Option<FixtureList>,
    ) -> Result<(), CommandFailure> {
        let failed = |why: String| unreadable(label, &why);
        if path.is_dir() {
            let text = format!("{label} is a folder: name the files in it");
            return Err(CommandFailure::usage(text));
        }
        let mut input: Box<dyn Read> = match path.to_str() {
            Some("-") => Box::new(io::stdin().lock()),
            _ => Box::new(loomrec_os::open_input(path).map_err(|error| failed(error.to_string()))?),
        };
        let mut beginning = Vec::new();
        let read = input.by_ref().take(BEGINNING).read_to_end(&mut beginning);
        read.map_err(|error| failed(error.to_string()))?;
        let format = match (self.format, ForeignFormat::of(&beginning)) {
            // JSON is nearly YAML, so `--from vcr` may be given for JSON cassettes. JSON has a
            // reader of its own, because escapes differ.
            (Some(ForeignFormat::Vcr), Some(ForeignFormat::VcrJson)) => ForeignFormat::VcrJson,
            (Some(format), _) | (None, Some(format)) => format,
            (None, None) => return Err(failed(unknown(&beginning))),
        };
        let mut input = Cursor::new(beginning).chain(input);
        if self.args.requests.is_some() && format == ForeignFormat::Aimock {
            let several = if self.args.files.len() > 1 { label } else { "" };
            let rules = rules.get_or_insert_with(FixtureList::default);
            return rules.read(several, &mut input).map_err(|error| read_failure(label, &error));
        }
        beside.attached = attached_file::files_beside(path);
        let done =
            interchange::read_with(format, &mut input, beside, &mut |item| self.send(item, label));
        done.map_err(|error| read_failure(label, &error))
    }

    /// Answers the requests of a recording with fixture rules.
    fn apply(
        &self,
        mut rules: FixtureList,
        requests: &RecordingLocation,
    ) -> Result<(), CommandFailure> {
        let recording = serve_setup::open(requests, self.output)?;
        for stored in recording.entries() {
            let stored = stored?;
            let key = stored.name.take_key(stored.take);
            let step = stored.name.step_id();
            let item = match rules.answer(&key, step, &stored.entry, self.addresses) {
                Some(item) => item,
                None => {
                    let reason = "no fixture answers it".to_owned();
                    FoundItem::Left(SkippedItem::no_call(key, reason))
                }
            };
            if self.send(item, "").is_break() {
                return Ok(());
            }
        }
        for left in rules.unused() {
            if self.send(FoundItem::Left(left), "").is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn send(&self, item: FoundItem, label: &str) -> ControlFlow<()> {
        match self.sender.send(ReaderMessage::Item { file: label.to_owned(), item }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn unreadable(label: &str, why: &str) -> CommandFailure {
    CommandFailure::new(RECORDING, format!("failed to read {label}: {why}"))
}

fn read_failure(label: &str, error: &interchange::ReadError) -> CommandFailure {
    let source = std::error::Error::source(error);
    let source = source.map(|source| format!(": {source}")).unwrap_or_default();
    CommandFailure::new(RECORDING, format!("{label}: failed to {error}{source}"))
}

/// Returns the message about a file of unknown format.
fn unknown(beginning: &[u8]) -> String {
    let text = String::from_utf8_lossy(beginning);
    if beginning.is_empty() {
        return "it is empty".to_owned();
    }
    if beginning.starts_with(b"PK\x03\x04") {
        return "it is a zip archive: unpack it, and name the HAR file in it".to_owned();
    }
    if text.contains("\"_loomrec\"") {
        return "it is a recording already: use it as it is".to_owned();
    }
    let names: Vec<String> =
        ForeignFormat::ALL.iter().map(|format| format!("{format} ({})", format.title())).collect();
    format!("it is of no known format; say which it is with --from: {}", names.join(", "))
}
