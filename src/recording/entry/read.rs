//! The fast reader of entries. It reads what recorders write in one pass, without a tree of values.
//! Anything else is read by [`Entry::parse`], with the same result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::super::body::{Chunk, ChunkLayout, ResponsePayload};
use super::super::entry_field::EntryError;
use super::super::header_names::HeaderNames;
use super::super::json_style::JsonStyle;
use super::super::typed_reader::{TextTokens, body_in_style};
use super::field::{EntryField, FieldSet, USAGE_FIELDS, usage_counts};
use super::{Entry, RecordedCut, RecordedRequest, RecordedResponse, ResponseEnd};
use loomrec_identity::{RequestKey, RunValues};
use loomrec_provider::TokenUsage;

/// Objects with more headers than this are left to [`Entry::parse`].
const MOST_HEADERS: usize = 100;

/// Why a text is not an entry.
#[derive(Debug)]
pub enum EntryReadError {
    /// It is not JSON.
    Json(serde_json::Error),
    /// A field has the wrong type.
    Entry(EntryError),
}

impl Entry {
    /// Reads an entry's text that holds only known fields, each once and with its type. Returns
    /// `None` for any other text, which may still be an entry.
    pub fn read_known(text: &str) -> Option<Self> {
        read_quickly(text)
    }

    /// Reads an entry's text as [`Entry::parse`] does, and notes whether it can be read in more
    /// than one way.
    pub fn from_text(text: &[u8]) -> Result<Self, EntryReadError> {
        if let Some(entry) = std::str::from_utf8(text).ok().and_then(read_quickly) {
            return Ok(entry);
        }
        let value: Value = serde_json::from_slice(text).map_err(EntryReadError::Json)?;
        let is_ambiguous = loomrec_identity::parse(text).is_err();
        Self::parse(&value)
            .map_err(EntryReadError::Entry)
            .map(|entry| Self { is_ambiguous, ..entry })
    }
}

/// Reads the entry, or returns `None` if only [`Entry::parse`] can.
pub(super) fn read_quickly(text: &str) -> Option<Entry> {
    let mut entry = Entry::default();
    let mut rest = Map::new();
    let mut seen = FieldSet::default();
    let mut tokens = TextTokens::new(text);
    tokens.read_object(|tokens, key| {
        // An unknown field is kept even if it is null, and a duplicate is ambiguous. Both are left
        // to [`Entry::parse`].
        let field = EntryField::parse(key)?;
        seen.insert(field).then_some(())?;
        if tokens.take_null() {
            return Some(());
        }
        match field {
            EntryField::Content => entry.content = Some(tokens.read_owned_string()?),
            EntryField::Model => entry.model = Some(tokens.read_owned_string()?),
            EntryField::Usage => entry.usage = Some(read_usage(tokens)?),
            EntryField::CostUsd => entry.cost_usd = Some(tokens.read_number()?),
            EntryField::LatencyMs => entry.latency_ms = Some(tokens.read_number()?),
            EntryField::FinishReason => entry.finish_reason = Some(tokens.read_owned_string()?),
            EntryField::RequestHash => {
                entry.request_hash = Some(RequestKey::parse(&tokens.read_string()?)?);
            }
            EntryField::Provider => entry.provider = Some(tokens.read_owned_string()?),
            EntryField::Upstream => entry.upstream = Some(tokens.read_owned_string()?),
            EntryField::UpstreamOrigin => entry.upstream_origin = Some(tokens.read_owned_string()?),
            EntryField::Preset => entry.preset = Some(tokens.read_owned_string()?),
            EntryField::RunValues => entry.run_values = run_values(tokens)?,
            EntryField::Session => entry.session = Some(tokens.read_owned_string()?),
            EntryField::RecordedAt => entry.recorded_at = Some(tokens.read_owned_string()?),
            EntryField::EndedAt => entry.ended_at = Some(tokens.read_owned_string()?),
            EntryField::EditedAt => entry.edited_at = Some(tokens.read_owned_string()?),
            EntryField::Request => entry.request = Some(read_request(tokens)?),
            EntryField::Response => entry.response = Some(read_response(tokens)?),
            EntryField::ToolCalls
            | EntryField::Embeddings
            | EntryField::ClientLeft
            | EntryField::Fault
            | EntryField::Messages => {
                rest.insert(key.to_owned(), tokens.read_value()?);
            }
        }
        Some(())
    })?;
    if !tokens.is_at_end() {
        return None;
    }
    if let Some(response) = &mut entry.response
        && response.payload.layout() == ChunkLayout::Whole
    {
        let at_ms = entry.latency_ms.unwrap_or(0.0);
        response.payload.chunks_mut().iter_mut().for_each(|chunk| chunk.at_ms = at_ms);
    }
    if !rest.is_empty() {
        let more = Entry::parse(&Value::Object(rest)).ok()?;
        entry.tool_calls = more.tool_calls;
        entry.embeddings = more.embeddings;
        entry.client_left = more.client_left;
        entry.fault = more.fault;
        entry.messages = more.messages;
    }
    Some(entry)
}

