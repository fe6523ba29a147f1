//! The reader of HAR files.

use std::fmt;
use std::io::Read;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::attached_files::AttachedFiles;
use super::super::body_presence::is_structured;
use super::super::companion::CompanionFiles;
use super::super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, ResponseContent, SkipCause,
    SkippedItem,
};
use super::super::read_context::{ReadContext, ReadProblem};
use super::body::{HarBody, HarBytes, HarMessage, HarPair, posted_bytes, text_pairs};
use super::{own, socket};
use crate::yaml;
use crate::yaml::scalar::ScalarSchema;
use loomrec_recording::{ResponseEnd, timestamp};

/// Reads a HAR file.
pub(in super::super) fn read(
    input: impl Read,
    beside: &CompanionFiles,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    let mut input = std::io::BufReader::new(input);
    skip_mark(&mut input).map_err(ReadProblem::Io)?;
    let attached = &beside.attached;
    let state = HarReadState { finder, attached, creator: String::new() };
    if is_json(&mut input).map_err(ReadProblem::Io)? {
        return read_json(serde_json::Deserializer::from_reader(input), state);
    }
    // Polly's YAML. It is read as a whole.
    let file = yaml::value_of(input, ScalarSchema::Core)?;
    let text = file.map_err(|none| ReadProblem::Form(format!("it {}", none.reason())))?.to_string();
    read_json(serde_json::Deserializer::from_str(&text), state)
}

fn read_json<'de, R: serde_json::de::Read<'de>>(
    mut deserializer: serde_json::Deserializer<R>,
    mut state: HarReadState<'_, '_>,
) -> Result<(), ReadProblem> {
    HarSection { state: &mut state, inside: Inside::File }.deserialize(&mut deserializer)?;
    Ok(deserializer.end()?)
}

/// Whether the first character is that of a JSON object or of other JSON.
fn is_json(input: &mut impl std::io::BufRead) -> std::io::Result<bool> {
    loop {
        let ahead = input.fill_buf()?;
        let blanks = ahead.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match ahead.get(blanks) {
            Some(first) => return Ok(!matches!(first, b'l' | b'-' | b'#' | b'%')),
            None if ahead.is_empty() => return Ok(true),
            None => input.consume(blanks),
        }
    }
}

/// Skips a byte-order mark, with which some tools begin their files.
fn skip_mark(input: &mut impl std::io::BufRead) -> std::io::Result<()> {
    if input.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
        input.consume(3);
    }
    Ok(())
}

struct HarReadState<'f, 'a> {
    finder: &'f mut ReadContext<'a>,
    attached: &'f AttachedFiles,
    /// The creator of the file, if it has been read already.
    creator: String,
}

/// What is known of the file that an entry is in.
#[derive(Clone, Copy)]
struct HarSource<'a> {
    /// Whether mitmproxy wrote it.
    is_latin: bool,
    attached: &'a AttachedFiles,
}

impl<'a> HarSource<'a> {
    /// Returns what is known of a message with these headers.
    fn with_headers(self, headers: &'a [(String, String)]) -> HarMessage<'a> {
        let find = |wanted: &str| {
            let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.as_str())
        };
        HarMessage {
            content_type: find("content-type").unwrap_or_default(),
            length: find("content-length").and_then(|length| length.trim().parse().ok()),
            is_packed: find("content-encoding").is_some(),
            is_latin: self.is_latin,
            attached: self.attached,
        }
    }
}

/// A part of the file that is read as a stream.
struct HarSection<'s, 'f, 'a> {
    state: &'s mut HarReadState<'f, 'a>,
    inside: Inside,
}

#[derive(Clone, Copy)]
enum Inside {
    File,
    Log,
    Entries,
}

