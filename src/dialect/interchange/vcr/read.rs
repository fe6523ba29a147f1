//! The reader of cassettes, one interaction at a time.

use std::fmt;
use std::io::Read;

use granit_parser::{Event, ScalarStyle};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::body_presence::is_whole;
use super::super::bounded::LIMIT;
use super::super::exchange::{ForeignResponse, FoundItem, SkippedItem};
use super::super::read_context::{ReadContext, ReadProblem};
use super::interaction::VcrInteraction;
use super::message::node_text;
use crate::yaml::composer::{self, YamlComposer};
use crate::yaml::node::YamlNode;
use crate::yaml::scalar;

/// What was found in a cassette apart from the interactions.
#[derive(Debug, Default)]
struct Outline {
    found: bool,
    /// Whether the member that the tools write last is there.
    whole: bool,
    is_repeated: bool,
    /// The answer of the last interaction; `None` if it has none.
    last: Option<ForeignResponse>,
}

/// Reported for a cassette without the mark of its end.
const NO_END: &str = "`version` is missing, which VCR.py writes last: if the file was cut, more \
                      calls are missing";

/// Reported for a second list.
const SECOND_LIST: &str = "`interactions` occurs twice: all are read, and VCR.py reads the last";

impl Outline {
    /// Whether the value with this name is a list of interactions.
    fn is_interactions(&mut self, name: &str) -> bool {
        self.whole |= matches!(name, "version" | "recorded_with");
        let is = matches!(name, "interactions" | "http_interactions");
        self.is_repeated |= is && self.found;
        self.found |= is;
        is
    }

    /// Checks the value with another name.
    fn check_member(name: &str, node: YamlNode) -> Result<(), String> {
        match name {
            "version" if !matches!(node_text(node, "`version`")?.as_str(), "1" | "2") => {
                Err("a cassette's `version` is 1, and go-vcr's also 2; this is another one"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Passes on an interaction.
    ///
    /// # Errors
    /// If the interaction is malformed, or no more is wanted.
    fn report_interaction(
        &mut self,
        node: YamlNode,
        finder: &mut ReadContext<'_>,
    ) -> Result<(), String> {
        let item = VcrInteraction::from_node(node)?.into_item(finder.next_place());
        self.last = match &item {
            FoundItem::Exchange(exchange) if !self.whole => Some(exchange.response.clone()),
            _ => None,
        };
        if finder.report_item(item) { Ok(()) } else { Err(NO_MORE.to_owned()) }
    }

    /// Checks that the cassette was complete. Without a mark of its end, the last answer must be.
    fn check_end(&self, finder: &mut ReadContext<'_>) -> Result<(), &'static str> {
        if !self.found {
            return Err("missing field `interactions`");
        }
        let is_cut = || match &self.last {
            Some(last) => !is_whole(last),
            None => true,
        };
        // YAML that is cut is often still valid YAML.
        if !self.whole && is_cut() {
            return Err("it may be cut: `version: 1` is missing, which the tools write after the \
                        interactions; add it if the file is whole");
        }
        if !self.whole {
            finder.report_item(FoundItem::Left(SkippedItem::no_call("the end".to_owned(), NO_END)));
        }
        if self.is_repeated {
            let place = "the list".to_owned();
            finder.report_item(FoundItem::Left(SkippedItem::no_call(place, SECOND_LIST)));
        }
        Ok(())
    }
}

const NO_MORE: &str = "no more is wanted";

const NO_HTTP: &str = "its `interactions` are a map, so it holds no HTTP calls: record the program \
                       with `loomrec record`";

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
        let name = node_text(name, "a name").map_err(|wrong| composer.problem(&wrong))?;
        let is = outline.is_interactions(&name);
        let first = composer.next()?;
        if is {
            read_interactions(&mut composer, first, &mut outline, finder)?;
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
    outline.check_end(finder).map_err(|wrong| ReadProblem::Form(wrong.to_owned()))
}

fn read_interactions<R: Read>(
    composer: &mut YamlComposer<R>,
    first: Event<'static>,
    outline: &mut Outline,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    match &first {
        Event::SequenceStart(..) => {}
        // `interactions:` without a value.
        Event::Scalar(text, ScalarStyle::Plain, _, None) if scalar::is_null(text) => {
            return Ok(());
        }
        Event::MappingStart(..) => return Err(composer.problem(NO_HTTP).into()),
        _ => return Err(composer.problem(NO_LIST).into()),
    }
    loop {
        let first = match composer.next()? {
            Event::SequenceEnd => return Ok(()),
            first => first,
        };
        let began = composer.place();
        let node = composer.compose(first)?;
        outline
            .report_interaction(node, finder)
            .map_err(|wrong| composer::error_at(began, &wrong))?;
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
            if outline.is_interactions(&name) {
                let (finder, outline) = (&mut *self.finder, &mut outline);
                map.next_value_seed(Interactions { finder, outline })?;
            } else {
                let node = map.next_value::<YamlNode>()?;
                Outline::check_member(&name, node).map_err(de::Error::custom)?;
            }
        }
        outline.check_end(self.finder).map_err(de::Error::custom)
    }
}

struct Interactions<'f, 'a> {
    finder: &'f mut ReadContext<'a>,
    outline: &'f mut Outline,
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
            self.outline.report_interaction(node, self.finder).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
