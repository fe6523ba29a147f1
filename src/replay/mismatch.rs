//! The mismatch: why a request has no recorded answer, as data.
//!
//! Each renderer (the response body, stderr, the control endpoint) makes its own
//! text of a [`RecordingMismatchError`]; nothing in it is a secret, since it is
//! built from requests that were freed of them.

use serde_json::Value;

use super::matcher::Matcher;
use super::prepared::Take;
use super::reason::Reason;
use crate::identity::{RequestKey, delta};
use crate::recording::observed::Observed;

/// How many recorded calls are compared to find the nearest.
const MAX_CANDIDATES: usize = 512;
/// How many differences are told.
const MAX_DELTAS: usize = 16;
/// How many characters of a value a message shows.
const SHOWN: usize = 60;
/// How many characters of a value are kept: a thousand misses of large prompts
/// would otherwise fill the memory, and the journal.
const KEPT: usize = 2000;

/// One difference between the nearest recorded request and this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A JSON pointer into the body, or what else differs (`method`, `path`, …).
    pub place: String,
    /// The recorded value as JSON text; `None` where it was absent. A long one is
    /// cut to where the two begin to differ.
    pub recorded: Option<String>,
    /// The value now, likewise; `None` where it is absent.
    pub now: Option<String>,
}

/// The recorded call nearest to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its key in the recording.
    pub name: String,
    /// Which take of that key.
    pub take: usize,
    /// The recording's path.
    pub recording: String,
    /// What differs; empty where the request itself is the same.
    pub differences: Vec<Difference>,
}

/// A request that the recording holds no answer for.
#[derive(Clone, Debug)]
pub struct RecordingMismatchError {
    /// Why.
    pub reason: Reason,
    /// More about why, where the reason alone does not say it.
    pub detail: Option<String>,
    /// The request's key.
    pub key: RequestKey,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// The upstream it was meant for.
    pub upstream: String,
    /// The model it asks for.
    pub model: Option<String>,
    /// Its step id.
    pub step: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// The recordings that were looked through.
    pub recordings: Vec<String>,
    /// The nearest recorded call.
    pub nearest: Option<Nearest>,
}

impl RecordingMismatchError {
    /// Explains why `observed` is not answered.
    pub fn explain(matcher: &Matcher, reason: Reason, observed: &Observed) -> Self {
        let found = nearest(matcher, observed);
        let unused = found.as_ref().is_some_and(|(take, _)| !matcher.is_used(*take));
        // A recorded call that nothing has asked for yet, and this one in its place.
        let reason = if reason == Reason::Unknown && unused { Reason::Drifted } else { reason };
        let rules = matcher.rules.first().cloned().unwrap_or_default();
        Self {
            reason,
            detail: None,
            key: observed.request.key(&observed.call, &rules),
            method: observed.request.method.clone(),
            path: observed.request.path.clone(),
            upstream: observed.upstream.clone(),
            model: observed.call.model.clone(),
            step: observed.step.clone(),
            session: observed.session.clone(),
            recordings: matcher.sources.clone(),
            nearest: found.map(|(_, nearest)| nearest),
        }
    }

    /// The error for a take that was found but cannot be given in the form asked for.
    pub(super) fn other_form(
        matcher: &Matcher,
        take: &Take,
        observed: &Observed,
        why: String,
    ) -> Self {
        let mut error = Self::explain(matcher, Reason::OtherForm, observed);
        error.detail = Some(why);
        error.nearest = Some(Nearest {
            name: take.name.clone(),
            take: take.number,
            recording: matcher.sources[take.source].clone(),
            differences: Vec::new(),
        });
        error
    }

