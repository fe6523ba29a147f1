//! The proposal: the fewest rules and values that make the requests of two runs equal.

use std::collections::{BTreeMap, BTreeSet};

use super::difference::{NoiseRefusal, UnexplainedDifference};
use super::pair_differences::{NoisePlace, PairDifferences};
use super::request_pair::RequestPair;
use super::rule_choice::{ChosenValue, RuleChoice};
use loomrec_identity::{IdentityRules, NormalizeRule};

/// A rule that is proposed.
#[derive(Clone, Debug)]
pub struct ProposedRule {
    /// The rule.
    pub rule: NormalizeRule,
    /// The number of calls that need it.
    pub calls: usize,
    /// The number of places in them.
    pub places: usize,
    /// What it finds, in a recorded request and in the other one.
    pub example: [String; 2],
}

/// A value of the run that both runs should name.
#[derive(Clone, Debug)]
pub struct ProposedValue {
    /// A name for it.
    pub name: String,
    /// The recorded text and that of the other run.
    pub texts: [String; 2],
    /// The number of calls that need it.
    pub calls: usize,
}

/// What explains the differences between requests of two runs.
#[derive(Clone, Debug, Default)]
pub struct NoiseProposal {
    /// The rules.
    pub rules: Vec<ProposedRule>,
    /// The values.
    pub values: Vec<ProposedValue>,
    /// What stays unexplained.
    pub unexplained: Vec<UnexplainedDifference>,
    /// The number of pairs that the rules and values make equal.
    pub explained: usize,
}

impl NoiseProposal {
    /// Finds what makes these pairs equal, which are different under `rules`. Rules of `known` are
    /// proposed before new ones.
    pub fn from_pairs(
        pairs: &[RequestPair],
        rules: &IdentityRules,
        known: &[NormalizeRule],
    ) -> Self {
        let known: Vec<NormalizeRule> =
            rules.normalize_rules().iter().chain(known).cloned().collect();
        let (mut places, mut refused) = (Vec::new(), Vec::new());
        for (number, pair) in pairs.iter().enumerate() {
            let found = PairDifferences::from_pair(pair, number, rules, &known);
            places.extend(found.places);
            refused.extend(found.unexplained.into_iter().map(|refused| (number, refused)));
        }
        let mut choice = RuleChoice::from_places(&places);
        choice.rules.retain(|chosen| !rules.normalize_rules().contains(&chosen.rule));
        for left in choice.left.drain(..) {
            let NoisePlace { pair, place, texts, .. } = &places[left];
            let texts = texts.clone().map(Some);
            let why = UnexplainedDifference::new(NoiseRefusal::Words, place, texts);
            refused.push((*pair, why));
        }
        let mut search = RuleSearch { pairs, rules, choice, open: Vec::new() };
        search.check_pairs(&mut refused);
        search.minimize(&places);
        search.into_proposal(&places, refused)
    }

    /// Takes back a rule that would merge calls with different answers.
    pub fn refuse_merge(&mut self, rule: usize) {
        let ProposedRule { rule, calls, example, .. } = self.rules.remove(rule);
        let refused =
            UnexplainedDifference::new(NoiseRefusal::Merge, &rule.to_string(), example.map(Some));
        self.explained = self.explained.saturating_sub(calls);
        self.unexplained.push(UnexplainedDifference { calls, ..refused });
    }
}

/// The search for the fewest rules.
struct RuleSearch<'p> {
    pairs: &'p [RequestPair],
    rules: &'p IdentityRules,
    choice: RuleChoice,
    /// The pairs that all rules and values together make equal.
    open: Vec<usize>,
}

