//! The names in a PromQL expression: series with their labels, and labels to group by.

use std::collections::{BTreeMap, BTreeSet};

/// The names of the exposed series, each with all its sets of labels.
pub(super) type Exposed = BTreeMap<String, Vec<BTreeSet<String>>>;

/// The names in an expression.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Named {
    /// The series, each with the labels it is selected by.
    pub(super) series: Vec<(String, BTreeSet<String>)>,
    /// The labels that results are grouped by.
    pub(super) groups: BTreeSet<String>,
}

/// Words that are neither series nor functions.
const WORDS: [&str; 7] = ["or", "and", "unless", "bool", "offset", "inf", "nan"];

/// Words that precede labels in parentheses.
const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// The labels that Prometheus adds to every series it scrapes.
const ADDED: [&str; 2] = ["job", "instance"];

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// Whether the word before `after` is a function.
fn is_called(after: &str) -> bool {
    let word = after.split(|c| !is_word(c)).next().unwrap_or_default();
    after.starts_with('(') || GROUPING.contains(&word)
}

/// Splits a text after the bracket that it begins with: the content, and the rest.
fn held(text: &str, close: char) -> (&str, &str) {
    let (mut quoted, mut escaped) = (close == '"', false);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            c if c == close && (!quoted || c == '"') => return (&text[1..at], &text[at + 1..]),
            '"' => quoted = !quoted,
            _ => {}
        }
    }
    panic!("{text} does not end");
}

/// The labels of `a="x", b=~"y"`.
pub(super) fn labels(matchers: &str) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    let mut rest = matchers;
    while let Some(quote) = rest.find('"') {
        let name = rest[..quote].trim_start_matches([',', ' ']);
        labels.insert(name.trim_end_matches(['=', '~', '!', ' ']).to_owned());
        rest = held(&rest[quote..], '"').1;
    }
    labels
}

impl Named {
    /// Finds the names in an expression.
    pub(super) fn of(expression: &str) -> Self {
        let mut named = Self::default();
        let mut rest = expression;
        while let Some(first) = rest.chars().next() {
            if first == '"' || first == '[' {
                rest = held(rest, if first == '[' { ']' } else { '"' }).1;
                continue;
            }
            if !is_word(first) {
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let after = after.trim_start();
            rest = after;
            if GROUPING.contains(&word) {
                let (list, behind) = held(after, ')');
                named.groups.extend(list.split(',').map(|label| label.trim().to_owned()));
                rest = behind;
            } else if after.starts_with('{') {
                let (matchers, behind) = held(after, '}');
                named.series.push((word.to_owned(), labels(matchers)));
                rest = behind;
            } else if !first.is_ascii_digit() && !is_called(after) && !WORDS.contains(&word) {
                named.series.push((word.to_owned(), BTreeSet::new()));
            }
        }
        named
    }

    /// The names that are not exposed.
    pub(super) fn missing(&self, exposed: &Exposed) -> Vec<String> {
        let mut missing = Vec::new();
        let mut known: BTreeSet<&str> = ADDED.into();
        for (name, sought) in &self.series {
            let Some(sets) = exposed.get(name) else {
                missing.push(format!("no metric {name}"));
                continue;
            };
            known.extend(sets.iter().flatten().map(String::as_str));
            let there = |label: &String| {
                ADDED.contains(&label.as_str()) || sets.iter().any(|set| set.contains(label))
            };
            let gone = sought.iter().filter(|label| !there(label));
            missing.extend(gone.map(|label| format!("{name} has no label {label}")));
        }
        let groups = self.groups.iter().filter(|label| !known.contains(label.as_str()));
        missing.extend(groups.map(|label| format!("nothing to group by {label}")));
        if self.series.is_empty() {
            missing.push("no metric at all".to_owned());
        }
        missing
    }
}

/// The names and labels of a scrape.
pub(super) fn exposed(text: &str) -> Exposed {
    let mut exposed = Exposed::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap();
        let (name, rest) = line.split_at(end);
        let set = if rest.starts_with('{') { labels(held(rest, '}').0) } else { BTreeSet::new() };
        exposed.entry(name.to_owned()).or_default().push(set);
    }
    exposed
}

fn set(labels: &[&str]) -> BTreeSet<String> {
    labels.iter().map(|label| (*label).to_owned()).collect()
}

#[test]
fn series_labels_and_groups_are_found_in_expressions() {
    let named = Named::of(
        "histogram_quantile(0.95, sum by (le, model) (rate(a_bucket{x=~\"$y\", \
         z!=\"}by(q)\\\"\"}[5m]))) or vector(0) / b * 1e3",
    );
    let series = vec![("a_bucket".to_owned(), set(&["x", "z"])), ("b".to_owned(), set(&[]))];
    assert_eq!(named, Named { series, groups: set(&["le", "model"]) });
}

#[test]
fn what_is_not_exposed_is_told() {
    let exposed = exposed("# TYPE a counter\na{x=\"\\\"} 1\",z=\"\"} 2\nb 1\n");
    let missing = |expression: &str| Named::of(expression).missing(&exposed).join("; ");
    assert_eq!(missing("sum by (job, z) (a{x=\"1\", instance=\"i\"}) / b"), "");
    assert_eq!(missing("sum(c)"), "no metric c");
    assert_eq!(missing("a{y=\"1\"}"), "a has no label y");
    assert_eq!(missing("sum by (x) (b)"), "nothing to group by x");
    assert_eq!(missing("vector(0)"), "no metric at all");
}
