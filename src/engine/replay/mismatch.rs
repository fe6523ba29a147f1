//! The mismatch: why a request has no recorded answer, as data.
//!
//! Each renderer (the response body, stderr, the control endpoint) makes its own text of a
//! [`RecordingMismatchError`]. It holds no secrets, because it is built from redacted requests.

use super::matcher::Matcher;
use super::reason::MissReason;
use super::take::ReplayTake;
use loomrec_identity::printable;
use loomrec_identity::{ClientPreset, RequestKey};
use serde_json::Value;

/// How many characters of a value a message shows.
const SHOWN: usize = 60;
/// How many characters of a value are kept. Otherwise a thousand misses of large prompts would fill
/// the memory and the journal.
const KEPT: usize = 2000;
/// How many header names a message shows.
const NAMES: usize = 8;

/// The text for a value that is kept as a digest only.
pub(super) const HIDDEN: &str = "(not kept)";

/// One difference between the nearest recorded request and this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestDifference {
    /// A JSON pointer into the body, or what else differs (`method`, `path`, …).
    pub place: String,
    /// The recorded value as JSON text; `None` if it was absent. A long value is cut around the
    /// point where the two begin to differ.
    pub recorded: Option<String>,
    /// The value now, in the same form; `None` if it is absent.
    pub now: Option<String>,
}

/// The recorded call nearest to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestCall {
    /// Its key in the recording.
    pub name: String,
    /// The number of the take under that key.
    pub take: usize,
    /// The recording's path.
    pub recording: String,
    /// The hash of its request; `None` if it is not known.
    pub request_hash: Option<RequestKey>,
    /// What differs; empty if the request itself is the same, or was not recorded.
    pub differences: Vec<RequestDifference>,
    /// How the two calls differ in headers that are not part of a key.
    pub outside_key: HeaderDelta,
    /// Whether rules for ids, times and the like can explain all differences.
    pub is_noise: bool,
    /// The preset under whose rules its request is compared.
    pub preset: Option<&'static ClientPreset>,
}

/// Names of headers that only one of two calls has. None of them is part of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderDelta {
    /// The headers that only this call has.
    pub only_now: Vec<String>,
    /// The headers that only the recorded call lists.
    pub only_recorded: Vec<String>,
}

impl HeaderDelta {
    /// Returns the difference between the header names of a recorded call and those of this one.
    pub(super) fn from_names(recorded: &[String], now: &[String]) -> Self {
        let without = |names: &[String], others: &[String]| {
            names.iter().filter(|name| !others.contains(name)).cloned().collect()
        };
        Self { only_now: without(now, recorded), only_recorded: without(recorded, now) }
    }
}

/// A request that the recording holds no answer for.
#[derive(Clone, Debug)]
pub struct RecordingMismatchError {
    /// The reason.
    pub reason: MissReason,
    /// More about the reason, if that alone does not say it.
    pub detail: Option<String>,
    /// The request's key.
    pub key: RequestKey,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// The upstream that it goes to.
    pub upstream: String,
    /// The method and the tool that it asks for in JSON-RPC.
    pub rpc: Option<String>,
    /// The model it asks for.
    pub model: Option<String>,
    /// Its step id.
    pub step: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// The recordings that were searched.
    pub recordings: Vec<String>,
    /// The nearest recorded call.
    pub nearest: Option<NearestCall>,
    /// The names of its headers that are not part of its key.
    pub outside_key: Vec<String>,
    /// The entry that has the hash of its messages alone.
    pub same_messages: Option<String>,
    /// Whether the call was made in a session that has a recording of its own.
    pub is_of_session: bool,
}

impl RecordingMismatchError {
    /// Returns the explanation on one line, as an SDK's exception shows it, without anything that a
    /// terminal would act on.
    pub fn message(&self) -> String {
        let mut text = format!("RecordingMismatchError: {}", self.reason.as_str());
        if let Some(detail) = &self.detail {
            text.push_str(&format!(": {detail}"));
        }
        let differences = self.nearest.as_ref().map_or(&[][..], |near| &near.differences);
        for (index, difference) in differences.iter().take(3).enumerate() {
            text.push_str(if index == 0 { ": " } else { "; " });
            text.push_str(&difference.one_line_text());
        }
        if differences.len() > 3 {
            text.push_str(&format!("; and {} more", differences.len() - 3));
        }
        text.push_str(&format!(
            " (unmatched {} {}{} to {}, request {}{}{}; {}). {}",
            self.method,
            self.path,
            self.rpc.as_ref().map(|rpc| format!(" {rpc}")).unwrap_or_default(),
            self.upstream,
            self.key.short_form(),
            self.step.as_ref().map(|step| format!(", step {step:?}")).unwrap_or_default(),
            self.session.as_ref().map(|name| format!(", session {name:?}")).unwrap_or_default(),
            match &self.nearest {
                Some(near) => format!("nearest recorded call: {}", near.label()),
                None => "no recorded call is like it".to_owned(),
            },
            self.remedy(),
        ));
        for note in self.preset_note().into_iter().chain(self.header_notes()) {
            text.push_str(&format!("; {note}"));
        }
        printable::printable_line(&text).into_owned()
    }

