//! The name of an entry: a step id, or the hash of its request.

use std::fmt;

use loomrec_identity::RequestKey;

/// The length limit of a step id, in bytes.
const STEP_LIMIT: usize = 256;

/// The name that a group of takes has in a recording.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryName {
    /// A step id that the program chose.
    Step(String),
    /// The request's hash.
    Hash(RequestKey),
}

/// Why a step id cannot be a name in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty.
    #[error("use an empty step id: give it a name")]
    Empty,
    /// It is longer than the limit.
    #[error("use a step id of {length} bytes: it may have at most 256")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// It would be read as a metadata key.
    #[error("use a step id that begins with \"_\": such keys are a recording's own")]
    Reserved,
    /// It would be read as the hash of a request.
    #[error("use a step id that looks like a request's hash: choose another name")]
    LooksLikeHash,
}

impl EntryName {
    /// Returns the name for a step id.
    ///
    /// # Errors
    /// If the file would read the id as something else (it is empty, begins with `_`, is 64 hex
    /// digits, or is such a hash followed by `#…`), or if it has more than 256 bytes.
    pub fn from_step_id(id: &str) -> Result<Self, NameError> {
        let looks_like_hash = id.get(..64).is_some_and(|head| {
            head.bytes().all(|byte| byte.is_ascii_hexdigit())
                && (id.len() == 64 || id[64..].starts_with('#'))
        });
        if id.is_empty() {
            Err(NameError::Empty)
        } else if id.len() > STEP_LIMIT {
            Err(NameError::TooLong { length: id.len() })
        } else if id.starts_with('_') {
            Err(NameError::Reserved)
        } else if looks_like_hash {
            Err(NameError::LooksLikeHash)
        } else {
            Ok(Self::Step(id.to_owned()))
        }
    }

    /// Returns the name and the take number that a top-level key of a file means: `HASH` is take 1
    /// of a hash, `HASH#2` its second take, anything else a step id.
    pub fn of_key(key: &str) -> (Self, usize) {
        if let Some(hash) = RequestKey::parse(key) {
            return (Self::Hash(hash), 1);
        }
        let numbered = key.split_once('#').and_then(|(hash, number)| {
            let take: usize = number.parse().ok()?;
            let canonical = take >= 2 && take.to_string() == number;
            canonical.then_some((Self::Hash(RequestKey::parse(hash)?), take))
        });
        numbered.unwrap_or_else(|| (Self::Step(key.to_owned()), 1))
    }

    /// Returns the label of a take, counted from 1: `NAME`, `NAME#2`, …. For a hash this is also
    /// its key in the file.
    pub fn take_key(&self, take: usize) -> String {
        if take <= 1 { self.to_string() } else { format!("{self}#{take}") }
    }

    /// Whether the name's text is `text`.
    pub fn equals_text(&self, text: &str) -> bool {
        match self {
            Self::Step(id) => id == text,
            Self::Hash(key) => key.as_str() == text,
        }
    }

    /// Returns the step id, or `None` for a hash.
    pub fn step_id(&self) -> Option<&str> {
        match self {
            Self::Step(id) => Some(id),
            Self::Hash(_) => None,
        }
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(id) => f.write_str(id),
            Self::Hash(key) => f.write_str(key.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn step_is_refused_when_it_would_read_as_something_else() {
        let step = EntryName::from_step_id;
        assert_eq!(step(""), Err(NameError::Empty));
        assert_eq!(step("_version"), Err(NameError::Reserved));
        assert_eq!(step(HASH), Err(NameError::LooksLikeHash));
        assert_eq!(step(&HASH.to_uppercase()), Err(NameError::LooksLikeHash));
        assert_eq!(step(&format!("{HASH}#2")), Err(NameError::LooksLikeHash));
        assert_eq!(step(&"x".repeat(257)), Err(NameError::TooLong { length: 257 }));
        assert!(step(&"é".repeat(128)).is_ok());
        assert!(step(&HASH[1..]).is_ok());
        assert!(step("plan#2").is_ok());
    }

    #[test]
    fn key_is_read_as_the_take_of_a_hash_only_in_its_canonical_form() {
        let hash = EntryName::Hash(RequestKey::parse(HASH).unwrap());
        assert_eq!(EntryName::of_key(HASH), (hash.clone(), 1));
        assert_eq!(EntryName::of_key(&format!("{HASH}#12")), (hash.clone(), 12));
        assert_eq!(hash.take_key(12), format!("{HASH}#12"));
        for odd in ["#1", "#02", "#", "#x", "#+2", "#99999999999999999999999"] {
            let key = format!("{HASH}{odd}");
            assert_eq!(EntryName::of_key(&key), (EntryName::Step(key.clone()), 1));
        }
        assert_eq!(EntryName::of_key("plan#2"), (EntryName::Step("plan#2".into()), 1));
    }
}
