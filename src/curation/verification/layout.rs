//! Checks of a whole file: its metadata, its keys, and the places of its entries.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::entry::unreadable_reason;
use super::entry_place::{EntryPlaces, KeyPlace};
use super::{Problem, ProblemKind, Severity};
use loomrec_identity::IdentityRules;
use loomrec_identity::pointer_token;
use loomrec_identity::spelling::nearest_name;
use loomrec_recording::name_set::NameSet;
use loomrec_recording::scan::{FoundMember, ValueShape};
use loomrec_recording::{EntryName, FormatError, RecordingMeta};

/// The known metadata keys.
const META: [&str; 2] = ["_version", "_loomrec"];
const OWN: [&str; 3] = ["format", "identity", "pending"];
const IDENTITY: [&str; 5] = ["version", "ignore", "headers", "ignore_headers", "normalize"];

/// The layout of a file, as far as it is known without reading its entries.
#[derive(Clone, Debug, Default)]
pub struct FileLayout {
    /// The problems that were found.
    pub problems: Vec<Problem>,
    /// Its entries, in order.
    pub units: EntryPlaces,
    /// The rules that its keys were made under; `None` if its metadata cannot be understood.
    pub rules: Option<IdentityRules>,
    /// Whether loomrec wrote it.
    pub loomrec: bool,
    /// How many keys are not written as loomrec writes them.
    pub foreign: usize,
}

/// A key that is not metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TakeKey {
    /// The number of its name.
    name: u32,
    take: u32,
    line: u32,
}

/// Builds a [`FileLayout`] from members in the order in which they are found.
#[derive(Debug, Default)]
pub struct LayoutReader {
    layout: FileLayout,
    /// The members that are metadata.
    meta: Vec<FoundMember>,
    meta_keys: HashSet<String>,
    /// The keys that are not metadata.
    keys: Vec<TakeKey>,
    /// The takes of hashes: the number of the name, and the take.
    takes: HashSet<(u32, u32)>,
}

impl LayoutReader {
    /// Adds the next member.
    pub fn add_member(&mut self, member: FoundMember) {
        let layout = &mut self.layout;
        layout.foreign += usize::from(!member.tidy);
        if member.key.starts_with('_') {
            if !self.meta_keys.insert(member.key.clone()) {
                layout.add_duplicate_key(&member);
            }
            self.meta.push(member);
            return;
        }
        let (name, take) = EntryName::of_key(&member.key);
        let (number, is_new) = layout.units.names.insert(&name);
        let (small_take, line) = (saturating_u32(take), saturating_u32(member.line));
        let is_first = match &name {
            EntryName::Step(_) => is_new,
            EntryName::Hash(_) => self.takes.insert((number, small_take)),
        };
        if !is_first {
            layout.add_duplicate_key(&member);
        }
        if let EntryName::Step(id) = &name {
            layout.check_step_id(id, member.line);
        }
        self.keys.push(TakeKey { name: number, take: small_take, line });
        let key = KeyPlace { name: number, at: member.at, line };
        layout.add_takes(member, key, small_take, name.step_id().is_some());
    }

    /// Returns the layout, after all members have been added.
    pub fn into_layout(self) -> FileLayout {
        let Self { mut layout, meta, keys, .. } = self;
        let others = std::mem::take(&mut layout.problems);
        layout.check_metadata(&meta);
        layout.problems.extend(others);
        layout.problems.extend(find_gaps(keys, &layout.units.names));
        layout
    }
}

fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl FileLayout {
    fn check_metadata(&mut self, found: &[FoundMember]) {
        let mut keys = Map::new();
        let mut lines = BTreeMap::new();
        for member in found {
            lines.insert(member.key.as_str(), member.line);
            match serde_json::from_slice::<Value>(&member.text) {
                Ok(value) => drop(keys.insert(member.key.clone(), value)),
                Err(error) => {
                    let text = unreadable_reason(&member.text, &error);
                    let problem = Problem::of_file(ProblemKind::Format, Severity::Error, text)
                        .with_place(pointer_token(&member.key), Some(member.line));
                    self.problems
                        .push(problem.with_remedy("restore it from an older copy of the file"));
                }
            }
        }
        // Nothing can be said of rules that cannot be read.
        if keys.len() < found.len() {
            return;
        }
        self.check_spellings(&keys, &lines);
        match RecordingMeta::parse(keys) {
            Ok(meta) => {
                self.loomrec = meta.is_loomrec();
                self.rules = Some(meta.rules().clone());
            }
            Err(error) => {
                let (pointer, remedy) = match &error {
                    FormatError::Meta(error) => {
                        (error.place.as_str(), "fix it, or restore the file")
                    }
                    FormatError::NewerFormat { .. } => ("/_loomrec", "update loomrec to use it"),
                    _ => ("/_version", "record it again"),
                };
                let key = pointer.split('/').nth(1).unwrap_or_default();
                let line = lines.get(key).copied();
                let problem =
                    Problem::of_file(ProblemKind::Format, Severity::Error, error.to_string());
                self.problems.push(problem.with_place(pointer, line).with_remedy(remedy));
            }
        }
    }

    /// Adds names in the metadata that look like misspelled known names.
    fn check_spellings(&mut self, keys: &Map<String, Value>, lines: &BTreeMap<&str, usize>) {
        let own = keys.get("_loomrec").and_then(Value::as_object);
        let identity = own.and_then(|own| own.get("identity")).and_then(Value::as_object);
        let mut level = |at: &str, names: Option<&Map<String, Value>>, known: &[&str]| {
            for name in names.into_iter().flat_map(Map::keys) {
                let Some(meant) =
                    nearest_name(name, known).filter(|_| !known.contains(&name.as_str()))
                else {
                    continue;
                };
                let text = format!("the field is not known (is `{meant}` meant?)");
                let pointer = format!("{at}{}", pointer_token(name));
                let line = lines.get(pointer.split('/').nth(1).unwrap_or_default()).copied();
                let problem = Problem::of_file(ProblemKind::Field, Severity::Warning, text);
                let remedy = "correct its name, or remove it; it does nothing as it is";
                self.problems.push(problem.with_place(pointer, line).with_remedy(remedy));
            }
        };
        level("", Some(keys), &META);
        level("/_loomrec", own, &OWN);
        level("/_loomrec/identity", identity, &IDENTITY);
    }

    fn add_duplicate_key(&mut self, member: &FoundMember) {
        let problem =
            Problem::of_file(ProblemKind::Duplicate, Severity::Error, "the key occurs twice")
                .with_place(pointer_token(&member.key), Some(member.line));
        let remedy = "rename or remove one of them: only one could be replayed";
        self.problems.push(problem.with_key(member.key.clone()).with_remedy(remedy));
    }

    /// Checks that a key which is not a hash is a valid step id.
    fn check_step_id(&mut self, id: &str, line: usize) {
        if let Err(error) = EntryName::from_step_id(id) {
            let text = format!("no recorder would {error}");
            let problem = Problem::of_file(ProblemKind::Key, Severity::Warning, text);
            let remedy = "a hash is 64 lower-case digits, its takes are HASH, HASH#2, …";
            self.problems.push(
                problem.with_place(pointer_token(id), Some(line)).with_key(id).with_remedy(remedy),
            );
        }
    }

    fn add_takes(&mut self, member: FoundMember, place: KeyPlace, take: u32, is_step: bool) {
        let FoundMember { key, line, value, shape, .. } = member;
        let mut push = |take, range, in_list| self.units.push(place, take, range, in_list);
        let told = match shape {
            ValueShape::Object => return push(take, value, false),
            ValueShape::List(items) if is_step => {
                return items
                    .into_iter()
                    .zip(1..)
                    .for_each(|(range, take)| push(take, range, true));
            }
            ValueShape::List(_) => "only a step id may have a list, and this is a hash",
            ValueShape::Other => "it is neither an entry nor a list of entries",
        };
        let problem = Problem::of_file(ProblemKind::Shape, Severity::Error, told)
            .with_place(pointer_token(&key), Some(line))
            .with_key(key);
        self.problems.push(problem.with_remedy("fix or remove it"));
    }
}

/// Checks the take numbers: the takes of a hash must be numbered from 1 without a gap.
fn find_gaps(mut keys: Vec<TakeKey>, names: &NameSet) -> Vec<Problem> {
    keys.sort_unstable();
    keys.dedup_by_key(|key| (key.name, key.take));
    let mut found = Vec::new();
    for takes in keys.chunk_by(|one, other| one.name == other.name) {
        let gap = takes.iter().zip(1..).find(|(key, number)| key.take != *number);
        if let Some((&TakeKey { name, take, line }, missing)) = gap
            && let Some(name) = names.get(name)
        {
            let key = name.take_key(take as usize);
            let text = format!("there is a take {take}, and no take {missing}");
            let problem = Problem::of_file(ProblemKind::Key, Severity::Warning, text)
                .with_place(pointer_token(&key), Some(line as usize))
                .with_key(key);
            found.push(problem.with_remedy("--fix renumbers them").mark_mendable());
        }
    }
    found
}
