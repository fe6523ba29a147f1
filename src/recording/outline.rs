//! A recording's outline: its metadata, its names, and where the takes of each
//! stand in the text.
//!
//! It is made while the text is read once, in pieces; see [`super::scan`].

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::{Map, Value};

use super::entry::EntryError;
use super::error::{FormatError, plain_message};
use super::field::describe;
use super::meta::Meta;
use super::name::EntryName;
use super::scan::{Found, NotSplit, Scanner, Shape};

/// Makes an [`Outline`] of the pieces of a text.
#[derive(Debug)]
pub(crate) struct Outliner(Scanner);

/// Why there is no outline.
#[derive(Debug)]
pub(crate) enum NoOutline {
    /// The text is no JSON object: [`super::error::json_error`] of all of it says
    /// where.
    NotSplit,
    /// The text of a metadata key is no JSON: likewise, and where that finds
    /// nothing, this.
    Meta(FormatError),
    /// Something else.
    Format(FormatError),
}

/// Where everything stands in a recording's text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    meta: Meta,
    members: Vec<Member>,
    names: Vec<Named>,
}

/// One member of the top-level object.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Where its key begins.
    pub(crate) at: u64,
    /// The line that is in, counted from 1.
    pub(crate) line: usize,
    /// Where its value stands.
    pub(crate) value: Range<u64>,
    /// What the value looks like.
    pub(crate) shape: Shape,
    /// Whether all before the value is written as we write it.
    pub(crate) tidy: bool,
    /// What it is for.
    pub(crate) role: Role,
}

/// What a member is for.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// Metadata under this key.
    Meta(String),
    /// Takes of a name.
    Takes {
        /// Which of [`Outline::names`].
        name: usize,
        /// Its number in the key, counted from 1.
        take: usize,
    },
}

/// A name, and its members in the order of their takes.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// The name.
    pub(crate) name: EntryName,
    /// Which of [`Outline::members`]; never none.
    pub(crate) members: Vec<usize>,
}

impl Outliner {
    /// For a text of which nothing has been read.
    pub(crate) fn new() -> Self {
        Self(Scanner::new())
    }

    /// Reads on.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<(), NotSplit> {
        self.0.feed(piece)
    }

    /// The outline, once all of the text has been fed.
    pub(crate) fn finish(self) -> Result<Outline, NoOutline> {
        let found = self.0.finish().map_err(|NotSplit| NoOutline::NotSplit)?;
        Outline::of(found)
    }
}

impl Outline {
    /// The outline of a recording that has no entry and no text yet.
    pub(crate) fn empty(meta: Meta) -> Self {
        Self { meta, ..Self::default() }
    }

    /// One outline of texts that stand one behind the other, each from where it is
    /// said to begin, with one member that is no metadata each. `meta` stands for
    /// that of all; the takes of a name come one behind the other.
    pub(crate) fn joined(meta: Meta, texts: impl IntoIterator<Item = (u64, Self)>) -> Self {
        let mut joined = Self::empty(meta);
        for (base, outline) in texts {
            let Self { members, names, .. } = outline;
            let takes =
                members.into_iter().filter(|member| matches!(member.role, Role::Takes { .. }));
            for (mut member, named) in takes.zip(names) {
                let same = joined.names.last().is_some_and(|last| last.name == named.name);
                if !same {
                    joined.names.push(Named { name: named.name, members: Vec::with_capacity(1) });
                }
                let name = joined.names.len() - 1;
                joined.names[name].members.push(joined.members.len());
                member.shift(base);
                member.role = Role::Takes { name, take: member.take() };
                joined.members.push(member);
            }
        }
        joined
    }

    fn of(found: Vec<Found>) -> Result<Self, NoOutline> {
        let mut seen = HashSet::with_capacity(found.len());
        if let Some(twice) = found.iter().find(|member| !seen.insert(&member.key)) {
            let (key, line) = (twice.key.clone(), twice.line);
            return Err(NoOutline::Format(FormatError::DuplicateKey { key, line }));
        }
        let keys = metadata(&found).map_err(NoOutline::Meta)?;
        let meta = Meta::parse(keys).map_err(NoOutline::Format)?;
        let mut outline = Self { meta, ..Self::default() };
        let mut places: HashMap<EntryName, usize> = HashMap::with_capacity(found.len());
        for (at, member) in found.into_iter().enumerate() {
            let role = if member.key.starts_with('_') {
                Role::Meta(member.key)
            } else {
                let (name, take) = EntryName::of_key(&member.key);
                let next = outline.names.len();
                let place = *places.entry(name.clone()).or_insert(next);
                if place == next {
                    outline.names.push(Named { name, members: Vec::with_capacity(1) });
                }
                outline.names[place].members.push(at);
                Role::Takes { name: place, take }
            };
            let Found { at, line, value, shape, tidy, .. } = member;
            outline.members.push(Member { at, line, value, shape, tidy, role });
        }
        for name in &mut outline.names {
            name.members.sort_by_key(|&at| outline.members[at].take());
        }
        Ok(outline)
    }

