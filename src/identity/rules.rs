//! The rules of identity: which places of a request body are left out of its key.
//!
//! A place is an RFC 6901 pointer into the request body as it was sent, such as `/metadata/run_id`
//! or `/messages/*/id`, in which `*` stands for every member or element. It leaves out that place
//! and what is below it. A member is left out completely, as if it were absent. An element is
//! replaced by `null`, so that its neighbours keep their indices and the array its length.

use std::borrow::Cow;

use super::json_text::JsonStr;
use super::normalize::NormalizeRule;
use super::place::{self, PlacePattern};

/// The top-level members of a body that only choose the mode of delivery.
pub(super) const DELIVERY: [&str; 2] = ["stream", "stream_options"];

/// The rules that keys are made by. A recording stores the rules of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IdentityRules {
    ignore: Vec<PlacePattern>,
    /// Names of further headers that keys include: in lower case, sorted, each once.
    headers: Vec<String>,
    /// Names of headers that keys leave out: in lower case, sorted, each once.
    ignore_headers: Vec<String>,
    /// What clients make anew in each run: sorted, each once. Keys do not follow these rules, only
    /// the comparison with a recorded request that is not exactly the same.
    normalize: Vec<NormalizeRule>,
    /// The patterns of what is redacted before a request is compared or recorded: sorted, each once.
    /// Keys are made of redacted requests.
    redactions: Vec<String>,
}

impl IdentityRules {
    /// Rules that leave out these places, in any order, repeats allowed.
    pub fn new<P: Into<PlacePattern>>(ignore: Vec<P>) -> Self {
        let mut ignore: Vec<PlacePattern> = ignore.into_iter().map(Into::into).collect();
        ignore.sort_unstable();
        ignore.dedup();
        Self { ignore, ..Self::default() }
    }

    /// These rules, with the places of `more` left out too.
    pub fn with_ignored(&self, more: impl IntoIterator<Item = impl Into<PlacePattern>>) -> Self {
        let more = more.into_iter().map(Into::into);
        let all = Self::new(self.ignore.iter().cloned().chain(more).collect());
        Self { ignore: all.ignore, ..self.clone() }
    }

    /// These rules, with keys that also include `headers` and leave out those in `ignored`. Names
    /// are in lower case.
    pub fn with_headers(&self, headers: &[String], ignored: &[String]) -> Self {
        let all = |known: &[String], more: &[String]| {
            let mut all = [known, more].concat();
            all.sort_unstable();
            all.dedup();
            all
        };
        Self {
            ignore: self.ignore.clone(),
            headers: all(&self.headers, headers),
            ignore_headers: all(&self.ignore_headers, ignored),
            normalize: self.normalize.clone(),
            redactions: self.redactions.clone(),
        }
    }

    /// These rules, with further ones for what clients make anew.
    pub fn with_normalize(&self, more: impl IntoIterator<Item = NormalizeRule>) -> Self {
        let mut normalize: Vec<_> = self.normalize.iter().cloned().chain(more).collect();
        normalize.sort_unstable();
        normalize.dedup();
        Self { normalize, ..self.clone() }
    }

    /// These rules, without those for what clients make anew.
    pub fn without_normalize(&self) -> Self {
        Self { normalize: Vec::new(), ..self.clone() }
    }

    /// These rules, with further patterns of what is redacted.
    pub fn with_redactions(&self, more: impl IntoIterator<Item = String>) -> Self {
        let mut redactions: Vec<String> = self.redactions.iter().cloned().chain(more).collect();
        redactions.sort_unstable();
        redactions.dedup();
        Self { redactions, ..self.clone() }
    }

    /// These rules, with those of `other` that change no key of a request: what clients make anew,
    /// and what is redacted.
    pub fn with_keyless_rules_of(&self, other: &Self) -> Self {
        self.with_normalize(other.normalize.iter().cloned())
            .with_redactions(other.redactions.iter().cloned())
    }

    /// Whether keys under these rules are those under the others: for the same redacted request.
    pub fn makes_keys_of(&self, other: &Self) -> bool {
        let of_keys = |rules: &Self| Self { redactions: Vec::new(), ..rules.without_normalize() };
        of_keys(self) == of_keys(other)
    }

    /// The patterns of what is redacted: sorted, each once.
    pub fn redactions(&self) -> &[String] {
        &self.redactions
    }

    /// The rules for what clients make anew.
    pub fn normalize_rules(&self) -> &[NormalizeRule] {
        &self.normalize
    }

    /// Whether the call of a tool is compared instead of its result.
    pub fn compares_tool_calls(&self) -> bool {
        self.normalize.iter().any(NormalizeRule::is_of_tool_results)
    }

    /// The union of these rules and those of `other`.
    pub fn united_with(&self, other: &Self) -> Self {
        self.with_ignored(other.ignore.iter().cloned())
            .with_headers(&other.headers, &other.ignore_headers)
            .with_keyless_rules_of(other)
    }

    /// The further headers that keys include: in lower case, sorted.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// The headers that keys leave out: in lower case, sorted.
    pub fn ignored_headers(&self) -> &[String] {
        &self.ignore_headers
    }

