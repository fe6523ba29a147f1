//! Body bytes as a recording stores them: in a readable form if that loses nothing.
//!
//! A body is written as exactly one of `body` (a JSON value, with a `style` if its text is not the
//! compact form), `text`, `base64`, or, for a stream, `chunks`. An empty body has none of these
//! fields. Each form gives the same bytes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value};

use super::json_style::JsonStyle;
use loomrec_identity::media_type;
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult, value_kind};
use loomrec_provider::Framing;

/// The longest time that a chunk or an answer may take, in milliseconds: an hour. No provider takes
/// longer to answer, and a replay does not wait longer, whatever a recording says.
pub const LONGEST_MS: f64 = 3_600_000.0;

/// Whether a recorded time, in milliseconds since the request, is plausible.
pub fn is_plausible_time(ms: f64) -> bool {
    (0.0..=LONGEST_MS).contains(&ms)
}

/// One chunk of a response, as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Milliseconds from the request's arrival to this chunk's.
    pub at_ms: f64,
    /// The bytes.
    pub data: Bytes,
}

/// How a response's chunks are written. Every layout gives the same bytes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkLayout {
    /// One `body`, `text` or `base64`. The boundaries of the chunks had no meaning.
    Whole,
    /// One `body`, `text` or `base64`, and `frames: [[ms, bytes], …]` next to it.
    Frames,
    /// `chunks: [[ms, text], …]`: a stream.
    Chunks,
}

impl ChunkLayout {
    /// Returns the layout for a response. A stream of events (`text/event-stream`, NDJSON, AWS's
    /// event stream) is always kept as chunks. A body with a content length or of a single frame is
    /// kept whole. Any other body keeps its frames.
    ///
    /// `content_type` is the header's value with its parameters; `""` if there is none.
    pub fn for_response(content_type: &str, has_content_length: bool, frame_count: usize) -> Self {
        if Framing::of_media(media_type(content_type)).is_some() {
            Self::Chunks
        } else if has_content_length || frame_count <= 1 {
            Self::Whole
        } else {
            Self::Frames
        }
    }
}

/// The bytes of a response, with their chunk boundaries and times.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponsePayload {
    layout: ChunkLayout,
    chunks: Vec<Chunk>,
}

impl ResponsePayload {
    /// The payload that came in these chunks and is written in this layout.
    pub fn new(layout: ChunkLayout, chunks: Vec<Chunk>) -> Self {
        Self { layout, chunks }
    }

    /// The layout in which it is written.
    pub fn layout(&self) -> ChunkLayout {
        self.layout
    }

    /// The chunks in order; none for an empty body. A payload that was read from a layout
    /// without boundaries has one chunk, at the entry's `latency_ms`.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The chunks, to be changed in place.
    pub fn chunks_mut(&mut self) -> &mut Vec<Chunk> {
        &mut self.chunks
    }

    /// Returns the chunks.
    pub fn into_chunks(self) -> Vec<Chunk> {
        self.chunks
    }

    /// Returns the payload of a response without a body.
    pub fn empty() -> Self {
        Self { layout: ChunkLayout::Whole, chunks: Vec::new() }
    }

    /// Returns all bytes, joined. A single chunk is not copied.
    pub fn joined_bytes(&self) -> Bytes {
        match self.chunks.as_slice() {
            [] => Bytes::new(),
            [only] => only.data.clone(),
            many => {
                let mut joined = BytesMut::with_capacity(self.len());
                for chunk in many {
                    joined.extend_from_slice(&chunk.data);
                }
                joined.freeze()
            }
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.data.len()).sum()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.data.is_empty())
    }

    /// Reads the payload from a response's object. `whole_at_ms` is the time of a body without
    /// boundaries.
    pub(super) fn from_fields(
        fields: FieldReader<'_>,
        whole_at_ms: f64,
    ) -> Result<Self, FieldError> {
        let whole = decode_bytes(fields)?;
        let Some(chunks) = fields.value_or_null("chunks") else {
            return Self::decode_frames(fields, whole, whole_at_ms);
        };
        if whole.is_some() {
            let expected = "the only one of `body`, `text`, `base64` and `chunks`";
            return Err(fields.wrong_value("chunks", expected));
        }
        let place = fields.field_place("chunks");
        let Value::Array(rows) = chunks else {
            return Err(fields.wrong_value("chunks", "a list of `[ms, text]`"));
        };
        let chunks: Vec<Chunk> = rows
            .iter()
            .enumerate()
            .map(|(index, row)| decode_chunk(row, &place, index))
            .collect::<Result<_, _>>()?;
        if chunks.is_empty() {
            return Ok(Self::empty());
        }
        Ok(Self { layout: ChunkLayout::Chunks, chunks })
    }

    fn decode_frames(
        fields: FieldReader<'_>,
        whole: Option<Bytes>,
        whole_at_ms: f64,
    ) -> Result<Self, FieldError> {
        let whole = whole.unwrap_or_default();
        if let Some(frames) = fields.read_list("frames", "a list")? {
            let expected = "a list of `[ms, bytes]` that adds up to the body";
            let chunks = split_frames(frames, &whole)
                .ok_or_else(|| fields.wrong_value("frames", expected))?;
            return Ok(Self { layout: ChunkLayout::Frames, chunks });
        }
        if whole.is_empty() {
            return Ok(Self::empty());
        }
        Ok(Self {
            layout: ChunkLayout::Whole,
            chunks: vec![Chunk { at_ms: whole_at_ms, data: whole }],
        })
    }
}

