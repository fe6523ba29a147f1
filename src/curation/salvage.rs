//! Recovery of entries from a recording's text that was cut, or overwritten in places.
//!
//! A [`MemberCutter`] splits the text at the beginnings of its top-level members, judged by line
//! breaks. [`recover`] finds the entries in such a piece, and reports what is lost. After damage,
//! an entry is found again if a line begins as the file's members do, or if an object begins with a
//! field of an entry and is a valid entry. An entry that was separated from its key is identified
//! by its hash.

mod cutter;

use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

pub use cutter::{CutPiece, MemberCutter};
use loomrec_recording::entry::{Entry, EntryReadError, KNOWN_FIELDS};
use loomrec_recording::entry_name::EntryName;

/// Part of a text: a metadata key, an entry, or lost bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum SalvagePiece {
    /// A metadata key and its value.
    Meta(String, Value),
    /// An entry.
    Entry {
        /// The name of the entry.
        name: EntryName,
        /// Which take of that name, by its key.
        take: usize,
        /// The range of its text in the piece.
        range: Range<usize>,
        /// Whether its key is lost, and its name is its hash.
        keyless: bool,
    },
    /// Bytes that cannot be recovered.
    Lost {
        /// The key that they belong to, if it can be read.
        key: Option<String>,
        /// Their range in the piece.
        range: Range<usize>,
        /// Why they are lost.
        why: String,
    },
}

/// Lists in requests and answers. If damage removed the end of such a list, the objects after its
/// beginning are not takes of a step with that name.
const INNER: [&str; 12] = [
    "messages",
    "contents",
    "input",
    "output",
    "content",
    "parts",
    "choices",
    "candidates",
    "tools",
    "tool_calls",
    "chunks",
    "embeddings",
];

/// Fields of entries that never occur in metadata.
const ANSWERED: [&str; 3] = ["request", "response", "request_hash"];

/// Recovers metadata and entries from a piece.
pub fn recover(text: &[u8]) -> Vec<SalvagePiece> {
    let mut recovery = Recovery {
        text,
        at: 0,
        key: None,
        take: 0,
        budget: 32 * text.len() + 4096,
        has_damage: false,
        found: Vec::new(),
    };
    while recovery.step() {}
    recovery.found
}

/// The state of the recovery of one piece.
struct Recovery<'a> {
    text: &'a [u8],
    at: usize,
    /// The key of the list of takes that is being read.
    key: Option<String>,
    take: usize,
    /// How many more bytes may be read in attempts that recover nothing.
    budget: usize,
    /// Whether there was damage. What follows may be part of an entry.
    has_damage: bool,
    found: Vec<SalvagePiece>,
}

