//! The reader of spans: consecutive OTLP requests in JSON, as collectors write them, or a list of
//! spans.

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::super::read_context::{ReadContext, ReadProblem};
use super::span;

/// The members that contain others, outermost first, in both spellings.
const HOLDERS: [&str; 7] = [
    "resourceSpans",
    "resource_spans",
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "spans",
    "batches",
];

/// The deepest nesting of these members, including the lists between them.
const DEEPEST: usize = 8;

/// Reads a file of spans.
pub(in super::super) fn read(
    input: impl Read,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    let mut input = BufReader::new(input);
    let mut deserializer = serde_json::Deserializer::from_reader(&mut input);
    let mut found = false;
    loop {
        match deserializer.end() {
            Ok(()) if found => return Ok(()),
            Ok(()) => return Err(ReadProblem::Form("it holds no spans".to_owned())),
            Err(error) if error.is_io() => return Err(error.into()),
            Err(_) => {}
        }
        Part { finder, depth: 0 }.deserialize(&mut deserializer)?;
        found = true;
    }
}

/// A part of the file: a span, an object that contains spans, or a list of these.
struct Part<'f, 'a> {
    finder: &'f mut ReadContext<'a>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Part<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.depth > DEEPEST {
            return Err(de::Error::custom("its spans are nested too deeply"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `resourceSpans`, or a list of spans")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let depth = self.depth + 1;
        while seq.next_element_seed(Part { finder: &mut *self.finder, depth })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut members = Map::new();
        let mut holds = false;
        while let Some(key) = map.next_key::<String>()? {
            if HOLDERS.contains(&key.as_str()) && !members.contains_key("attributes") {
                holds = true;
                map.next_value_seed(Part { finder: &mut *self.finder, depth: self.depth + 1 })?;
            } else if members.contains_key(&key) {
                let key: String = key.chars().take(40).collect();
                return Err(de::Error::custom(format_args!("`{key}` occurs twice")));
            } else {
                members.insert(key, map.next_value::<Value>()?);
            }
        }
        if holds {
            return Ok(());
        }
        if !members.contains_key("attributes") && !members.contains_key("name") {
            if self.depth > 1 {
                return Ok(());
            }
            return Err(de::Error::custom("an object that neither is nor holds a span"));
        }
        let place = self.finder.place();
        match self.finder.report(span::item(&members, place)) {
            true => Ok(()),
            false => Err(de::Error::custom("no more is wanted")),
        }
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
