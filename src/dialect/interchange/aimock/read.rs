//! The reader of fixture files.

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use super::super::exchange::{ForeignRequest, FoundItem, SkippedItem, TextExchange};
use super::super::read_context::{ReadContext, ReadProblem};
use super::fixture::{FixtureMatch, ForeignFixture};

/// The address to which recorded requests are assumed to have gone.
const URL: &str = "https://api.openai.com/v1/chat/completions";

/// Reads the fixtures of a file as far as they hold their requests.
pub(in super::super) fn read(
    input: impl Read,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    read_fixtures(input, &mut |fixture| {
        let place = finder.next_place();
        Ok(finder.report_item(fixture_item(fixture, place)))
    })
}

/// Passes each fixture of a file to `visit`, until it wants no more.
pub(super) fn read_fixtures(
    input: impl Read,
    visit: &mut dyn FnMut(ForeignFixture) -> Result<bool, String>,
) -> Result<(), ReadProblem> {
    let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(input));
    deserializer.deserialize_map(FixtureFile { visit })?;
    Ok(deserializer.end()?)
}

struct FixtureFile<'v> {
    visit: &'v mut dyn FnMut(ForeignFixture) -> Result<bool, String>,
}

impl<'de> Visitor<'de> for FixtureFile<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `fixtures`, a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "fixtures" if found => {
                    return Err(de::Error::custom("`fixtures` occurs twice"));
                }
                "fixtures" => {
                    found = true;
                    map.next_value_seed(List { visit: &mut *self.visit })?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if found { Ok(()) } else { Err(de::Error::missing_field("fixtures")) }
    }
}

struct List<'v> {
    visit: &'v mut dyn FnMut(ForeignFixture) -> Result<bool, String>,
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of fixtures")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element::<Value>()? {
            let fixture = ForeignFixture::read(&value).map_err(de::Error::custom)?;
            if !(self.visit)(fixture).map_err(de::Error::custom)? {
                return Err(de::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }
}

/// Returns the call of a fixture that aimock recorded, if its request was a single message.
fn fixture_item(fixture: ForeignFixture, place: String) -> FoundItem {
    let ForeignFixture { rule, said, chaos, duration_ms, had_more, mut lost, .. } = fixture;
    let left = |reason: String| FoundItem::Left(SkippedItem::no_call(place.clone(), reason));
    let said = match said {
        Ok(said) => said,
        Err(reason) => return FoundItem::Left(SkippedItem::damaged(place, reason)),
    };
    let only = FixtureMatch {
        user: rule.user.clone(),
        model: rule.model.clone(),
        turn: Some(0),
        has_tool_result: Some(false),
        endpoint: rule.endpoint.clone().filter(|endpoint| endpoint == "chat"),
        ..FixtureMatch::default()
    };
    let (Some(user), Some(model)) = (&rule.user, &rule.model) else {
        return left(rule_only("it is a rule, which keeps no request"));
    };
    if rule.turn.is_none() || rule.has_tool_result.is_none() {
        return left(rule_only("it is a rule, which keeps no request"));
    }
    if had_more || rule != only {
        return left(rule_only("its request had more to it than the last message, which is kept"));
    }
    let others = ["claude", "gemini", "command", "anthropic.", "amazon."];
    if others.iter().any(|other| model.starts_with(other)) {
        return left(rule_only("its request is not OpenAI's, and asked for more than is kept"));
    }
    lost.push("other parameters of requests: they are built from their last message and model");
    let asked = json!({ "model": model, "messages": [{ "role": "user", "content": user }] });
    let request = ForeignRequest {
        method: "POST".to_owned(),
        url: URL.to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: asked.to_string().into(),
        size: None,
    };
    let (own, started) = (None, None);
    FoundItem::Words(Box::new(TextExchange {
        place,
        request,
        said,
        own,
        started,
        duration_ms,
        chaos,
        lost,
    }))
}

fn rule_only(what: &str) -> String {
    format!("{what}; give the requests of a run with --requests, or record in front of aimock")
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
