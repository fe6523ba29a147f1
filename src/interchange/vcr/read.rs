//! Reads cassettes.

use std::fmt;
use std::io::Read;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Options, alias_limits, budget, options};

use super::super::exchange::{Content, Exchange, Item, Left, Request, Response};
use super::super::field::{Body, Headers, Text};
use super::super::read::{Finder, Problem};
use super::super::value::Parsed;
use crate::recording::End;
use crate::recording::rebuild::rebuild;

/// Reads a cassette in YAML.
pub(in super::super) fn read_yaml(
    input: impl Read,
    finder: &mut Finder<'_>,
) -> Result<(), Problem> {
    let seed = |deserializer: serde_saphyr::Deserializer<'_, '_>| {
        Cassette { finder: &mut *finder }.deserialize(deserializer)
    };
    Ok(serde_saphyr::with_deserializer_from_reader_with_options(input, bounds(), seed)?)
}

/// Reads a cassette in JSON.
pub(in super::super) fn read_json(
    input: impl Read,
    finder: &mut Finder<'_>,
) -> Result<(), Problem> {
    let mut deserializer = serde_json::Deserializer::from_reader(std::io::BufReader::new(input));
    Cassette { finder }.deserialize(&mut deserializer)?;
    Ok(deserializer.end()?)
}

