//! Reads HAR files.

use std::fmt;
use std::io::Read;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::super::exchange::{Content, Exchange, Item, Left, Request, Response};
use super::super::field::{Lenient, decode_base64};
use super::super::read::{Finder, Problem};
use super::own;
use crate::recording::{End, moment};

/// What a form lets stand unescaped.
const FORM: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'*');

/// Reads a HAR file.
pub(in super::super) fn read(input: impl Read, finder: &mut Finder<'_>) -> Result<(), Problem> {
    let mut input = std::io::BufReader::new(input);
    skip_mark(&mut input).map_err(Problem::Io)?;
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let mut state = State { finder, creator: String::new() };
    Part { state: &mut state, inside: Inside::File }.deserialize(&mut deserializer)?;
    Ok(deserializer.end()?)
}

/// Some tools begin their files with a byte order mark.
fn skip_mark(input: &mut impl std::io::BufRead) -> std::io::Result<()> {
    if input.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
        input.consume(3);
    }
    Ok(())
}

struct State<'f, 'a> {
    finder: &'f mut Finder<'a>,
    /// Who wrote the file, as far as it has been read.
    creator: String,
}

/// A part of the file that is read as it comes.
struct Part<'s, 'f, 'a> {
    state: &'s mut State<'f, 'a>,
    inside: Inside,
}

#[derive(Clone, Copy)]
enum Inside {
    File,
    Log,
    Entries,
}

