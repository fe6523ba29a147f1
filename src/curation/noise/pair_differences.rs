//! The differences of a pair of requests: those that may be explained, and the others.

use super::aligned_text::AlignedText;
use super::difference::{NoiseRefusal, UnexplainedDifference};
use super::explanation::{Explainer, Explanation, around};
use super::request_pair::RequestPair;
use loomrec_identity::{IdentityRules, JsonPointer, RequestDelta, RunBinding};

/// A difference that may be explained.
#[derive(Debug, PartialEq)]
pub(super) struct NoisePlace {
    /// The number of the pair.
    pub(super) pair: usize,
    pub(super) place: JsonPointer,
    /// What may explain it; at least one.
    pub(super) options: Vec<Explanation>,
    /// What differs, on both sides.
    pub(super) texts: [String; 2],
}

/// The differences of a pair.
#[derive(Debug, Default)]
pub(super) struct PairDifferences {
    pub(super) places: Vec<NoisePlace>,
    pub(super) unexplained: Vec<UnexplainedDifference>,
}

impl PairDifferences {
    /// Compares the requests of a pair.
    pub(super) fn of(
        pair: &RequestPair,
        number: usize,
        rules: &IdentityRules,
        explainer: &Explainer<'_>,
    ) -> Self {
        let mut found = Self::default();
        let binding = pair.binding(&[], &[]);
        let deltas = pair.deltas(rules);
        let counts: Vec<&str> = deltas.iter().filter_map(list_of_element).collect();
        for delta in &deltas {
            let is_within = |list: &&&str| delta.pointer.starts_with(&format!("{list}/"));
            match counts.iter().find(is_within) {
                Some(list) => found.refuse(NoiseRefusal::Count, list, [None, None]),
                None => found.add(number, delta, explainer, binding.as_ref()),
            }
        }
        found
    }

    fn refuse(&mut self, reason: NoiseRefusal, place: &str, texts: [Option<String>; 2]) {
        let refused = UnexplainedDifference::new(reason, place, texts);
        if !self.unexplained.contains(&refused) {
            self.unexplained.push(refused);
        }
    }

    fn add(
        &mut self,
        pair: usize,
        delta: &RequestDelta,
        explainer: &Explainer<'_>,
        binding: Option<&RunBinding>,
    ) {
        let shown = excerpts(delta);
        let Ok(place) = JsonPointer::parse(&delta.pointer) else {
            return self.refuse(NoiseRefusal::Head, &delta.pointer, shown);
        };
        let (Some(recorded), Some(now)) = (&delta.recorded, &delta.now) else {
            return self.refuse(NoiseRefusal::Structure, &delta.pointer, shown);
        };
        match (string(recorded), string(now)) {
            // The model decides the answer.
            _ if delta.pointer == "/model" => self.refuse(NoiseRefusal::Words, "/model", shown),
            (Some(old), Some(new)) => {
                let text = AlignedText::new(&old, &new, binding);
                for (span, explained) in explainer.explain(&place, &text) {
                    if explained.options.is_empty() {
                        let is_word = has_word(&old[span.old]) || has_word(&new[span.new]);
                        let reason =
                            if is_word { NoiseRefusal::Words } else { NoiseRefusal::Value };
                        self.refuse(reason, &delta.pointer, explained.texts.map(Some));
                        continue;
                    }
                    let (place, options) = (place.clone(), explained.options);
                    let found = NoisePlace { pair, place, options, texts: explained.texts };
                    // One id may differ in several parts.
                    if self.places.last() != Some(&found) {
                        self.places.push(found);
                    }
                }
            }
            (None, None) if is_number(recorded) && is_number(now) => {
                let name = place.tokens().last().map_or("", String::as_str);
                let options = explainer.explain_number(name, recorded, now);
                if options.is_empty() {
                    return self.refuse(NoiseRefusal::Value, &delta.pointer, shown);
                }
                let texts = [recorded.clone(), now.clone()];
                self.places.push(NoisePlace { pair, place, options, texts });
            }
            (None, None) if is_plain(recorded) && is_plain(now) => {
                self.refuse(NoiseRefusal::Value, &delta.pointer, shown);
            }
            _ => self.refuse(NoiseRefusal::Structure, &delta.pointer, shown),
        }
    }
}

/// Returns both values, cut to where they begin to differ. They are canonical text, which is ASCII.
fn excerpts(delta: &RequestDelta) -> [Option<String>; 2] {
    let (recorded, now) = (delta.recorded.as_deref(), delta.now.as_deref());
    let pair = recorded.unwrap_or_default().bytes().zip(now.unwrap_or_default().bytes());
    let at = pair.take_while(|(one, other)| one == other).count();
    let shown = |text: &str| {
        if text.is_char_boundary(at) { around(text, &(at..at)) } else { text.to_owned() }
    };
    [recorded.map(shown), now.map(shown)]
}

/// Whether rules of known kinds explain all of these differences, which are not those of values.
pub fn are_of_known_kinds(deltas: &[RequestDelta]) -> bool {
    let is_in_both = |delta: &RequestDelta| delta.recorded.is_some() && delta.now.is_some();
    if deltas.is_empty() || !deltas.iter().all(is_in_both) {
        return false;
    }
    let explainer = Explainer::new(&[], &[]);
    let is_kind = |place: &NoisePlace| matches!(place.options[..], [Explanation::Finds(_), ..]);
    deltas.iter().all(|delta| {
        let mut found = PairDifferences::default();
        found.add(0, delta, &explainer, None);
        found.unexplained.is_empty() && found.places.iter().all(is_kind)
    })
}

/// Returns the place of the list that only one request has this element of.
fn list_of_element(delta: &RequestDelta) -> Option<&str> {
    let (list, element) = delta.pointer.rsplit_once('/')?;
    let is_one_sided = delta.recorded.is_none() != delta.now.is_none();
    let is_index = !element.is_empty() && element.bytes().all(|byte| byte.is_ascii_digit());
    (is_one_sided && is_index).then_some(list)
}

fn string(canonical: &str) -> Option<String> {
    serde_json::from_str(canonical).ok()
}

fn is_number(canonical: &str) -> bool {
    canonical.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Whether a value is a number, a bool or null.
fn is_plain(canonical: &str) -> bool {
    is_number(canonical) || matches!(canonical, "true" | "false" | "null")
}

fn has_word(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}
