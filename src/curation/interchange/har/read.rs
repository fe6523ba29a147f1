//! The reader of HAR files.

use std::fmt;
use std::io::Read;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, ResponseContent, SkipCause,
    SkippedItem,
};
use super::super::read_context::{ReadContext, ReadProblem};
use super::body::{
    HarBody, HarPair, HarPostData, content_type, is_packed, is_some_size, is_some_text, pairs,
    posted,
};
use super::own;
use loomrec_recording::{ResponseEnd, timestamp};

/// Reads a HAR file.
pub(in super::super) fn read(
    input: impl Read,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    let mut input = std::io::BufReader::new(input);
    skip_mark(&mut input).map_err(ReadProblem::Io)?;
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let mut state = State { finder, creator: String::new() };
    Part { state: &mut state, inside: Inside::File }.deserialize(&mut deserializer)?;
    Ok(deserializer.end()?)
}

/// Skips a byte-order mark, with which some tools begin their files.
fn skip_mark(input: &mut impl std::io::BufRead) -> std::io::Result<()> {
    if input.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
        input.consume(3);
    }
    Ok(())
}

struct State<'f, 'a> {
    finder: &'f mut ReadContext<'a>,
    /// The creator of the file, if it has been read already.
    creator: String,
}

/// A part of the file that is read as a stream.
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
                return Err(de::Error::custom(format_args!("`{wanted}` occurs twice")));
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
            if !self.state.finder.report(entry.item(place, latin)) {
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
    headers: Option<Vec<HarPair>>,
    post_data: Option<HarPostData>,
    body_size: Option<Value>,
}

impl Asked {
    /// Whether it had a body that the file does not hold.
    fn lacks_body(&self) -> bool {
        let said = |post: &HarPostData| {
            is_some_text(&post.text) || post.params.as_ref().is_some_and(|all| !all.is_empty())
        };
        !self.post_data.as_ref().is_some_and(said) && is_some_size(&self.body_size)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    status: Option<Value>,
    headers: Option<Vec<HarPair>>,
    content: Option<HarBody>,
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
    /// Returns the time until the first byte. -1 means that a phase does not apply.
    fn first(&self) -> f64 {
        let phases = [self.blocked, self.dns, self.connect, self.send, self.wait];
        phases.into_iter().flatten().filter(|ms| *ms > 0.0).sum()
    }
}

impl Entry {
    /// Returns which body is missing. Browsers omit bodies if they are told to, or have discarded
    /// them.
    fn lacks_body(&self, held: Option<&own::OwnMember>) -> Option<&'static str> {
        if held.is_none_or(|held| held.request.is_none()) && self.request.lacks_body() {
            return Some("the file does not hold its request's body");
        }
        let content = self.response.as_ref().and_then(|answered| answered.content.as_ref());
        let emptied = |body: &HarBody| !is_some_text(&body.text) && is_some_size(&body.size);
        let lacks = held.is_none_or(|held| held.body.is_none()) && content.is_some_and(emptied);
        lacks.then_some("the file does not hold its answer's body")
    }

    fn item(self, place: String, latin: bool) -> FoundItem {
        let left = |reason: &str| FoundItem::Left(SkippedItem::no_call(place.clone(), reason));
        let damaged = |reason: &str| FoundItem::Left(SkippedItem::damaged(place.clone(), reason));
        let held = self.own.as_ref().map(own::read);
        if self.messages.is_some() || self.resource_type.as_deref() == Some("websocket") {
            return left("a WebSocket, whose messages are not an exchange");
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
        let Some(answered) = self.response else { return damaged("it holds no response") };
        let status = match answered.status() {
            Ok(status) => status,
            Err((cause, reason)) => {
                return FoundItem::Left(SkippedItem { place, reason: reason.to_owned(), cause });
            }
        };
        let answer_headers = pairs(answered.headers);
        let packed = is_packed(&answer_headers);
        let size = answered.content.as_ref().filter(|_| held.is_none());
        let size =
            size.and_then(|body| body.stated_size(content_type(&answer_headers), packed && latin));
        let Some(bytes) = answered.content.map_or(Some(Bytes::new()), |content| {
            content.bytes(content_type(&answer_headers), latin)
        }) else {
            return damaged("its answer's base64 cannot be read");
        };
        let content = content(held.as_ref(), bytes);
        let time = held.as_ref().map_or(self.time, |held| held.latency_ms);
        let (first_ms, duration_ms) = times(self.timings, time);
        let end = held.as_ref().and_then(|held| held.end).unwrap_or(ResponseEnd::Complete);
        let began = self.started_date_time.filter(|text| timestamp::read(text).is_some());
        let started = held.as_ref().map_or(began, |held| held.recorded_at.clone());
        let request = ForeignRequest {
            method: self.request.method.unwrap_or_default(),
            url: self.request.url.unwrap_or_default(),
            headers,
            body,
        };
        let response = ForeignResponse { status, headers: answer_headers, content, size, end };
        FoundItem::Exchange(Box::new(ForeignExchange {
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

impl Answered {
    /// Returns the status.
    ///
    /// # Errors
    /// If there is none. The error says why, and whether a call is lost by it.
    fn status(&self) -> Result<u16, (SkipCause, &'static str)> {
        let has_text = self.content.as_ref().is_some_and(|body| is_some_text(&body.text));
        match self.status.as_ref().and_then(status_code) {
            Some(0) if has_text => {
                Err((SkipCause::Damaged, "its status cannot be read (0), though it was answered"))
            }
            // Browsers write this for a call that was aborted, blocked, or could not be made.
            Some(0) => Err((SkipCause::NoCall, "it was never answered (status 0)")),
            Some(status) => Ok(status),
            None => Err((SkipCause::Damaged, "its status cannot be read")),
        }
    }
}

/// Returns a response's body. It is split into chunks if loomrec's member has them.
fn content(held: Option<&own::OwnMember>, bytes: Bytes) -> ResponseContent {
    let Some(held) = held else { return ResponseContent::Plain(bytes) };
    let packed = held.body.clone();
    let chunks = held.cut(packed.as_ref().unwrap_or(&bytes)).map(ResponseContent::Chunks);
    chunks.unwrap_or_else(|| packed.map_or(ResponseContent::Plain(bytes), ResponseContent::Wire))
}

/// Returns the milliseconds to the first byte and to the end of an answer, if they are known.
fn times(timings: Option<Timings>, whole: Option<f64>) -> (Option<f64>, Option<f64>) {
    let good = |ms: Option<f64>| ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
    let (first, whole) = (good(timings.map(|timings| timings.first())), good(whole));
    match (first, whole) {
        (Some(first), Some(end)) => (Some(first.min(end)), whole),
        _ => (first, whole),
    }
}

/// Reads a status that is a number or a string of digits.
fn status_code(status: &Value) -> Option<u16> {
    let digits = status.as_str().map(|text| text.trim().parse());
    digits.map_or_else(|| status.as_u64().and_then(|code| u16::try_from(code).ok()), Result::ok)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
