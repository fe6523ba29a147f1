//! Reads the files of an import on a thread of its own, and passes their exchanges on.
//!
//! The exchanges of a file are held back until the file has been read to its end, so that a bad
//! file brings nothing. Only those of a large file are passed on at once.

use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use super::super::args::ImportArgs;
use super::attached_file;
use super::file_list::ImportFile;
use super::unknown_file;
use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup;
use loomrec_dialect::interchange::{
    self, CompanionFiles, FixtureList, ForeignFormat, FoundItem, SkippedItem, UpstreamAddresses,
};
use loomrec_store::RecordingLocation;

/// How many bytes of a file are used to detect its format.
const BEGINNING: u64 = 64 << 10;

/// How many bytes of exchanges are held back until their file has been read.
const HELD: usize = 16 << 20;

/// A message of the reading thread.
pub(super) enum ReaderMessage {
    /// Something in the file with this number.
    Item { file: usize, item: FoundItem },
    /// The file was read to its end, or as far as it can be read.
    FileEnd { file: usize, problem: Option<String> },
    /// The import must end.
    Failed(CommandFailure),
}

/// Reads the files until the receiver is dropped.
pub(super) struct ImportReader<'a> {
    pub(super) args: &'a ImportArgs,
    pub(super) files: &'a [ImportFile],
    pub(super) format: Option<ForeignFormat>,
    pub(super) addresses: &'a UpstreamAddresses,
    pub(super) output: &'a Output,
    pub(super) sender: SyncSender<ReaderMessage>,
}

impl ImportReader<'_> {
    pub(super) fn read_all(self) {
        if let Err(failure) = self.read_each() {
            // A dropped receiver has reported its own failure.
            drop(self.sender.send(ReaderMessage::Failed(failure)));
        }
    }

    fn read_each(&self) -> Result<(), CommandFailure> {
        let mut beside =
            CompanionFiles { model: self.args.model.clone(), ..CompanionFiles::default() };
        let mut rules = None;
        for (number, file) in self.files.iter().enumerate() {
            let problem = self.read_one(number, file, &mut beside, &mut rules).err();
            if self.sender.send(ReaderMessage::FileEnd { file: number, problem }).is_err() {
                return Ok(());
            }
        }
        match (rules, &self.args.requests) {
            (Some(rules), Some(requests)) => self.answer_requests(rules, &requests.into()),
            (None, Some(requests)) => Err(CommandFailure::usage(format!(
                "--requests {}: none of the files needs a file of requests",
                requests.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Reads a file. The error says what is wrong with which file.
    fn read_one(
        &self,
        number: usize,
        file: &ImportFile,
        beside: &mut CompanionFiles,
        rules: &mut Option<FixtureList>,
    ) -> Result<(), String> {
        let failed = |why: String| format!("failed to read {}: {why}", file.label);
        let mut input = open(&file.path).map_err(|error| failed(error.to_string()))?;
        let mut beginning = Vec::new();
        let read = input.by_ref().take(BEGINNING).read_to_end(&mut beginning);
        read.map_err(|error| failed(error.to_string()))?;
        let format = match (self.format, ForeignFormat::from_beginning(&beginning)) {
            // JSON is nearly YAML, so `--from vcr` may be given for JSON cassettes. JSON has a
            // reader of its own, because escapes differ.
            (Some(ForeignFormat::Vcr), Some(ForeignFormat::VcrJson)) => ForeignFormat::VcrJson,
            (Some(format), _) | (None, Some(format)) => format,
            (None, None) => return Err(failed(unknown_file::describe(&beginning))),
        };
        let mut input = Cursor::new(beginning).chain(input);
        let wrong = |error: interchange::ReadError| {
            let source = std::error::Error::source(&error);
            let source = source.map(|source| format!(": {source}")).unwrap_or_default();
            format!("{}: failed to {error}{source}", file.label)
        };
        if self.args.requests.is_some() && format.has_rules() {
            let several = if self.files.len() > 1 { &file.label } else { "" };
            let rules = rules.get_or_insert_with(FixtureList::default);
            return rules.read(several, &mut input).map_err(wrong);
        }
        beside.attached = attached_file::files_beside(&file.path);
        let mut held = HeldItems { items: Vec::new(), cost: 0, is_streamed: false };
        let done = interchange::read_with(format, &mut input, beside, &mut |item| {
            self.hold(number, item, &mut held)
        });
        match done {
            Ok(()) => {
                if held.items.is_empty() && !held.is_streamed {
                    let left = SkippedItem::no_call("the file".to_owned(), "it holds no call");
                    held.items.push(FoundItem::Left(left));
                }
                for item in held.items {
                    if self.send(number, item).is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Err(error) if held.is_streamed && self.files.len() == 1 => {
                let failure = CommandFailure::new(RECORDING, wrong(error));
                // A dropped receiver has reported its own failure.
                drop(self.sender.send(ReaderMessage::Failed(failure)));
                Ok(())
            }
            Err(error) if held.is_streamed => {
                Err(format!("{}; the calls before were imported", wrong(error)))
            }
            Err(error) => Err(wrong(error)),
        }
    }

    /// Holds an item back, or passes it on if the file is large.
    fn hold(&self, number: usize, item: FoundItem, held: &mut HeldItems) -> ControlFlow<()> {
        if held.is_streamed {
            return self.send(number, item);
        }
        held.cost += item.approximate_size();
        held.items.push(item);
        if held.cost <= HELD {
            return ControlFlow::Continue(());
        }
        held.is_streamed = true;
        for item in held.items.drain(..) {
            self.send(number, item)?;
        }
        ControlFlow::Continue(())
    }

    /// Answers the requests of a recording with fixture rules.
    fn answer_requests(
        &self,
        mut rules: FixtureList,
        requests: &RecordingLocation,
    ) -> Result<(), CommandFailure> {
        let none = self.files.len();
        let recording = serve_setup::open(requests, self.output)?;
        for stored in recording.entries() {
            let stored = stored?;
            let key = stored.name.take_key(stored.take);
            let step = stored.name.step_id();
            let item = match rules.answer_request(&key, step, &stored.entry, self.addresses) {
                Some(item) => item,
                None => {
                    let reason = "no fixture answers it".to_owned();
                    FoundItem::Left(SkippedItem::no_call(key, reason))
                }
            };
            if self.send(none, item).is_break() {
                return Ok(());
            }
        }
        for left in rules.unused_fixtures() {
            if self.send(none, FoundItem::Left(left)).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn send(&self, file: usize, item: FoundItem) -> ControlFlow<()> {
        match self.sender.send(ReaderMessage::Item { file, item }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// The items of a file that has not been read to its end.
struct HeldItems {
    items: Vec<FoundItem>,
    cost: usize,
    /// Whether the file is large, and its items are passed on at once.
    is_streamed: bool,
}

/// Opens a file, or the standard input, without the compression of the whole.
fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let input: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(loomrec_os::open_input(path)?),
    };
    interchange::without_gzip(input)
}