impl<'de> DeserializeSeed<'de> for Part<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.inside {
            Inside::File | Inside::Log => deserializer.deserialize_map(self),
            Inside::Entries => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for Part<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.inside {
            Inside::File => "a HAR file: an object with `log`",
            Inside::Log => "the object `log` with `entries`",
            Inside::Entries => "a list of entries",
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (wanted, next) = match self.inside {
            Inside::File => ("log", Inside::Log),
            Inside::Log | Inside::Entries => ("entries", Inside::Entries),
        };
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == wanted && found {
                return Err(de::Error::custom(format_args!("`{wanted}` stands there twice")));
            } else if key == wanted {
                found = true;
                map.next_value_seed(Part { state: &mut *self.state, inside: next })?;
            } else if key == "creator" {
                self.state.creator = map.next_value::<Creator>()?.name.unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(de::Error::missing_field(wanted)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let latin = self.state.creator.eq_ignore_ascii_case("mitmproxy");
        while let Some(entry) = seq.next_element::<Entry>()? {
            let place = self.state.finder.place();
            if !self.state.finder.tell(entry.item(place, latin)) {
                return Err(de::Error::custom("no more is wanted"));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Creator {
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: Option<String>,
    time: Option<f64>,
    request: Asked,
    response: Option<Answered>,
    timings: Option<Timings>,
    #[serde(rename = "_resourceType")]
    resource_type: Option<String>,
    #[serde(rename = "_webSocketMessages")]
    messages: Option<IgnoredAny>,
    #[serde(rename = "_loomrec")]
    own: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    method: Option<String>,
    url: Option<String>,
    headers: Option<Vec<Pair>>,
    post_data: Option<Post>,
    body_size: Option<Value>,
}

impl Asked {
    /// Whether it had a body that the file does not hold.
    fn lacks_body(&self) -> bool {
        let said = |post: &Post| {
            is_some_text(&post.text) || post.params.as_ref().is_some_and(|all| !all.is_empty())
        };
        !self.post_data.as_ref().is_some_and(said) && is_some_size(&self.body_size)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Post {
    mime_type: Option<String>,
    text: Option<Lenient>,
    params: Option<Vec<Pair>>,
    /// Of some tools, though the standard does not know it.
    encoding: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    status: Option<i64>,
    headers: Option<Vec<Pair>>,
    content: Option<Body>,
    #[serde(rename = "_error")]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Body {
    text: Option<Lenient>,
    encoding: Option<String>,
    size: Option<Value>,
}

/// Whether a text says anything.
fn is_some_text(text: &Option<Lenient>) -> bool {
    text.as_ref().is_some_and(|Lenient(text)| !text.is_empty())
}

/// Whether a size says that there was something; -1 says that nobody knows.
fn is_some_size(size: &Option<Value>) -> bool {
    size.as_ref().and_then(Value::as_f64).is_some_and(|size| size > 0.0)
}

#[derive(Deserialize)]
struct Pair {
    #[serde(default)]
    name: Lenient,
    value: Option<Lenient>,
}

#[derive(Deserialize)]
struct Timings {
    blocked: Option<f64>,
    dns: Option<f64>,
    connect: Option<f64>,
    send: Option<f64>,
    wait: Option<f64>,
}

impl Timings {
    /// Until the first byte; -1 says that a phase does not apply.
    fn first(&self) -> f64 {
        let phases = [self.blocked, self.dns, self.connect, self.send, self.wait];
        phases.into_iter().flatten().filter(|ms| *ms > 0.0).sum()
    }
}

impl Entry {
    /// Which body it does not hold: browsers leave bodies out where they are told to, or
    /// have forgotten them.
    fn lacks_body(&self, held: Option<&own::Held>) -> Option<&'static str> {
        if held.is_none_or(|held| held.request.is_none()) && self.request.lacks_body() {
            return Some("the file does not hold its request's body");
        }
        let content = self.response.as_ref().and_then(|answered| answered.content.as_ref());
        let emptied = |body: &Body| !is_some_text(&body.text) && is_some_size(&body.size);
        let lacks = held.is_none_or(|held| held.body.is_none()) && content.is_some_and(emptied);
        lacks.then_some("the file does not hold its answer's body")
    }

    fn item(self, place: String, latin: bool) -> Item {
        let left = |reason: &str| Item::Left(Left::no_call(place.clone(), reason));
        let damaged = |reason: &str| Item::Left(Left::damaged(place.clone(), reason));
        let held = self.own.as_ref().map(own::read);
        if self.messages.is_some() || self.resource_type.as_deref() == Some("websocket") {
            return left("a WebSocket, whose messages are no exchange");
        }
        if let Some(reason) = self.lacks_body(held.as_ref()) {
            return damaged(reason);
        }
        let headers = pairs(self.request.headers);
        let kind = content_type(&headers);
        let asked = held.as_ref().and_then(|held| held.request.clone());
        let asked = asked.map_or_else(|| posted(self.request.post_data, kind, latin), Ok);
        let body = match asked {
            Ok(body) => body,
            Err(reason) => return damaged(reason),
        };
        let Some(answered) = self.response else { return left("it holds no response") };
        let status = answered.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
        if status == 0 && answered.error.is_some() {
            return left("it was never answered (status 0, with an error)");
        }
        let answer_headers = pairs(answered.headers);
        let Some(bytes) = answered.content.map_or(Some(Bytes::new()), |content| {
            content.bytes(content_type(&answer_headers), latin)
        }) else {
            return damaged("its answer's base64 cannot be read");
        };
        let content = match held.as_ref() {
            Some(held) => {
                let packed = held.body.clone();
                let wire = packed.as_ref().unwrap_or(&bytes);
                let chunks = held.cut(wire).map(Content::Chunks);
                chunks.unwrap_or_else(|| packed.map_or(Content::Plain(bytes), Content::Wire))
            }
            None => Content::Plain(bytes),
        };
        let time = held.as_ref().map_or(self.time, |held| held.latency_ms);
        let (first_ms, duration_ms) = times(self.timings, time);
        let end = held.as_ref().and_then(|held| held.end).unwrap_or(End::Complete);
        let began = self.started_date_time.filter(|text| moment::read(text).is_some());
        let started = held.as_ref().map_or(began, |held| held.recorded_at.clone());
        let request = Request {
            method: self.request.method.unwrap_or_default(),
            url: self.request.url.unwrap_or_default(),
            headers,
            body,
        };
        let response = Response { status, headers: answer_headers, content, end };
        Item::Exchange(Box::new(Exchange {
            place,
            request,
            response,
            started,
            first_ms,
            duration_ms,
            own: held.map(|held| held.own),
            lost: Vec::new(),
        }))
    }
}

/// Milliseconds to the first byte of an answer and to its end, as far as they are told.
fn times(timings: Option<Timings>, whole: Option<f64>) -> (Option<f64>, Option<f64>) {
    let good = |ms: Option<f64>| ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
    let (first, whole) = (good(timings.map(|timings| timings.first())), good(whole));
    match (first, whole) {
        (Some(first), Some(end)) => (Some(first.min(end)), whole),
        _ => (first, whole),
    }
}

impl Body {
    fn bytes(self, kind: &str, latin: bool) -> Option<Bytes> {
        let Lenient(text) = self.text.unwrap_or_default();
        match self.encoding.as_deref() {
            Some(encoding) if encoding.eq_ignore_ascii_case("base64") => {
                decode_base64(std::str::from_utf8(&text).ok()?).map(Bytes::from)
            }
            _ => Some(original(text, kind, latin).into()),
        }
    }
}

/// The bytes of a request's body.
fn posted(post: Option<Post>, kind: &str, latin: bool) -> Result<Bytes, &'static str> {
    let Some(post) = post else { return Ok(Bytes::new()) };
    let kind = if kind.is_empty() { post.mime_type.as_deref().unwrap_or_default() } else { kind };
    let Lenient(text) = post.text.unwrap_or_default();
    if post.encoding.as_deref().is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64")) {
        let decoded = std::str::from_utf8(&text).ok().and_then(decode_base64);
        return decoded.map(Bytes::from).ok_or("its request's base64 cannot be read");
    }
    let params = post.params.unwrap_or_default();
    if !text.is_empty() || params.is_empty() {
        return Ok(original(text, kind, latin).into());
    }
    if kind.to_ascii_lowercase().starts_with("multipart/") {
        return Err("the file holds the fields of its form, and not the bytes that were sent");
    }
    let encoded =
        |bytes: Lenient| utf8_percent_encode(&String::from_utf8_lossy(&bytes.0), &FORM).to_string();
    let form: Vec<String> = params
        .into_iter()
        .map(|Pair { name, value }| {
            format!("{}={}", encoded(name), encoded(value.unwrap_or_default()))
        })
        .collect();
    Ok(form.join("&").replace("%20", "+").into())
}

/// The bytes that a text stands for. mitmproxy reads what names no charset and is no
/// JSON as Latin-1, events of a stream among it.
fn original(text: Vec<u8>, kind: &str, latin: bool) -> Vec<u8> {
    let kind = kind.to_ascii_lowercase();
    let guessed = ["charset", "json", "html", "css"].iter().all(|word| !kind.contains(word));
    if !latin || !guessed {
        return text;
    }
    let read = std::str::from_utf8(&text).ok();
    let bytes: Option<Vec<u8>> = read.and_then(|text| {
        text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
    });
    bytes.unwrap_or(text)
}

fn pairs(pairs: Option<Vec<Pair>>) -> Vec<(String, String)> {
    let text = |bytes: Lenient| String::from_utf8_lossy(&bytes.0).into_owned();
    let pairs = pairs.unwrap_or_default().into_iter();
    pairs.map(|Pair { name, value }| (text(name), text(value.unwrap_or_default()))).collect()
}

fn content_type(headers: &[(String, String)]) -> &str {
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map_or("", |(_, value)| value.as_str())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
