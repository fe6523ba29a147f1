//! A file as a whole: its metadata, its keys, and where its entries stand.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use serde_json::{Map, Value};

use super::place::token;
use super::{Kind, Problem, Severity};
use crate::identity::IdentityRules;
use crate::recording::scan::{Found, Shape};
use crate::recording::{EntryName, FormatError, Meta, Waiting};
use crate::spelling::nearest;

/// The top-level keys that mean something.
const META: [&str; 2] = ["_version", "_loomrec"];
const OWN: [&str; 3] = ["format", "identity", "pending"];
const IDENTITY: [&str; 4] = ["version", "ignore", "headers", "ignore_headers"];

/// Where an entry stands in its file.
#[derive(Clone, Debug)]
pub struct Unit {
    /// What it is kept under.
    pub name: EntryName,
    /// Which take of that name, counted from 1.
    pub take: usize,
    /// Where its key begins.
    pub at: u64,
    /// The line the key stands in, counted from 1.
    pub line: usize,
    /// Where its text stands.
    pub range: Range<u64>,
    /// Whether it stands in a list of takes.
    pub in_list: bool,
}

impl Unit {
    /// What people call it.
    pub fn key(&self) -> String {
        self.name.take_key(self.take)
    }
}

/// A file as far as it is understood without reading its entries.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// Its keys that are no metadata, and the lines they stand in.
    pub keys: Vec<(String, usize)>,
    /// Its entries, in order.
    pub units: Vec<Unit>,
    /// The rules its keys were made under; `None` where it does not say them in a way
    /// that is understood.
    pub rules: Option<IdentityRules>,
    /// What its entries wait for.
    pub waits_for: Option<Waiting>,
    /// Why its metadata cannot be used.
    pub unusable: Option<FormatError>,
    /// Whether loomrec has written it.
    pub loomrec: bool,
    /// How many keys are not written as loomrec writes them.
    pub foreign: usize,
}

impl Layout {
    /// What the members of a file's top-level object are.
    pub(crate) fn of(found: Vec<Found>) -> Self {
        let mut layout = Self::of_part(found);
        let gaps = gaps(layout.keys.iter().map(|(key, line)| (key.as_str(), *line)));
        layout.problems.extend(gaps.into_iter().map(|(_, problem)| problem));
        layout
    }

    /// The same of a file that holds a part of a recording: takes may be missing in it.
    pub(crate) fn of_part(found: Vec<Found>) -> Self {
        let mut layout = Self::default();
        layout.metadata(&found);
        let mut seen = HashSet::new();
        for member in found {
            if !seen.insert(member.key.clone()) {
                layout.twice(&member);
            }
            layout.foreign += usize::from(!member.tidy);
            if member.key.starts_with('_') {
                continue;
            }
            let (name, take) = EntryName::of_key(&member.key);
            if let EntryName::Step(id) = &name {
                layout.step(id, member.line);
            }
            layout.keys.push((member.key.clone(), member.line));
            layout.takes(member, &name, take);
        }
        layout
    }

    fn metadata(&mut self, found: &[Found]) {
        let mut keys = Map::new();
        let mut lines = BTreeMap::new();
        for member in found.iter().filter(|member| member.key.starts_with('_')) {
            lines.insert(member.key.as_str(), member.line);
            match serde_json::from_slice::<Value>(&member.text) {
                Ok(value) => drop(keys.insert(member.key.clone(), value)),
                Err(error) => {
                    let text = format!("it cannot be read: {error}");
                    let problem = Problem::of_file(Kind::Format, Severity::Error, text)
                        .at(token(&member.key), Some(member.line));
                    self.problems.push(problem.helped("restore it from an older copy of the file"));
                }
            }
        }
        self.spellings(&keys, &lines);
        match Meta::parse(keys) {
            Ok(meta) => {
                self.loomrec = meta.is_loomrec();
                self.rules = Some(meta.rules().clone());
                self.waits_for = meta.waits_for();
            }
            Err(error) => {
                let (pointer, remedy) = match &error {
                    FormatError::Meta { pointer, .. } => (*pointer, "mend it, or restore the file"),
                    FormatError::NewerFormat { .. } => ("/_loomrec", "update loomrec to use it"),
                    _ => ("/_version", "record it again"),
                };
                let key = pointer.split('/').nth(1).unwrap_or_default();
                let line = lines.get(key).copied();
                let problem = Problem::of_file(Kind::Format, Severity::Error, error.to_string());
                self.problems.push(problem.at(pointer, line).helped(remedy));
                self.unusable = Some(error);
            }
        }
    }