impl Recovery<'_> {
    /// Advances by one member, or by one take of a list. Returns `false` at the end.
    fn step(&mut self) -> bool {
        if let Some(key) = self.key.clone() {
            return self.item(key);
        }
        let between = |byte: &u8| byte.is_ascii_whitespace() || b",{}]".contains(byte);
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(start) = rest.iter().position(|byte| !between(byte)) else { return false };
        let opens = usize::from(self.at == 0 && rest.trim_ascii_start().first() == Some(&b'{'));
        let brackets = rest[..start].iter().filter(|byte| b"{}]".contains(byte)).count();
        self.has_damage |= brackets > opens;
        let start = self.at + start;
        match key_at(self.text, start) {
            Some((key, value)) => self.member(start, key, value),
            None => self.lose(start, start, None, "it is not a member of a recording".to_owned()),
        }
        true
    }

    /// Handles a member whose key can be read.
    fn member(&mut self, start: usize, key: String, value: usize) {
        if self.text.get(value) == Some(&b'[') && EntryName::of_key(&key).0.step_id().is_some() {
            (self.key, self.take, self.at) = (Some(key), 1, value + 1);
            return;
        }
        let Some(end) = value_end(self.text, value) else {
            self.budget = self.budget.saturating_sub(self.text.len() - value);
            let cut = value >= self.text.len();
            return self.lose(start, value, Some(key), damaged(cut));
        };
        self.at = end;
        let text = &self.text[value..end];
        if key.starts_with('_') {
            // Its own end is missing if an entry is inside.
            if self.next_entry(value + 1).is_some_and(|(open, ..)| open < end) {
                return self.lose(start, value + 1, Some(key), damaged(false));
            }
            return match serde_json::from_slice(text) {
                Ok(Value::Object(meta)) if ANSWERED.iter().any(|name| meta.contains_key(*name)) => {
                    self.lost(start..end, Some(key), "it may be a part of an entry".to_owned());
                }
                Ok(meta) => self.found.push(SalvagePiece::Meta(key, meta)),
                Err(error) => self.lost(start..end, Some(key), error.to_string()),
            };
        }
        let ((name, take), range) = (EntryName::of_key(&key), value..end);
        match Entry::read(text) {
            // Its own end is missing if another entry is inside.
            Ok(entry) if entry.extra.values().any(is_entry) => {
                self.lose(start, value + 1, Some(key), damaged(false));
            }
            Ok(entry) if name.step_id().is_some_and(|id| is_part(id, &entry, self.has_damage)) => {
                self.lost(start..end, Some(key), "it may be a part of an entry".to_owned());
            }
            Ok(_) => self.found.push(SalvagePiece::Entry { name, take, range, keyless: false }),
            // Its end may be that of another entry, with more entries in between.
            Err(why) if self.next_entry(value + 1).is_some_and(|(open, ..)| open < end) => {
                self.lose(start, value + 1, Some(key), reason(why));
            }
            Err(why) => self.lost(start..end, Some(key), reason(why)),
        }
    }

    /// Reads the next take of a step's list.
    fn item(&mut self, key: String) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        let Some(skip) = rest.iter().position(|byte| !blank(byte)) else {
            let end = self.text.len();
            self.found.push(SalvagePiece::Lost {
                key: Some(key),
                range: end..end,
                why: damaged(true),
            });
            return false;
        };
        let start = self.at + skip;
        if self.text[start] == b']' {
            (self.at, self.key) = (start + 1, None);
            return true;
        }
        let end = if self.text[start] == b'{' { value_end(self.text, start) } else { None };
        let Some(end) = end else {
            self.budget = self.budget.saturating_sub(self.text.len() - start);
            self.lose(start, start, Some(key), damaged(false));
            return true;
        };
        self.at = end;
        match Entry::read(&self.text[start..end]) {
            Ok(_) => self.take(EntryName::of_key(&key).0, start..end),
            Err(why) if self.next_entry(start + 1).is_some_and(|(open, ..)| open < end) => {
                self.lose(start, start + 1, Some(key), reason(why));
            }
            Err(why) => self.lost(start..end, Some(key), reason(why)),
        }
        true
    }

    fn take(&mut self, name: EntryName, range: Range<usize>) {
        self.found.push(SalvagePiece::Entry { name, take: self.take, range, keyless: false });
        self.take += 1;
    }

    /// Records damage from `start` on, and continues at the next entry. The search for it begins at
    /// `from`.
    fn lose(&mut self, start: usize, from: usize, key: Option<String>, why: String) {
        let Some((open, end, entry)) = self.next_entry(from) else {
            self.lost(start..self.text.len(), key, why);
            (self.at, self.key) = (self.text.len(), None);
            return;
        };
        let list = list_before(self.text, from, open);
        if let Some((list, at)) = list.filter(|(key, _)| !INNER.contains(&key.as_str())) {
            self.lost(start..at, key, why);
            (self.key, self.take, self.at) = (Some(list), 1, open);
            return;
        }
        let own = key_before(self.text, from, open);
        let begins = own.as_ref().map_or(open, |(_, at)| *at);
        self.lost(start..begins, key, why);
        self.at = end;
        match (own, self.key.take()) {
            (Some((key, _)), _) => {
                let (name, take) = EntryName::of_key(&key);
                self.found.push(SalvagePiece::Entry {
                    name,
                    take,
                    range: open..end,
                    keyless: false,
                });
            }
            (None, Some(key)) => {
                self.take(EntryName::of_key(&key).0, open..end);
                self.key = Some(key);
            }
            (None, None) => match entry.request_hash {
                Some(hash) => {
                    let (name, range) = (EntryName::Hash(hash), open..end);
                    self.found.push(SalvagePiece::Entry {
                        name,
                        take: usize::MAX,
                        range,
                        keyless: true,
                    });
                }
                None => self.lost(open..end, None, "its key cannot be read".to_owned()),
            },
        }
    }

    /// Returns the next entry from `at` on: its start, its end and the entry.
    fn next_entry(&mut self, mut at: usize) -> Option<(usize, usize, Entry)> {
        while self.budget > 0 {
            let open = self.open(at)?;
            // A body that looks like an entry is part of what is lost.
            let is_body = key_before(self.text, at, open).is_some_and(|(key, _)| key == "body");
            if !is_body && let Some((end, entry)) = self.entry_at(open) {
                return Some((open, end, entry));
            }
            at = open + 1;
        }
        None
    }

    /// Returns the offset, from `at` on, of an object that begins with a field of an entry.
    fn open(&self, mut at: usize) -> Option<usize> {
        loop {
            at += memchr::memchr(b'{', self.text.get(at..)?)?;
            let inner = self.text[at + 1..].trim_ascii_start();
            let known = inner.strip_prefix(b"\"").is_some_and(|name| {
                let is = |known: &&str| {
                    name.strip_prefix(known.as_bytes())
                        .is_some_and(|rest| rest.first() == Some(&b'"'))
                };
                KNOWN_FIELDS.iter().any(is)
            });
            if known {
                return Some(at);
            }
            at += 1;
        }
    }

    /// Returns the end of the entry that begins at `open`, and the entry, if it is a complete entry
    /// with no other fields.
    fn entry_at(&mut self, open: usize) -> Option<(usize, Entry)> {
        let end = value_end(self.text, open);
        let read = end.unwrap_or(self.text.len()) - open;
        self.budget = self.budget.saturating_sub(read);
        let entry = Entry::read(&self.text[open..end?]).ok()?;
        is_whole(&entry).then_some((end?, entry))
    }

    fn lost(&mut self, range: Range<usize>, key: Option<String>, why: String) {
        if self.text[range.clone()].trim_ascii().is_empty() {
            return;
        }
        self.has_damage = true;
        self.found.push(SalvagePiece::Lost { key, range, why });
    }
}

