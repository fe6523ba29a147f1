//! The rules of a script: which of them answers a call, and how often each has.
//!
//! The first rule whose conditions hold answers. Each session counts by itself: `call` counts the
//! calls that meet a rule's other conditions, whichever rule answers them, and `times` those that
//! the rule answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::entry::ScriptEntry;
use super::rule_condition::RuleCondition;
use crate::declared_fault::DeclaredFault;
use loomrec_dialect::interchange::{FixturePace, RequestContent};
use loomrec_identity::typed_field::quoted_text;
use loomrec_provider::Answer;
use loomrec_recording::normalized_request::NormalizedRequest;

/// A rule.
#[derive(Debug)]
pub(super) struct ScriptRule {
    /// Its unique name.
    pub(super) name: Arc<str>,
    /// Which calls it answers.
    pub(super) when: RuleCondition,
    /// Which of these calls it answers.
    pub(super) order: RuleOrder,
    /// How many calls of a session it answers, at most.
    pub(super) times: Option<u64>,
    /// Its answer; `None` if it has a fault alone.
    pub(super) answer: Option<RuleAnswer>,
    /// The faults that it declares.
    pub(super) faults: Option<DeclaredFault>,
}

/// The answer of a rule.
#[derive(Debug)]
pub(super) enum RuleAnswer {
    /// Entries of a script.
    Entries(Vec<ScriptEntry>),
    /// Entries, the model that the answer names, and the pace of its stream.
    Paced { entries: Vec<ScriptEntry>, model: Option<String>, pace: FixturePace },
    /// A vector for each text.
    Vectors(Box<Answer>),
}

/// Which of the calls that meet its conditions a rule answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RuleOrder {
    /// All.
    Any,
    /// Those with these numbers, from 1.
    Calls(Vec<u64>),
    /// The one after `index` others that rules of this group have answered.
    Sequence { group: usize, index: u64 },
}

/// The rules of a script, and how far each session has come with them.
#[derive(Debug, Default)]
pub(super) struct ScriptRules {
    rules: Vec<ScriptRule>,
    progress: Mutex<RulesProgress>,
}

#[derive(Debug, Default)]
struct RulesProgress {
    sessions: BTreeMap<Option<String>, SessionCounts>,
    /// The rules that were chosen for a call of any session.
    chosen: BTreeSet<usize>,
}

/// What one session has counted.
#[derive(Debug, Default)]
struct SessionCounts {
    /// The calls that met each rule's conditions.
    met: BTreeMap<usize, u64>,
    /// The calls that each rule answered.
    answered: BTreeMap<usize, u64>,
    /// The calls that each group answered.
    groups: BTreeMap<usize, u64>,
}

/// The claim of a call to the rule that answers it. The rule has counted the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleClaim {
    /// The index of the rule.
    pub(super) rule: usize,
    name: Arc<str>,
    /// Which of the rule's answers in this session it is, from 1.
    pub(super) nth: u64,
    /// The rules whose conditions the call met.
    met: Arc<[usize]>,
}

/// What is known of the rule that answers a call.
#[derive(Clone, Debug, Default)]
pub enum RuleLookup {
    /// It was not looked for yet.
    #[default]
    Pending,
    /// No rule answers the call.
    Unanswered,
    /// This one does.
    Claimed(RuleClaim),
}

impl RuleClaim {
    /// Returns the name of the rule.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name under which answers and faults of the rule are reported. A rule without a
    /// name of its own, and a fixture, are named by their number: `rule#2`.
    pub fn label(&self) -> String {
        rule_label(&self.name)
    }
}

/// Returns the name under which answers and faults of a rule are reported.
pub(super) fn rule_label(name: &str) -> String {
    match name.split_once('#') {
        Some(("rule" | "fixture", _)) => name.to_owned(),
        _ => format!("rule {name}"),
    }
}

