//! The text of a recording, split at its top level only, so that keeping one
//! more call does not cost reading and writing every other.
//!
//! Entries that are not touched keep their very text, a hand-made one too.
//! [`Document::cassette`] reads them all.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::cassette::{Cassette, place};
use super::entry::Entry;
use super::error::{FormatError, json_error, plain_message, position};
use super::field::describe;
use super::meta::Meta;
use super::name::EntryName;
use super::split::{Part, Splitter};
use super::text::{write_file_string, write_file_value};
use crate::identity::{IdentityRules, RequestKey};

/// A recording's text, by top-level key.
#[derive(Clone, Debug)]
pub struct Document {
    /// What was read; empty for a new document.
    source: Bytes,
    meta: Meta,
    members: Vec<Member>,
}

#[derive(Clone, Debug)]
struct Member {
    key: String,
    /// The value's text as it stands behind `"key": ` in the file.
    text: Bytes,
    /// Where the key begins in the source; 0 for what was written since.
    at: usize,
}

impl Document {
    /// An empty recording whose keys are made under `rules`.
    pub fn new(rules: &IdentityRules) -> Self {
        Self::of(&Cassette::new(Meta::new(rules)))
    }

    /// The text of a recording.
    pub fn of(cassette: &Cassette) -> Self {
        let mut document =
            Self { source: Bytes::new(), meta: cassette.meta().clone(), members: Vec::new() };
        for (key, value) in cassette.meta().keys() {
            document.members.push(Member::new(key.clone(), value));
        }
        for (name, takes) in cassette.names() {
            document.members.extend(members(name, takes));
        }
        document
    }

    /// Splits a text. The entries themselves are read no further than needed to
    /// find their ends.
    ///
    /// # Errors
    /// What is wrong with the file as a whole: see [`FormatError`].
    pub fn parse(source: Bytes) -> Result<Self, FormatError> {
        if source.starts_with(b"\xef\xbb\xbf") {
            return Err(FormatError::ByteOrderMark);
        }
        if source.iter().all(u8::is_ascii_whitespace) {
            return Err(FormatError::Empty);
        }
        if std::str::from_utf8(&source).is_err() {
            return Err(whole_error(&source));
        }
        let Some(parts) = Splitter::new(&source).members() else {
            return Err(whole_error(&source));
        };
        let members: Vec<Member> = parts.into_iter().map(Member::of).collect();
        let mut seen = HashSet::with_capacity(members.len());
        if let Some(twice) = members.iter().find(|member| !seen.insert(&member.key)) {
            return Err(FormatError::DuplicateKey {
                key: twice.key.clone(),
                line: position(&source, twice.at).0,
            });
        }
        let mut keys = Map::new();
        for member in members.iter().filter(|member| member.is_meta()) {
            keys.insert(member.key.clone(), member.value(&source)?);
        }
        Ok(Self { meta: Meta::parse(keys)?, source, members })
    }

