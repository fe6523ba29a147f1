//! The `loomrec prune` command: removes takes from a recording that are no longer needed.
//!
//! The entries are read once to decide which ones go. The others keep their exact text.

mod used;

use std::time::SystemTime;

use serde_json::{Value, json};

use super::args::{LogFormat, PruneArgs};
use super::ls::{self, TakeRow};
use super::show;
use super::show::contents::RecordingContents;
use super::show::take_choice::ChosenTakes;
use loomrec_cli::amount::{format_span, recorded_age};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, print};
use loomrec_cli::short_key::short_key;
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::{serve_setup, terminal};
use loomrec_recording::EntryName;
use loomrec_recording::take_identity::{self, TakeIdentity};
use loomrec_store::{Recording, RecordingChanges, StoredEntry, TakeChange, TakeRef};
use used::UsedTakes;

/// Runs the command.
///
/// # Errors
/// No criterion given, or a receipt or journal without the needed data (2); a recording that is
/// missing, damaged or too new (4); one that cannot be written, or that is being recorded into (5).
pub fn run(args: &PruneArgs) -> Result<u8, CommandFailure> {
    let runs = args.unused.iter().chain(&args.journal);
    let is_limited = runs.count() > 0 || args.older_than.is_some() || args.upstream.is_some();
    if !is_limited && args.keys.is_empty() && args.model.is_none() {
        return Err(CommandFailure::usage(
            "say which takes to prune: those of a KEY (`loomrec ls` lists them), those not used in a run (--unused RECEIPT, --journal \
             JOURNAL), old ones (--older-than 90d), those of an --upstream or a --model",
        ));
    }
    let output = Output::new(LogFormat::Human, false, false);
    let recording = match args.apply {
        true => serve_setup::open_to_change(&args.file, &output)?,
        false => serve_setup::open(&args.file, &output)?,
    };
    let criteria = PruneCriteria {
        args,
        used: UsedTakes::read(args, &recording)?,
        keyed: keyed_takes(args, &recording)?,
        now: SystemTime::now(),
    };
    let pruned = PrunedTakes::from_recording(&recording, &criteria)?;
    if args.apply && pruned.removed_count() > 0 {
        recording.rewrite(&pruned.recording_changes()?)?;
    }
    match args.json {
        true => print(&terminal::printable_json(&format!("{:#}\n", pruned.to_json(args)))),
        false => print(&pruned.to_text(args)),
    }
}

/// Which takes go: those that meet all that is given.
struct PruneCriteria<'a> {
    args: &'a PruneArgs,
    used: UsedTakes,
    /// The takes that the keys name; all if there is no key.
    keyed: Vec<ChosenTakes>,
    now: SystemTime,
}

/// Returns the takes that the keys name.
fn keyed_takes(
    args: &PruneArgs,
    recording: &Recording,
) -> Result<Vec<ChosenTakes>, CommandFailure> {
    if args.keys.is_empty() {
        return Ok(Vec::new());
    }
    let contents = RecordingContents::from_recording(recording)?;
    let takes = |key: &String| {
        let choice = show::choose_take("prune", &args.file, recording, &contents, Some(key))?;
        match choice.named_takes(key) {
            takes if takes.take.is_some_and(|at| !(1..=choice.named.takes.len()).contains(&at)) => {
                Err(show::no_such_take(&args.file, choice.named, choice.take))
            }
            takes => Ok(takes),
        }
    };
    args.keys.iter().map(takes).collect()
}

/// A take, and what is reported about it.
struct TakeReport {
    number: usize,
    place: TakeRef,
    question: TakeIdentity,
    unwanted: bool,
    /// Whether a key has its number: it then goes also if a later take of its call stays.
    is_numbered: bool,
    /// Whether it would go, but a later take of its call stays.
    held: bool,
    goes: bool,
    call: String,
    model: String,
    asks: Option<String>,
    recorded_at: Option<String>,
}