fn run_values(tokens: &mut TextTokens<'_>) -> Option<RunValues> {
    let mut values = RunValues::default();
    tokens.read_object(|tokens, name| {
        let is_new = values.get(name).is_none();
        (is_new && values.set(name, tokens.read_owned_string()?)).then_some(())
    })?;
    Some(values)
}

fn read_usage(tokens: &mut TextTokens<'_>) -> Option<TokenUsage> {
    let mut usage = TokenUsage::default();
    let mut seen = 0_u8;
    tokens.read_object(|tokens, key| {
        let index = USAGE_FIELDS.iter().position(|known| *known == key)?;
        *usage_counts(&mut usage)[index] = tokens.read_count()?;
        let again = seen & (1 << index) != 0;
        seen |= 1 << index;
        (!again).then_some(())
    })?;
    Some(usage)
}

fn read_request(tokens: &mut TextTokens<'_>) -> Option<RecordedRequest> {
    let (mut method, mut path, mut query, mut headers) = (None, None, None, None);
    let mut other_headers: Option<String> = None;
    let mut body = StoredBody::default();
    tokens.read_object(|tokens, key| match key {
        "method" => set_once(&mut method, tokens.read_owned_string()),
        "path" => set_once(&mut path, tokens.read_owned_string()),
        "query" => set_once(&mut query, tokens.read_owned_string()),
        "headers" => set_once(&mut headers, read_pairs(tokens)),
        "other_headers" => set_once(&mut other_headers, tokens.read_owned_string()),
        _ => body.read_field(tokens, key),
    })?;
    let mut request = RecordedRequest {
        method: method?,
        path: path?,
        query: query.unwrap_or_default(),
        headers: headers.unwrap_or_default(),
        other_headers: HeaderNames::parse(&other_headers.unwrap_or_default()),
        body: Bytes::new(),
        packed: None,
    };
    request.set_stored_body(body.into_bytes()?.unwrap_or_default());
    Some(request)
}

fn read_response(tokens: &mut TextTokens<'_>) -> Option<RecordedResponse> {
    let (mut status, mut reason, mut headers, mut trailers) = (None, None, None, None);
    let (mut end, mut cut) = (None, None);
    let (mut chunks, mut frames) = (None, None);
    let mut body = StoredBody::default();
    tokens.read_object(|tokens, key| match key {
        "status" => set_once(&mut status, tokens.read_count()),
        "reason" => set_once(&mut reason, tokens.read_owned_string()),
        "headers" => set_once(&mut headers, read_pairs(tokens)),
        "trailers" => set_once(&mut trailers, read_pairs(tokens)),
        "end" => set_once(&mut end, tokens.read_owned_string()),
        "cut" => set_once(&mut cut, tokens.read_owned_string()),
        "chunks" => set_once(&mut chunks, read_chunks(tokens)),
        "frames" => set_once(&mut frames, read_lengths(tokens)),
        _ => body.read_field(tokens, key),
    })?;
    let cut = match cut.as_deref() {
        None | Some("close") => RecordedCut::Close,
        Some("reset") => RecordedCut::Reset,
        Some(_) => return None,
    };
    let end = match end.as_deref() {
        None | Some("complete") => ResponseEnd::Complete,
        Some("upstream_abort") => ResponseEnd::UpstreamAbort(cut),
        Some("client_abort") => ResponseEnd::ClientAbort,
        Some("truncated") => ResponseEnd::Truncated,
        Some(_) => return None,
    };
    Some(RecordedResponse {
        status: u16::try_from(status?).ok().filter(|status| (100..=999).contains(status))?,
        reason,
        headers: headers.unwrap_or_default(),
        trailers: trailers.unwrap_or_default(),
        payload: build_payload(body.into_bytes()?, chunks, frames)?,
        end,
    })
}

fn build_payload(
    whole: Option<Bytes>,
    chunks: Option<Vec<Chunk>>,
    frames: Option<Vec<(f64, usize)>>,
) -> Option<ResponsePayload> {
    match (whole, chunks, frames) {
        (None, Some(chunks), None) if !chunks.is_empty() => {
            Some(ResponsePayload::new(ChunkLayout::Chunks, chunks))
        }
        (Some(whole), None, None) if !whole.is_empty() => {
            let chunks = vec![Chunk { at_ms: 0.0, data: whole }];
            Some(ResponsePayload::new(ChunkLayout::Whole, chunks))
        }
        (None, None, None) => Some(ResponsePayload::empty()),
        (Some(mut whole), None, Some(frames)) => {
            let mut chunks = Vec::with_capacity(frames.len());
            for (at_ms, length) in frames {
                if length > whole.len() {
                    return None;
                }
                chunks.push(Chunk { at_ms, data: whole.split_to(length) });
            }
            whole.is_empty().then_some(ResponsePayload::new(ChunkLayout::Frames, chunks))
        }
        _ => None,
    }
}

