//! The view of a change: a description, and the differences.

use owo_colors::OwoColorize as _;

use super::super::diff::{Block, compare_texts};
use super::super::ls::{QUESTION, TakeRow};
use super::super::show::review::format_take as review_text;
use super::changes::ReviewDesk;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::terminal;
use loomrec_curation::comparison::DiffScope;
use loomrec_curation::inspection::{LONGEST_QUESTION, last_question};
use loomrec_curation::review::ChangeStanding;
use loomrec_identity::RequestKey;
use loomrec_recording::pending::ReplacedTake;
use loomrec_recording::redact::{CallCredentials, Redactor};
use loomrec_recording::{Entry, EntryName};
use loomrec_store::{RecordingLocation, StoredEntry};

/// How many columns stand before a question.
const INDENT: usize = 8;

/// Shows changes.
pub(crate) struct View<'d> {
    desk: &'d ReviewDesk,
    scope: DiffScope,
    redactor: Redactor,
    /// The labels of both files.
    labels: (String, String),
}

impl<'d> View<'d> {
    /// Creates a view of these changes.
    ///
    /// # Errors
    /// A redactor that cannot be created, which does not happen without patterns.
    pub(crate) fn from_desk(desk: &'d ReviewDesk) -> Result<Self, CommandFailure> {
        let redactor = Redactor::new(&[])
            .map_err(|error| CommandFailure::new(UNEXPECTED, format!("failed to {error}")))?;
        let mut scope = DiffScope::default();
        scope.rules = desk.meta().rules().clone();
        let labels = (desk.file.display().to_string(), desk.new.display().to_string());
        Ok(Self { desk, scope, redactor, labels })
    }

    /// Formats a change in coloured lines: its meaning, or as JSON.
    ///
    /// # Errors
    /// An entry that cannot be read.
    pub(crate) fn change_text(
        &self,
        change: usize,
        as_json: bool,
    ) -> Result<String, CommandFailure> {
        let (desk, standing) = (self.desk, self.desk.standings[change]);
        let waiting = &desk.changes[change];
        let entry = desk.read_entry(change)?;
        let replaced = desk.replaced_take(change)?;
        let mut out = self.change_problems(change);
        if as_json {
            let laid = |entry: &Entry| format!("{:#}\n", entry.to_json());
            let old = replaced.map_or_else(String::new, |(_, old)| laid(&old));
            out.push_str(&compare_texts(&old, &laid(&entry), &self.redactor));
            return Ok(out);
        }
        let (name, take) = (&waiting.entry.name, waiting.entry.take);
        let old = replaced.as_ref().map(|(of, old)| (&of.name, of.take, old));
        let block = Block::from_takes(old, (name, take, &entry), &self.scope, &self.redactor);
        // The whole request of a new call is shown below.
        if let Some(asks) = self.entry_question(&entry).filter(|_| old.is_some()) {
            out.push_str(&format!("{}\n", format!("  asks: {asks}").dimmed()));
        }
        out.push_str(&block.to_text(&self.labels.0, &self.labels.1));
        if block.has_same_answer() && !standing.is_conflict() {
            out.push_str(&format!("  {}\n", "the same answer as before".dimmed()));
        }
        if old.is_none() {
            let place = desk.changes_at[change];
            let row = TakeRow::from_stored_entry(
                StoredEntry { name: name.clone(), take, entry, place },
                0,
            );
            // The first two lines repeat what the block says.
            let text = review_text(&row, &self.redactor);
            for line in text.trim_end().lines().skip(2) {
                out.push_str(&format!("    {}\n", line.green()));
            }
        }
        Ok(out)
    }

    /// Returns the beginning of what a change's call asks. `None` if that is not recorded.
    ///
    /// # Errors
    /// An entry that cannot be read.
    pub(crate) fn change_question(&self, change: usize) -> Result<Option<String>, CommandFailure> {
        Ok(self.entry_question(&self.desk.read_entry(change)?))
    }