    /// Returns a note on the preset that the nearest call was compared under: another version of
    /// its agent may write other texts.
    pub fn preset_note(&self) -> Option<String> {
        let nearest = self.nearest.as_ref().filter(|nearest| !nearest.differences.is_empty())?;
        let preset = nearest.preset?;
        let versions = preset.tested_with().join(" and ");
        Some(format!(
            "compared under the preset {}, which was tested with {} {versions}",
            preset.name_and_version(),
            preset.name
        ))
    }

    /// Returns notes on the headers that did not count, in a few words each.
    pub fn header_notes(&self) -> Vec<String> {
        let note = |what: &str, names: &[String]| {
            let shown: Vec<&str> = names.iter().take(NAMES).map(String::as_str).collect();
            let more = match names.len().saturating_sub(NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (!names.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
        };
        let delta = self.nearest.as_ref().map(|near| &near.outside_key);
        let own = note("headers that are not part of the key", &self.outside_key);
        let now = delta.and_then(|delta| {
            note("of these the nearest recorded call does not list", &delta.only_now)
        });
        let recorded = delta
            .and_then(|delta| note("the nearest recorded call lists others", &delta.only_recorded));
        [own, now, recorded].into_iter().flatten().collect()
    }

    /// Returns the error as JSON, for the control endpoint, the journal and the receipt.
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
            "rpc": self.rpc,
            "model": self.model,
            "step_id": self.step,
            "session": self.session,
            "recordings": self.recordings,
            "headers_not_in_key": self.outside_key,
            "same_messages": self.same_messages,
            "nearest": self.nearest.as_ref().map(|near| serde_json::json!({
                "entry": near.name,
                "take": near.take,
                "recording": near.recording,
                "request_hash": near.request_hash.as_ref().map(RequestKey::as_str),
                "differences": near.differences.iter().map(|difference| serde_json::json!({
                    "pointer": difference.place,
                    "recorded": difference.recorded,
                    "now": difference.now,
                })).collect::<Vec<_>>(),
                "preset": near.preset.map(|preset| serde_json::json!({
                    "name": preset.name,
                    "version": preset.version,
                    "tested_with": preset.tested_with(),
                })),
                "headers_not_in_key": {
                    "only_now": near.outside_key.only_now,
                    "only_recorded": near.outside_key.only_recorded,
                },
            })),
            "remedy": self.remedy(),
        })
    }

    /// Returns the approximate number of bytes it takes in memory.
    pub fn memory_size(&self) -> usize {
        let lists = [&self.recordings, &self.outside_key];
        let optional =
            [&self.detail, &self.rpc, &self.model, &self.step, &self.session, &self.same_messages];
        size_of::<Self>()
            + self.method.len()
            + self.path.len()
            + self.upstream.len()
            + optional.iter().copied().flatten().map(String::len).sum::<usize>()
            + lists.into_iter().map(|list| list_weight(list)).sum::<usize>()
            + self.nearest.as_ref().map_or(0, NearestCall::memory_size)
    }
}

/// Returns the name of an entry, as people are shown it.
pub(super) fn short_name(name: &str) -> String {
    RequestKey::parse(name).map_or_else(|| name.to_owned(), |hash| hash.short_form().to_owned())
}

/// Returns the approximate number of bytes that texts take in memory.
fn list_weight(texts: &[String]) -> usize {
    texts.iter().map(|text| size_of::<String>() + text.len()).sum()
}

impl NearestCall {
    fn memory_size(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let differences = self.differences.iter().map(|difference| {
            let texts = length(&difference.recorded) + length(&difference.now);
            size_of::<RequestDifference>() + difference.place.len() + texts
        });
        let HeaderDelta { only_now, only_recorded } = &self.outside_key;
        let headers = list_weight(only_now) + list_weight(only_recorded);
        self.name.len() + self.recording.len() + differences.sum::<usize>() + headers
    }

    /// Returns `take` as the nearest call, with these differences.
    pub(super) fn from_take(
        matcher: &Matcher,
        take: &ReplayTake,
        differences: Vec<RequestDifference>,
    ) -> Self {
        let recording = matcher.labels[take.source_index()].clone();
        let (name, outside_key) = (matcher.name_of(take).to_string(), HeaderDelta::default());
        let request_hash = RequestKey::parse(&name);
        let (take, is_noise, preset) = (take.number(), false, None);
        Self { name, take, recording, request_hash, differences, outside_key, is_noise, preset }
    }

