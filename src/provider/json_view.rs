//! JSON as the readers of answers see it: a borrowed tree ([`Json`]) if the bytes are plain JSON,
//! an owned one ([`Value`]) for merged streams and for what the exact reader refuses (such as a key
//! twice).

use std::borrow::Cow;

use serde_json::{Map, Value};

use loomrec_identity::Json;

/// A JSON value.
pub(super) trait JsonView: Sized {
    /// The member of an object.
    fn member(&self, name: &str) -> Option<&Self>;
    /// The elements of an array.
    fn as_list(&self) -> Option<&[Self]>;
    /// The text of a string.
    fn as_text(&self) -> Option<Cow<'_, str>>;
    /// A number, if it is a whole one from 0.
    fn as_whole_number(&self) -> Option<u64>;
    /// A number.
    fn as_float(&self) -> Option<f64>;
    /// Whether it is an object.
    fn is_map(&self) -> bool;
    /// Whether it is an empty object.
    fn is_empty_map(&self) -> bool;
    /// Whether it is `null`.
    fn is_nothing(&self) -> bool;
    /// Whether it is `true`.
    fn is_true(&self) -> bool;
    /// An owned copy of it, with members in the order in which they were written.
    fn to_owned_value(&self) -> Value;
}

impl JsonView for Value {
    fn member(&self, name: &str) -> Option<&Self> {
        self.get(name)
    }

    fn as_list(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }

    fn as_text(&self) -> Option<Cow<'_, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    fn as_whole_number(&self) -> Option<u64> {
        self.as_u64()
    }

    fn as_float(&self) -> Option<f64> {
        self.as_f64()
    }

    fn is_map(&self) -> bool {
        self.is_object()
    }

    fn is_empty_map(&self) -> bool {
        self.as_object().is_some_and(Map::is_empty)
    }

    fn is_nothing(&self) -> bool {
        self.is_null()
    }

    fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    fn to_owned_value(&self) -> Value {
        self.clone()
    }
}

impl JsonView for Json<'_> {
    fn member(&self, name: &str) -> Option<&Self> {
        self.get(name)
    }

    fn as_list(&self) -> Option<&[Self]> {
        self.as_array()
    }

    fn as_text(&self) -> Option<Cow<'_, str>> {
        self.as_str()
    }

    fn as_whole_number(&self) -> Option<u64> {
        self.as_number()?.parse().ok()
    }

    fn as_float(&self) -> Option<f64> {
        self.as_number()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn is_map(&self) -> bool {
        self.is_object()
    }

    fn is_empty_map(&self) -> bool {
        self.as_object().is_some_and(<[_]>::is_empty)
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Self::Null)
    }

    fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    fn to_owned_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            // The reader has accepted it as a number, so it parses.
            Self::Number(digits) => digits.parse().map_or(Value::Null, Value::Number),
            Self::String(text) => Value::String(text.as_str().into_owned()),
            Self::Array(items) => items.iter().map(Self::to_owned_value).collect(),
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(name, _)| name.source_address());
                let pair = |(name, value): &(loomrec_identity::JsonStr<'_>, Self)| {
                    (name.as_str().into_owned(), value.to_owned_value())
                };
                Value::Object(members.into_iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }
}

/// Reads a body with one of two equivalent functions: `borrowed` if the bytes are plain JSON.
pub(super) fn read_json<T>(
    bytes: &[u8],
    borrowed: fn(&Json<'_>) -> Option<T>,
    owned: fn(&Value) -> Option<T>,
) -> Option<T> {
    match loomrec_identity::parse(bytes) {
        Ok(json) => borrowed(&json),
        Err(_) => owned(&serde_json::from_slice(bytes).ok()?),
    }
}

/// The value at the end of a path of names.
pub(super) fn nested_member<'a, D: JsonView>(doc: &'a D, path: &[&str]) -> Option<&'a D> {
    path.iter().try_fold(doc, |doc, name| doc.member(name))
}

/// A token count: a whole number from 0, also as `11.0` or `"11"`, as gateways in Lua and PHP write
/// it. Any other one is `None`.
pub(super) fn token_count<D: JsonView>(object: &D, name: &str) -> Option<u64> {
    count_of(object.member(name)?)
}

/// A token count that is this value.
pub(super) fn count_of<D: JsonView>(value: &D) -> Option<u64> {
    /// Larger whole numbers are not exact as floats.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let as_float = |number: f64| {
        let is_whole = number.fract() == 0.0 && (0.0..=MOST).contains(&number);
        // In range, so nothing is lost.
        is_whole.then_some(number as u64)
    };
    value
        .as_whole_number()
        .or_else(|| value.as_float().and_then(as_float))
        .or_else(|| value.as_text()?.trim().parse().ok())
}

/// Whether a `usage` object has a token count that cannot be read. Then nothing is known of it.
pub(super) fn has_unread_count<D: JsonView>(usage: &D, names: &[&str]) -> bool {
    let is_unread = |value: &D| !value.is_nothing() && count_of(value).is_none();
    names.iter().filter_map(|name| usage.member(name)).any(is_unread)
}

/// A string member.
pub(super) fn member_text<'a, D: JsonView>(object: &'a D, name: &str) -> Option<Cow<'a, str>> {
    object.member(name)?.as_text()
}

/// Whether a member is this string.
pub(super) fn has_word<D: JsonView>(object: &D, name: &str, word: &str) -> bool {
    member_text(object, name).as_deref() == Some(word)
}

/// A string member, or an empty string.
pub(super) fn text_or_empty<'a, D: JsonView>(object: &'a D, name: &str) -> Cow<'a, str> {
    member_text(object, name).unwrap_or_default()
}

/// The elements of an array member, or an empty list.
pub(super) fn items<'a, D: JsonView>(object: &'a D, name: &str) -> &'a [D] {
    object.member(name).and_then(JsonView::as_list).unwrap_or_default()
}

/// The vectors; none at all if one of them is not plain numbers, because a gap would assign the
/// others to the wrong input.
pub(super) fn read_vectors<'a, D: JsonView + 'a>(
    values: impl Iterator<Item = Option<&'a D>>,
) -> Vec<Vec<f64>> {
    let vector = |value: Option<&D>| -> Option<Vec<f64>> {
        value?.as_list()?.iter().map(JsonView::as_float).collect()
    };
    values.map(vector).collect::<Option<Vec<_>>>().unwrap_or_default()
}

#[cfg(test)]
#[path = "json_view_tests.rs"]
mod tests;
