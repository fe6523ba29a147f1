//! The reader of cassettes, one interaction at a time.

use std::fmt;
use std::io::Read;

use granit_parser::{Event, ScalarStyle};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::bounded::LIMIT;
use super::super::read_context::{ReadContext, ReadProblem};
use super::interaction::VcrInteraction;
use super::message::text;
use crate::yaml::composer::{self, YamlComposer};
use crate::yaml::node::YamlNode;
use crate::yaml::scalar;

/// What was found in a cassette apart from the interactions.
#[derive(Debug, Default)]
struct Outline {
    found: bool,
    whole: bool,
}

impl Outline {
    /// Whether the value with this name is the list of interactions.
    fn is_interactions(&mut self, name: &str) -> Result<bool, &'static str> {
        self.whole |= matches!(name, "version" | "recorded_with");
        let is = matches!(name, "interactions" | "http_interactions");
        if is && self.found {
            return Err("`interactions` occurs twice");
        }
        self.found |= is;
        Ok(is)
    }

    /// Checks the value with another name.
    fn check_member(name: &str, node: YamlNode) -> Result<(), String> {
        match name {
            "version" if text(node, "`version`")? != "1" => {
                Err("a cassette's `version` is 1; this is another one".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Checks that the cassette was complete.
    fn check_end(&self) -> Result<(), &'static str> {
        match (self.found, self.whole) {
            (true, true) => Ok(()),
            (false, _) => Err("missing field `interactions`"),
            // YAML that is cut is often still valid YAML.
            (true, false) => {
                Err("it may be cut: `version: 1` is missing, which the tools write after the \
                     interactions; add it if the file is whole")
            }
        }
    }
}

const NO_MORE: &str = "no more is wanted";

const NO_LIST: &str = "invalid type, expected a list of interactions";

/// Reads a YAML cassette.
pub(in super::super) fn read_yaml(
    input: impl Read,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    let mut composer = YamlComposer::new(input, LIMIT as usize);
    loop {
        match composer.next()? {
            Event::MappingStart(..) => break,
            Event::StreamStart | Event::DocumentStart(..) => {}
            _ => {
                let expected = "expected a cassette: a map with `interactions`";
                return Err(composer.problem(expected).into());
            }
        }
    }
    let mut outline = Outline::default();
    loop {
        let name = match composer.next()? {
            Event::MappingEnd => break,
            first => composer.compose(first)?,
        };
        let name = text(name, "a name").map_err(|wrong| composer.problem(&wrong))?;
        let is = outline.is_interactions(&name).map_err(|wrong| composer.problem(wrong))?;
        let first = composer.next()?;
        if is {
            read_interactions(&mut composer, first, finder)?;
        } else {
            let node = composer.compose(first)?;
            Outline::check_member(&name, node).map_err(|wrong| composer.problem(&wrong))?;
        }
    }
    loop {
        match composer.next()? {
            Event::StreamEnd => break,
            Event::DocumentEnd => {}
            _ => {
                return Err(composer.problem("a second document follows the cassette").into());
            }
        }
    }
    outline.check_end().map_err(|wrong| ReadProblem::Form(wrong.to_owned()))
}

fn read_interactions<R: Read>(
    composer: &mut YamlComposer<R>,
    first: Event<'static>,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    match &first {
        Event::SequenceStart(..) => {}
        // `interactions:` without a value.
        Event::Scalar(text, ScalarStyle::Plain, _, None) if scalar::is_null(text) => {
            return Ok(());
        }
        _ => return Err(composer.problem(NO_LIST).into()),
    }
    loop {
        let first = match composer.next()? {
            Event::SequenceEnd => return Ok(()),
            first => first,
        };
        let began = composer.place();
        let node = composer.compose(first)?;
        let interaction =
            VcrInteraction::from_node(node).map_err(|wrong| composer::at(began, &wrong))?;
        let item = interaction.item(finder.place());
        if !finder.report(item) {
            return Err(ReadProblem::Form(NO_MORE.to_owned()));
        }
    }
}

/// Reads a JSON cassette.
pub(in super::super) fn read_json(
    input: impl Read,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    let mut deserializer = serde_json::Deserializer::from_reader(std::io::BufReader::new(input));
    CassetteText { finder }.deserialize(&mut deserializer)?;
    Ok(deserializer.end()?)
}

struct CassetteText<'f, 'a> {
    finder: &'f mut ReadContext<'a>,
}

impl<'de> DeserializeSeed<'de> for CassetteText<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for CassetteText<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cassette: a map with `interactions`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut outline = Outline::default();
        while let Some(name) = map.next_key::<String>()? {
            if outline.is_interactions(&name).map_err(de::Error::custom)? {
                map.next_value_seed(Interactions { finder: &mut *self.finder })?;
            } else {
                let node = map.next_value::<YamlNode>()?;
                Outline::check_member(&name, node).map_err(de::Error::custom)?;
            }
        }
        outline.check_end().map_err(de::Error::custom)
    }
}

struct Interactions<'f, 'a> {
    finder: &'f mut ReadContext<'a>,
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

    /// `interactions:` without a value.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(node) = seq.next_element::<YamlNode>()? {
            let interaction = VcrInteraction::from_node(node).map_err(de::Error::custom)?;
            let item = interaction.item(self.finder.place());
            if !self.finder.report(item) {
                return Err(de::Error::custom(NO_MORE));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
