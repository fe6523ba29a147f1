//! The text that a request's key under a binding is made of: the canonical text of its body, in
//! which a recorded request has this run's values, and what the rules find is written as its kind.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use super::bound_ids::{CallIdForm, IdNumbers};
use super::bound_pieces::{BoundPieces, FoundText, FoundValue, RequestRun};
use super::bound_rules::{BoundRules, RequestTexts};
use super::canonical::{self, write_string};
use super::frame::FoundHole;
use super::hole::{HoleComparison, HoleKind};
use super::json::Json;
use super::json_pointer::JsonPointer;
use super::json_text::JsonStr;
use super::key::keeps_member;
use super::normalize::NormalizeRule;
use super::place::PlaceToken;
use super::request_parts::RequestParts;
use super::result_order::{ResultOrder, ResultRun, is_of_position};
use super::rule_place::TextRole;
use super::rules::{IdentityRules, ScopedRules};

/// Begins and ends what is written as its kind. Canonical text is ASCII, so it has no such byte.
const MARK: u8 = 0xfe;

/// Appends the text of a body. The members that only choose the delivery are left out, and the
/// results of tools if there is a rule for them.
pub(super) fn write_bound(
    rules: &BoundRules,
    run: RequestRun<'_>,
    parts: &RequestParts<'_>,
    body: &Json<'_>,
    identity: &IdentityRules,
    texts: &RequestTexts,
    out: &mut Vec<u8>,
) -> BoundPieces {
    let by_call = rules.rules.iter().position(|rule| rule.is_of_tool_results());
    let address = |place: &JsonPointer| body.value_at(place).map(Json::memory_address);
    let results = texts.tool_results.iter().filter_map(|result| address(&result.content));
    let roles = texts.roles.iter().filter_map(|(role, place)| Some((address(place)?, *role)));
    let mut writer = BoundWriter {
        rules,
        run,
        by_call: by_call.map(|rule| (rule, results.collect())),
        order: ResultOrder::new(rules, body, texts),
        roles: if rules.has_roles { roles.collect() } else { HashMap::new() },
        pieces: BoundPieces::default(),
        numbers: IdNumbers::default(),
    };
    let placed = (0..rules.rules.len()).filter(|rule| rules.rules[*rule].place_tokens().is_some());
    let places: Vec<_> = placed.map(|rule| PlaceReached { rule, depth: 0 }).collect();
    match body.as_object() {
        Some(members) => {
            let members = members.iter().filter(|(name, _)| keeps_member(parts, name));
            writer.write_members(members, &identity.scoped_rules(), &places, out);
        }
        None => writer.write_value(body, &identity.scoped_rules(), &places, out),
    }
    writer.pieces
}

/// Returns the number of a rule as it is kept with a request.
fn rule_number(rule: usize) -> u16 {
    u16::try_from(rule).unwrap_or(u16::MAX)
}

/// A rule whose place is here or below.
#[derive(Clone, Copy)]
struct PlaceReached {
    rule: usize,
    /// How many tokens of its place lead here.
    depth: usize,
}

struct BoundWriter<'b> {
    rules: &'b BoundRules,
    run: RequestRun<'b>,
    pieces: BoundPieces,
    /// The rule for results of tools, and the addresses of the results.
    by_call: Option<(usize, HashSet<usize>)>,
    /// The results of tools whose order is not compared.
    order: Option<ResultOrder>,
    /// The roles of texts, by their addresses.
    roles: HashMap<usize, TextRole>,
    numbers: IdNumbers,
}

/// A piece of a string that is written in another way.
enum BoundPiece {
    /// This text in its place.
    Text(String),
    /// Its kind: the rule, and the kind.
    Found(usize, HoleKind),
}

