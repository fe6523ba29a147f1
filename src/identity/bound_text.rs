//! The text that a request's key under a binding is made of: the canonical text of its body, with
//! classes in the place of values, and numbers in the place of ids.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use super::canonical::{self, write_string};
use super::json::Json;
use super::json_pointer::JsonPointer;
use super::json_text::JsonStr;
use super::key::keeps_member;
use super::normalize::{IdFinder, NormalizeRule};
use super::place::PlaceToken;
use super::request_parts::RequestParts;
use super::rules::{IdentityRules, ScopedRules};
use super::value_finder::ValueFinder;

/// Begins and ends the number of a class. Canonical text is ASCII, so it has no such byte.
const CLASS: u8 = 0xff;
/// Begins and ends the kind and the number of an id.
const ID: u8 = 0xfe;

/// What is written in another way.
#[derive(Debug)]
pub(super) struct BoundTerms {
    /// Finds the texts of values.
    pub(super) finder: Option<ValueFinder>,
    /// The class of each text.
    pub(super) classes: Vec<u16>,
    /// The rules for what clients make anew, each with its finder.
    pub(super) rules: Vec<(NormalizeRule, Option<IdFinder>)>,
}

/// What was written in another way than in the canonical text.
#[derive(Debug, Default)]
pub(super) struct BoundPieces {
    /// The texts that have a class.
    pub(super) texts: Vec<u16>,
    /// What was renamed: the rule, and the hash of the text.
    pub(super) ids: Vec<(u16, u64)>,
}

/// Appends the text of a body. The members that only choose the delivery are left out, and the
/// results of tools at `tool_results` if there is a rule for them.
pub(super) fn write_bound(
    terms: &BoundTerms,
    parts: &RequestParts<'_>,
    body: &Json<'_>,
    rules: &IdentityRules,
    tool_results: &[JsonPointer],
    out: &mut Vec<u8>,
) -> BoundPieces {
    let by_call = terms.rules.iter().position(|(rule, _)| rule.is_of_tool_results());
    let results = tool_results.iter().filter_map(|place| body.pointer(place)).map(address);
    let mut writer = BoundWriter {
        terms,
        by_call: by_call.map(|rule| (rule, results.collect())),
        pieces: BoundPieces::default(),
        numbers: HashMap::new(),
        last: HashMap::new(),
    };
    let places: Vec<RulePlace> = (0..terms.rules.len())
        .filter(|rule| Some(*rule) != by_call)
        .map(|rule| RulePlace { rule, depth: 0 })
        .collect();
    match body.as_object() {
        Some(members) => {
            let members = members.iter().filter(|(name, _)| keeps_member(parts, name));
            writer.members(members, &rules.ignored(), &places, out);
        }
        None => writer.value(body, &rules.ignored(), &places, out),
    }
    writer.pieces
}

/// Returns where a value is in memory, by which it is found again.
fn address(value: &Json<'_>) -> usize {
    std::ptr::from_ref(value).addr()
}

/// A rule whose place is here, around or below.
#[derive(Clone, Copy)]
struct RulePlace {
    rule: usize,
    /// How many tokens of its place lead here.
    depth: usize,
}

struct BoundWriter<'b> {
    terms: &'b BoundTerms,
    pieces: BoundPieces,
    /// The rule for results of tools, and the addresses of the results.
    by_call: Option<(usize, HashSet<usize>)>,
    /// The numbers of the ids so far, by kind and text.
    numbers: HashMap<(String, String), usize>,
    /// The last number of each kind.
    last: HashMap<String, usize>,
}

/// A piece of a string that is written in another way.
enum BoundPiece {
    Text(u16),
    Id(usize),
}