    /// Names in the metadata that are like one that means something.
    fn spellings(&mut self, keys: &Map<String, Value>, lines: &BTreeMap<&str, usize>) {
        let own = keys.get("_loomrec").and_then(Value::as_object);
        let identity = own.and_then(|own| own.get("identity")).and_then(Value::as_object);
        let mut level = |at: &str, names: Option<&Map<String, Value>>, known: &[&str]| {
            for name in names.into_iter().flat_map(Map::keys) {
                let Some(meant) = nearest(name, known).filter(|_| !known.contains(&name.as_str()))
                else {
                    continue;
                };
                let text = format!("the field is not known (is `{meant}` meant?)");
                let pointer = format!("{at}{}", token(name));
                let line = lines.get(pointer.split('/').nth(1).unwrap_or_default()).copied();
                let problem = Problem::of_file(Kind::Field, Severity::Warning, text);
                let remedy = "correct its name, or remove it; it does nothing as it is";
                self.problems.push(problem.at(pointer, line).helped(remedy));
            }
        };
        level("", Some(keys), &META);
        level("/_loomrec", own, &OWN);
        level("/_loomrec/identity", identity, &IDENTITY);
    }

    fn twice(&mut self, member: &Found) {
        let problem = Problem::of_file(
            Kind::Duplicate,
            Severity::Error,
            "the key stands there a second time",
        )
        .at(token(&member.key), Some(member.line));
        let remedy = "rename or remove one of them: only one could be replayed";
        self.problems.push(problem.within(member.key.clone()).helped(remedy));
    }

    /// A key that is no hash must be a step id that a recorder would take.
    fn step(&mut self, id: &str, line: usize) {
        if let Err(error) = EntryName::step(id) {
            let text = format!("no recorder would {error}");
            let problem = Problem::of_file(Kind::Key, Severity::Warning, text);
            let remedy = "a hash is 64 lower-case digits, its takes are HASH, HASH#2, …";
            self.problems.push(problem.at(token(id), Some(line)).within(id).helped(remedy));
        }
    }

    fn takes(&mut self, member: Found, name: &EntryName, take: usize) {
        let Found { key, at, line, value, shape, .. } = member;
        let unit =
            |take, range, in_list| Unit { name: name.clone(), take, at, line, range, in_list };
        let told = match shape {
            Shape::Object => return self.units.push(unit(take, value, false)),
            Shape::List(items) if name.step_id().is_some() => {
                let items = items.into_iter().enumerate();
                return self.units.extend(items.map(|(index, range)| unit(index + 1, range, true)));
            }
            Shape::List(_) => "a list may only stand under a step id, and this is a hash",
            Shape::Other => "it is neither an entry nor a list of entries",
        };
        let problem = Problem::of_file(Kind::Shape, Severity::Error, told)
            .at(token(&key), Some(line))
            .within(key);
        self.problems.push(problem.helped("mend or remove it"));
    }
}

/// What is wrong with the numbers of takes, given every key of a recording and its line:
/// those of a hash go from 1 on, without a gap. Each is told with the number of its key.
pub fn gaps<'a>(keys: impl Iterator<Item = (&'a str, usize)>) -> Vec<(usize, Problem)> {
    let mut all: BTreeMap<EntryName, Vec<(usize, usize, usize)>> = BTreeMap::new();
    for (at, (key, line)) in keys.enumerate() {
        let (name, take) = EntryName::of_key(key);
        all.entry(name).or_default().push((take, line, at));
    }
    let mut found = Vec::new();
    for (name, mut takes) in all {
        takes.sort_unstable();
        takes.dedup_by_key(|(take, ..)| *take);
        let gap = takes.iter().enumerate().find(|(index, (take, ..))| *take != index + 1);
        if let Some((index, &(take, line, at))) = gap {
            let text = format!("there is a take {take}, and no take {}", index + 1);
            let problem = Problem::of_file(Kind::Key, Severity::Warning, text)
                .at(token(&name.take_key(take)), Some(line))
                .within(name.take_key(take));
            found.push((at, problem.helped("--fix numbers them in turn").mendable()));
        }
    }
    found
}