fn damaged(cut: bool) -> String {
    if cut { "it is cut" } else { "its text is damaged or cut" }.to_owned()
}

/// Returns why a text is not an entry.
fn reason(why: EntryReadError) -> String {
    match why {
        EntryReadError::Json(error) => error.to_string(),
        EntryReadError::Entry(problem) => problem.to_string(),
    }
}

/// Whether a step's value may be part of an entry whose beginning is lost.
fn is_part(id: &str, entry: &Entry, has_damage: bool) -> bool {
    /// The keys of objects in entries, requests and responses.
    const PARTS: [&str; 7] =
        ["request", "response", "headers", "body", "usage", "arguments", "pending"];
    let says = entry.content.is_some() || entry.response.is_some() || entry.fault.is_some();
    let is_entry = says
        || entry.request.is_some()
        || !(entry.tool_calls.is_empty() && entry.embeddings.is_empty());
    PARTS.contains(&id) || !is_entry || (has_damage && !is_whole(entry))
}

/// Whether a value is an entry rather than a field of one.
fn is_entry(value: &Value) -> bool {
    value.is_object() && Entry::parse(value).is_ok_and(|entry| is_whole(&entry))
}

/// Whether it has an answer, and no field that is not an entry's.
fn is_whole(entry: &Entry) -> bool {
    let says = entry.content.is_some() || entry.response.is_some() || entry.fault.is_some();
    says && (entry.model.is_some() || entry.request.is_some())
        && entry.extra.keys().all(|name| name == "pending")
}

/// Returns the key that begins at `at`, and the offset of its value.
fn key_at(text: &[u8], at: usize) -> Option<(String, usize)> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let end = value_end(text, at)?;
    let key: String = serde_json::from_slice(&text[at..end]).ok()?;
    let blank = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + (rest.len() - rest.trim_ascii_start().len())
    };
    let colon = blank(end);
    (text.get(colon) == Some(&b':')).then(|| (key, blank(colon + 1)))
}

/// Returns the key directly before `open`, but not before `from`, and its offset.
fn key_before(text: &[u8], from: usize, open: usize) -> Option<(String, usize)> {
    let before = text.get(from..open)?.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let inner = before.strip_suffix(b"\"")?;
    let mut end = inner.len();
    // A quote after a backslash is part of the key.
    loop {
        let quote = memchr::memrchr(b'"', &inner[..end])?;
        let escapes = inner[..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            let key: String = serde_json::from_slice(&before[quote..]).ok()?;
            return Some((key, from + quote));
        }
        end = quote;
    }
}

/// Returns the key of the list whose first item is at `open`, and the offset of the key.
fn list_before(text: &[u8], from: usize, open: usize) -> Option<(String, usize)> {
    let before = text.get(from..open)?.trim_ascii_end().strip_suffix(b"[")?;
    key_before(text, from, from + before.len())
}

/// Returns the end of the JSON value that begins at `at`.
fn value_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
    values.next()?.ok()?;
    Some(at + values.byte_offset())
}

#[cfg(test)]
#[path = "salvage_tests.rs"]
mod tests;