/// The takes of each name.
struct PrunedTakes {
    names: Vec<(EntryName, Vec<TakeReport>)>,
    /// How many takes have no time of recording, if the time matters.
    undated: usize,
    now: SystemTime,
}

impl PrunedTakes {
    /// Decides about each take.
    fn from_recording(
        recording: &Recording,
        criteria: &PruneCriteria<'_>,
    ) -> Result<Self, CommandFailure> {
        let mut names: Vec<(EntryName, Vec<TakeReport>)> = Vec::new();
        let (mut undated, mut any_used, used) = (0, false, &criteria.used);
        for stored in recording.entries() {
            let stored = stored?;
            let (name, place) = (stored.name.clone(), stored.place);
            any_used |= used.has_take(&name, stored.take, &stored.entry);
            let take = TakeReport::from_stored_entry(stored, place, criteria, &mut undated);
            match names.last_mut() {
                Some((last, takes)) if *last == name => takes.push(take),
                _ => names.push((name, vec![take])),
            }
        }
        if used.has_journal() && !any_used {
            return Err(CommandFailure::usage(format!(
                "--journal: no call in it was answered from {}; name the journal of a replay of it",
                terminal::path_line(criteria.args.file.as_path())
            )));
        }
        for (_, takes) in &mut names {
            let asked: Vec<_> = takes.iter().map(|take| (take.question, take.unwanted)).collect();
            for (take, goes) in takes.iter_mut().zip(take_identity::can_go(&asked)) {
                take.goes = goes || take.unwanted && take.is_numbered;
                take.held = take.unwanted && !take.goes;
            }
        }
        Ok(Self { names, undated, now: criteria.now })
    }

    fn all_takes(&self) -> impl Iterator<Item = (&EntryName, &TakeReport)> {
        self.names.iter().flat_map(|(name, takes)| takes.iter().map(move |take| (name, take)))
    }

    fn takes_to_remove(&self) -> impl Iterator<Item = (&EntryName, &TakeReport)> {
        self.all_takes().filter(|(_, take)| take.goes)
    }

    fn held_takes(&self) -> impl Iterator<Item = (&EntryName, &TakeReport)> {
        self.all_takes().filter(|(_, take)| take.held)
    }

    fn removed_count(&self) -> usize {
        self.takes_to_remove().count()
    }

    fn removed_bytes(&self) -> u64 {
        self.takes_to_remove().map(|(_, take)| take.place.byte_length()).sum()
    }

    /// Returns the changes: the names that lose a take, with the takes that they keep.
    fn recording_changes(&self) -> Result<RecordingChanges, CommandFailure> {
        let mut changes = RecordingChanges::new()?;
        for (name, takes) in &self.names {
            if takes.iter().any(|take| take.goes) {
                let kept = takes.iter().filter(|take| !take.goes);
                changes.set_takes(
                    name.clone(),
                    kept.map(|take| TakeChange::Place(take.place)).collect(),
                )?;
            }
        }
        Ok(changes)
    }