    /// Returns the beginning of what a call asks, with likely secrets removed.
    fn entry_question(&self, entry: &Entry) -> Option<String> {
        let text = last_question(entry, LONGEST_QUESTION)?;
        let clean = self.redactor.redact_bytes(text.as_bytes(), &CallCredentials::default());
        let clean = String::from_utf8_lossy(&clean);
        let columns = terminal::width().map_or(QUESTION, |width| width.saturating_sub(INDENT));
        Some(terminal::cut(&terminal::printable_line(&clean), columns).into_owned())
    }

    /// Returns what is wrong with a change. Empty if nothing is.
    fn change_problems(&self, change: usize) -> String {
        let desk = self.desk;
        let words = match desk.standings[change] {
            ChangeStanding::Changed(_) => "the entry to replace has changed since",
            ChangeStanding::Gone => "the entry to replace is not there any more",
            _ => return String::new(),
        };
        let was = desk.changes[change].replaces.as_ref().map_or_else(String::new, |replaced| {
            let when = replaced.recorded_at.as_deref();
            let when = when.map_or_else(String::new, |when| format!(", recorded {when}"));
            format!(" ({}{when})", short_take_key(replaced))
        });
        let text = format!("conflict: {words}{was}; only --force --accept takes it");
        format!("{}\n", terminal::printable_line(&text).yellow())
    }

    /// Formats the keys of a change and its call on one line.
    ///
    /// # Errors
    /// An entry that cannot be read.
    pub(crate) fn change_line(&self, change: usize) -> Result<String, CommandFailure> {
        let desk = self.desk;
        let entry = desk.read_entry(change)?;
        let replaced = desk.replaced_take(change)?;
        let waiting = &desk.changes[change].entry;
        let old = replaced.as_ref().map(|(of, old)| (&of.name, of.take, old));
        let new = (&waiting.name, waiting.take, &entry);
        // The differences are not needed.
        let mut scope = DiffScope::default();
        (scope.requests, scope.answers) = (false, false);
        let block = Block::from_takes(old, new, &scope, &self.redactor);
        let text = format!("{}  {}", block.key_text(), block.call_description());
        Ok(terminal::printable_line(&text).into_owned())
    }
}

/// Returns a take's key, with a hash cut to its first digits.
pub(crate) fn short_take_key(take: &ReplacedTake) -> String {
    match &take.name {
        EntryName::Hash(hash) if take.take > 1 => format!("{}#{}", hash.short_form(), take.take),
        EntryName::Hash(hash) => hash.short_form().to_owned(),
        EntryName::Step(_) => take.name.take_key(take.take),
    }
}

/// Returns a key that means only this change, quoted for a shell.
pub(crate) fn typed_key(desk: &ReviewDesk, change: usize) -> String {
    let entry = &desk.changes[change].entry;
    let names = || desk.changes.iter().map(|change| &change.entry.name);
    let others = names().filter(|name| **name == entry.name).count();
    let is_short_of = |hash: &RequestKey| {
        names()
            .filter(|name| matches!(name, EntryName::Hash(other) if other.short_form() == hash.short_form()))
            .any(|name| *name != entry.name)
    };
    let name = match &entry.name {
        EntryName::Hash(hash) if !is_short_of(hash) => hash.short_form().to_owned(),
        name => name.to_string(),
    };
    let number = if others > 1 { format!("#{}", entry.take) } else { String::new() };
    terminal::quote_word(&terminal::printable_line(&format!("{name}{number}")))
}

/// Returns the command that reviews this recording, with flags, as the user types it.
pub(crate) fn review_command(desk: &ReviewDesk, flags: &str) -> String {
    let quoted = |path: &RecordingLocation| {
        terminal::printable_line(&terminal::quote_word(&path.display().to_string())).into_owned()
    };
    let new = match desk.is_elsewhere {
        true => format!(" --output {}", quoted(&desk.new)),
        false => String::new(),
    };
    let blank = if flags.is_empty() { "" } else { " " };
    format!("loomrec review {}{new}{blank}{flags}", quoted(&desk.file))
}
