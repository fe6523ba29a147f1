//! Changes that wait for their review.
//!
//! `FILE.pending` holds requests that a replay could not answer. `FILE.new` holds answers that were
//! fetched again. Both are recordings, so every command can read them. Their `_loomrec.pending`
//! says which of the two they are (see [`PendingKind`]), and each entry has a `pending` member:
//!
//! ```json
//! { "reason": "drifted", "replaces": { "name": "plan", "take": 2, "request_hash": "…", "recorded_at": "…" } }
//! ```

use serde_json::{Map, Value};

use super::entry::Entry;
use super::entry_name::EntryName;
use loomrec_identity::{RequestKey, sha256_text};

/// The member of an entry that holds the change.
const MEMBER: &str = "pending";

/// What a recording's entries wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingKind {
    /// For answers: the entries are requests only.
    Answers,
    /// For their review: the entries have answers.
    Review,
}

impl PendingKind {
    /// Returns its name in `_loomrec.pending`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Review => "review",
        }
    }

    /// Returns the kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Answers, Self::Review].into_iter().find(|waiting| waiting.name() == name)
    }
}

/// A change that waits for its review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingChange {
    /// Why it was fetched: `drifted`, `unknown`, `rerecorded` and the like.
    pub reason: String,
    /// The take that it will replace; `None` if it is a new one.
    pub replaces: Option<ReplacedTake>,
}

/// A take that is to be replaced, and the data that identifies it.
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
    /// The SHA-256 of its text, to know it from the same take after an edit. Versions before this
    /// one wrote none.
    pub digest: Option<String>,
}

impl ReplacedTake {
    /// Returns the identity of a take as it is now.
    pub fn from_entry(name: &EntryName, take: usize, entry: &Entry) -> Self {
        let (request_hash, recorded_at) = (entry.request_hash.clone(), entry.recorded_at.clone());
        let digest = Some(sha256_text(&entry.to_text()));
        Self { name: name.clone(), take, request_hash, recorded_at, digest }
    }

    /// Whether this take is still the one that was to be replaced. Its entry may have been edited.
    pub fn is_same_take(&self, name: &EntryName, take: usize, entry: &Entry) -> bool {
        let digest = self.digest.clone();
        *self == Self { digest, ..Self::from_entry(name, take, entry) }
    }

    /// Whether the entry of the take, as it is `now`, was edited, as far as that is known.
    pub fn is_edited(&self, now: &Self) -> bool {
        self.digest.as_ref().zip(now.digest.as_ref()).is_some_and(|(then, now)| then != now)
    }
}

impl PendingChange {
    /// Reads the change from an entry; `None` if the entry waits for nothing, or its member is
    /// malformed.
    pub fn from_entry(entry: &Entry) -> Option<Self> {
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
                let digest = text(replaces, "digest");
                Some(ReplacedTake { name, take, request_hash, recorded_at, digest })
            }
        };
        Some(Self { reason: text(said, "reason")?, replaces })
    }

    /// Writes the change into an entry.
    pub fn add_to(&self, entry: &mut Entry) {
        let mut said = Map::new();
        said.insert("reason".to_owned(), self.reason.clone().into());
        if let Some(replaced) = &self.replaces {
            let mut replaces = Map::new();
            replaces.insert("name".to_owned(), replaced.name.to_string().into());
            replaces.insert("take".to_owned(), replaced.take.into());
            let hash = replaced.request_hash.as_ref().map(|hash| hash.as_str().to_owned());
            let members = [
                ("request_hash", hash),
                ("recorded_at", replaced.recorded_at.clone()),
                ("digest", replaced.digest.clone()),
            ];
            for (name, value) in members {
                if let Some(value) = value {
                    replaces.insert(name.to_owned(), value.into());
                }
            }
            said.insert("replaces".to_owned(), Value::Object(replaces));
        }
        entry.extra.insert(MEMBER.to_owned(), Value::Object(said));
    }

    /// Removes the change from an entry, so that it can go into a recording.
    pub fn remove_from(entry: &mut Entry) {
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
        for name in
            [EntryName::from_step_id("plan#2").unwrap(), EntryName::Hash(key.clone().unwrap())]
        {
            let old = Entry {
                request_hash: key.clone(),
                recorded_at: Some("2026-11-22T10:00:00.000000Z".into()),
                ..Entry::default()
            };
            let replaced = ReplacedTake::from_entry(&name, 3, &old);
            let pending =
                PendingChange { reason: "drifted".into(), replaces: Some(replaced.clone()) };
            let mut entry = Entry::default();
            pending.add_to(&mut entry);
            let packed = log_codec::pack_entry(&name, false, &entry);
            let (_, read) = log_codec::unpack_entry(&packed).unwrap();
            assert_eq!(PendingChange::from_entry(&read), Some(pending));
            assert!(replaced.is_same_take(&name, 3, &old));
            assert!(!replaced.is_same_take(&name, 2, &old));
            let edited = Entry { content: Some("edited".into()), ..old.clone() };
            assert!(replaced.is_same_take(&name, 3, &edited));
            let (same, edited) =
                [&old, &edited].map(|it| ReplacedTake::from_entry(&name, 3, it)).into();
            assert!(replaced.is_edited(&edited) && !replaced.is_edited(&same));
            assert!(!ReplacedTake { digest: None, ..same }.is_edited(&edited));
            assert!(!replaced.is_same_take(&name, 3, &Entry { recorded_at: None, ..old }));
            PendingChange::remove_from(&mut entry);
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
            assert_eq!(PendingChange::from_entry(&entry), None, "{odd}");
        }
    }
}