impl BoundWriter<'_> {
    fn write_value(
        &mut self,
        value: &Json<'_>,
        ignored: &ScopedRules<'_>,
        places: &[PlaceReached],
        out: &mut Vec<u8>,
    ) {
        if let Some((rule, results)) = &self.by_call
            && results.contains(&value.memory_address())
        {
            return self.write_tool_result(*rule, value, out);
        }
        match value {
            Json::String(text) => {
                let role = self.roles.get(&value.memory_address()).copied();
                self.write_string_value(*text, role, places, out);
            }
            Json::Number(digits) => self.write_number_value(value, digits, places, out),
            Json::Array(items) => self.write_elements(items, ignored, places, out),
            Json::Object(members) => self.write_members(members.iter(), ignored, places, out),
            Json::Null | Json::Bool(_) => canonical::write_value(value, out),
        }
    }

    /// Appends the elements of a list. Results of tools that follow each other are written in the
    /// order of their calls, if there is a rule for that.
    fn write_elements(
        &mut self,
        items: &[Json<'_>],
        ignored: &ScopedRules<'_>,
        places: &[PlaceReached],
        out: &mut Vec<u8>,
    ) {
        let runs = self.order.as_ref().map_or_else(Vec::new, |order| order.find_runs(items));
        let mut runs = runs.iter().peekable();
        let mut order = (0..items.len()).collect::<Vec<_>>();
        out.push(b'[');
        for position in 0..items.len() {
            if let Some(run) = runs.next_if(|run| run.start == position) {
                self.write_order(run, &mut order, out);
            }
            match ignored.for_element(position) {
                Some(inner) => {
                    let below = self.places_below(places, &position.to_string());
                    let pair = [&items[order[position]], &items[position]];
                    self.write_element(pair, &inner, &below, out);
                }
                None => out.extend_from_slice(b"null"),
            }
            out.extend_from_slice(b", ");
        }
        out.push(b']');
    }

    /// Writes that results of tools follow, and sets the order in which they are written.
    fn write_order(&mut self, run: &ResultRun, order: &mut [usize], out: &mut Vec<u8>) {
        let Some(rule) = self.order.as_ref().map(|order| order.rule) else { return };
        let sorted = run.sorted_indices();
        order[run.start..run.start + sorted.len()].copy_from_slice(&sorted);
        self.write_mark((rule, None), NormalizeRule::RESULT_ORDER, &run.order_bytes(), out);
    }

    /// Appends an element. What belongs to its position comes from the element that is `there`.
    fn write_element(
        &mut self,
        [item, there]: [&Json<'_>; 2],
        ignored: &ScopedRules<'_>,
        places: &[PlaceReached],
        out: &mut Vec<u8>,
    ) {
        match (item.as_object(), there.as_object()) {
            (Some(own), Some(other)) if self.is_ordered(item) => {
                self.write_members(
                    own.iter().filter(|it| !is_of_position(it.0)),
                    ignored,
                    places,
                    out,
                );
                self.write_members(
                    other.iter().filter(|it| is_of_position(it.0)),
                    ignored,
                    places,
                    out,
                );
            }
            _ => self.write_value(item, ignored, places, out),
        }
    }

    /// Whether an element is a result of a tool whose order is not compared.
    fn is_ordered(&self, item: &Json<'_>) -> bool {
        self.order.as_ref().is_some_and(|order| order.is_result(item))
    }

    fn write_members<'j>(
        &mut self,
        members: impl Iterator<Item = &'j (JsonStr<'j>, Json<'j>)>,
        ignored: &ScopedRules<'_>,
        places: &[PlaceReached],
        out: &mut Vec<u8>,
    ) {
        out.push(b'{');
        for (name, value) in members {
            let Some(inner) = ignored.for_member(*name) else { continue };
            write_string(*name, out);
            out.extend_from_slice(b": ");
            let below = if places.is_empty() {
                Vec::new()
            } else {
                self.places_below(places, &name.as_str())
            };
            self.write_value(value, &inner, &below, out);
            out.extend_from_slice(b", ");
        }
        out.push(b'}');
    }

    /// Returns the rules for a member or an element.
    fn places_below(&self, places: &[PlaceReached], token: &str) -> Vec<PlaceReached> {
        let step = |place: &PlaceReached| {
            let tokens = self.rules.rules[place.rule].place_tokens().unwrap_or_default();
            match tokens.get(place.depth)? {
                PlaceToken::Name(name) if name != token => None,
                _ => Some(PlaceReached { depth: place.depth + 1, ..*place }),
            }
        };
        places.iter().filter_map(step).collect()
    }

    /// Returns the rules that hold for the string or number here.
    fn rules_here(&self, role: Option<TextRole>, places: &[PlaceReached]) -> Vec<usize> {
        let rules = &self.rules.rules;
        let is_here = |place: &&PlaceReached| {
            rules[place.rule].place_tokens().is_some_and(|tokens| tokens.len() == place.depth)
        };
        let mut here: Vec<usize> = places.iter().filter(is_here).map(|place| place.rule).collect();
        if role.is_some() {
            here.extend((0..rules.len()).filter(|rule| rules[*rule].text_role() == role));
        }
        here
    }

    fn write_string_value(
        &mut self,
        string: JsonStr<'_>,
        role: Option<TextRole>,
        places: &[PlaceReached],
        out: &mut Vec<u8>,
    ) {
        let text = string.as_str();
        let here = self.rules_here(role, places);
        if let Some(rule) = here.iter().copied().find(|rule| self.rules.rules[*rule].is_reference())
        {
            return self.write_reference(rule, string, &text, out);
        }
        let (mut plain, mut at) = (String::new(), 0);
        for (range, piece) in self.pieces_of(&text, &here) {
            plain.push_str(&text[at..range.start]);
            match piece {
                BoundPiece::Text(new) => plain.push_str(&new),
                BoundPiece::Found(rule, kind) => {
                    write_string(JsonStr::from(plain.as_str()), out);
                    plain.clear();
                    self.write_found(rule, &kind, &text[range.clone()], out);
                }
            }
            at = range.end;
        }
        if at == 0 && plain.is_empty() {
            return write_string(string, out);
        }
        plain.push_str(&text[at..]);
        write_string(JsonStr::from(plain.as_str()), out);
    }

    /// Returns the pieces of a string that are written in another way, in order and without
    /// overlap. A hole counts before a path.
    fn pieces_of(&mut self, text: &str, here: &[usize]) -> Vec<(Range<usize>, BoundPiece)> {
        let mut pieces: Vec<(Range<usize>, BoundPiece)> = Vec::new();
        let is_free = |pieces: &[(Range<usize>, BoundPiece)], range: &Range<usize>| {
            pieces.iter().all(|(taken, _)| range.end <= taken.start || taken.end <= range.start)
        };
        for rule in here {
            for (range, piece) in self.find_holes(*rule, text) {
                if is_free(&pieces, &range) {
                    pieces.push((range, piece));
                }
            }
        }
        if let RequestRun::Recorded(binding) = self.run {
            match binding.find_paths(text) {
                Err(_) => self.pieces.is_unclear = true,
                Ok(paths) => {
                    for path in paths {
                        if !is_free(&pieces, &path.range) {
                            continue;
                        }
                        *self.pieces.values.entry(path.name.to_owned()).or_default() += 1;
                        let Some(new) = path.text else { continue };
                        *self.pieces.replaced.entry(path.name.to_owned()).or_default() += 1;
                        pieces.push((path.range, BoundPiece::Text(new.to_owned())));
                    }
                }
            }
        }
        pieces.sort_by_key(|(range, _)| range.start);
        pieces
    }

    /// Returns the holes of a rule in a string.
    fn find_holes(&mut self, rule: usize, text: &str) -> Vec<(Range<usize>, BoundPiece)> {
        let Some(frame) = self.rules.rules[rule].frame() else { return Vec::new() };
        let holes = frame.find_holes(text, &|kind| self.run.values().texts_of(kind));
        let found = |hole: FoundHole<'_>| {
            if let Some(name) = hole.kind.value_name() {
                *self.pieces.values.entry(name.to_owned()).or_default() += 1;
            }
            (hole.range, BoundPiece::Found(rule, hole.kind.clone()))
        };
        holes.into_iter().flatten().map(found).collect()
    }

    fn write_number_value(
        &mut self,
        value: &Json<'_>,
        digits: &str,
        places: &[PlaceReached],
        out: &mut Vec<u8>,
    ) {
        let here = self.rules_here(None, places);
        let rule = here.into_iter().find(|rule| self.rules.rules[*rule].is_number(digits));
        let kind = rule.and_then(|rule| {
            Some((rule, self.rules.rules[rule].frame()?.hole_kinds().next()?.clone()))
        });
        match kind {
            Some((rule, kind)) => self.write_found(rule, &kind, digits, out),
            None => canonical::write_value(value, out),
        }
    }

    /// Writes what a rule found: an id by the number of its first appearance, a measurement or a
    /// value by its kind.
    fn write_found(&mut self, rule: usize, kind: &HoleKind, text: &str, out: &mut Vec<u8>) {
        let name = kind.to_string();
        let number = match kind.comparison() {
            HoleComparison::Id => self.numbers.number_of(&name, text),
            HoleComparison::Measurement | HoleComparison::Value => 0,
        };
        let value = kind.value_name().map(|name| FoundValue {
            name: name.into(),
            forms: self.run.values().forms_of(name, text),
        });
        self.write_mark((rule, value), &format!("{name}:{number}"), text.as_bytes(), out);
    }

    /// Writes a reference to a call: as it is if an answer gave the id, or if it is no id, else by its
    /// form and the number of its first appearance.
    fn write_reference(&mut self, rule: usize, id: JsonStr<'_>, text: &str, out: &mut Vec<u8>) {
        let form = CallIdForm::from_id(text).filter(|_| !self.rules.given.contains(text));
        let Some(form) = form.map(CallIdForm::as_str) else { return write_string(id, out) };
        let number = self.numbers.number_of(form, text);
        self.write_mark((rule, None), &format!("{form}:{number}"), text.as_bytes(), out);
    }

    /// Writes that there is the result of a tool, whatever it is.
    fn write_tool_result(&mut self, rule: usize, result: &Json<'_>, out: &mut Vec<u8>) {
        let mut text = Vec::new();
        canonical::write_value(result, &mut text);
        self.write_mark((rule, None), NormalizeRule::TOOL_RESULT, &text, out);
    }

    /// Writes a name in place of a text that a rule found. `found` is the rule, and the value that
    /// the text is.
    fn write_mark(
        &mut self,
        found: (usize, Option<FoundValue>),
        name: &str,
        text: &[u8],
        out: &mut Vec<u8>,
    ) {
        let (rule, value) = found;
        out.push(MARK);
        out.extend_from_slice(name.as_bytes());
        out.push(MARK);
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        self.pieces.found.push(FoundText { rule: rule_number(rule), hash: hasher.finish(), value });
    }
}