impl BoundWriter<'_> {
    fn value(
        &mut self,
        value: &Json<'_>,
        ignored: &ScopedRules<'_>,
        places: &[RulePlace],
        out: &mut Vec<u8>,
    ) {
        if let Some((rule, results)) = &self.by_call
            && results.contains(&address(value))
        {
            let rule = *rule;
            return self.write_tool_result(rule, value, out);
        }
        match value {
            Json::String(text) => self.string(*text, places, out),
            Json::Number(digits) => self.number(value, digits, places, out),
            Json::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    match ignored.element(index) {
                        Some(inner) => {
                            let below = self.below(places, &index.to_string());
                            self.value(item, &inner, &below, out);
                        }
                        None => out.extend_from_slice(b"null"),
                    }
                    out.extend_from_slice(b", ");
                }
                out.push(b']');
            }
            Json::Object(members) => self.members(members.iter(), ignored, places, out),
            Json::Null | Json::Bool(_) => canonical::write(value, out),
        }
    }

    fn members<'j>(
        &mut self,
        members: impl Iterator<Item = &'j (JsonStr<'j>, Json<'j>)>,
        ignored: &ScopedRules<'_>,
        places: &[RulePlace],
        out: &mut Vec<u8>,
    ) {
        out.push(b'{');
        for (name, value) in members {
            let Some(inner) = ignored.member(*name) else { continue };
            write_string(*name, out);
            out.extend_from_slice(b": ");
            let below =
                if places.is_empty() { Vec::new() } else { self.below(places, &name.as_str()) };
            self.value(value, &inner, &below, out);
            out.extend_from_slice(b", ");
        }
        out.push(b'}');
    }

    /// Returns the rules for a member or an element.
    fn below(&self, places: &[RulePlace], token: &str) -> Vec<RulePlace> {
        let step = |place: &RulePlace| {
            let tokens = self.terms.rules[place.rule].0.place();
            match tokens.get(place.depth) {
                // A rule holds for everything below its place.
                None => Some(*place),
                Some(PlaceToken::Name(name)) if name != token => None,
                Some(_) => Some(RulePlace { depth: place.depth + 1, ..*place }),
            }
        };
        places.iter().filter_map(step).collect()
    }

    /// Returns the rules that hold here.
    fn here<'p>(&self, places: &'p [RulePlace]) -> impl Iterator<Item = usize> + use<'p, '_> {
        let rules = &self.terms.rules;
        let is_here = |place: &&RulePlace| rules[place.rule].0.place().len() <= place.depth;
        places.iter().filter(is_here).map(|place| place.rule)
    }

    fn string(&mut self, string: JsonStr<'_>, places: &[RulePlace], out: &mut Vec<u8>) {
        let text = string.as_str();
        let mut at = 0;
        for (range, piece) in self.pieces_of(&text, places) {
            write_string(JsonStr::from(&text[at..range.start]), out);
            match piece {
                BoundPiece::Text(number) => self.write_class(number, out),
                BoundPiece::Id(rule) => self.write_id(rule, &text[range.clone()], out),
            }
            at = range.end;
        }
        write_string(JsonStr::from(&text[at..]), out);
    }

    /// Returns the pieces of a string that are written in another way, in order and without
    /// overlap. A value counts before an id.
    fn pieces_of(&self, text: &str, places: &[RulePlace]) -> Vec<(Range<usize>, BoundPiece)> {
        let values = self.terms.finder.as_ref().map(|finder| finder.find(text));
        let values = values.into_iter().flatten();
        let mut pieces: Vec<_> =
            values.map(|found| (found.range, BoundPiece::Text(found.text))).collect();
        for rule in self.here(places) {
            let Some(finder) = &self.terms.rules[rule].1 else { continue };
            for range in finder.find(text) {
                let is_free = |(taken, _): &(Range<usize>, BoundPiece)| {
                    range.end <= taken.start || taken.end <= range.start
                };
                if pieces.iter().all(is_free) {
                    pieces.push((range, BoundPiece::Id(rule)));
                }
            }
        }
        pieces.sort_by_key(|(range, _)| range.start);
        pieces
    }

    fn number(&mut self, value: &Json<'_>, digits: &str, places: &[RulePlace], out: &mut Vec<u8>) {
        let rule = self.here(places).find(|rule| {
            let (rule, finder) = &self.terms.rules[*rule];
            finder.as_ref().is_some_and(|finder| rule.is_number(digits, finder))
        });
        match rule {
            Some(rule) => self.write_id(rule, digits, out),
            None => canonical::write(value, out),
        }
    }

    fn write_class(&mut self, number: u16, out: &mut Vec<u8>) {
        let class = self.terms.classes[usize::from(number)];
        out.push(CLASS);
        out.extend_from_slice(class.to_string().as_bytes());
        out.push(CLASS);
        self.pieces.texts.push(number);
    }

    fn write_id(&mut self, rule: usize, text: &str, out: &mut Vec<u8>) {
        let kind = self.terms.rules[rule].0.kind();
        let last = self.last.entry(kind.to_owned()).or_default();
        let number = *self.numbers.entry((kind.to_owned(), text.to_owned())).or_insert_with(|| {
            *last += 1;
            *last
        });
        out.push(ID);
        out.extend_from_slice(format!("{kind}:{number}").as_bytes());
        out.push(ID);
        self.push_id(rule, text.as_bytes());
    }

    /// Writes that there is the result of a tool, whatever it is.
    fn write_tool_result(&mut self, rule: usize, result: &Json<'_>, out: &mut Vec<u8>) {
        out.push(ID);
        out.extend_from_slice(self.terms.rules[rule].0.kind().as_bytes());
        out.push(ID);
        let mut text = Vec::new();
        canonical::write(result, &mut text);
        self.push_id(rule, &text);
    }

    fn push_id(&mut self, rule: usize, text: &[u8]) {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        self.pieces.ids.push((u16::try_from(rule).unwrap_or(u16::MAX), hasher.finish()));
    }
}