    /// Whether keys include a header because these rules name it.
    pub(super) fn names_header(&self, name: &str) -> bool {
        !self.headers.is_empty() && self.headers.iter().any(|known| known == name)
    }

    /// Whether these rules leave a header out of keys.
    pub(super) fn ignores_header(&self, name: &str) -> bool {
        !self.ignore_headers.is_empty() && self.ignore_headers.iter().any(|known| known == name)
    }

    /// Each rule in words, for people.
    pub fn rule_descriptions(&self) -> Vec<String> {
        let ignored = self.ignore.iter().map(PlacePattern::to_string);
        let without = self.ignore_headers.iter().map(|name| format!("header:{name}"));
        let with = self.headers.iter().map(|name| format!("+header {name}"));
        let renamed = self.normalize.iter().map(|rule| format!("normalize {rule}"));
        let redacted = self.redactions.iter().map(|pattern| format!("redact {pattern}"));
        ignored.chain(without).chain(with).chain(renamed).chain(redacted).collect()
    }

    /// These rules, with the top-level members that only choose the mode of delivery (`stream`,
    /// `stream_options`) left out too. It is for comparing bodies of requests whose form leaves
    /// these out.
    pub fn with_delivery(&self) -> Self {
        self.with_ignored(DELIVERY.map(PlacePattern::from_member))
    }

    /// The places that are left out: sorted, each once.
    pub fn ignored_places(&self) -> &[PlacePattern] {
        &self.ignore
    }

    /// Whether the place at `path` (keys and indices, unescaped) is left out, by a rule for it or
    /// for something around it.
    pub fn is_ignored<T: AsRef<str>>(&self, path: &[T]) -> bool {
        let mut at = self.scoped_rules();
        for token in path {
            match at.for_member(JsonStr::from(token.as_ref())).map(Cow::into_owned) {
                Some(inner) => at = inner,
                None => return true,
            }
        }
        false
    }

    /// The rules for the top of a body.
    pub(super) fn scoped_rules(&self) -> ScopedRules<'_> {
        ScopedRules { rules: &self.ignore, others: Vec::new(), depth: 0 }
    }
}

/// The rules for one place of a body and what is below it.
///
/// They are neighbours in the sorted list and share their first `depth` tokens. A step down is
/// therefore a search in a slice, and a walk over a part of a body without rules costs almost
/// nothing. With a `*` among the tokens, several runs of neighbours can lead to a place.
#[derive(Clone, Debug)]
pub(super) struct ScopedRules<'r> {
    /// The rules; empty only if there are no others.
    rules: &'r [PlacePattern],
    others: Vec<&'r [PlacePattern]>,
    depth: usize,
}

impl<'r> ScopedRules<'r> {
    /// No rules: nothing is left out.
    pub(super) const NOTHING: ScopedRules<'static> =
        ScopedRules { rules: &[], others: Vec::new(), depth: 0 };

    /// Whether nothing at this place or below it is left out.
    pub(super) fn is_nothing(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules for an object's member; `None` if it is left out.
    pub(super) fn for_member(&self, key: JsonStr<'_>) -> Option<Cow<'_, ScopedRules<'r>>> {
        if self.is_nothing() {
            return Some(Cow::Borrowed(self));
        }
        let mut inner = ScopedRules { depth: self.depth + 1, ..ScopedRules::NOTHING };
        for rules in self.pattern_runs() {
            inner.add_run(place::with_any(rules, self.depth))?;
            inner.add_run(place::with_name(rules, self.depth, key))?;
        }
        Some(Cow::Owned(inner))
    }

    /// The rules for an array's element; `None` if it is left out.
    pub(super) fn for_element(&self, index: usize) -> Option<Cow<'_, ScopedRules<'r>>> {
        if self.is_nothing() {
            return Some(Cow::Borrowed(self));
        }
        self.for_member(JsonStr::from(index.to_string().as_str()))
    }

    /// The rules for every element of an array, if they are the same for all of them and leave
    /// something of each.
    pub(super) fn any_element(&self) -> Option<Cow<'_, ScopedRules<'r>>> {
        // Rules with a `*` come first, so the last one has a name if any does.
        let is_any =
            |rules: &[PlacePattern]| place::with_any(rules, self.depth).len() == rules.len();
        if self.pattern_runs().all(is_any) { self.for_element(0) } else { None }
    }

    /// The runs of neighbours that lead to this place.
    fn pattern_runs(&self) -> impl Iterator<Item = &'r [PlacePattern]> {
        std::iter::once(self.rules).chain(self.others.iter().copied())
    }

    /// Adds a run of neighbours; `None` if one of them leaves the place out.
    fn add_run(&mut self, rules: &'r [PlacePattern]) -> Option<()> {
        // A rule that ends here sorts before those that lead further down.
        match rules.first() {
            None => {}
            Some(first) if first.tokens().len() == self.depth => return None,
            Some(_) if self.rules.is_empty() => self.rules = rules,
            Some(_) => self.others.push(rules),
        }
        Some(())
    }
}
