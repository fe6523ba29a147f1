//! What several formats write in more than one way: texts, headers, bodies.

use std::fmt;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{GeneralPurposeConfig, STANDARD_NO_PAD};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Tagged;

use super::value::Parsed;

/// The most bytes that the headers of one message may have: a file can say one header
/// a thousand times by its name (an alias).
const HEADERS_LIMIT: usize = 1 << 20;

/// A number, a truth or a text, as text; empty for nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Text, E> {
        Ok(Text(text))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_none<E>(self) -> Result<Text, E> {
        Ok(Text::default())
    }

    /// How `serde_json` hands on a number of arbitrary precision.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        match map.next_entry::<String, Text>()? {
            Some((key, text)) if key.starts_with("$serde_json") => Ok(text),
            _ => Err(de::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }
}

/// Headers as a map from names to a value or a list of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Headers(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeadersVisitor)
    }
}

struct HeadersVisitor;

impl<'de> Visitor<'de> for HeadersVisitor {
    type Value = Headers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of headers")
    }

    fn visit_unit<E>(self) -> Result<Headers, E> {
        Ok(Headers::default())
    }

    fn visit_none<E>(self) -> Result<Headers, E> {
        Ok(Headers::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
        let (mut headers, mut size) = (Vec::new(), 0);
        while let Some((Text(name), values)) = map.next_entry::<Text, Values>()? {
            for value in values.0 {
                size += name.len() + value.len();
                if size > HEADERS_LIMIT {
                    return Err(de::Error::custom("the headers of one message are over 1 MiB"));
                }
                headers.push((name.clone(), value));
            }
        }
        Ok(Headers(headers))
    }
}

/// The values of one header.
struct Values(Vec<String>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a header's value, or a list of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Values, A::Error> {
        let (mut values, mut size) = (Vec::new(), 0);
        while let Some(element) = seq.next_element::<Option<Tagged<String>>>()? {
            // As a text, or `089` would be a number.
            let value = element.map(|Tagged(text, tag)| value_of(text, tag.as_deref()));
            let value = value.unwrap_or_default();
            size += value.len();
            if size > HEADERS_LIMIT {
                return Err(de::Error::custom("the headers of one message are over 1 MiB"));
            }
            values.push(value);
        }
        Ok(Values(values))
    }

    fn visit_unit<E>(self) -> Result<Values, E> {
        Ok(Values(Vec::new()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Values, E> {
        Ok(Values(vec![text.to_owned()]))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Values, E> {
        Ok(Values(vec![value.to_string()]))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Values, E> {
        Ok(Values(vec![value.to_string()]))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Values, E> {
        Ok(Values(vec![value.to_string()]))
    }
}

/// A header that is bytes: some clients give theirs so.
fn value_of(text: String, tag: Option<&str>) -> String {
    match is_binary(tag).then(|| decode_base64(&text)).flatten() {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => text,
    }
}

/// A body, in any of the ways that cassettes have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Body {
    /// There is none.
    #[default]
    None,
    /// Its bytes.
    Bytes(Vec<u8>),
    /// The value that it says in JSON.
    Json(Value),
    /// Something else: an object that only the program knew.
    Other,
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Tagged(body, tag) = Tagged::<Untagged>::deserialize(deserializer)?;
        Ok(match (body.0, is_binary(tag.as_deref())) {
            (Self::Bytes(text), true) => std::str::from_utf8(&text)
                .ok()
                .and_then(decode_base64)
                .map_or(Self::Other, Self::Bytes),
            (body, _) => body,
        })
    }
}

/// A body without the tag that may say that it is binary.
struct Untagged(Body);

impl<'de> Deserialize<'de> for Untagged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor).map(Self)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a body")
    }

    fn visit_str<E>(self, text: &str) -> Result<Body, E> {
        Ok(Body::Bytes(text.as_bytes().to_vec()))
    }

    fn visit_string<E>(self, text: String) -> Result<Body, E> {
        Ok(Body::Bytes(text.into_bytes()))
    }

    fn visit_unit<E>(self) -> Result<Body, E> {
        Ok(Body::None)
    }

    fn visit_none<E>(self) -> Result<Body, E> {
        Ok(Body::None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Body, E> {
        Ok(Body::Bytes(value.to_string().into_bytes()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Body, E> {
        Ok(Body::Bytes(value.to_string().into_bytes()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Body, E> {
        Ok(Body::Bytes(value.to_string().into_bytes()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Body, E> {
        Ok(Body::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Body, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Body::Other)
    }

    /// `{string: …}`, `{base64_string: …}`; `encoding` beside them says nothing of the
    /// bytes. Cassetter writes `{type: json, content: …}`.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body, A::Error> {
        let mut found = None;
        let (mut kind, mut content) = (None, None);
        while let Some(Text(key)) = map.next_key::<Text>()? {
            match key.as_str() {
                "string" => found = Some(map.next_value::<Body>()?),
                "base64_string" => {
                    let Text(text) = map.next_value()?;
                    found = Some(decode_base64(&text).map_or(Body::Other, Body::Bytes));
                }
                "type" => kind = map.next_value::<Parsed>()?.0,
                "content" => content = map.next_value::<Parsed>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(match (found, kind.as_ref().and_then(Value::as_str), content) {
            (Some(found), ..) => found,
            (None, Some("json"), Some(value)) => Body::Json(value),
            (None, Some("text"), Some(Value::String(text))) => Body::Bytes(text.into_bytes()),
            (None, Some("none"), None) => Body::None,
            _ => Body::Other,
        })
    }
}

fn is_binary(tag: Option<&str>) -> bool {
    matches!(tag, Some("tag:yaml.org,2002:binary" | "!!binary" | "!binary"))
}

/// Base64 in any of the ways it is written: over several lines, with padding or without.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    let packed: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    engine.decode(&packed).or_else(|_| STANDARD_NO_PAD.decode(&packed)).ok()
}

/// A JSON string whose bytes need not be Unicode: Python writes a byte that it could
/// not read as a lone surrogate, and it is that byte again here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lenient(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(LenientVisitor)
    }
}

struct LenientVisitor;

impl Visitor<'_> for LenientVisitor {
    type Value = Lenient;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lenient, E> {
        Ok(Lenient(without_surrogates(bytes.to_vec())))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Lenient, E> {
        Ok(Lenient(without_surrogates(bytes)))
    }

    fn visit_unit<E>(self) -> Result<Lenient, E> {
        Ok(Lenient::default())
    }
}

/// The bytes with each lone surrogate U+DC80 to U+DCFF (as three bytes) for the byte
/// it stands for.
fn without_surrogates(bytes: Vec<u8>) -> Vec<u8> {
    if std::str::from_utf8(&bytes).is_ok() {
        return bytes;
    }
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        match bytes[at..] {
            [0xED, high @ 0xB2..=0xB3, low @ 0x80..=0xBF, ..] => {
                out.push(((high & 0x03) << 6) | (low & 0x3F));
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "field_tests.rs"]
mod tests;
