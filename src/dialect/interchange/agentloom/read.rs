//! The reader of AgentLoom recordings.

use std::collections::HashSet;
use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::body_presence::holds_body;
use super::super::exchange::{FoundItem, NamedEntry, SkippedItem};
use super::super::read_context::{ReadContext, ReadProblem};
use super::write::ALIAS;
use loomrec_recording::{Entry, EntryName, RecordingMeta};

/// Listed as lost: how AgentLoom serves the answers of a step.
const REPEATS: &str = "that the last answer of a step repeats: replay --repeat last has it again";

/// Reads an AgentLoom recording.
pub(in super::super) fn read(
    input: impl Read,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(input));
    deserializer.deserialize_map(EntryFile { finder })?;
    Ok(deserializer.end()?)
}

struct EntryFile<'f, 'a> {
    finder: &'f mut ReadContext<'a>,
}

impl<'de> Visitor<'de> for EntryFile<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a recording of AgentLoom's: an object with an entry a step")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let shown: String = key.chars().take(80).collect();
            if !seen.insert(key.clone()) {
                return Err(de::Error::custom(format_args!("the key {shown:?} occurs twice")));
            }
            let value: Box<RawValue> = map.next_value()?;
            if key.starts_with('_') {
                check_metadata(&key, &value).map_err(de::Error::custom)?;
                self.finder.note_passed();
                continue;
            }
            for item in read_entries(&key, value.get()) {
                let item = item.map_err(|problem| {
                    de::Error::custom(format_args!("the entry {shown:?}: {problem}"))
                })?;
                if !self.finder.report_item(item) {
                    return Err(de::Error::custom("no more is wanted"));
                }
            }
            self.finder.note_passed();
        }
        Ok(())
    }
}

/// Checks the metadata of a file.
fn check_metadata(key: &str, value: &RawValue) -> Result<(), String> {
    if key == "_loomrec" {
        return Err("it is a recording of loomrec's already: use it as it is".to_owned());
    }
    if key != "_version" {
        return Ok(());
    }
    let value: Value = serde_json::from_str(value.get()).map_err(|error| error.to_string())?;
    let found = value.to_string();
    let keys = Map::from_iter([(key.to_owned(), value)]);
    match RecordingMeta::parse(keys) {
        Ok(_) => Ok(()),
        Err(_) if found == "1" => Err("it is of version 1, whose entries are made in another \
            way; let AgentLoom record it again, which writes version 2, or record the program \
            with `loomrec record`"
            .to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the entry under a key, or the entries of a list.
fn read_entries(key: &str, text: &str) -> Vec<Result<FoundItem, String>> {
    if !text.starts_with('[') {
        return read_entry(key, key.to_owned(), text).transpose().into_iter().collect();
    }
    let turns: Vec<Box<RawValue>> = match serde_json::from_str(text) {
        Ok(turns) => turns,
        Err(error) => return vec![Err(error.to_string())],
    };
    let (name, _) = EntryName::of_key(key);
    if name.step_id().is_none() {
        let reason = "a list under a hash, which AgentLoom cannot read either".to_owned();
        return vec![Ok(FoundItem::Left(SkippedItem::no_call(key.to_owned(), reason)))];
    }
    let turns = turns.iter().enumerate();
    turns
        .filter_map(|(index, turn)| {
            read_entry(key, name.take_key(index + 1), turn.get()).transpose()
        })
        .collect()
}

/// Returns an entry. An entry that repeats another one under one of its hashes is none.
fn read_entry(key: &str, place: String, text: &str) -> Result<Option<FoundItem>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        // The position in the message is relative to this entry only.
        let told = error.to_string();
        told.split(" at line ").next().unwrap_or_default().to_owned()
    })?;
    if value.get(ALIAS).is_some() {
        return Ok(None);
    }
    let entry = Entry::parse(&value).map_err(|error| error.to_string())?;
    let content = value.get("content").filter(|content| !content.is_null() && !content.is_string());
    if content.is_some_and(|content| !holds_body(content)) {
        let reason = "its content is no text";
        return Ok(Some(FoundItem::Left(SkippedItem::damaged(place, reason))));
    }
    let mut lost = Vec::new();
    match (EntryName::of_key(key).0, &entry.request_hash) {
        _ if entry.has_request() => {}
        (EntryName::Hash(_), _) => lost.push("requests: calls are known by their hash alone"),
        (EntryName::Step(_), Some(_)) => {
            lost.push("requests: calls are known by their step id and their hash");
        }
        (EntryName::Step(_), None) => {
            lost.push("requests: under its step id, any call gets the answer");
        }
    }
    if EntryName::of_key(key).0.step_id().is_some() {
        lost.push(REPEATS);
    }
    let key = key.to_owned();
    Ok(Some(FoundItem::Entry(Box::new(NamedEntry { place, key, entry, lost }))))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