    /// The explanation on one line, as an SDK's exception shows it.
    pub fn message(&self) -> String {
        let mut text = format!("RecordingMismatchError: {}", self.reason.as_str());
        if let Some(detail) = &self.detail {
            text.push_str(&format!(": {detail}"));
        }
        let differences = self.nearest.as_ref().map_or(&[][..], |near| &near.differences);
        for (index, difference) in differences.iter().take(3).enumerate() {
            text.push_str(if index == 0 { ": " } else { "; " });
            text.push_str(&difference.text());
        }
        if differences.len() > 3 {
            text.push_str(&format!("; and {} more", differences.len() - 3));
        }
        text.push_str(&format!(
            " (unmatched {} {} to {}, request {}{}{}; {}). {}",
            self.method,
            self.path,
            self.upstream,
            self.key.short(),
            self.step.as_ref().map(|step| format!(", step {step:?}")).unwrap_or_default(),
            self.session.as_ref().map(|name| format!(", session {name:?}")).unwrap_or_default(),
            match &self.nearest {
                Some(near) => format!("nearest recorded call: {}", near.label()),
                None => "no recorded call is like it".to_owned(),
            },
            self.remedy(),
        ));
        text
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        let file = self.recordings.first().map_or("FILE", String::as_str);
        let record = format!("loomrec record -r {file} -- CMD");
        match self.reason {
            Reason::Exhausted => format!(
                "The call was recorded fewer times than it is made now: record it again with `{record}`, or replay with `--repeat last`"
            ),
            Reason::Incomplete => {
                format!("Its answer was not recorded whole: record it again with `{record}`")
            }
            Reason::OtherSession => {
                "Send the session it was recorded in, or record this one".to_owned()
            }
            _ => format!("If the change is meant, record it again with `{record}`"),
        }
    }

    /// The error as JSON, for the control endpoint, the journal and the receipt.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "error": "RecordingMismatchError",
            "reason": self.reason.as_str(),
            "detail": self.detail,
            "message": self.message(),
            "request_hash": self.key.as_str(),
            "method": self.method,
            "path": self.path,
            "upstream": self.upstream,
            "model": self.model,
            "step_id": self.step,
            "session": self.session,
            "recordings": self.recordings,
            "nearest": self.nearest.as_ref().map(|near| serde_json::json!({
                "entry": near.name,
                "take": near.take,
                "recording": near.recording,
                "differences": near.differences.iter().map(|difference| serde_json::json!({
                    "pointer": difference.place,
                    "recorded": difference.recorded,
                    "now": difference.now,
                })).collect::<Vec<_>>(),
            })),
            "remedy": self.remedy(),
        })
    }
}

impl Nearest {
    /// The call in a few words.
    pub fn label(&self) -> String {
        let hash = RequestKey::parse(&self.name);
        let name = hash.as_ref().map_or(self.name.as_str(), RequestKey::short);
        match self.take {
            1 => format!("{name} in {}", self.recording),
            take => format!("{name} take {take} in {}", self.recording),
        }
    }
}

impl Difference {
    /// `/model: recorded "a" now "b"`, values shortened around the first change.
    pub fn text(&self) -> String {
        let (recorded, now) = self.shortened();
        format!("{}: recorded {recorded} now {now}", self.place)
    }

    /// Both values, shortened around the first change.
    pub fn shortened(&self) -> (String, String) {
        let (recorded, now) = shorten(self.recorded.as_deref(), self.now.as_deref(), SHOWN);
        let nothing = || "nothing".to_owned();
        (recorded.unwrap_or_else(nothing), now.unwrap_or_else(nothing))
    }
}