    /// Returns the call in a few words.
    pub fn label(&self) -> String {
        let name = short_name(&self.name);
        let take = match self.take {
            1 => String::new(),
            take => format!(" take {take}"),
        };
        // An entry under a hash is called by it already.
        let hash = self.request_hash.as_ref().filter(|hash| hash.as_str() != self.name);
        let hash = hash.map(|hash| format!(", request {}", hash.short_form())).unwrap_or_default();
        format!("{name}{take} in {}{hash}", self.recording)
    }
}

impl RequestDifference {
    /// Returns `/model: recorded "a" now "b"`, with values shortened around the first change.
    pub fn one_line_text(&self) -> String {
        let is_hidden = |value: &Option<String>| value.as_deref() == Some(HIDDEN);
        if is_hidden(&self.recorded) && is_hidden(&self.now) {
            return format!("{} differs", self.place);
        }
        let (recorded, now) = self.shortened_values();
        format!("{}: recorded {recorded} now {now}", self.place)
    }

    /// Returns both values, shortened around the first change.
    pub fn shortened_values(&self) -> (String, String) {
        let (recorded, now) = shorten_values(self.recorded.as_deref(), self.now.as_deref(), SHOWN);
        let nothing = || "nothing".to_owned();
        (recorded.unwrap_or_else(nothing), now.unwrap_or_else(nothing))
    }
}

/// Returns both values, cut to `shown` characters around the point where they begin to differ.
fn shorten_values(
    recorded: Option<&str>,
    now: Option<&str>,
    shown: usize,
) -> (Option<String>, Option<String>) {
    let both = recorded.zip(now).map(|(a, b)| json_characters(a).zip(json_characters(b)));
    let same = both.map_or(0, |both| both.take_while(|(x, y)| x == y).count());
    let skip = if same > shown / 2 { same - shown / 4 } else { 0 };
    let cut = |value: &str| {
        let mut text: String = json_characters(value).skip(skip).take(shown).collect();
        if skip > 0 {
            text = format!("…{text}");
        }
        if json_characters(value).count() > skip + shown {
            text.push('…');
            if value.starts_with('"') {
                text.push('"');
            }
        }
        text
    };
    (recorded.map(cut), now.map(cut))
}

/// Returns the characters of JSON text, each escape as a whole: no cut may go through one.
fn json_characters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match rest.as_bytes() {
            [b'\\', b'u', ..] => 6,
            [b'\\', _, ..] => 2,
            _ => first.len_utf8(),
        };
        // A text that only looks like an escape may end, or go on with another character.
        let at = if rest.is_char_boundary(length) { length } else { first.len_utf8() };
        let (character, after) = rest.split_at(at);
        rest = after;
        Some(character)
    })
}

/// Returns both values, cut only if one is too long to be kept.
pub(super) fn bounded_values(
    recorded: Option<String>,
    now: Option<String>,
) -> (Option<String>, Option<String>) {
    // This compares bytes instead of characters: there are at least as many.
    if recorded.iter().chain(&now).all(|value| value.len() <= KEPT) {
        return (recorded, now);
    }
    shorten_values(recorded.as_deref(), now.as_deref(), KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_kept_around_the_place_where_they_begin_to_differ() {
        let long =
            |middle: &str| Some(format!("\"{}{middle}{}\"", "é".repeat(9000), "z".repeat(9000)));
        let (recorded, now) = bounded_values(long("cat"), long("dog"));
        let (recorded, now) = (recorded.unwrap(), now.unwrap());
        assert!(recorded.contains("écatz") && now.contains("édogz"));
        assert!(recorded.chars().count() < KEPT + 4 && now.chars().count() < KEPT + 4);
        let difference =
            RequestDifference { place: "/a".into(), recorded: Some(recorded), now: Some(now) };
        let text = difference.one_line_text();
        assert!(text.contains("cat") && text.contains("dog"));
        assert_eq!(bounded_values(Some("1".into()), None), (Some("1".into()), None));
    }

    #[test]
    fn no_cut_goes_through_an_escape() {
        for before in 40..60 {
            let text = |middle: &str| {
                let value =
                    format!("{}{middle}{}", "\n\u{1}\"é".repeat(before), "\n\u{1}".repeat(80));
                Some(Value::from(value).to_string())
            };
            let (recorded, now) =
                shorten_values(text("cat").as_deref(), text("dog").as_deref(), SHOWN);
            for cut in [recorded.unwrap(), now.unwrap()] {
                let inner = cut.trim_start_matches('…').trim_end_matches("…\"");
                let whole = serde_json::from_str::<String>(&format!("\"{inner}\""));
                assert!(whole.is_ok(), "{cut}");
            }
        }
        let pieces: Vec<&str> = json_characters(r"a\nb\u0001é\").collect();
        assert_eq!(pieces, ["a", r"\n", "b", r"\u0001", "é", r"\"]);
    }
}
