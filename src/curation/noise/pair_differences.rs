//! The differences of a pair of requests: those that may be explained, and the others.

use std::collections::HashMap;

use super::aligned_text::{AlignedText, TwoRuns};
use super::difference::{NoiseRefusal, UnexplainedDifference, text_around};
use super::explained_text::{ExplainedText, Explanation};
use super::hole_search::{MOST_SPANS, kind_of};
use super::request_pair::RequestPair;
use loomrec_identity::{
    HoleKind, IdentityRules, JsonPointer, NormalizeRule, RequestDelta, RulePlace, TextRole,
    pointer_token,
};

/// A difference that may be explained.
#[derive(Debug, PartialEq)]
pub(super) struct NoisePlace {
    /// The number of the pair.
    pub(super) pair: usize,
    pub(super) place: String,
    /// What explains it.
    pub(super) explanation: Explanation,
    /// What differs, on both sides.
    pub(super) texts: [String; 2],
}

/// The differences of a pair.
#[derive(Debug, Default)]
pub(super) struct PairDifferences {
    pub(super) places: Vec<NoisePlace>,
    pub(super) unexplained: Vec<UnexplainedDifference>,
}

/// What is known of a pair.
struct PairView<'p> {
    number: usize,
    runs: TwoRuns,
    roles: HashMap<String, TextRole>,
    /// Those of the client, which hold already.
    client_rules: &'static [NormalizeRule],
    rules: &'p [NormalizeRule],
}

impl PairDifferences {
    /// Compares the requests of a pair. `known` are rules that may hold beside those in force.
    pub(super) fn from_pair(
        pair: &RequestPair,
        number: usize,
        rules: &IdentityRules,
        known: &[NormalizeRule],
    ) -> Self {
        let mut found = Self::default();
        let (runs, roles, client_rules) =
            (pair.runs_with_values(&[]), pair.text_roles(), pair.client_rules());
        let view = PairView { number, runs, roles, client_rules, rules: known };
        let deltas = pair.deltas(rules);
        let counts: Vec<&str> = deltas.iter().filter_map(list_of_element).collect();
        for delta in &deltas {
            let is_within = |list: &&&str| delta.pointer.starts_with(&format!("{list}/"));
            match counts.iter().find(is_within) {
                Some(list) => found.add_unexplained(NoiseRefusal::Count, list, [None, None]),
                None => found.add_delta(delta, &view),
            }
        }
        found
    }

    fn add_unexplained(&mut self, reason: NoiseRefusal, place: &str, texts: [Option<String>; 2]) {
        let refused = UnexplainedDifference::new(reason, place, texts);
        if !self.unexplained.contains(&refused) {
            self.unexplained.push(refused);
        }
    }

    fn add_delta(&mut self, delta: &RequestDelta, view: &PairView<'_>) {
        let shown = value_excerpts(delta);
        let Ok(place) = JsonPointer::parse(&delta.pointer) else {
            return self.add_unexplained(NoiseRefusal::Head, &delta.pointer, shown);
        };
        let (Some(recorded), Some(now)) = (&delta.recorded, &delta.now) else {
            return self.add_unexplained(NoiseRefusal::Structure, &delta.pointer, shown);
        };
        match (parse_string(recorded), parse_string(now)) {
            // The model decides the answer.
            _ if delta.pointer == "/model" => {
                self.add_unexplained(NoiseRefusal::Words, "/model", shown)
            }
            (Some(old), Some(new)) => self.add_text(&place, &old, &new, view),
            (None, None) if is_number(recorded) && is_number(now) => {
                let at = starred_place(&place);
                let rule = NormalizeRule::parse(&format!("{at}: epoch")).ok();
                let is_epoch = |text: &str| HoleKind::Epoch.is_text(text);
                match rule.filter(|_| is_epoch(recorded) && is_epoch(now)) {
                    Some(rule) => self.places.push(NoisePlace {
                        pair: view.number,
                        place: at,
                        explanation: Explanation::Rule(rule),
                        texts: [recorded.clone(), now.clone()],
                    }),
                    None => self.add_unexplained(NoiseRefusal::Value, &delta.pointer, shown),
                }
            }
            (None, None) if is_plain(recorded) && is_plain(now) => {
                self.add_unexplained(NoiseRefusal::Value, &delta.pointer, shown);
            }
            _ => self.add_unexplained(NoiseRefusal::Structure, &delta.pointer, shown),
        }
    }