fn split_frames(rows: &[Value], whole: &Bytes) -> Option<Vec<Chunk>> {
    let mut rest = whole.clone();
    let mut chunks = Vec::with_capacity(rows.len());
    for row in rows {
        let [ms, length] = row.as_array()?.as_slice() else {
            return None;
        };
        let length = usize::try_from(length.as_u64()?).ok()?;
        if length > rest.len() {
            return None;
        }
        chunks.push(Chunk { at_ms: finite_number(ms)?, data: rest.split_to(length) });
    }
    rest.is_empty().then_some(chunks)
}

fn finite_number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

fn decode_chunk(row: &Value, place: &str, index: usize) -> Result<Chunk, FieldError> {
    let expected = "`[ms, text]` or `[ms, {\"base64\": …}]`";
    let error = || FieldError::unexpected(format!("{place}/{index}"), expected, value_kind(row));
    let [ms, data] = row.as_array().ok_or_else(error)?.as_slice() else {
        return Err(error());
    };
    let data = match data {
        Value::String(text) => Bytes::copy_from_slice(text.as_bytes()),
        Value::Object(map) if map.len() == 1 => map
            .get("base64")
            .and_then(Value::as_str)
            .and_then(|text| STANDARD.decode(text).ok())
            .ok_or_else(error)?
            .into(),
        _ => return Err(error()),
    };
    Ok(Chunk { at_ms: finite_number(ms).ok_or_else(error)?, data })
}

/// Writes the field (and its `style`) that holds these bytes. Writes nothing if there are none.
pub(super) fn encode_bytes(bytes: &[u8], out: &mut Map<String, Value>) {
    if bytes.is_empty() {
        return;
    }
    if let Some((value, style)) = JsonStyle::detect(bytes) {
        out.insert("body".into(), value);
        if let Some(name) = style.name() {
            out.insert("style".into(), name.into());
        }
    } else if let Ok(text) = std::str::from_utf8(bytes) {
        out.insert("text".into(), text.into());
    } else {
        out.insert("base64".into(), STANDARD.encode(bytes).into());
    }
}

/// Reads `body`, `text` or `base64`. Returns `None` if there is none of them.
pub(super) fn decode_bytes(fields: FieldReader<'_>) -> FieldResult<Bytes> {
    let mut found = None;
    for name in ["body", "text", "base64"] {
        let Some(value) = fields.value_or_null(name) else {
            continue;
        };
        if found.is_some() {
            let expected = "the only one of `body`, `text` and `base64`";
            return Err(fields.wrong_value(name, expected));
        }
        found = Some(match (name, value) {
            ("body", value) => Bytes::from(style_of(fields)?.value_text(value)),
            ("text", Value::String(text)) => Bytes::copy_from_slice(text.as_bytes()),
            ("base64", Value::String(text)) => STANDARD
                .decode(text)
                .map_err(|_| fields.wrong_value(name, "standard base64 with padding"))?
                .into(),
            _ => return Err(fields.wrong_value(name, "a string")),
        });
    }
    Ok(found)
}

fn style_of(fields: FieldReader<'_>) -> Result<JsonStyle, FieldError> {
    let expected = "words out of `spaced`, `pretty`, `ascii` and `newline`";
    match fields.get("style") {
        None => Ok(JsonStyle::PLAIN),
        Some(Value::String(words)) => {
            JsonStyle::parse(words).ok_or_else(|| fields.other_string("style", expected))
        }
        Some(_) => Err(fields.wrong_value("style", expected)),
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
pub(super) mod tests;