    /// What the recording says about itself.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.members.iter().all(Member::is_meta)
    }

    /// Whether anything is kept under this name.
    pub fn contains(&self, name: &EntryName) -> bool {
        !self.places(name).is_empty()
    }

    /// Reads every entry.
    ///
    /// # Errors
    /// The first entry that cannot be used: see [`FormatError`].
    pub fn cassette(&self) -> Result<Cassette, FormatError> {
        let mut takes: Vec<(EntryName, usize, Vec<Entry>)> = Vec::new();
        for member in self.members.iter().filter(|member| !member.is_meta()) {
            let (name, take) = EntryName::of_key(&member.key);
            takes.push((name, take, member.entries(&self.source)?));
        }
        // A stable sort by take: the names keep the places of their first keys,
        // since a cassette gives a name its place when it first sees it.
        let mut cassette = Cassette::new(self.meta.clone());
        for (name, _, _) in &takes {
            cassette.reserve(name);
        }
        takes.sort_by_key(|(_, take, _)| *take);
        for (name, _, entries) in takes {
            for entry in entries {
                cassette.push(name.clone(), entry);
            }
        }
        cassette.drop_empty();
        Ok(cassette)
    }

    /// Makes it ours: sets version, format and rules where they are missing.
    pub fn adopt(&mut self, rules: &IdentityRules) {
        self.meta.adopt(rules);
        let mut next = 0;
        for (key, value) in self.meta.keys() {
            let member = Member::new(key.clone(), value);
            match self.members.iter().position(|member| member.key == *key) {
                Some(at) => {
                    let same = serde_json::from_slice::<Value>(&self.members[at].text)
                        .is_ok_and(|old| old == *value);
                    if !same {
                        self.members[at] = member;
                    }
                    next = at + 1;
                }
                None => {
                    self.members.insert(next, member);
                    next += 1;
                }
            }
        }
    }

    /// Keeps an entry, as [`Cassette::record`] does, reading only the takes of
    /// its own name.
    ///
    /// # Errors
    /// An earlier take of the name that cannot be read.
    pub fn record(
        &mut self,
        name: &EntryName,
        entry: Entry,
        first_of_run: bool,
    ) -> Result<(), FormatError> {
        let places = self.places(name);
        let mut takes = Vec::new();
        if !first_of_run {
            for &at in &places {
                takes.extend(self.members[at].entries(&self.source)?);
            }
        }
        place(&mut takes, entry, first_of_run);
        let at = places.first().copied().unwrap_or(self.members.len());
        let mut index = 0;
        self.members.retain(|_| {
            index += 1;
            places.binary_search(&(index - 1)).is_err()
        });
        self.members.splice(at..at, members(name, &takes));
        Ok(())
    }

    /// The file's text.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length: usize =
            self.members.iter().map(|member| member.text.len() + member.key.len() + 8).sum();
        let mut out = Vec::with_capacity(length + 4);
        out.push(b'{');
        for (index, member) in self.members.iter().enumerate() {
            let line: &[u8] = if index == 0 { b"\n  " } else { b",\n  " };
            out.extend_from_slice(line);
            write_file_string(&mut out, &member.key);
            out.extend_from_slice(b": ");
            out.extend_from_slice(&member.text);
        }
        out.extend_from_slice(b"\n}\n");
        out
    }

    /// Where the takes of a name stand, in the order of their places.
    fn places(&self, name: &EntryName) -> Vec<usize> {
        let text = match name {
            EntryName::Step(id) => id,
            EntryName::Hash(key) => key.as_str(),
        };
        let is_of = |member: &Member| match name {
            EntryName::Step(_) => member.key == text,
            EntryName::Hash(_) => {
                member.key.starts_with(text) && EntryName::of_key(&member.key).0 == *name
            }
        };
        self.members
            .iter()
            .enumerate()
            .filter(|(_, member)| is_of(member))
            .map(|(at, _)| at)
            .collect()
    }
}

/// The members that hold the takes of a name.
fn members(name: &EntryName, takes: &[Entry]) -> Vec<Member> {
    match (name, takes) {
        (_, []) => Vec::new(),
        (EntryName::Step(id), [only]) => vec![Member::new(id.clone(), &only.to_json())],
        (EntryName::Step(id), many) => {
            let list = many.iter().map(Entry::to_json).collect();
            vec![Member::new(id.clone(), &Value::Array(list))]
        }
        (EntryName::Hash(_), many) => many
            .iter()
            .enumerate()
            .map(|(index, entry)| Member::new(name.take_key(index + 1), &entry.to_json()))
            .collect(),
    }
}

impl Member {
    fn new(key: String, value: &Value) -> Self {
        let mut text = Vec::new();
        write_file_value(&mut text, value, 1);
        Self { key, text: text.into(), at: 0 }
    }

    fn of(part: Part) -> Self {
        Self { key: part.key, text: part.text, at: part.at }
    }

    fn is_meta(&self) -> bool {
        self.key.starts_with('_')
    }

    fn value(&self, source: &[u8]) -> Result<Value, FormatError> {
        serde_json::from_slice(&self.text).map_err(|error| {
            // Where all of the text is JSON, this part of it is nested too deep.
            json_error(source).unwrap_or_else(|| FormatError::Json {
                line: position(source, self.at).0 + error.line() - 1,
                column: error.column(),
                message: plain_message(&error),
            })
        })
    }

    fn entries(&self, source: &[u8]) -> Result<Vec<Entry>, FormatError> {
        let value = self.value(source)?;
        let line = || position(source, self.at).0;
        let read = |(index, value): (usize, &Value)| {
            if !value.is_object() {
                return Err(FormatError::NotEntry {
                    key: self.key.clone(),
                    line: line(),
                    found: format!("a list with {} in it", describe(value)),
                });
            }
            Entry::parse(value).map_err(|problem| FormatError::Entry {
                key: self.key.clone(),
                line: line(),
                take: index + 1,
                problem: Box::new(problem),
            })
        };
        match &value {
            Value::Object(_) => Ok(vec![read((0, &value))?]),
            Value::Array(_) if RequestKey::parse(self.key.get(..64).unwrap_or("")).is_some() => {
                Err(FormatError::ListUnderHash { key: self.key.clone(), line: line() })
            }
            Value::Array(items) => items.iter().enumerate().map(read).collect(),
            other => Err(FormatError::NotEntry {
                key: self.key.clone(),
                line: line(),
                found: describe(other),
            }),
        }
    }
}

/// What is wrong with a text that did not split.
fn whole_error(source: &[u8]) -> FormatError {
    json_error(source).unwrap_or_else(|| FormatError::NotObject {
        found: serde_json::from_slice::<Value>(source)
            .map_or_else(|_| "not an object".to_owned(), |value| describe(&value)),
    })
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
