//! The SHA-256 that names an immutable object.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The prefix of a hash where it is shown to people or stored in a reference.
const PREFIX: &str = "sha256:";

/// The SHA-256 of a text, as 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash(String);

/// The error for a text that is no hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is sha256: and 64 lower-case hex digits")]
pub struct ContentHashError;

impl ContentHash {
    /// Returns the hash of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::from_digest(Sha256::new_with_prefix(bytes))
    }

    /// Returns the hash of what a digest has read.
    pub(crate) fn from_digest(digest: Sha256) -> Self {
        Self(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads `sha256:` and the digits.
    ///
    /// # Errors
    /// The text is not of this form.
    pub fn parse(text: &str) -> Result<Self, ContentHashError> {
        let digits = text.strip_prefix(PREFIX).ok_or(ContentHashError)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match digits.len() == 64 && digits.bytes().all(is_digit) {
            true => Ok(Self(digits.to_owned())),
            false => Err(ContentHashError),
        }
    }

    /// Reads the digits in the last part of an object's path.
    pub(crate) fn of_path(path: &object_store::path::Path) -> Option<Self> {
        Self::from_digits(path.filename()?)
    }

    /// Reads the 64 digits.
    pub(crate) fn from_digits(digits: &str) -> Option<Self> {
        Self::parse(&format!("{PREFIX}{digits}")).ok()
    }

    /// Returns the 64 digits.
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.0)
    }
}

impl TryFrom<String> for ContentHash {
    type Error = ContentHashError;

    fn try_from(text: String) -> Result<Self, ContentHashError> {
        Self::parse(&text)
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_read_as_it_is_written() {
        let hash = ContentHash::from_bytes(b"abc");
        assert_eq!(
            hash.to_string(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(ContentHash::parse(&hash.to_string()), Ok(hash.clone()));
        let upper = hash.to_string().to_uppercase();
        for text in ["", "sha256:", "sha256:12", hash.digits(), &upper, "sha256:../../../x"] {
            assert_eq!(ContentHash::parse(text), Err(ContentHashError), "{text}");
        }
    }
}