impl<'de> DeserializeSeed<'de> for HarSection<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.inside {
            Inside::File | Inside::Log => deserializer.deserialize_map(self),
            Inside::Entries => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for HarSection<'_, '_, '_> {
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
                map.next_value_seed(HarSection { state: &mut *self.state, inside: next })?;
            } else if key == "creator" {
                self.state.creator = map.next_value::<Creator>()?.name.unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(de::Error::missing_field(wanted)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let is_latin = self.state.creator.eq_ignore_ascii_case("mitmproxy");
        let source = HarSource { is_latin, attached: self.state.attached };
        while let Some(entry) = seq.next_element::<HarEntry>()? {
            let place = self.state.finder.next_place();
            if !self.state.finder.report_item(entry.into_item(place, source)) {
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
struct HarEntry {
    started_date_time: Option<String>,
    time: Option<f64>,
    request: HarRequest,
    response: Option<HarResponse>,
    timings: Option<Timings>,
    #[serde(rename = "_resourceType")]
    resource_type: Option<String>,
    #[serde(rename = "_webSocketMessages")]
    messages: Option<Box<RawValue>>,
    #[serde(rename = "_loomrec")]
    own: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: Option<String>,
    url: Option<String>,
    headers: Option<Vec<HarPair>>,
    post_data: Option<Box<RawValue>>,
    body_size: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarResponse {
    status: Option<Value>,
    status_text: Option<String>,
    headers: Option<Vec<HarPair>>,
    content: Option<Box<RawValue>>,
    body_size: Option<Value>,
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
    fn first_byte_time(&self) -> f64 {
        let phases = [self.blocked, self.dns, self.connect, self.send, self.wait];
        phases.into_iter().flatten().filter(|ms| *ms > 0.0).sum()
    }
}

impl HarEntry {
    fn into_item(self, place: String, source: HarSource<'_>) -> FoundItem {
        match self.into_exchange(place.clone(), source) {
            Ok(exchange) => FoundItem::Exchange(Box::new(exchange)),
            Err((cause, reason)) => FoundItem::Left(SkippedItem { place, reason, cause }),
        }
    }

    /// Returns the exchange, or why it is left out.
    fn into_exchange(
        self,
        place: String,
        source: HarSource<'_>,
    ) -> Result<ForeignExchange, (SkipCause, String)> {
        let damaged = |reason: String| (SkipCause::Damaged, reason);
        let Self { request, response, messages: frames, time, timings, .. } = self;
        let held = self.own.as_ref().map(own::read);
        let resource_type = self.resource_type.as_deref();
        let is_socket = frames.is_some() || resource_type == Some(socket::RESOURCE_TYPE);
        let mut request = request.read(held.as_ref(), source).map_err(damaged)?;
        let answered = response.ok_or_else(|| damaged("it holds no response".to_owned()))?;
        let mut response = answered.read(held.as_ref(), source)?;
        let time = held.as_ref().map_or(time, |held| held.latency_ms);
        let (first_ms, duration_ms) = answer_times(timings, time);
        let began = self.started_date_time.filter(|text| timestamp::normalize_time(text).is_some());
        let mut lost = Vec::new();
        if is_socket {
            socket::settle_handshake(&mut request, &mut response);
        }
        let messages = match is_socket && response.status == socket::ACCEPTED {
            false => Vec::new(),
            true => socket::read_messages(frames.as_deref(), began.as_deref(), held.as_ref())
                .map_err(|why| damaged(format!("it is a WebSocket, and {why}")))?,
        };
        if !messages.is_empty() && held.is_none() {
            lost.push(socket::UNKNOWN_END);
        }
        let started = held.as_ref().map_or(began, |held| held.recorded_at.clone());
        Ok(ForeignExchange {
            place,
            request,
            response,
            started,
            first_ms,
            duration_ms,
            own: held.map(|held| held.own),
            messages,
            lost,
        })
    }
}

impl HarRequest {
    /// Returns the request.
    ///
    /// # Errors
    /// If the file does not hold its body as it was sent. The error says why.
    fn read(
        self,
        held: Option<&own::OwnMember>,
        source: HarSource<'_>,
    ) -> Result<ForeignRequest, String> {
        let headers = text_pairs(self.headers);
        let body = match held.and_then(|held| held.request_body.clone()) {
            Some(bytes) => HarBytes { bytes, size: None },
            None => posted_bytes(
                HarBody::parse(self.post_data.as_deref()),
                source.with_headers(&headers),
            )?,
        };
        let size = read_length(self.body_size.as_ref()).or(body.size);
        Ok(ForeignRequest {
            method: self.method.unwrap_or_default(),
            url: self.url.unwrap_or_default(),
            headers,
            body: body.bytes,
            size,
        })
    }
}

impl HarResponse {
    /// Returns the response, or why the call is left out.
    fn read(
        self,
        held: Option<&own::OwnMember>,
        source: HarSource<'_>,
    ) -> Result<ForeignResponse, (SkipCause, String)> {
        let body = HarBody::parse(self.content.as_deref());
        let status = read_status(self.status.as_ref(), body.is_held())?;
        let headers = text_pairs(self.headers);
        let packed = held.and_then(|held| held.body.clone());
        let promises = is_structured(&body.mime_type);
        let read = match &packed {
            Some(_) => HarBytes { bytes: Bytes::new(), size: None },
            None => body
                .into_bytes(source.with_headers(&headers))
                .map_err(|why| (SkipCause::Damaged, format!("its response's body {why}")))?,
        };
        let mut size = read.size;
        if read.bytes.is_empty() && packed.is_none() {
            // A size of 0 counts only if nothing else says that there were bytes.
            let sent = read_length(self.body_size.as_ref()).filter(|sent| *sent > 0);
            size = sent.or(size.filter(|size| *size > 0 || !promises));
        }
        let content = response_content(held, read.bytes);
        let end = held.and_then(|held| held.end).unwrap_or(ResponseEnd::Complete);
        let reason = self.status_text;
        Ok(ForeignResponse { status, reason, headers, content, size, end })
    }
}

/// Returns the status.
///
/// # Errors
/// If there is none. The error says why, and whether a call is lost by it.
fn read_status(status: Option<&Value>, is_held: bool) -> Result<u16, (SkipCause, String)> {
    let (cause, reason) = match status.and_then(status_code) {
        Some(0) if is_held => {
            (SkipCause::Damaged, "its status cannot be read (0), though it was answered")
        }
        // Browsers write this for a call that was aborted, blocked, or could not be made.
        Some(0) => (SkipCause::NoCall, "it was never answered (status 0)"),
        Some(status) => return Ok(status),
        None => (SkipCause::Damaged, "its status cannot be read"),
    };
    Err((cause, reason.to_owned()))
}

/// Reads a length; `None` if it is unknown, which is written as -1.
fn read_length(value: Option<&Value>) -> Option<u64> {
    value.and_then(Value::as_u64)
}

/// Returns a response's body. It is split into chunks if loomrec's member has them.
fn response_content(held: Option<&own::OwnMember>, bytes: Bytes) -> ResponseContent {
    let Some(held) = held else { return ResponseContent::Plain(bytes) };
    let packed = held.body.clone();
    let chunks = held.split_chunks(packed.as_ref().unwrap_or(&bytes)).map(ResponseContent::Chunks);
    chunks.unwrap_or_else(|| packed.map_or(ResponseContent::Plain(bytes), ResponseContent::Wire))
}

/// Returns the milliseconds to the first byte and to the end of an answer, if they are known.
fn answer_times(timings: Option<Timings>, whole: Option<f64>) -> (Option<f64>, Option<f64>) {
    let good = |ms: Option<f64>| ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
    let (first, whole) = (good(timings.map(|timings| timings.first_byte_time())), good(whole));
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