impl ScriptRules {
    pub(super) fn new(rules: Vec<ScriptRule>) -> Self {
        Self { rules, progress: Mutex::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(super) fn get(&self, claim: &RuleClaim) -> Option<&ScriptRule> {
        self.rules.get(claim.rule)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ScriptRule> {
        self.rules.iter()
    }

    /// Returns the names of the rules that were chosen for no call.
    pub(super) fn unused_rule_names(&self) -> Vec<String> {
        self.with_progress(|progress| {
            let is_unused = |index: &usize| !progress.chosen.contains(index);
            let unused = (0..self.rules.len()).filter(is_unused);
            unused.map(|index| self.rules[index].name.to_string()).collect()
        })
    }

    /// Starts the counts over, for one session or for all.
    pub(super) fn reset(&self, session: Option<&str>) {
        self.with_progress(|progress| match session {
            None => progress.sessions.clear(),
            Some(name) => drop(progress.sessions.remove(&Some(name.to_owned()))),
        });
    }

    /// Returns the rule that answers a call, and counts the call.
    pub(super) fn claim_rule(&self, request: &NormalizedRequest) -> RuleLookup {
        if self.rules.is_empty() {
            return RuleLookup::Unanswered;
        }
        let content = RequestContent::read(&request.call, request.body());
        let holds = |index: &usize| self.rules[*index].when.is_met_by(request, content.as_ref());
        let met: Arc<[usize]> = (0..self.rules.len()).filter(holds).collect();
        let turns = content.map_or(0, |content| content.turns as u64);
        self.with_progress(|progress| {
            let counts = progress.sessions.entry(request.session.clone()).or_default();
            met.iter().for_each(|index| *counts.met.entry(*index).or_default() += 1);
            let due: Vec<usize> = met
                .iter()
                .copied()
                .filter(|index| self.rules[*index].is_due(*index, counts))
                .collect();
            let Some(rule) = self.choose_rule(&due, turns) else { return RuleLookup::Unanswered };
            let nth = self.count_answer(rule, progress, request.session.as_deref());
            let name = Arc::clone(&self.rules[rule].name);
            RuleLookup::Claimed(RuleClaim { rule, name, nth, met: Arc::clone(&met) })
        })
    }

    /// Counts an answer of a rule. Returns which of its answers in this session it is.
    fn count_answer(
        &self,
        rule: usize,
        progress: &mut RulesProgress,
        session: Option<&str>,
    ) -> u64 {
        progress.chosen.insert(rule);
        let counts = progress.sessions.entry(session.map(str::to_owned)).or_default();
        if let RuleOrder::Sequence { group, .. } = self.rules[rule].order {
            *counts.groups.entry(group).or_default() += 1;
        }
        let answered = counts.answered.entry(rule).or_default();
        *answered += 1;
        *answered
    }

    /// Gives back what a call has counted, because it was not answered after all. The rules of
    /// fixtures count such calls all the same.
    pub(super) fn release_claim(&self, session: Option<&str>, claim: &RuleClaim) {
        if self.is_fixture(claim) {
            return;
        }
        self.with_progress(|progress| {
            let Some(counts) = progress.sessions.get_mut(&session.map(str::to_owned)) else {
                return;
            };
            claim.met.iter().for_each(|index| decrement_count(&mut counts.met, *index));
            decrement_count(&mut counts.answered, claim.rule);
        });
    }

    /// Undoes [`ScriptRules::release_claim`].
    pub(super) fn consume_claim(&self, session: Option<&str>, claim: &RuleClaim) {
        if self.is_fixture(claim) || claim.rule >= self.rules.len() {
            return;
        }
        self.with_progress(|progress| {
            self.count_answer(claim.rule, progress, session);
            let counts = progress.sessions.entry(session.map(str::to_owned)).or_default();
            claim.met.iter().for_each(|index| *counts.met.entry(*index).or_default() += 1);
        });
    }

    fn is_fixture(&self, claim: &RuleClaim) -> bool {
        self.get(claim).is_some_and(|rule| matches!(rule.when, RuleCondition::Fixture(_)))
    }

    /// Chooses among the rules that may answer a call with so many messages of the model: the
    /// first. Of fixtures with a position in the conversation, that is the one with the last
    /// position that the conversation has reached, before a fixture without one; but a fixture
    /// without one that stands earlier goes before the very position; and the first position to
    /// come only if there is nothing else.
    fn choose_rule(&self, due: &[usize], turns: u64) -> Option<usize> {
        let turn_of = |index: &usize| self.rules[*index].when.preferred_turn();
        let plain = due.iter().copied().find(|index| turn_of(index).is_none());
        let placed = || due.iter().filter_map(|index| Some((turn_of(index)?, *index)));
        let reached = placed().filter(|(turn, _)| *turn <= turns);
        let reached = reached.reduce(|best, next| if next.0 > best.0 { next } else { best });
        match (reached, plain) {
            (Some((turn, index)), Some(plain)) if turn == turns && plain < index => Some(plain),
            (Some((_, index)), _) => Some(index),
            (None, Some(plain)) => Some(plain),
            (None, None) => placed().min_by_key(|(turn, _)| *turn).map(|(_, index)| index),
        }
    }

    /// Describes why no rule answers a call: what was looked at, and the rule that comes nearest.
    pub(super) fn describe_miss(&self, request: &NormalizedRequest) -> String {
        let content = RequestContent::read(&request.call, request.body());
        let content = content.as_ref();
        let mut looked_at = Vec::new();
        if let Some(user) = content.and_then(|content| content.user.as_deref()) {
            looked_at.push(format!("last user message {}", quoted_text(user)));
        }
        if let Some(input) = content.and_then(|content| content.input.as_deref()) {
            looked_at.push(format!("input {}", quoted_text(input)));
        }
        let model = request.call.model.as_deref();
        looked_at.extend(model.map(|model| format!("model {}", quoted_text(model))));
        looked_at.push(format!("provider {}", request.call.provider.name()));
        let failing = |rule: &ScriptRule| match &rule.when {
            RuleCondition::Written(written) => {
                Some(written.unmet_conditions(request, content).collect())
            }
            RuleCondition::Fixture(_) if rule.when.is_met_by(request, content) => Some(Vec::new()),
            RuleCondition::Fixture(_) => None,
        };
        let rules = self.rules.iter();
        let rules = rules.filter_map(|rule| Some((rule, failing(rule)?)));
        let nearest = rules.min_by_key(|(_, failing): &(_, Vec<String>)| failing.len());
        let nearest = match nearest {
            None => String::new(),
            Some((rule, failing)) if failing.is_empty() => {
                format!("; rule {} holds, but not for this call any more, or not yet", rule.name)
            }
            Some((rule, failing)) => {
                format!("; the nearest, rule {}, asks for {}", rule.name, failing.join(" and "))
            }
        };
        format!("{}{nearest}", looked_at.join(", "))
    }

    fn with_progress<T>(&self, work: impl FnOnce(&mut RulesProgress) -> T) -> T {
        work(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ScriptRule {
    /// Whether the rule answers the call that was counted last.
    fn is_due(&self, index: usize, counts: &SessionCounts) -> bool {
        let in_order = match &self.order {
            RuleOrder::Any => true,
            RuleOrder::Calls(numbers) => numbers.contains(&count_of(&counts.met, index)),
            RuleOrder::Sequence { group, index } => count_of(&counts.groups, *group) == *index,
        };
        in_order && self.times.is_none_or(|times| count_of(&counts.answered, index) < times)
    }
}

fn count_of(counts: &BTreeMap<usize, u64>, index: usize) -> u64 {
    counts.get(&index).copied().unwrap_or(0)
}

fn decrement_count(counts: &mut BTreeMap<usize, u64>, index: usize) {
    if let Some(count) = counts.get_mut(&index) {
        *count = count.saturating_sub(1);
    }
}
