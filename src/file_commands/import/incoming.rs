//! Makes entries of what the reading thread finds, and counts what becomes of each item.

use std::sync::mpsc::Receiver;

use super::super::transfer_report::TransferTotals;
use super::file_list::ImportFile;
use super::match_report::MatchReport;
use super::reader::ReaderMessage;
use loomrec_cli::exit::{CommandFailure, NO, RECORDING};
use loomrec_dialect::interchange::{
    EntryImporter, FoundItem, ImportRefusal, ImportedEntry, PlacedBy, SkippedItem,
};
use loomrec_recording::{Entry, EntryName};

/// The entries as they arrive.
pub(super) struct IncomingEntries<'a> {
    pub(super) found: Receiver<ReaderMessage>,
    pub(super) import: EntryImporter<'a>,
    pub(super) files: &'a [ImportFile],
    pub(super) transfer: TransferTotals,
    pub(super) matches: MatchReport,
    /// Whether any problem ends the import without a result.
    pub(super) is_strict: bool,
    /// Whether the entries end with each file.
    pub(super) per_file: bool,
    /// The number of the file that is being read.
    pub(super) file: usize,
}

/// An entry under its name, or the failure that ends the import.
pub(super) type IncomingEntry = Result<(EntryName, Entry), CommandFailure>;

impl Iterator for IncomingEntries<'_> {
    type Item = IncomingEntry;

    fn next(&mut self) -> Option<IncomingEntry> {
        loop {
            let (file, item) = match self.found.recv() {
                Ok(ReaderMessage::Item { file, item }) => (file, item),
                Ok(ReaderMessage::FileEnd { file, problem }) => {
                    self.file = file + 1;
                    if let Some(problem) = problem {
                        self.transfer.file_problem(problem);
                    }
                    if self.per_file {
                        return None;
                    }
                    continue;
                }
                Ok(ReaderMessage::Failed(failure)) => return Some(Err(failure)),
                Err(_) => return self.last_item(),
            };
            if let Some(made) = self.import_item(file, item) {
                return Some(Ok(made));
            }
        }
    }
}

impl IncomingEntries<'_> {
    /// Returns the last item: the failure of a strict import with problems.
    fn last_item(&mut self) -> Option<IncomingEntry> {
        self.file = self.files.len();
        let failure = self.strict_failure().map(Err);
        self.is_strict = false;
        failure
    }

    /// Returns the failure of a strict import, if there were problems.
    pub(super) fn strict_failure(&self) -> Option<CommandFailure> {
        let has_bad_files = self.transfer.has_file_problems();
        if !self.is_strict || !(has_bad_files || self.transfer.damaged_count() > 0) {
            return None;
        }
        let code = if has_bad_files { RECORDING } else { NO };
        let problems = self.transfer.problem_lines();
        Some(CommandFailure::new(code, format!("--strict: nothing was imported\n{problems}")))
    }

    /// Returns the entry of an item, unless the item is left out.
    fn import_item(&mut self, file: usize, item: FoundItem) -> Option<(EntryName, Entry)> {
        let label = self.files.get(file).map_or("", |file| file.label.as_str());
        let at = |place: String| match self.files.len() > 1 && !label.is_empty() {
            true => format!("{label}: {place}"),
            false => place,
        };
        let (place, made) = match item {
            FoundItem::Left(left) => {
                self.transfer.note_left_out(SkippedItem { place: at(left.place), ..left });
                return None;
            }
            FoundItem::Exchange(exchange) => {
                (exchange.place.clone(), self.import.import_entry(*exchange))
            }
            FoundItem::Words(words) => (words.place.clone(), self.import.import_text(*words)),
            FoundItem::Entry(named) => (named.place.clone(), self.import.import_named(*named)),
        };
        match made {
            Ok(ImportedEntry { name, entry, by, host, lost, notes }) => {
                self.transfer.count_transferred(&lost);
                for note in notes {
                    self.transfer.count_note(label, note);
                }
                if by == PlacedBy::Shape {
                    let upstream = entry.upstream.as_deref().unwrap_or_default();
                    self.transfer.count_shaped(host, upstream);
                }
                self.matches.add(&entry);
                return Some((name, entry));
            }
            Err(ImportRefusal::Foreign(host)) => self.transfer.count_foreign(host),
            Err(ImportRefusal::Reason(reason)) => {
                self.transfer.note_left_out(SkippedItem::no_call(at(place), reason));
            }
            Err(ImportRefusal::Damaged(reason)) => {
                self.transfer.note_left_out(SkippedItem::damaged(at(place), reason));
            }
        }
        None
    }
}