/// What is read of a file as a whole has no bound, since it is read exchange by
/// exchange; what it can make of little has.
fn bounds() -> Options {
    options! {
        budget: budget! {
            max_reader_input_bytes: None,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_recorded_anchor_bytes: 16 << 20,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: alias_limits! { max_total_replayed_events: 1_000_000 },
        ignore_binary_tag_for_string: true,
        // What Python writes without quotes is a text, though other readers of YAML
        // take it for a truth or a number.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
        // One number that JSON cannot say costs its body, not the whole file.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    }
}

struct Cassette<'f, 'a> {
    finder: &'f mut Finder<'a>,
}

impl<'de> DeserializeSeed<'de> for Cassette<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Cassette<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cassette: a map with `interactions`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut found, mut whole) = (false, false);
        while let Some(Text(key)) = map.next_key::<Text>()? {
            whole |= matches!(key.as_str(), "version" | "recorded_with");
            match key.as_str() {
                "interactions" | "http_interactions" if found => {
                    return Err(de::Error::custom("`interactions` stands there twice"));
                }
                "interactions" | "http_interactions" => {
                    found = true;
                    map.next_value_seed(Interactions { finder: &mut *self.finder })?;
                }
                "version" => {
                    let Text(version) = map.next_value()?;
                    if version != "1" {
                        return Err(de::Error::custom(
                            "a cassette's `version` is 1; this is another one",
                        ));
                    }
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (found, whole) {
            (true, true) => Ok(()),
            (false, _) => Err(de::Error::missing_field("interactions")),
            // YAML that is cut is often YAML all the same.
            (true, false) => Err(de::Error::custom(
                "it may be cut: `version: 1` is missing, which the tools write behind the \
                 interactions; add it if the file is whole",
            )),
        }
    }
}

struct Interactions<'f, 'a> {
    finder: &'f mut Finder<'a>,
}

impl<'de> DeserializeSeed<'de> for Interactions<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Interactions<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of interactions")
    }

    /// `interactions:` with nothing behind it.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(interaction) = seq.next_element::<Interaction>()? {
            let place = self.finder.place();
            if !self.finder.tell(interaction.item(place)) {
                return Err(de::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Interaction {
    request: Asked,
    response: Option<Answered>,
    #[serde(default)]
    recorded_at: Text,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    method: Text,
    #[serde(default, alias = "url")]
    uri: Text,
    #[serde(default)]
    headers: Headers,
    #[serde(default)]
    body: Body,
    /// What pydantic-ai's serializer writes in the place of a body in JSON.
    parsed_body: Option<Parsed>,
}

#[derive(Deserialize)]
struct Answered {
    status: Option<Parsed>,
    /// Of older cassettes made with httpx, which hold no more than the text.
    status_code: Option<u16>,
    #[serde(default)]
    headers: Headers,
    #[serde(default)]
    body: Body,
    #[serde(default)]
    content: Body,
    parsed_body: Option<Parsed>,
}

/// `{code: 200, message: OK}`, or the code alone.
fn status_code(status: &Value) -> Option<u16> {
    let code = status.get("code").unwrap_or(status);
    code.as_u64().and_then(|code| u16::try_from(code).ok())
}

/// What is said of a body of which the file holds the value alone.
const REBUILT: &str = "the bytes of JSON bodies: the file holds their values, and the bodies are \
                       written again";

/// The same, where the length tells that they are other bytes.
const OTHER_LENGTH: &str = "the length of JSON bodies that are written again: no usual spelling \
                            has the length in their headers";

impl Interaction {
    fn item(self, place: String) -> Item {
        let damaged = |reason: String| Item::Left(Left::damaged(place.clone(), reason));
        let Some(answered) = self.response else {
            return damaged("it holds no response".to_owned());
        };
        let mut lost = Vec::new();
        let Asked { method, uri, headers: Headers(mut headers), body, parsed_body } = self.request;
        let body = match bytes(body, parsed_body, &mut headers, &mut lost) {
            Ok(body) => body,
            Err(reason) => return damaged(format!("its request's body {reason}")),
        };
        let old = answered.status_code.filter(|_| answered.status.is_none());
        let content = if old.is_some() { answered.content } else { answered.body };
        let Headers(mut answer_headers) = answered.headers;
        let content = match bytes(content, answered.parsed_body, &mut answer_headers, &mut lost) {
            Ok(content) => content,
            Err(reason) => return damaged(format!("its response's body {reason}")),
        };
        let status = answered.status.and_then(|Parsed(status)| status_code(&status?));
        let status = status.or(old).unwrap_or(0);
        let Text(started) = self.recorded_at;
        lost.sort_unstable();
        lost.dedup();
        Item::Exchange(Box::new(Exchange {
            place,
            request: Request { method: method.0, url: uri.0, headers, body },
            response: Response {
                status,
                headers: answer_headers,
                content: Content::Wire(content),
                end: End::Complete,
            },
            started: Some(started).filter(|started| !started.is_empty()),
            first_ms: None,
            duration_ms: None,
            own: None,
            lost,
        }))
    }
}

/// The bytes of a body. One that the file holds as a value is written again, if it can be
/// as long as its headers say; else they say how long it is now.
fn bytes(
    body: Body,
    parsed: Option<Parsed>,
    headers: &mut Vec<(String, String)>,
    lost: &mut Vec<&'static str>,
) -> Result<Bytes, &'static str> {
    let value = match (body, parsed) {
        (Body::None, None) => return Ok(Bytes::new()),
        (Body::Bytes(bytes), None) => return Ok(bytes.into()),
        (Body::Json(value), None) | (Body::None, Some(Parsed(Some(value)))) => value,
        (Body::None, Some(Parsed(None))) => return Err("holds a number that JSON cannot say"),
        (Body::Other, _) => return Err("is an object that only the program knew"),
        (_, Some(_)) => return Err("stands there twice: in `body` and in `parsed_body`"),
    };
    let is_length = |name: &str| name.eq_ignore_ascii_case("content-length");
    let length = headers.iter().find(|(name, _)| is_length(name));
    let length = length.and_then(|(_, value)| value.trim().parse().ok());
    let rebuilt = rebuild(&value, length).ok_or("is nested too deeply to be written again")?;
    lost.push(REBUILT);
    if !rebuilt.fits {
        lost.push(OTHER_LENGTH);
    }
    for (name, value) in headers.iter_mut() {
        if is_length(name) {
            *value = rebuilt.bytes.len().to_string();
        }
    }
    // What was compressed is a value now.
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
    Ok(rebuilt.bytes.into())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
