//! Requests of two runs, compared with the values of one run in the place of the other's.
//!
//! A recorded request and a request of this run are the same under a binding if they differ only
//! where the recorded one has a value of its run, and the other has this run's value of the same
//! name, in the same form. Where both have the same text, that is equal, too: a text that only looks
//! like a value stays what it is. Values are looked for in the strings of a JSON body.
//!
//! To look a request up, every text that may be bound is written as its class: the class of a
//! recorded value and of this run's value of that name is the same. [`RunBinding::bind`] then
//! compares the texts one by one. What the rules for ids find is written as its kind and the number
//! of its first appearance.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::bound_text::{BoundPieces, BoundTerms, write_bound};
use super::digest::sha256_hex;
use super::json::Json;
use super::json_pointer::JsonPointer;
use super::key::{RequestKey, canonical_text};
use super::normalize::NormalizeRule;
use super::request_parts::RequestParts;
use super::rules::IdentityRules;
use super::run_value_finder::hides_text;
use super::run_values::{FormEdge, RunValues, ValueForm};
use super::value_finder::ValueFinder;

/// The values of a recorded run, and those of this run.
#[derive(Debug)]
pub struct RunBinding {
    terms: BoundTerms,
    texts: Vec<(String, FormEdge)>,
    /// The names of the values that a recorded text and one of this run stand for.
    pairs: HashMap<(u16, u16), String>,
    /// The first replacer that was made. Most requests of a run hold the same values, and making
    /// one takes longer than using it.
    first: OnceLock<SharedReplacer>,
}

/// A replacer for these pairs of texts.
#[derive(Debug)]
struct SharedReplacer {
    pairs: Vec<(u16, u16)>,
    replacer: Arc<ValueReplacer>,
}

/// A request as it is looked up under a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundRequest {
    /// The key of the request with classes in the place of texts.
    pub key: RequestKey,
    /// The texts that have a class, in the order of the canonical text.
    texts: Box<[u16]>,
    /// What was renamed: the rule, and the hash of the text.
    ids: Box<[(u16, u64)]>,
}

/// What was bound in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundValues {
    /// How often each value was bound, by name.
    pub values: BTreeMap<String, usize>,
    /// How often each kind of id was renamed, and how many results of tools were not compared.
    pub ids: BTreeMap<String, usize>,
    /// The rules that were needed.
    pub rules: BTreeSet<String>,
    /// The recorded texts that are also in the request as they are.
    kept: BTreeSet<u16>,
}

impl fmt::Display for BoundValues {
    /// Writes the names of the values and the kinds of ids, and how often each was bound, as
    /// `cwd=2, day=1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |(name, count): (&String, &usize)| format!("{name}={count}");
        f.write_str(&self.values.iter().chain(&self.ids).map(count).collect::<Vec<_>>().join(", "))
    }
}

impl RunBinding {
    /// Returns the binding of a recorded run to this one, with rules for what clients make anew.
    /// `None` if no value differs, and there are no rules.
    pub fn new(recorded: &RunValues, here: &RunValues, rules: &[NormalizeRule]) -> Option<Self> {
        let mut texts = ValueTexts::default();
        let mut pairs = HashMap::new();
        let own = here.forms();
        for form in recorded.forms() {
            let is_same =
                |other: &&ValueForm| (&other.name, other.number) == (&form.name, form.number);
            let Some(other) = own.iter().find(is_same).filter(|other| other.text != form.text)
            else {
                continue;
            };
            let pair = (texts.number(&form)?, texts.number(other)?);
            texts.join(pair);
            pairs.entry(pair).or_insert(form.name);
        }
        let finder = ValueFinder::new(&texts.texts);
        let rules: Vec<_> = rules.iter().map(|rule| (rule.clone(), rule.finder())).collect();
        let binds = finder.is_some() || !rules.is_empty();
        let ValueTexts { texts, classes } = texts;
        let (terms, first) = (BoundTerms { finder, classes, rules }, OnceLock::new());
        binds.then_some(Self { terms, texts, pairs, first })
    }

    /// Returns a request as it is looked up; `None` if its body is not JSON, or holds no value.
    /// `tool_results` are the places of results of tools whose calls are in the request.
    pub fn request(
        &self,
        parts: &RequestParts<'_>,
        body: &Json<'_>,
        rules: &IdentityRules,
        tool_results: &[JsonPointer],
    ) -> Option<BoundRequest> {
        let without_body = RequestParts { body: b"", ..*parts };
        let mut out = canonical_text(&without_body, rules);
        out.push(b'\n');
        let BoundPieces { texts, ids } =
            write_bound(&self.terms, parts, body, rules, tool_results, &mut out);
        let (texts, ids) = (texts.into_boxed_slice(), ids.into_boxed_slice());
        let key = RequestKey::from_hex(sha256_hex(&out));
        (!texts.is_empty() || !ids.is_empty()).then_some(BoundRequest { key, texts, ids })
    }

    /// Returns the values in a text: where each is, and its class. A recorded text and this run's
    /// text of the same value have the same class.
    pub fn value_classes(&self, text: &str) -> impl Iterator<Item = (Range<usize>, u16)> {
        let BoundTerms { finder, classes, .. } = &self.terms;
        let found = finder.as_ref().map(|finder| finder.find(text)).unwrap_or_default();
        found.into_iter().map(|found| (found.range, classes[usize::from(found.text)]))
    }

