//! Places in request bodies that rules name: JSON pointers in which `*` stands for any name.

use std::fmt;

use super::json_pointer::{JsonPointer, PointerError, push_token};
use super::json_text::JsonStr;

/// Places in a request body: an RFC 6901 pointer in which the token `*` stands for every member of
/// an object and every element of an array, such as `/messages/*/id`. The key `*` itself is written
/// `~2`.
///
/// Patterns are ordered by their tokens, so that those below one place are neighbours, those with a
/// `*` before those with a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlacePattern {
    tokens: Vec<PlaceToken>,
}

/// One token of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceToken {
    /// Every key and every index.
    Any,
    /// This key or index, unescaped.
    Name(String),
}

/// The token for any key or index.
const ANY: &str = "*";
/// The spelling of a key that is just this character. `~2` is not an escape of RFC 6901.
const LITERAL: &str = "~2";

impl PlacePattern {
    /// Reads a pattern such as `/messages/*/id`.
    ///
    /// # Errors
    ///
    /// [`PointerError`] if the text is no pointer, or selects all of every body.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if text == "/*" {
            return Err(PointerError::EveryMember);
        }
        let Some(path) = text.strip_prefix('/') else {
            return JsonPointer::parse(text).map(Self::from);
        };
        let token = |token: &str| {
            Ok(match token {
                ANY => PlaceToken::Any,
                LITERAL => PlaceToken::Name(ANY.to_owned()),
                // A single token is a pointer, too.
                _ => match JsonPointer::parse(&format!("/{token}")) {
                    Ok(pointer) => PlaceToken::Name(pointer.tokens().concat()),
                    Err(_) => return Err(PointerError::Tilde { text: text.to_owned() }),
                },
            })
        };
        path.split('/').map(token).collect::<Result<_, _>>().map(|tokens| Self { tokens })
    }

    /// The pattern that matches a member of the body alone.
    pub(super) fn from_member(name: &str) -> Self {
        Self { tokens: vec![PlaceToken::Name(name.to_owned())] }
    }

    /// Its tokens; at least one.
    pub fn tokens(&self) -> &[PlaceToken] {
        &self.tokens
    }

    /// The name at this depth; `None` if there is a `*`.
    fn name_at(&self, depth: usize) -> Option<JsonStr<'_>> {
        match self.tokens.get(depth)? {
            PlaceToken::Name(name) => Some(JsonStr::from(name.as_str())),
            PlaceToken::Any => None,
        }
    }

    /// Whether it is more than a JSON pointer: it has a `*`, or a spelling of that key.
    pub fn is_extended(&self) -> bool {
        self.tokens.iter().any(|token| match token {
            PlaceToken::Any => true,
            PlaceToken::Name(name) => name == ANY,
        })
    }
}

impl From<JsonPointer> for PlacePattern {
    /// The pattern that matches this one place: `*` is a key like any other.
    fn from(pointer: JsonPointer) -> Self {
        Self { tokens: pointer.tokens().iter().cloned().map(PlaceToken::Name).collect() }
    }
}

impl fmt::Display for PlacePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for token in &self.tokens {
            match token {
                PlaceToken::Any => text.push_str("/*"),
                PlaceToken::Name(name) if name == ANY => text.push_str("/~2"),
                PlaceToken::Name(name) => push_token(&mut text, name),
            }
        }
        f.write_str(&text)
    }
}

/// Returns the patterns of a sorted list of neighbours that have a `*` at this depth.
pub(super) fn with_any(patterns: &[PlacePattern], depth: usize) -> &[PlacePattern] {
    let is_any = |pattern: &PlacePattern| pattern.tokens.get(depth) == Some(&PlaceToken::Any);
    // Most rules have none, and those that do come first.
    match patterns.first() {
        Some(first) if is_any(first) => &patterns[..patterns.partition_point(is_any)],
        _ => &[],
    }
}

/// Returns the patterns of a sorted list of neighbours that have this name at this depth.
pub(super) fn with_name<'p>(
    patterns: &'p [PlacePattern],
    depth: usize,
    name: JsonStr<'_>,
) -> &'p [PlacePattern] {
    let start =
        patterns.partition_point(|pattern| pattern.name_at(depth).is_none_or(|other| other < name));
    let below = patterns.get(start..).unwrap_or_default();
    let end = below.partition_point(|pattern| pattern.name_at(depth) == Some(name));
    below.get(..end).unwrap_or_default()
}
