//! Which take a key means: a step id, the beginning of a hash, `#N` behind it
//! for a further take.

use std::collections::BTreeSet;

use super::contents::{ListedEntry, RecordingContents};
use crate::identity::RequestKey;
use crate::recording::EntryName;

/// Fewer digits of a hash could be a typing error.
const LEAST_DIGITS: usize = 4;
/// How many keys are told to be near.
const NEAR: usize = 3;

/// A take that is meant; whether there is such a one is not said.
#[derive(Debug)]
pub(in crate::cli) struct Choice<'a> {
    /// The name and its takes.
    pub(in crate::cli) named: &'a ListedEntry,
    /// The take of it, from 1.
    pub(in crate::cli) take: usize,
}

/// Why a key means no single name. Keys are such as can be typed.
#[derive(Debug, PartialEq)]
pub(in crate::cli) enum NoChoice {
    /// There is no entry at all.
    Empty,
    /// No key was given, and there are several names.
    Needed {
        /// All of them.
        keys: Vec<String>,
    },
    /// The beginning of several hashes.
    Ambiguous {
        /// As it was given.
        key: String,
        /// What it may mean.
        keys: Vec<String>,
    },
    /// Too few digits of a hash.
    Short {
        /// As it was given.
        key: String,
    },
    /// No name is or begins like this.
    Unknown {
        /// As it was given.
        key: String,
        /// Names that look like it.
        near: Vec<String>,
    },
}

/// The take that `key` means; without a key, the only name's first.
///
/// # Errors
/// [`NoChoice`]
pub(in crate::cli) fn choose<'a>(
    contents: &'a RecordingContents,
    key: Option<&str>,
) -> Result<Choice<'a>, NoChoice> {
    let Some(key) = key else { return Ok(Choice { named: only(contents)?, take: 1 }) };
    // A step id may hold a `#` itself.
    if let Some(named) = exact(contents, key) {
        return Ok(Choice { named, take: 1 });
    }
    let (base, take) = split_take(key);
    if base.is_empty() {
        return Ok(Choice { named: only(contents)?, take });
    }
    if let Some(named) = exact(contents, base) {
        return Ok(Choice { named, take });
    }
    by_digits(contents, key, base, take)
}

/// The name that a hash begins with these digits: an entry's own, else the hash
/// of a request under a step id.
fn by_digits<'a>(
    contents: &'a RecordingContents,
    key: &str,
    base: &str,
    take: usize,
) -> Result<Choice<'a>, NoChoice> {
    if contents.is_empty() {
        return Err(NoChoice::Empty);
    }
    let unknown = || NoChoice::Unknown { key: key.to_owned(), near: near(contents, base) };
    let digits = base.to_ascii_lowercase();
    if digits.len() > 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(unknown());
    }
    if digits.len() < LEAST_DIGITS {
        return match near(contents, base).is_empty() {
            true => Err(NoChoice::Short { key: key.to_owned() }),
            false => Err(unknown()),
        };
    }
    let begins = |hash: &RequestKey| hash.as_str().starts_with(&digits);
    let ambiguous = |keys: Vec<String>| NoChoice::Ambiguous { key: key.to_owned(), keys };
    let names: Vec<&ListedEntry> = contents
        .names()
        .filter(|named| matches!(&named.name, EntryName::Hash(hash) if begins(hash)))
        .collect();
    match names.as_slice() {
        [named] => return Ok(Choice { named, take }),
        [] => {}
        // The short form would not tell apart what these digits do not.
        _ => return Err(ambiguous(names.iter().map(|named| full(&named.name, &digits)).collect())),
    }
    let steps: Vec<Choice<'_>> =
        contents.requests(begins).map(|(named, take)| Choice { named, take }).collect();
    let Some(first) = steps.first().map(|step| &step.named.name) else { return Err(unknown()) };
    if steps.iter().any(|step| step.named.name != *first) {
        let keys = steps.iter().map(|step| step.named.name.take_key(step.take));
        return Err(ambiguous(keys.collect()));
    }
    // `#N` counts the takes of this request there.
    let near = vec![label(first)];
    let chosen = take.checked_sub(1).and_then(|at| steps.into_iter().nth(at));
    chosen.ok_or_else(|| NoChoice::Unknown { key: key.to_owned(), near })
}

/// The only name.
fn only(contents: &RecordingContents) -> Result<&ListedEntry, NoChoice> {
    let mut names = contents.names();
    match (names.next(), names.next()) {
        (Some(named), None) => Ok(named),
        (None, _) => Err(NoChoice::Empty),
        (Some(_), Some(_)) => {
            let keys = contents.names().map(|named| label(&named.name)).collect();
            Err(NoChoice::Needed { keys })
        }
    }
}

/// The name that is written exactly so.
fn exact<'a>(contents: &'a RecordingContents, key: &str) -> Option<&'a ListedEntry> {
    contents.names().find(|named| match &named.name {
        EntryName::Step(id) => id == key,
        EntryName::Hash(hash) => hash.as_str().eq_ignore_ascii_case(key),
    })
}

/// `KEY#N` as KEY and N, anything else as the key and 1.
fn split_take(key: &str) -> (&str, usize) {
    let split = key.rsplit_once('#').and_then(|(base, number)| {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| (base, number.parse().unwrap_or(usize::MAX)))
    });
    split.unwrap_or((key, 1))
}

/// What a person types for a name.
fn label(name: &EntryName) -> String {
    match name {
        EntryName::Step(id) => id.clone(),
        EntryName::Hash(hash) => hash.short().to_owned(),
    }
}

/// A hash with more digits than `digits`, which several begin with.
fn full(name: &EntryName, digits: &str) -> String {
    if digits.len() < 12 { label(name) } else { name.to_string() }
}

/// The names that look most like `key`.
fn near(contents: &RecordingContents, key: &str) -> Vec<String> {
    let wanted = key.to_lowercase();
    let mut found = BTreeSet::new();
    for (at, named) in contents.names().enumerate() {
        let label = label(&named.name);
        let shape = label.to_lowercase();
        let close = wanted.chars().count().div_ceil(3);
        let distance = distance(&wanted, &shape);
        let alike = distance <= close || (wanted.len() > 2 && shape.contains(&wanted));
        if alike {
            found.insert((distance, at, label));
        }
    }
    found.into_iter().take(NEAR).map(|(_, _, label)| label).collect()
}

/// How many characters have to be put in, left out or changed between two texts.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, character) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (place, known) in other.iter().enumerate() {
            let changed = diagonal + usize::from(*known != character);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}