    /// Returns what is bound if a recorded request answers one of this run with the same key.
    /// `None` if their texts do not correspond.
    pub fn bind(&self, recorded: &BoundRequest, here: &BoundRequest) -> Option<BoundValues> {
        let is_same = recorded.key == here.key
            && recorded.texts.len() == here.texts.len()
            && recorded.ids.len() == here.ids.len();
        if !is_same {
            return None;
        }
        let mut bound = BoundValues::default();
        for (recorded, here) in recorded.texts.iter().zip(&here.texts) {
            if recorded == here {
                bound.kept.insert(*recorded);
                continue;
            }
            let name = self.pairs.get(&(*recorded, *here))?;
            *bound.values.entry(name.clone()).or_default() += 1;
        }
        for (recorded, here) in recorded.ids.iter().zip(&here.ids) {
            if recorded.1 != here.1 {
                let (rule, _) = self.terms.rules.get(usize::from(here.0))?;
                *bound.ids.entry(rule.kind().to_owned()).or_default() += 1;
                bound.rules.insert(rule.to_string());
            }
        }
        Some(bound)
    }

    /// Returns what puts this run's texts in the place of the recorded ones, for the values that
    /// were bound. Returns `None` if no text is to be replaced.
    pub fn replacer(&self, bound: &BoundValues) -> Option<Arc<ValueReplacer>> {
        let text = |number: u16| &self.texts[usize::from(number)];
        // A word that the request also has as it is may be such a word in the answer.
        let is_word = |number: u16| text(number).1 == FormEdge::Word;
        let is_kept = |number: u16| is_word(number) && bound.kept.contains(&number);
        let pairs = self.pairs.iter().filter(|(_, name)| bound.values.contains_key(*name));
        let pairs = pairs.map(|(pair, _)| *pair).filter(|(recorded, _)| !is_kept(*recorded));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        if let Some(first) = self.first.get().filter(|first| first.pairs == pairs) {
            return Some(Arc::clone(&first.replacer));
        }
        let replacer = Arc::new(self.replacer_of(&pairs)?);
        self.first.get_or_init(|| SharedReplacer { pairs, replacer: Arc::clone(&replacer) });
        Some(replacer)
    }

    /// Returns what puts this run's texts in the place of all recorded ones that are hardly words of
    /// a prompt: paths, dates, and names with a digit or a hyphen. Returns `None` if no text is to be
    /// replaced.
    pub fn plain_replacer(&self) -> Option<ValueReplacer> {
        let is_plain = |number: u16| {
            let (text, edge) = &self.texts[usize::from(number)];
            *edge != FormEdge::Word
                || text.bytes().any(|byte| byte.is_ascii_digit() || byte == b'-')
        };
        let pairs = self.pairs.keys().copied();
        let mut pairs: Vec<_> = pairs.filter(|(recorded, _)| is_plain(*recorded)).collect();
        pairs.sort_unstable();
        self.replacer_of(&pairs)
    }

    fn replacer_of(&self, pairs: &[(u16, u16)]) -> Option<ValueReplacer> {
        let text = |number: u16| &self.texts[usize::from(number)];
        let old: Vec<_> = pairs.iter().map(|(recorded, _)| text(*recorded).clone()).collect();
        let new = pairs.iter().map(|(_, here)| text(*here).0.clone()).collect();
        Some(ValueReplacer { finder: ValueFinder::new(&old)?, new })
    }
}

/// Puts the values of this run in the place of recorded ones.
#[derive(Debug)]
pub struct ValueReplacer {
    finder: ValueFinder,
    /// The new text for each text of the finder.
    new: Vec<String>,
}

impl ValueReplacer {
    /// Whether a text that is replaced may be in a body, as it is or with escapes.
    pub fn may_change(&self, body: &[u8]) -> bool {
        self.finder.is_any_in(body) || hides_text(body)
    }

    /// Whether a text that is replaced is in the bytes, as it is.
    pub fn is_any_in(&self, bytes: &[u8]) -> bool {
        self.finder.is_any_in(bytes)
    }

    /// Returns the places of a text that are replaced, in order, each with its new text.
    pub fn find(&self, text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
        let found = self.finder.find(text).into_iter();
        found.map(|found| (found.range, self.new[usize::from(found.text)].as_str()))
    }
}

/// The texts of a binding while it is made.
#[derive(Default)]
struct ValueTexts {
    texts: Vec<(String, FormEdge)>,
    classes: Vec<u16>,
}

impl ValueTexts {
    /// Returns the number of a form's text; `None` if there are too many.
    fn number(&mut self, form: &ValueForm) -> Option<u16> {
        if let Some(at) = self.texts.iter().position(|(text, _)| *text == form.text) {
            return u16::try_from(at).ok();
        }
        let number = u16::try_from(self.texts.len()).ok()?;
        self.texts.push((form.text.clone(), form.edge));
        self.classes.push(number);
        Some(number)
    }

    /// Gives two texts, and all of their classes, one class.
    fn join(&mut self, (one, other): (u16, u16)) {
        let [one, other] = [one, other].map(|text| self.classes[usize::from(text)]);
        for class in self.classes.iter_mut().filter(|class| **class == other) {
            *class = one;
        }
    }
}

#[cfg(test)]
#[path = "tests/run_binding.rs"]
mod tests;