impl RuleSearch<'_> {
    /// Returns the first of these pairs that is different under the rules and values that are
    /// chosen.
    fn first_unequal(&self, mut pairs: impl Iterator<Item = usize>) -> Option<usize> {
        let more = self.choice.rules.iter().map(|chosen| chosen.rule.clone());
        let (rules, values) = (self.rules.with_normalize(more), self.chosen_values());
        pairs.find(|at| self.pairs[*at].bind_with(&rules, &values).is_none())
    }

    fn chosen_values(&self) -> Vec<(String, String, String)> {
        let value = |(number, chosen): (usize, &ChosenValue)| {
            (value_name(number), chosen.texts.0.clone(), chosen.texts.1.clone())
        };
        self.choice.values.iter().enumerate().map(value).collect()
    }

    /// Finds the pairs that are equal now. Refuses those that should be and are not.
    fn check_pairs(&mut self, refused: &mut Vec<(usize, UnexplainedDifference)>) {
        let told: BTreeSet<usize> = refused.iter().map(|(pair, _)| *pair).collect();
        for at in (0..self.pairs.len()).filter(|at| !told.contains(at)) {
            if self.first_unequal(std::iter::once(at)).is_none() {
                self.open.push(at);
                continue;
            }
            let why = UnexplainedDifference::new(NoiseRefusal::Numbering, "body", [None, None]);
            refused.push((at, why));
        }
    }

    /// Removes each rule and value without which the pairs are still equal.
    fn minimize(&mut self, places: &[NoisePlace]) {
        let open: BTreeSet<usize> = self.open.iter().copied().collect();
        let first = |numbers: &[usize]| {
            numbers.iter().map(|at| places[*at].pair).find(|pair| open.contains(pair))
        };
        for at in (0..self.choice.rules.len()).rev() {
            let chosen = self.choice.rules.remove(at);
            let pairs = first(&chosen.places).into_iter().chain(self.open.iter().copied());
            if first(&chosen.places).is_none() || self.first_unequal(pairs).is_some() {
                self.choice.rules.insert(at, chosen);
            }
        }
        for at in (0..self.choice.values.len()).rev() {
            let chosen = self.choice.values.remove(at);
            let pairs = first(&chosen.places).into_iter().chain(self.open.iter().copied());
            if first(&chosen.places).is_none() || self.first_unequal(pairs).is_some() {
                self.choice.values.insert(at, chosen);
            }
        }
    }

    fn into_proposal(
        self,
        places: &[NoisePlace],
        refused: Vec<(usize, UnexplainedDifference)>,
    ) -> NoiseProposal {
        let calls = |numbers: &[usize]| {
            numbers.iter().map(|at| places[*at].pair).collect::<BTreeSet<_>>().len()
        };
        let rules = self.choice.rules.into_iter().map(|chosen| ProposedRule {
            calls: calls(&chosen.places),
            places: chosen.places.len(),
            example: chosen.places.first().map(|at| places[*at].texts.clone()).unwrap_or_default(),
            rule: chosen.rule,
        });
        let values = self.choice.values.into_iter().enumerate();
        let values = values.map(|(number, chosen)| ProposedValue {
            name: value_name(number),
            calls: calls(&chosen.places),
            texts: chosen.texts.into(),
        });
        let (rules, values) = (rules.collect(), values.collect());
        let explained = self.open.len();
        NoiseProposal { rules, values, unexplained: count_calls(refused), explained }
    }
}

/// Returns each difference once, with the number of calls that have it.
fn count_calls(refused: Vec<(usize, UnexplainedDifference)>) -> Vec<UnexplainedDifference> {
    let mut all: BTreeMap<UnexplainedDifference, BTreeSet<usize>> = BTreeMap::new();
    for (pair, difference) in refused {
        all.entry(difference).or_default().insert(pair);
    }
    let count = |(difference, pairs): (UnexplainedDifference, BTreeSet<usize>)| {
        UnexplainedDifference { calls: pairs.len(), ..difference }
    };
    all.into_iter().map(count).collect()
}

fn value_name(number: usize) -> String {
    match number {
        0 => "path".to_owned(),
        _ => format!("path{}", number + 1),
    }
}