    fn add_text(&mut self, place: &JsonPointer, old: &str, new: &str, view: &PairView<'_>) {
        let role = view.roles.get(&place.to_string()).copied();
        let at =
            role.map_or_else(|| starred_place(place), |role| RulePlace::Texts(role).to_string());
        let holds = |rule: &&NormalizeRule| match rule.text_role() {
            Some(of_rule) => role == Some(of_rule),
            None => rule.is_at(place),
        };
        let rules = view.client_rules.iter().chain(view.rules).filter(holds);
        let rules: Vec<&NormalizeRule> = rules.collect();
        let text = AlignedText::new(old, new, Some(&view.runs));
        let ExplainedText { explained, refused } =
            ExplainedText::from_aligned_text(&at, &text, &rules, view.runs.binding());
        let is_of_client = |explanation: &Explanation| match explanation {
            Explanation::Rule(rule) => view.client_rules.contains(rule),
            Explanation::Value(..) => false,
        };
        let explained = explained.into_iter();
        for (explanation, texts) in explained.filter(|(found, _)| !is_of_client(found)) {
            let found = NoisePlace { pair: view.number, place: at.clone(), explanation, texts };
            if self.places.last() != Some(&found) {
                self.places.push(found);
            }
        }
        for (reason, texts) in refused {
            self.add_unexplained(reason, &place.to_string(), texts.map(Some));
        }
    }
}

/// Returns a place with a `*` for each number of an element.
fn starred_place(place: &JsonPointer) -> String {
    let is_index =
        |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    let tokens = place.tokens().iter();
    tokens
        .map(|token| if is_index(token) { "/*".to_owned() } else { pointer_token(token) })
        .collect()
}

/// Returns both values, cut to where they begin to differ. They are canonical text, which is ASCII.
fn value_excerpts(delta: &RequestDelta) -> [Option<String>; 2] {
    let (recorded, now) = (delta.recorded.as_deref(), delta.now.as_deref());
    let pair = recorded.unwrap_or_default().bytes().zip(now.unwrap_or_default().bytes());
    let at = pair.take_while(|(one, other)| one == other).count();
    let shown = |text: &str| {
        if text.is_char_boundary(at) { text_around(text, &(at..at)) } else { text.to_owned() }
    };
    [recorded.map(shown), now.map(shown)]
}

/// Whether all of these differences, which are not those of paths, are of known kinds, so that rules
/// may explain them.
pub fn are_of_known_kinds(deltas: &[RequestDelta]) -> bool {
    let is_kind = |delta: &RequestDelta| {
        let (Some(recorded), Some(now)) = (&delta.recorded, &delta.now) else { return false };
        match (parse_string(recorded), parse_string(now)) {
            (Some(old), Some(new)) if delta.pointer != "/model" => {
                let text = AlignedText::new(&old, &new, None);
                text.differing_spans().take(MOST_SPANS).all(|span| kind_of(&text, &span).is_some())
            }
            _ => [recorded, now].iter().all(|text| HoleKind::Epoch.is_text(text)),
        }
    };
    !deltas.is_empty() && deltas.iter().all(is_kind)
}

/// Returns the place of the list that only one request has this element of.
fn list_of_element(delta: &RequestDelta) -> Option<&str> {
    let (list, element) = delta.pointer.rsplit_once('/')?;
    let is_one_sided = delta.recorded.is_none() != delta.now.is_none();
    let is_index = !element.is_empty() && element.bytes().all(|byte| byte.is_ascii_digit());
    (is_one_sided && is_index).then_some(list)
}

fn parse_string(canonical: &str) -> Option<String> {
    serde_json::from_str(canonical).ok()
}

fn is_number(canonical: &str) -> bool {
    canonical.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Whether a value is a number, a bool or null.
fn is_plain(canonical: &str) -> bool {
    is_number(canonical) || matches!(canonical, "true" | "false" | "null")
}
