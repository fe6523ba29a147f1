//! What a change that waits for its review is about.
//!
//! `FILE.pending` holds requests that a replay could not answer, and `FILE.new`
//! answers fetched anew. Both are recordings, so that every command reads them. They
//! say so in `_loomrec.pending` (see [`PendingKind`]), and each entry in its `pending`:
//!
//! ```json
//! { "reason": "drifted", "replaces": { "name": "plan", "take": 2, "request_hash": "…", "recorded_at": "…" } }
//! ```

use serde_json::{Map, Value};

use super::entry::Entry;
use super::entry_name::EntryName;
use loomrec_identity::RequestKey;

/// The member of an entry that holds it.
const MEMBER: &str = "pending";

/// What a recording's entries wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingKind {
    /// For answers: they are requests alone.
    Answers,
    /// For their review.
    Review,
}

impl PendingKind {
    /// As it stands in `_loomrec.pending`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Review => "review",
        }
    }

    /// The one of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Answers, Self::Review].into_iter().find(|waiting| waiting.name() == name)
    }
}

/// A change that waits for its review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingChange {
    /// Why it was fetched: `drifted`, `unknown`, `rerecorded` and the like.
    pub reason: String,
    /// The take it stands for from then on; `None` where it is a new one.
    pub replaces: Option<ReplacedTake>,
}

/// A take that is to be replaced, and what tells that it still is the one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedTake {
    /// Its name.
    pub name: EntryName,
    /// Its number, counted from 1.
    pub take: usize,
    /// The key of its request.
    pub request_hash: Option<RequestKey>,
    /// When it was recorded.
    pub recorded_at: Option<String>,
}

impl ReplacedTake {
    /// A take as it is now.
    pub fn of(name: &EntryName, take: usize, entry: &Entry) -> Self {
        let (request_hash, recorded_at) = (entry.request_hash.clone(), entry.recorded_at.clone());
        Self { name: name.clone(), take, request_hash, recorded_at }
    }

    /// Whether this take still is the one that was to be replaced.
    pub fn is(&self, name: &EntryName, take: usize, entry: &Entry) -> bool {
        *self == Self::of(name, take, entry)
    }
}

impl PendingChange {
    /// What an entry says of itself; `None` where it waits for nothing, or says it
    /// in a way that is not understood.
    pub fn of(entry: &Entry) -> Option<Self> {
        let said = entry.extra.get(MEMBER)?.as_object()?;
        let text = |map: &Map<String, Value>, name: &str| {
            map.get(name).and_then(Value::as_str).map(str::to_owned)
        };
        let replaces = match said.get("replaces") {
            None | Some(Value::Null) => None,
            Some(replaces) => {
                let replaces = replaces.as_object()?;
                let (name, _) = EntryName::of_key(&text(replaces, "name")?);
                let take = usize::try_from(replaces.get("take")?.as_u64()?).ok()?;
                let request_hash =
                    text(replaces, "request_hash").and_then(|hash| RequestKey::parse(&hash));
                let recorded_at = text(replaces, "recorded_at");
                Some(ReplacedTake { name, take, request_hash, recorded_at })
            }
        };
        Some(Self { reason: text(said, "reason")?, replaces })
    }

    /// Says it in an entry.
    pub fn mark(&self, entry: &mut Entry) {
        let mut said = Map::new();
        said.insert("reason".to_owned(), self.reason.clone().into());
        if let Some(replaced) = &self.replaces {
            let mut replaces = Map::new();
            replaces.insert("name".to_owned(), replaced.name.to_string().into());
            replaces.insert("take".to_owned(), replaced.take.into());
            let hash = replaced.request_hash.as_ref().map(|hash| hash.as_str().to_owned());
            let members = [("request_hash", hash), ("recorded_at", replaced.recorded_at.clone())];
            for (name, value) in members {
                if let Some(value) = value {
                    replaces.insert(name.to_owned(), value.into());
                }
            }
            said.insert("replaces".to_owned(), Value::Object(replaces));
        }
        entry.extra.insert(MEMBER.to_owned(), Value::Object(said));
    }

    /// Takes away what an entry says of it, for its place in a recording.
    pub fn unmark(entry: &mut Entry) {
        entry.extra.shift_remove(MEMBER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_codec;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn entry_says_in_every_form_what_it_stands_for() {
        let key = RequestKey::parse(HASH);
        for name in [EntryName::step("plan#2").unwrap(), EntryName::Hash(key.clone().unwrap())] {
            let old = Entry {
                request_hash: key.clone(),
                recorded_at: Some("2026-11-22T10:00:00.000000Z".into()),
                ..Entry::default()
            };
            let replaced = ReplacedTake::of(&name, 3, &old);
            let pending =
                PendingChange { reason: "drifted".into(), replaces: Some(replaced.clone()) };
            let mut entry = Entry::default();
            pending.mark(&mut entry);
            let packed = log_codec::pack(&name, false, &entry);
            let (_, read) = log_codec::unpack(&packed).unwrap();
            assert_eq!(PendingChange::of(&read), Some(pending));
            assert!(replaced.is(&name, 3, &old));
            assert!(!replaced.is(&name, 2, &old));
            assert!(!replaced.is(&name, 3, &Entry { recorded_at: None, ..old }));
            PendingChange::unmark(&mut entry);
            assert_eq!(entry, Entry::default());
        }
    }

    #[test]
    fn entry_waits_for_nothing_when_it_does_not_say_so_as_it_should() {
        for odd in [
            "1",
            "{}",
            r#"{"reason": 1}"#,
            r#"{"reason": "drifted", "replaces": "plan"}"#,
            r#"{"reason": "drifted", "replaces": {"name": "plan"}}"#,
            r#"{"reason": "drifted", "replaces": {"name": "plan", "take": -1}}"#,
        ] {
            let mut entry = Entry::default();
            entry.extra.insert("pending".into(), serde_json::from_str(odd).unwrap());
            assert_eq!(PendingChange::of(&entry), None, "{odd}");
        }
    }
}
