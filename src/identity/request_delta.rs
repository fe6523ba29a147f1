//! The differences between two requests, to explain a miss.
//!
//! [`body_deltas`] names the places where two bodies differ. [`body_distance`] measures how much
//! they differ, so that the nearest of a few hundred recorded requests can be found.
//! [`request_deltas`] compares whole requests. None of them decides whether two requests are the
//! same: only their keys do.

use std::ops::ControlFlow;

use super::canonical;
use super::json::Json;
use super::json_pointer;
use super::json_text::JsonStr;
use super::key;
use super::reader;
use super::request_parts::RequestParts;
use super::rules::{IdentityRules, ScopedRules};

/// One place where two requests differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestDelta {
    /// A JSON pointer into the body; `""` is all of it. [`request_deltas`] also uses `method`,
    /// `target`, `query` and `header NAME`, and `body` followed by a pointer into the value of
    /// `body` in the canonical text.
    pub pointer: String,
    /// The recorded value, as canonical text; `None` if there is none.
    pub recorded: Option<String>,
    /// The value of the new request, as canonical text; `None` if there is none.
    pub now: Option<String>,
}

/// Returns the places where two bodies differ, at most `max` of them, leaf by leaf in the order of
/// keys and indices.
///
/// Arrays are compared index by index, unless elements were only inserted or only removed at one
/// place. Then only these elements are named, by their index in the array that has them. What the
/// rules ignore does not differ.
pub fn body_deltas(
    recorded: &Json<'_>,
    now: &Json<'_>,
    rules: &IdentityRules,
    max: usize,
) -> Vec<RequestDelta> {
    let mut found = Vec::new();
    if max == 0 {
        return found;
    }
    let mut visit = |place: &str, recorded: Option<&Json<'_>>, now: Option<&Json<'_>>| {
        found.push(RequestDelta {
            pointer: place.to_owned(),
            recorded: recorded.map(canonical::value_text),
            now: now.map(canonical::value_text),
        });
        if found.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut walk = Walk { path: String::new(), compared: COMPARED, visit: &mut visit };
    let _ended = walk.compare_values(recorded, now, &rules.scoped_rules());
    found
}

/// How much two bodies differ: roughly the number of bytes that would have to change, 0 if none. If
/// two strings share their beginning and their end, only the bytes between count.
pub fn body_distance(recorded: &Json<'_>, now: &Json<'_>, rules: &IdentityRules) -> u64 {
    let (mut sum, mut left) = (0_u64, MEASURED);
    let mut visit = |_: &str, recorded: Option<&Json<'_>>, now: Option<&Json<'_>>| {
        left = left.saturating_sub(1);
        sum += match (recorded, now) {
            (Some(Json::String(a)), Some(Json::String(b))) => {
                LEAF + changed_bytes(*a, *b, &mut left)
            }
            (Some(a), Some(b)) => LEAF + value_size(a, &mut left).max(value_size(b, &mut left)),
            (Some(one), None) | (None, Some(one)) => LEAF + value_size(one, &mut left),
            (None, None) => 0,
        };
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut walk = Walk { path: String::new(), compared: COMPARED, visit: &mut visit };
    let _ended = walk.compare_values(recorded, now, &rules.scoped_rules());
    sum
}

/// Returns the places where two requests differ, at most `max` of them: method, target, query,
/// headers, then the body. Between two chat completions only the body counts.
pub fn request_deltas(
    recorded: &RequestParts<'_>,
    now: &RequestParts<'_>,
    rules: &IdentityRules,
    max: usize,
) -> Vec<RequestDelta> {
    let bodies = (recorded.json_body(), now.json_body());
    if let (Some(old), Some(new)) = &bodies
        && key::is_chat(recorded, old, rules)
        && key::is_chat(now, new, rules)
    {
        return chat_deltas(old, new, rules, max);
    }
    let mut found = text_deltas(&named_texts(recorded, rules), &named_texts(now, rules));
    found.truncate(max);
    let left = max - found.len();
    let both = key::is_delivery_ignored(recorded) && key::is_delivery_ignored(now);
    let rules = if both { rules.with_delivery() } else { rules.clone() };
    match &bodies {
        (Some(recorded), Some(now)) => found.extend(body_deltas(recorded, now, &rules, left)),
        _ => found.extend(opaque_deltas(recorded, now, left)),
    }
    found
}

/// Compares bodies whose keys are made of the chat text. That text has `null` for the named members
/// that are absent, so an absent member equals `null`.
fn chat_deltas(
    recorded: &Json<'_>,
    now: &Json<'_>,
    rules: &IdentityRules,
    max: usize,
) -> Vec<RequestDelta> {
    let named = key::NAMED.len();
    let mut found = body_deltas(recorded, now, &rules.with_delivery(), max.saturating_add(named));
    let null = |value: &Option<String>| value.as_deref().is_none_or(|text| text == "null");
    found.retain(|delta| {
        let name = delta.pointer.strip_prefix('/').unwrap_or_default();
        !(key::NAMED.contains(&name) && null(&delta.recorded) && null(&delta.now))
    });
    found.truncate(max);
    found
}

/// The parts of the tagged form besides the body.
fn named_texts(parts: &RequestParts<'_>, rules: &IdentityRules) -> Vec<(String, String)> {
    let fixed = [
        ("method".to_owned(), parts.method.to_owned()),
        ("target".to_owned(), key::tagged_target(parts).into_owned()),
        ("query".to_owned(), key::query_of(parts)),
    ];
    let headers = key::key_headers(parts, rules).into_iter();
    fixed
        .into_iter()
        .chain(headers.map(|(name, value)| (format!("header {name}"), value)))
        .collect()
}

/// Compares two lists of named texts.
fn text_deltas(recorded: &[(String, String)], now: &[(String, String)]) -> Vec<RequestDelta> {
    let find = |list: &[(String, String)], name: &str| {
        let (_, text) = list.iter().find(|(other, _)| other == name)?;
        Some(canonical::value_text(&Json::String(JsonStr::from(text.as_str()))))
    };
    let added = now.iter().filter(|(name, _)| find(recorded, name).is_none());
    let names = recorded.iter().chain(added).map(|(name, _)| name);
    names
        .map(|name| RequestDelta {
            pointer: name.clone(),
            recorded: find(recorded, name),
            now: find(now, name),
        })
        .filter(|delta| delta.recorded != delta.now)
        .collect()
}

/// Compares bodies of which at least one is not JSON, by the value of `body` in the canonical text.
fn opaque_deltas(
    recorded: &RequestParts<'_>,
    now: &RequestParts<'_>,
    max: usize,
) -> Vec<RequestDelta> {
    let text = |parts: &RequestParts<'_>| {
        let mut out = Vec::new();
        key::write_body(parts, parts.json_body().as_ref(), &IdentityRules::default(), &mut out);
        out
    };
    let (recorded, now) = (text(recorded), text(now));
    let (Ok(recorded), Ok(now)) = (reader::parse(&recorded), reader::parse(&now)) else {
        return Vec::new();
    };
    let mut found = body_deltas(&recorded, &now, &IdentityRules::default(), max);
    for delta in &mut found {
        delta.pointer.insert_str(0, "body");
    }
    found
}

/// How many bytes of array elements are compared to find insertions and removals, before falling
/// back to comparing index by index.
const COMPARED: usize = 16 << 20;

/// How many bytes of differing values a distance measures.
const MEASURED: usize = 4 << 20;

/// The weight of a differing leaf, to which its text is added.
const LEAF: u64 = 8;

type Visit<'v> = &'v mut dyn FnMut(&str, Option<&Json<'_>>, Option<&Json<'_>>) -> ControlFlow<()>;

/// A walk over two values in parallel that visits every differing leaf.
struct Walk<'v> {
    path: String,
    compared: usize,
    visit: Visit<'v>,
}