/// Reads a field that may occur only once.
fn set_once<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    let empty = place.is_none();
    *place = value;
    (empty && place.is_some()).then_some(())
}

fn read_pairs(tokens: &mut TextTokens<'_>) -> Option<Vec<(String, String)>> {
    let mut pairs: Vec<(String, String)> = Vec::with_capacity(8);
    if tokens.peek() == Some(b'[') {
        tokens.read_list(|tokens| {
            let (name, value) =
                tokens.read_pair(TextTokens::read_owned_string, TextTokens::read_owned_string)?;
            pairs.push((name.to_ascii_lowercase(), value));
            Some(())
        })?;
        return Some(pairs);
    }
    tokens.read_object(|tokens, name| {
        // Upper-case names may differ in case alone, and each of many names would be compared with
        // all others. Both are left to [`Entry::parse`].
        let once = pairs.len() < MOST_HEADERS
            && !name.bytes().any(|byte| byte.is_ascii_uppercase())
            && !pairs.iter().any(|(known, _)| known == name);
        pairs.push((name.to_owned(), tokens.read_owned_string()?));
        once.then_some(())
    })?;
    Some(pairs)
}

fn read_chunks(tokens: &mut TextTokens<'_>) -> Option<Vec<Chunk>> {
    // One block of memory holds all of them.
    let mut bytes = Vec::new();
    let mut rows: Vec<(f64, usize)> = Vec::new();
    tokens.read_list(|tokens| {
        rows.push(
            tokens.read_pair(TextTokens::read_number, |tokens| read_chunk(tokens, &mut bytes))?,
        );
        Some(())
    })?;
    let mut bytes = Bytes::from(bytes);
    let chunk = |(at_ms, length)| Chunk { at_ms, data: bytes.split_to(length) };
    Some(rows.into_iter().map(chunk).collect())
}

fn read_chunk(tokens: &mut TextTokens<'_>, bytes: &mut Vec<u8>) -> Option<usize> {
    if tokens.peek() == Some(b'"') {
        return tokens.string_into(bytes);
    }
    let before = bytes.len();
    let mut members = 0;
    tokens.read_object(|tokens, key| {
        members += 1;
        STANDARD.decode_vec(tokens.read_string()?.as_bytes(), bytes).ok()?;
        (key == "base64").then_some(())
    })?;
    (members == 1).then_some(bytes.len() - before)
}

fn read_lengths(tokens: &mut TextTokens<'_>) -> Option<Vec<(f64, usize)>> {
    let mut rows = Vec::new();
    tokens.read_list(|tokens| {
        let length = |tokens: &mut TextTokens<'_>| usize::try_from(tokens.read_count()?).ok();
        rows.push(tokens.read_pair(TextTokens::read_number, length)?);
        Some(())
    })?;
    Some(rows)
}

/// The fields that hold a body.
#[derive(Default)]
struct StoredBody<'a> {
    /// The value's text, and its bytes in the plain style.
    value: Option<(&'a str, Vec<u8>)>,
    style: Option<String>,
    bytes: Option<Bytes>,
}

impl<'a> StoredBody<'a> {
    fn read_field(&mut self, tokens: &mut TextTokens<'a>, key: &str) -> Option<()> {
        match key {
            "body" => {
                tokens.peek()?;
                let from = tokens.clone();
                let mut plain = Vec::new();
                tokens.copy_value(&mut plain, JsonStyle::PLAIN.spacing, 0)?;
                set_once(&mut self.value, Some((tokens.text_since(&from), plain)))
            }
            "style" => set_once(&mut self.style, tokens.read_owned_string()),
            "text" => set_once(&mut self.bytes, tokens.read_owned_string().map(Bytes::from)),
            "base64" => {
                let bytes = STANDARD.decode(tokens.read_string()?.as_bytes()).ok();
                set_once(&mut self.bytes, bytes.map(Bytes::from))
            }
            _ => None,
        }
    }

    /// Returns the bytes; `Some(None)` if there is no body.
    fn into_bytes(self) -> Option<Option<Bytes>> {
        let style = match &self.style {
            None => JsonStyle::PLAIN,
            Some(words) => JsonStyle::parse(words)?,
        };
        match (self.value, self.bytes) {
            (Some((_, plain)), None) if style == JsonStyle::PLAIN => Some(Some(plain.into())),
            (Some((text, _)), None) => {
                let long = || Some(style.value_text(&serde_json::from_str(text).ok()?));
                body_in_style(text, style).or_else(long).map(|bytes| Some(bytes.into()))
            }
            (None, bytes) => Some(bytes),
            (Some(_), Some(_)) => None,
        }
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