    /// Formats the result for people.
    fn to_text(&self, args: &PruneArgs) -> String {
        let mut table = Table::new(vec![
            TableColumn::left("KEY").shrinks_to(15),
            TableColumn::left("CALL").shrinks_to(12),
            TableColumn::left("MODEL").shrinks_to(12),
            TableColumn::right("AGE"),
            TableColumn::right("BYTES"),
            TableColumn::left("ASKS").shrinks_to(14),
        ]);
        for (name, take) in self.takes_to_remove() {
            let age = self.take_age(take).map(format_span);
            table.add_row(
                false,
                vec![
                    short_key(name, take.number),
                    take.call.clone(),
                    terminal::printable_line(&take.model).into_owned(),
                    age.unwrap_or_else(|| "-".to_owned()),
                    take.place.byte_length().to_string(),
                    take.asks.clone().unwrap_or_else(|| "-".to_owned()),
                ],
            );
        }
        let (count, all) = (self.removed_count(), self.all_takes().count());
        let mut text = match count {
            0 => String::new(),
            _ => format!("{}\n", table.to_text(terminal::width())),
        };
        let file = args.file.display().to_string();
        let file = terminal::printable_line(&file);
        let bytes = self.removed_bytes();
        text.push_str(&match (count, args.apply) {
            (0, _) => format!("{file}: none of its {all} takes would be pruned\n"),
            (_, true) => format!("{file}: {count} of {all} takes pruned, {bytes} bytes\n"),
            (_, false) => format!(
                "{file}: {count} of {all} takes would be pruned, {bytes} bytes; nothing is changed \
                 without --apply\n"
            ),
        });
        let held: Vec<String> =
            self.held_takes().map(|(name, take)| short_key(name, take.number)).collect();
        if !held.is_empty() {
            text.push_str(&format!(
                "stays, since a later take of the same call does: {}\n",
                held.join(", ")
            ));
        }
        if self.undated > 0 {
            text.push_str(&format!(
                "stays, since it does not say when it was recorded: {} takes\n",
                self.undated
            ));
        }
        text
    }

    /// Returns the JSON for programs.
    fn to_json(&self, args: &PruneArgs) -> Value {
        let take = |(name, take): (&EntryName, &TakeReport)| {
            json!({
                "key": name.take_key(take.number),
                "call": take.call,
                "model": take.model,
                "recorded_at": take.recorded_at,
                "bytes": take.place.byte_length(),
            })
        };
        json!({
            "recording": args.file.display().to_string(),
            "applied": args.apply && self.removed_count() > 0,
            "takes": self.all_takes().count(),
            "pruned": self.takes_to_remove().map(take).collect::<Vec<_>>(),
            "bytes": self.removed_bytes(),
            "held": self.held_takes().map(take).collect::<Vec<_>>(),
            "undated": self.undated,
        })
    }

    fn take_age(&self, take: &TakeReport) -> Option<std::time::Duration> {
        recorded_age(take.recorded_at.as_deref()?, self.now)
    }
}

impl TakeReport {
    fn from_stored_entry(
        stored: StoredEntry,
        place: TakeRef,
        criteria: &PruneCriteria<'_>,
        undated: &mut usize,
    ) -> Self {
        let PruneCriteria { args, used, keyed, now } = criteria;
        let number = stored.take;
        let mut naming =
            keyed.iter().filter(|takes| takes.has_take(&stored.name, number)).peekable();
        let is_named = keyed.is_empty() || naming.peek().is_some();
        let is_numbered = naming.any(|takes| takes.take.is_some());
        let row = TakeRow::from_stored_entry(stored, 0);
        let entry = &row.entry;
        let asked = row.call.as_ref().and_then(|call| call.model.as_deref());
        let is_model =
            |model: &String| entry.model.as_ref() == Some(model) || asked == Some(model.as_str());
        let others = is_named
            && !used.has_take(&row.name, number, entry)
            && args.upstream.as_ref().is_none_or(|name| entry.upstream.as_ref() == Some(name))
            && args.model.as_ref().is_none_or(is_model);
        let is_old = args.older_than.map(|limit| {
            let age = entry.recorded_at.as_deref().and_then(|at| recorded_age(at, *now));
            age.map(|age| age > limit)
        });
        if others && is_old == Some(None) {
            *undated += 1;
        }
        Self {
            number,
            place,
            question: TakeIdentity::from_entry(entry),
            unwanted: others && is_old.is_none_or(|old| old == Some(true)),
            is_numbered,
            held: false,
            goes: false,
            call: row.call_words(),
            model: row.model_name().unwrap_or("-").to_owned(),
            asks: row.question_start(ls::QUESTION),
            recorded_at: entry.recorded_at.clone(),
        }
    }
}