impl Walk<'_> {
    fn compare_values(
        &mut self,
        a: &Json<'_>,
        b: &Json<'_>,
        ignored: &ScopedRules<'_>,
    ) -> ControlFlow<()> {
        match (a, b) {
            (Json::Object(a), Json::Object(b)) => self.compare_members(a, b, ignored),
            (Json::Array(a), Json::Array(b)) => self.compare_elements(a, b, ignored),
            _ if same_leaf(a, b) => ControlFlow::Continue(()),
            _ => (self.visit)(&self.path, Some(a), Some(b)),
        }
    }

    /// Both sides are sorted by key, so one pass finds all differences.
    fn compare_members<'x, 'y>(
        &mut self,
        mut a: &[(JsonStr<'x>, Json<'x>)],
        mut b: &[(JsonStr<'y>, Json<'y>)],
        ignored: &ScopedRules<'_>,
    ) -> ControlFlow<()> {
        loop {
            let key = match (a.first(), b.first()) {
                (Some((a, _)), Some((b, _))) => *a.min(b),
                (Some((key, _)), None) | (None, Some((key, _))) => *key,
                (None, None) => return ControlFlow::Continue(()),
            };
            let left = take_member(&mut a, key);
            let right = take_member(&mut b, key);
            if let Some(inner) = ignored.for_member(key) {
                self.compare_at(&key.as_str(), left, right, &inner)?;
            }
        }
    }

    fn compare_elements(
        &mut self,
        a: &[Json<'_>],
        b: &[Json<'_>],
        ignored: &ScopedRules<'_>,
    ) -> ControlFlow<()> {
        // Rules may name elements by index. Then elements are not aligned.
        let same_rules = ignored.any_element().filter(|_| a.len() != b.len());
        let moved = same_rules.is_some();
        let (mut start, mut end) = (0, 0);
        if let Some(inner) = same_rules {
            let room = a.len().min(b.len());
            while start < room && self.same_kept(&a[start], &b[start], &inner) {
                start += 1;
            }
            let last = |list: &[Json<'_>], from_end: usize| list.len() - 1 - from_end;
            while end < room - start && self.same_kept(&a[last(a, end)], &b[last(b, end)], &inner) {
                end += 1;
            }
        }
        if moved && start + end == a.len().min(b.len()) {
            // The shorter side consists of the common beginning and the common end.
            for index in start..a.len().max(b.len()) - end {
                let (left, right) = match a.len() < b.len() {
                    true => (None, b.get(index)),
                    false => (a.get(index), None),
                };
                self.compare_at(&index.to_string(), left, right, ignored)?;
            }
            return ControlFlow::Continue(());
        }
        for index in start..a.len().max(b.len()) {
            let (left, right) = (a.get(index), b.get(index));
            match ignored.for_element(index) {
                Some(inner) => self.compare_at(&index.to_string(), left, right, &inner)?,
                // A rule ignores the value of an element, not whether the element exists.
                None if left.is_some() != right.is_some() => {
                    self.compare_at(&index.to_string(), left, right, ignored)?;
                }
                None => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn compare_at(
        &mut self,
        token: &str,
        a: Option<&Json<'_>>,
        b: Option<&Json<'_>>,
        ignored: &ScopedRules<'_>,
    ) -> ControlFlow<()> {
        let length = self.path.len();
        json_pointer::push_token(&mut self.path, token);
        let flow = match (a, b) {
            (Some(a), Some(b)) => self.compare_values(a, b, ignored),
            _ => (self.visit)(&self.path, a, b),
        };
        self.path.truncate(length);
        flow
    }

    /// Whether what the rules leave of two elements is equal; `false` once the work limit is
    /// reached.
    fn same_kept(&mut self, a: &Json<'_>, b: &Json<'_>, ignored: &ScopedRules<'_>) -> bool {
        if ignored.is_nothing() {
            return self.is_equal(a, b);
        }
        let text = |value: &Json<'_>| {
            let mut text = Vec::new();
            canonical::write_kept(value, ignored, &mut text);
            text
        };
        let (a, b) = (text(a), text(b));
        let left = self.compared.checked_sub(a.len().max(b.len()));
        self.compared = left.unwrap_or(0);
        left.is_some() && a == b
    }

    /// Whether two elements are equal; `false` once the work limit is reached.
    fn is_equal(&mut self, a: &Json<'_>, b: &Json<'_>) -> bool {
        let Some(left) = self.compared.checked_sub(1 + leaf_len(a).min(leaf_len(b))) else {
            self.compared = 0;
            return false;
        };
        self.compared = left;
        match (a, b) {
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_equal(a, b))
            }
            (Json::Object(a), Json::Object(b)) => {
                let mut pairs = a.iter().zip(b);
                a.len() == b.len()
                    && pairs.all(|((ka, a), (kb, b))| ka == kb && self.is_equal(a, b))
            }
            _ => same_leaf(a, b),
        }
    }
}

/// Takes the first member of a sorted list if it has this key.
fn take_member<'j, 's>(
    list: &mut &'j [(JsonStr<'s>, Json<'s>)],
    key: JsonStr<'_>,
) -> Option<&'j Json<'s>> {
    let ((name, value), rest) = list.split_first()?;
    if *name != key {
        return None;
    }
    *list = rest;
    Some(value)
}

/// Whether two values, not both arrays and not both objects, are equal.
fn same_leaf(a: &Json<'_>, b: &Json<'_>) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::String(a), Json::String(b)) => a == b,
        (Json::Number(x), Json::Number(y)) => {
            x == y || canonical::value_text(a) == canonical::value_text(b)
        }
        _ => false,
    }
}

/// How many bytes remain of two strings without their common beginning and end.
fn changed_bytes(a: JsonStr<'_>, b: JsonStr<'_>, left: &mut usize) -> u64 {
    let ((a, _), (b, _)) = (a.source(), b.source());
    let (a, b) = (a.as_bytes(), b.as_bytes());
    *left = left.saturating_sub(a.len().min(b.len()));
    let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (a.len().max(b.len()) - suffix) as u64
}

/// Roughly the bytes of a value; stops counting once the work limit is reached.
fn value_size(value: &Json<'_>, left: &mut usize) -> u64 {
    if *left == 0 {
        return 0;
    }
    *left -= 1;
    let inner: u64 = match value {
        Json::Array(items) => items.iter().map(|item| value_size(item, left)).sum(),
        Json::Object(members) => members
            .iter()
            .map(|(key, value)| key.source_len() as u64 + value_size(value, left))
            .sum(),
        _ => 0,
    };
    1 + inner + leaf_len(value) as u64
}

/// The source length of a string or number; 0 for everything else.
fn leaf_len(value: &Json<'_>) -> usize {
    match value {
        Json::String(text) => text.source_len(),
        Json::Number(digits) => digits.len(),
        _ => 0,
    }
}
