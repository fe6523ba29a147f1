//! The rules and values that explain the differences of all pairs.

use std::collections::BTreeMap;

use super::explained_text::Explanation;
use super::pair_differences::NoisePlace;
use loomrec_identity::NormalizeRule;

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
    /// Collects what explains the differences.
    pub(super) fn from_places(places: &[NoisePlace]) -> Self {
        let mut choice = Self::default();
        let mut rules: BTreeMap<&NormalizeRule, Vec<usize>> = BTreeMap::new();
        let mut values: BTreeMap<(&String, &String), Vec<usize>> = BTreeMap::new();
        for (number, place) in places.iter().enumerate() {
            match &place.explanation {
                Explanation::Rule(rule) => rules.entry(rule).or_default().push(number),
                Explanation::Value(old, new) => values.entry((old, new)).or_default().push(number),
            }
        }
        let rules = rules.into_iter();
        choice.rules.extend(rules.map(|(rule, places)| ChosenRule { rule: rule.clone(), places }));
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
