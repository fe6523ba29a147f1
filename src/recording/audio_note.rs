//! What a recording holds in place of the audio that a client sends over a WebSocket: the number of its
//! bytes, and a digest.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::entry_field::{EntryError, entry_fields};
use loomrec_identity::digest_text;
use loomrec_identity::typed_field::{FieldError, FieldReader};

/// What is kept of a client's audio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioNote {
    /// How many bytes of audio there are.
    pub bytes: u64,
    /// The SHA-256, in hexadecimal digits, of all audio since the client's last message of another kind,
    /// up to the end of this one.
    pub sha256: String,
}

/// The digest of the audio that a client has sent since its last other message.
#[derive(Clone, Debug, Default)]
pub struct AudioDigest(Sha256);

impl AudioDigest {
    /// Adds audio that follows.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the SHA-256 of all audio so far, in hexadecimal digits.
    pub fn hex_digits(&self) -> String {
        digest_text(&self.0.clone().finalize().into())
    }
}

impl AudioNote {
    /// Returns the note as it is in the file.
    pub fn to_json(&self) -> Value {
        json!({ "bytes": self.bytes, "sha256": self.sha256 })
    }

    /// Reads a note as it is in the file.
    ///
    /// # Errors
    /// A member is missing or wrong.
    pub fn parse(value: &Value) -> Result<Self, EntryError> {
        Self::from_value(value, "").map_err(EntryError)
    }

    /// Reads the note of a message.
    pub(super) fn from_fields(fields: FieldReader<'_>) -> Result<Option<Self>, FieldError> {
        let note = fields
            .value_or_null("audio")
            .map(|value| Self::from_value(value, &fields.field_place("audio")));
        note.transpose()
    }

    fn from_value(value: &Value, place: &str) -> Result<Self, FieldError> {
        let fields = entry_fields(value, place)?;
        let expected = "a number of bytes";
        let bytes = fields.read_whole_number("bytes", 0..=u64::MAX, expected)?;
        let bytes = bytes.ok_or_else(|| fields.wrong_value("bytes", expected))?;
        let is_digest = |text: &String| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            text.len() == 64 && text.bytes().all(is_digit)
        };
        let sha256 = fields.read_text("sha256")?.filter(is_digest);
        let sha256 = sha256.ok_or_else(|| fields.wrong_value("sha256", "64 hexadecimal digits"))?;
        Ok(Self { bytes, sha256 })
    }
}