/// Both values, cut to `shown` characters where they begin to differ.
fn shorten(
    recorded: Option<&str>,
    now: Option<&str>,
    shown: usize,
) -> (Option<String>, Option<String>) {
    let same = match (recorded, now) {
        (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count(),
        _ => 0,
    };
    let skip = if same > shown / 2 { same - shown / 4 } else { 0 };
    let cut = |value: &str| {
        let mut text: String = value.chars().skip(skip).take(shown).collect();
        if skip > 0 {
            text = format!("…{text}");
        }
        if value.chars().count() > skip + shown {
            text.push('…');
            if value.starts_with('"') {
                text.push('"');
            }
        }
        text
    };
    (recorded.map(cut), now.map(cut))
}

/// Both values, cut only where one is too long to be kept.
fn bounded(recorded: Option<String>, now: Option<String>) -> (Option<String>, Option<String>) {
    // Bytes stand for characters here: they are never fewer.
    if recorded.iter().chain(&now).all(|value| value.len() <= KEPT) {
        return (recorded, now);
    }
    shorten(recorded.as_deref(), now.as_deref(), KEPT)
}

/// The recorded call that differs least from `observed`, and what differs. Calls
/// of the same operation only; those at the same upstream come first, and calls
/// that nothing has asked for yet before used ones.
fn nearest(matcher: &Matcher, observed: &Observed) -> Option<(usize, Nearest)> {
    let rules = matcher.rules.first()?;
    let now = observed.request.parts(&observed.call);
    let body = now.json();
    let turns = observed.step.as_ref().and_then(|step| matcher.steps.get(step));
    let same_operation = |&take: &usize| {
        let call = matcher.takes[take].call.as_ref();
        call.is_some_and(|call| call.operation == observed.call.operation)
    };
    let rank = |&take: &usize| {
        let upstream = matcher.takes[take].entry.upstream.as_ref();
        (upstream != Some(&observed.upstream), matcher.is_used(take))
    };
    let mut candidates: Vec<usize> = match turns {
        Some(takes) => takes.iter().copied().filter(same_operation).collect(),
        None => (0..matcher.takes.len()).filter(same_operation).collect(),
    };
    candidates.sort_by_key(rank);
    candidates.truncate(MAX_CANDIDATES);
    let distance = |take: &usize| {
        let recorded = matcher.takes[*take].recorded()?;
        Some(match (recorded.json(), &body) {
            (Some(recorded), Some(now)) => delta::distance(&recorded, now, rules),
            _ if recorded.body == now.body => 0,
            _ => u64::MAX,
        })
    };
    let take = candidates
        .into_iter()
        .filter_map(|take| {
            let (elsewhere, used) = rank(&take);
            Some(((elsewhere, distance(&take)?, used, take), take))
        })
        .min()?
        .1;
    let found = &matcher.takes[take];
    let mut differences = Vec::new();
    if found.entry.upstream.as_ref() != Some(&observed.upstream) {
        let quote = |name: &str| Some(Value::from(name).to_string());
        differences.push(Difference {
            place: "upstream".to_owned(),
            recorded: found.entry.upstream.as_deref().and_then(quote),
            now: quote(&observed.upstream),
        });
    }
    let deltas = delta::request_deltas(&found.recorded()?, &now, rules, MAX_DELTAS);
    differences.extend(deltas.into_iter().map(|delta| {
        let (recorded, now) = bounded(delta.recorded.map(readable), delta.now.map(readable));
        Difference { place: delta.pointer, recorded, now }
    }));
    let recording = matcher.sources[found.source].clone();
    Some((take, Nearest { name: found.name.clone(), take: found.number, recording, differences }))
}

/// Canonical text escapes all that is not ASCII; people read it unescaped.
fn readable(canonical: String) -> String {
    serde_json::from_str::<Value>(&canonical).map_or(canonical, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_kept_around_the_place_where_they_begin_to_differ() {
        let long =
            |middle: &str| Some(format!("\"{}{middle}{}\"", "é".repeat(9000), "z".repeat(9000)));
        let (recorded, now) = bounded(long("cat"), long("dog"));
        let (recorded, now) = (recorded.unwrap(), now.unwrap());
        assert!(recorded.contains("écatz") && now.contains("édogz"));
        assert!(recorded.chars().count() < KEPT + 4 && now.chars().count() < KEPT + 4);
        let difference =
            Difference { place: "/a".into(), recorded: Some(recorded), now: Some(now) };
        assert!(difference.text().contains("cat") && difference.text().contains("dog"));
        assert_eq!(bounded(Some("1".into()), None), (Some("1".into()), None));
    }
}
