//! The choice of rules: for each difference the explanation that explains most, at the narrowest
//! place that covers all of its differences.

use std::collections::{BTreeMap, BTreeSet};

use super::explanation::{Explanation, rule_at};
use super::pair_differences::NoisePlace;
use loomrec_identity::{JsonPointer, NormalizeRule, pointer_token};

/// From how many members on an object is the place of a rule, instead of each of them.
const SIBLINGS: usize = 3;

/// A rule, and the differences that it explains, by number.
pub(super) struct ChosenRule {
    pub(super) rule: NormalizeRule,
    pub(super) places: Vec<usize>,
}

/// A value of the run, and the differences that it explains, by number.
pub(super) struct ChosenValue {
    pub(super) texts: (String, String),
    pub(super) places: Vec<usize>,
}

/// The choice.
#[derive(Default)]
pub(super) struct RuleChoice {
    pub(super) rules: Vec<ChosenRule>,
    pub(super) values: Vec<ChosenValue>,
    /// The differences that nothing explains after all.
    pub(super) left: Vec<usize>,
}

impl RuleChoice {
    /// Chooses an explanation for each difference.
    pub(super) fn of(places: &[NoisePlace]) -> Self {
        let mut choice = Self::default();
        let mut known: BTreeMap<&NormalizeRule, Vec<usize>> = BTreeMap::new();
        let mut values: BTreeMap<(&String, &String), Vec<usize>> = BTreeMap::new();
        // What is found, at places that differ in the numbers of elements only.
        let mut found: BTreeMap<(&String, String), Vec<usize>> = BTreeMap::new();
        for (number, chosen) in chosen(places).into_iter().enumerate() {
            match chosen {
                Explanation::Known(rule) => known.entry(rule).or_default().push(number),
                Explanation::Value(old, new) => values.entry((old, new)).or_default().push(number),
                Explanation::Finds(finds) => {
                    let place = starred(&places[number].place);
                    found.entry((finds, place)).or_default().push(number);
                }
            }
        }
        let known = known.into_iter();
        choice.rules.extend(known.map(|(rule, places)| ChosenRule { rule: rule.clone(), places }));
        for ((place, finds), numbers) in merged(found, places) {
            match rule_at(&place, finds) {
                Some(rule) => choice.rules.push(ChosenRule { rule, places: numbers }),
                None => choice.left.extend(numbers),
            }
        }
        choice.add_values(values);
        choice
    }

    /// Adds values whose texts always correspond: the same text on one side is the same on the
    /// other.
    fn add_values(&mut self, values: BTreeMap<(&String, &String), Vec<usize>>) {
        let (mut old, mut new): (BTreeMap<_, usize>, BTreeMap<_, usize>) = Default::default();
        for (one, other) in values.keys() {
            *old.entry(*one).or_default() += 1;
            *new.entry(*other).or_default() += 1;
        }
        for ((one, other), places) in values {
            match (old.get(one), new.get(other)) {
                (Some(1), Some(1)) => {
                    self.values.push(ChosenValue { texts: (one.clone(), other.clone()), places });
                }
                _ => self.left.extend(places),
            }
        }
    }
}

/// Returns the explanation of each difference: of several that of most differences.
fn chosen(places: &[NoisePlace]) -> Vec<&Explanation> {
    let mut counts: BTreeMap<(String, &Explanation), usize> = BTreeMap::new();
    for place in places {
        for option in &place.options {
            *counts.entry((starred(&place.place), option)).or_default() += 1;
        }
    }
    let best = |place: &'_ NoisePlace| {
        let at = starred(&place.place);
        let count = |option: &Explanation| counts.get(&(at.clone(), option)).copied();
        let most = place.options.iter().map(count).max().flatten();
        place.options.iter().position(|option| count(option) == most).unwrap_or_default()
    };
    places.iter().map(|place| &place.options[best(place)]).collect()
}

/// Returns a place with a `*` for each number of an element.
fn starred(place: &JsonPointer) -> String {
    let tokens = place.tokens().iter();
    tokens
        .map(|token| if is_index(token) { "/*".to_owned() } else { pointer_token(token) })
        .collect()
}

fn is_index(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the places of rules: with a `*` only where numbers of elements differ, and that of an
/// object if many of its members have the same kind.
fn merged<'f>(
    found: BTreeMap<(&'f String, String), Vec<usize>>,
    places: &[NoisePlace],
) -> BTreeMap<(String, &'f String), Vec<usize>> {
    let mut siblings: BTreeMap<(&String, String), usize> = BTreeMap::new();
    for (finds, place) in found.keys() {
        if let Some(parent) = parent(place) {
            *siblings.entry((finds, parent.to_owned())).or_default() += 1;
        }
    }
    let mut rules: BTreeMap<(String, &String), Vec<usize>> = BTreeMap::new();
    for ((finds, place), numbers) in found {
        let parent = parent(&place).map(str::to_owned);
        let parent = parent.filter(|parent| {
            siblings.get(&(finds, parent.clone())).is_some_and(|count| *count >= SIBLINGS)
        });
        let place = parent.unwrap_or_else(|| narrowest(&numbers, places));
        rules.entry((place, finds)).or_default().extend(numbers);
    }
    rules
}

/// Returns the object that a member without a list on the way is in.
fn parent(place: &str) -> Option<&str> {
    let (parent, _) = place.rsplit_once('/')?;
    (!parent.is_empty() && !place.contains("/*")).then_some(parent)
}

/// Returns the place that covers these differences, which are at the same place but for numbers of
/// elements.
fn narrowest(numbers: &[usize], places: &[NoisePlace]) -> String {
    let all: Vec<&[String]> = numbers.iter().map(|at| places[*at].place.tokens()).collect();
    let first = all.first().copied().unwrap_or_default();
    let token = |(depth, token): (usize, &String)| {
        let tokens: BTreeSet<&String> = all.iter().filter_map(|place| place.get(depth)).collect();
        if tokens.len() > 1 { "/*".to_owned() } else { pointer_token(token) }
    };
    first.iter().enumerate().map(token).collect()
}
