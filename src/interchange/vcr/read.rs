//! Reads cassettes.

use std::fmt;
use std::io::Read;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Options, alias_limits, budget, options};

use super::super::exchange::{Content, Exchange, Item, Left, Request, Response};
use super::super::field::{Body, Headers, Text};
use super::super::read::{Finder, Problem};
use crate::recording::End;

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
}

#[derive(Deserialize)]
struct Answered {
    status: Option<Status>,
    /// Of older cassettes made with httpx, which hold no more than the text.
    status_code: Option<u16>,
    #[serde(default)]
    headers: Headers,
    #[serde(default)]
    body: Body,
    #[serde(default)]
    content: Body,
}

#[derive(Deserialize)]
struct Status {
    code: Option<u16>,
}

impl Interaction {
    fn item(self, place: String) -> Item {
        let left =
            |reason: &str| Item::Left(Left { place: place.clone(), reason: reason.to_owned() });
        let Some(answered) = self.response else { return left("it holds no response") };
        let Some(body) = bytes(self.request.body) else {
            return left("its request's body is an object that only the program knew");
        };
        let old = answered.status_code.filter(|_| answered.status.is_none());
        let content = if old.is_some() { answered.content } else { answered.body };
        let Some(content) = bytes(content) else { return left("its response's body is no bytes") };
        let status = answered.status.and_then(|status| status.code).or(old).unwrap_or(0);
        let Text(started) = self.recorded_at;
        Item::Exchange(Box::new(Exchange {
            place,
            request: Request {
                method: self.request.method.0,
                url: self.request.uri.0,
                headers: self.request.headers.0,
                body,
            },
            response: Response {
                status,
                headers: answered.headers.0,
                content: Content::Wire(content),
                end: End::Complete,
            },
            started: Some(started).filter(|started| !started.is_empty()),
            first_ms: None,
            duration_ms: None,
            own: None,
        }))
    }
}

fn bytes(body: Body) -> Option<Bytes> {
    match body {
        Body::None => Some(Bytes::new()),
        Body::Bytes(bytes) => Some(bytes.into()),
        Body::Other => None,
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