    /// What the recording says about itself.
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The members in the text's order.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The names in the order of their first keys.
    pub(crate) fn names(&self) -> &[Named] {
        &self.names
    }

    /// The member that a place in the text is in or behind.
    pub(crate) fn member_at(&self, place: u64) -> Option<&Member> {
        let behind = self.members.partition_point(|member| member.at <= place);
        self.members.get(behind.checked_sub(1)?)
    }

    /// A member's key in the file.
    pub(crate) fn key(&self, member: &Member) -> String {
        match &member.role {
            Role::Meta(key) => key.clone(),
            Role::Takes { name, take } => match self.names.get(*name) {
                // A step's key is its id; a hash's carries the number.
                Some(named) => named.name.take_key(*take),
                None => String::new(),
            },
        }
    }

    /// Where the takes in a member stand; `None` where it is no entry and no list
    /// of entries that may stand there: see [`Self::not_entry`].
    pub(crate) fn takes<'a>(&self, member: &'a Member) -> Option<&'a [Range<u64>]> {
        match (&member.shape, &member.role) {
            (Shape::Object, _) => Some(std::slice::from_ref(&member.value)),
            (Shape::List(items), Role::Takes { name, .. })
                if self.names.get(*name).is_some_and(|named| named.name.step_id().is_some()) =>
            {
                Some(items)
            }
            _ => None,
        }
    }

    /// Why a member is no entry and no list of them, from its text.
    pub(crate) fn not_entry(&self, member: &Member, text: &[u8]) -> FormatError {
        let (key, line) = (self.key(member), member.line);
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(error) => return self.bad_json(&member.value, &error),
        };
        let found = match &value {
            Value::Array(_) if !self.is_step(member) => {
                return FormatError::ListUnderHash { key, line };
            }
            Value::Array(items) => match items.iter().find(|item| !item.is_object()) {
                Some(other) => format!("a list with {} in it", describe(other)),
                None => describe(&value),
            },
            other => describe(other),
        };
        FormatError::NotEntry { key, line, found }
    }

    fn is_step(&self, member: &Member) -> bool {
        match member.role {
            Role::Takes { name, .. } => {
                self.names.get(name).is_some_and(|named| named.name.step_id().is_some())
            }
            Role::Meta(_) => false,
        }
    }

    /// The error for a take whose text is no JSON, as if nothing before it were
    /// wrong.
    pub(crate) fn bad_json(&self, take: &Range<u64>, error: &serde_json::Error) -> FormatError {
        let line = self.member_at(take.start).map_or(1, |member| member.line);
        json_at(line, error)
    }

    /// The error for a take that has a wrong field.
    pub(crate) fn bad_entry(&self, take: &Range<u64>, problem: EntryError) -> FormatError {
        let member = self.member_at(take.start);
        let takes = member.and_then(|member| self.takes(member)).unwrap_or_default();
        FormatError::Entry {
            key: member.map_or_else(String::new, |member| self.key(member)),
            line: member.map_or(1, |member| member.line),
            take: takes.partition_point(|other| other.start < take.start) + 1,
            problem: Box::new(problem),
        }
    }
}

impl Member {
    /// The number of its take in its key; 0 for metadata.
    pub(crate) fn take(&self) -> usize {
        match self.role {
            Role::Takes { take, .. } => take,
            Role::Meta(_) => 0,
        }
    }

    /// Moves it behind as many bytes.
    fn shift(&mut self, base: u64) {
        let shift = |range: &mut Range<u64>| *range = range.start + base..range.end + base;
        self.at += base;
        shift(&mut self.value);
        if let Shape::List(items) = &mut self.shape {
            items.iter_mut().for_each(shift);
        }
    }
}

fn metadata(found: &[Found]) -> Result<Map<String, Value>, FormatError> {
    let mut keys = Map::new();
    for member in found.iter().filter(|member| member.key.starts_with('_')) {
        let value =
            serde_json::from_slice(&member.text).map_err(|error| json_at(member.line, &error))?;
        keys.insert(member.key.clone(), value);
    }
    Ok(keys)
}

/// The error of a value whose key stands in this line.
fn json_at(line: usize, error: &serde_json::Error) -> FormatError {
    FormatError::Json {
        line: line + error.line().saturating_sub(1),
        column: error.column(),
        message: plain_message(error),
    }
}
