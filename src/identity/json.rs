//! An exact, borrowed JSON value: numbers keep their digits, strings keep their source, and nothing
//! is merged or guessed.
//!
//! The reader makes it. Objects hold their members sorted by key in code point order, each key
//! once, so that looking up, comparing and writing them canonically needs no further work.

use std::borrow::Cow;

use thiserror::Error;

use super::json_pointer::JsonPointer;
use super::json_text::JsonStr;

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The number as it was written.
    Number(&'a str),
    /// A string.
    String(JsonStr<'a>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object's members, sorted by key, each key once.
    Object(Vec<(JsonStr<'a>, Json<'a>)>),
}

/// A member of an object.
pub type JsonMember<'a> = (JsonStr<'a>, Json<'a>);

impl<'a> Json<'a> {
    /// Returns the object with these members, each key once.
    pub fn from_members(members: impl IntoIterator<Item = JsonMember<'a>>) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        members.sort_by_key(|(name, _)| *name);
        Self::Object(members)
    }

    /// Returns a string of plain text.
    pub fn from_text(text: &'a str) -> Self {
        Self::String(JsonStr::from(text))
    }

    /// The member of an object; `None` if it is absent or this is no object.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.get_str(JsonStr::from(key))
    }

    pub(super) fn get_str(&self, key: JsonStr<'_>) -> Option<&Json<'a>> {
        let members = self.as_object()?;
        let at = members.binary_search_by(|(name, _)| name.cmp(&key)).ok()?;
        members.get(at).map(|(_, value)| value)
    }

    /// Where the value is in memory, by which it is found again as long as nothing moves it.
    pub(super) fn memory_address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The members of an object, sorted by key.
    pub fn as_object(&self) -> Option<&[(JsonStr<'a>, Json<'a>)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a string, with escapes decoded.
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The digits of a number, as they were written.
    pub fn as_number(&self) -> Option<&'a str> {
        match self {
            Self::Number(digits) => Some(digits),
            _ => None,
        }
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The value at a place; `None` if the place does not exist.
    pub fn value_at(&self, pointer: &JsonPointer) -> Option<&Json<'a>> {
        pointer.tokens().iter().try_fold(self, |value, token| match value {
            Self::Object(_) => value.get(token),
            Self::Array(items) => items.get(array_index(token)?),
            _ => None,
        })
    }
}

/// The index that an RFC 6901 token names: digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    let plain = token == "0" || !token.starts_with('0');
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    (plain && digits).then(|| token.parse().ok())?
}

/// Why bytes are not plain JSON. Such a body is hashed by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JsonError {
    /// The bytes are not UTF-8.
    #[error("read JSON: byte {at} is not UTF-8")]
    Utf8 {
        /// The offset in bytes from the start.
        at: usize,
    },
    /// The text does not follow JSON's grammar; a byte-order mark, `NaN` and trailing bytes do not
    /// either.
    #[error("read JSON: unexpected input at byte {at}")]
    Syntax {
        /// The offset in bytes from the start.
        at: usize,
    },
    /// An object holds a key twice. Readers disagree on what that means.
    #[error("read JSON: the object ending at byte {at} holds a key twice")]
    DuplicateKey {
        /// The offset of the end of the object, in bytes from the start.
        at: usize,
    },
    /// A string holds half of a surrogate pair, which is no character.
    #[error("read JSON: the escape at byte {at} is half of a surrogate pair")]
    Surrogate {
        /// The offset in bytes from the start.
        at: usize,
    },
    /// The value is nested deeper than the reader's `MAX_DEPTH`.
    #[error("read JSON: nested too deep at byte {at}")]
    TooDeep {
        /// The offset in bytes from the start.
        at: usize,
    },
    /// An integer has more than the reader's `MAX_DIGITS` digits.
    #[error("read JSON: the integer at byte {at} has too many digits")]
    TooManyDigits {
        /// The offset in bytes from the start.
        at: usize,
    },
    /// There are more than the reader's `MAX_VALUES` values.
    #[error("read JSON: too many values, at byte {at}")]
    TooManyValues {
        /// The offset in bytes from the start.
        at: usize,
    },
}
