//! Bodies in HAR files, and the pairs in forms and headers.

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::attached_files::AttachedFiles;
use super::super::lenient::LenientString;
use super::super::text_encoding::{
    StatedBody, TextEncoding, decode_untagged, is_binary, join_pieces, json_pieces,
};
use super::members::HarMembers;

/// The characters that a form does not escape.
const FORM: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'*');

/// The most characters that are shown of a name in the file.
const SHOWN: usize = 40;

/// A body as a HAR file holds it: `content` of a response, `postData` of a request.
#[derive(Debug, Default)]
pub(super) struct HarBody {
    pub(super) mime_type: String,
    text: HarText,
    /// The name of its encoding.
    encoding: Option<String>,
    /// Whether Polly says that its text is hex.
    is_hex: bool,
    /// The value of `size`.
    size: Option<Value>,
    params: Vec<HarPair>,
    /// The file that holds it.
    file: Option<String>,
    /// The name of a member that is not known, and has a value.
    unknown: Option<String>,
    /// The name of a member that is not known, and names an encoding.
    unknown_encoding: Option<String>,
    /// What is wrong with it.
    problem: Option<&'static str>,
}

/// The text of a body.
#[derive(Debug, Default)]
enum HarText {
    #[default]
    Absent,
    Text(Vec<u8>),
    Pieces(Vec<LenientString>),
}

/// What is known of the message that a body belongs to.
#[derive(Clone, Copy)]
pub(super) struct HarMessage<'a> {
    /// The message's `content-type` header.
    pub(super) content_type: &'a str,
    /// Its `content-length` header.
    pub(super) length: Option<u64>,
    /// Whether it has a `content-encoding` header.
    pub(super) is_packed: bool,
    /// Whether mitmproxy wrote the file.
    pub(super) is_latin: bool,
    /// The files with bodies.
    pub(super) attached: &'a AttachedFiles,
}

/// The bytes of a body.
#[derive(Debug, Default, PartialEq)]
pub(super) struct HarBytes {
    pub(super) bytes: Bytes,
    /// The length of the decoded body that the file states, if it can be compared with the bytes.
    pub(super) size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HarPair {
    #[serde(default)]
    pub(super) name: LenientString,
    pub(super) value: Option<LenientString>,
}

impl HarBody {
    /// Reads a body. What is wrong with it is reported when its bytes are wanted, since it is only
    /// about this call.
    pub(super) fn parse(raw: Option<&RawValue>) -> Self {
        let Some(raw) = raw else { return Self::default() };
        let mut body = Self::default();
        let Ok(HarMembers(members)) = serde_json::from_str(raw.get()) else {
            return Self { problem: Some("is no object"), ..body };
        };
        for (name, value) in members {
            body.add_member(&name, &value);
        }
        body
    }

    fn add_member(&mut self, name: &str, raw: &RawValue) {
        let text = raw.get();
        let word = || serde_json::from_str::<String>(text).ok();
        let is_nothing = matches!(text, "null" | "false" | "\"\"" | "[]" | "{}");
        match name {
            "text" if !matches!(self.text, HarText::Absent) => {
                self.problem = Some("occurs twice");
            }
            "text" => match HarText::parse(text) {
                Some(read) => self.text = read,
                None => self.problem = Some("is no text"),
            },
            "encoding" if is_nothing => {}
            "encoding" => self.encoding = Some(word().unwrap_or_else(|| text.to_owned())),
            "mimeType" => self.mime_type = word().unwrap_or_default(),
            "size" => self.size = serde_json::from_str(text).ok(),
            "_isBinary" => self.is_hex = text == "true",
            "params" => self.params = serde_json::from_str(text).unwrap_or_default(),
            "_file" if !is_nothing => self.file = Some(word().unwrap_or_default()),
            "_file" | "comment" | "compression" => {}
            _ if is_nothing => {}
            other => {
                let other: String = other.chars().take(SHOWN).collect();
                let plain: String = other.chars().filter(char::is_ascii_alphanumeric).collect();
                let plain = plain.to_ascii_lowercase();
                let marks = ["encod", "base64", "hex", "binary", "compressed", "gzip"];
                let is_plain = || word().and_then(|word| TextEncoding::from_name(&word)).is_some();
                if marks.iter().any(|mark| plain.contains(mark)) && !is_plain() {
                    self.unknown_encoding = Some(other);
                } else {
                    self.unknown.get_or_insert(other);
                }
            }
        }
    }

    /// Whether the file holds bytes of it.
    pub(super) fn is_held(&self) -> bool {
        match &self.text {
            HarText::Absent => self.file.is_some(),
            HarText::Text(text) => !text.is_empty() || self.file.is_some(),
            HarText::Pieces(pieces) => !pieces.is_empty() || self.file.is_some(),
        }
    }

    /// Returns the length that `size` states.
    pub(super) fn stated_size(&self) -> Option<u64> {
        let size = self.size.as_ref()?;
        size.as_u64().or_else(|| size.as_str()?.trim().parse().ok())
    }

    /// Returns its bytes, none if the file holds none.
    ///
    /// # Errors
    /// If the file holds it elsewhere, or in a form that is not known. The reason reads after
    /// `its body`.
    pub(super) fn into_bytes(self, message: HarMessage<'_>) -> Result<HarBytes, String> {
        if let Some(problem) = self.problem {
            return Err(problem.to_owned());
        }
        let size = self.stated_size();
        if !self.is_held() {
            return match self.unknown.or(self.unknown_encoding) {
                Some(name) => {
                    Err(format!("is not there, but a member {name:?}, which is not known"))
                }
                None => Ok(HarBytes { bytes: Bytes::new(), size }),
            };
        }
        let stored = self.text.len();
        if let Some(name) = self.file.as_ref().filter(|_| stored == 0) {
            let bytes = message.attached.read(name).map_err(|why| {
                let name: String = name.chars().take(SHOWN).collect();
                format!("is not in the file, but in {name:?}: {why}")
            })?;
            return Ok(HarBytes { bytes, size });
        }
        if let Some(name) = &self.unknown_encoding {
            return Err(format!("has a member {name:?}, an encoding that is not known"));
        }
        let content_type = match message.content_type {
            "" => self.mime_type.as_str(),
            named => named,
        };
        let length = message.length;
        let stated = StatedBody { content_type, length, size };
        match self.decode_text(message.is_packed, stated)? {
            // Polly states the length of the text. A tool may encode twice.
            Some(bytes) => {
                let stated = StatedBody { size: None, ..stated };
                let bytes = decode_untagged(&bytes, stated)?.unwrap_or(bytes).into();
                let size = size.filter(|size| usize::try_from(*size) != Ok(stored));
                Ok(HarBytes { bytes, size })
            }
            None => self.text.into_plain(message, size),
        }
    }

    /// Returns the bytes of its text, if the text is an encoding of them.
    fn decode_text(
        &self,
        is_packed: bool,
        stated: StatedBody<'_>,
    ) -> Result<Option<Vec<u8>>, String> {
        let named = self.encoding.as_deref().map(|name| (name, TextEncoding::from_name(name)));
        match named {
            Some((name, None)) => {
                let name: String = name.chars().take(SHOWN).collect();
                Err(format!("has the encoding {name:?}, which is not known"))
            }
            Some((_, Some(TextEncoding::Plain))) | None => {
                self.text.without_name(is_packed, self.is_hex, stated)
            }
            Some((name, Some(encoding))) => {
                let decoded = self.text.decode(encoding);
                decoded.map(Some).ok_or_else(|| format!("cannot be read as {name}"))
            }
        }
    }
}

impl HarText {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.bytes().next()? {
            b'"' => Self::Text(serde_json::from_str::<LenientString>(text).ok()?.0),
            b'[' => Self::Pieces(serde_json::from_str(text).ok()?),
            b'n' => Self::Absent,
            _ => return None,
        })
    }

    /// Returns the bytes of a text or of its pieces in this encoding.
    fn decode(&self, encoding: TextEncoding) -> Option<Vec<u8>> {
        match self {
            Self::Absent => None,
            Self::Text(text) => {
                encoding.decode(text).or_else(|| join_pieces(&json_pieces(text)?, Some(encoding)))
            }
            Self::Pieces(pieces) => {
                let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.0.as_slice()).collect();
                join_pieces(&pieces, Some(encoding))
            }
        }
    }

    /// Returns the number of bytes of the text or of its pieces.
    fn len(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Text(text) => text.len(),
            Self::Pieces(pieces) => pieces.iter().map(|LenientString(piece)| piece.len()).sum(),
        }
    }

    /// Returns the bytes of a text whose encoding the file does not name; `None` if the text is the
    /// body.
    fn without_name(
        &self,
        is_packed: bool,
        is_hex: bool,
        stated: StatedBody<'_>,
    ) -> Result<Option<Vec<u8>>, String> {
        let text = match self {
            Self::Absent => return Ok(None),
            Self::Text(text) => text,
            Self::Pieces(pieces) => {
                let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.0.as_slice()).collect();
                let joined = join_pieces(&pieces, None);
                return Ok(Some(joined.ok_or("is a list of texts in no known encoding")?));
            }
        };
        // Polly writes a compressed body as a list of its chunks.
        let pieces = json_pieces(text).filter(|_| is_hex || is_packed);
        if let Some(joined) = pieces.and_then(|pieces| join_pieces(&pieces, None)) {
            return Ok(Some(joined));
        }
        if is_hex {
            let decoded = join_pieces(&[text], None);
            return Ok(Some(decoded.ok_or("is marked as binary, and neither hex nor base64")?));
        }
        Ok(decode_untagged(text, stated)?)
    }

    /// Returns the bytes of a text that is the body.
    fn into_plain(self, message: HarMessage<'_>, size: Option<u64>) -> Result<HarBytes, String> {
        let HarMessage { content_type, is_latin, is_packed, .. } = message;
        let Self::Text(text) = self else { return Ok(HarBytes { bytes: Bytes::new(), size }) };
        let (kind, is_ascii) = (content_type.to_ascii_lowercase(), text.is_ascii());
        // The text was converted from another charset, or a tool states the compressed size.
        let recoded = kind.contains("charset") && !kind.contains("utf-8");
        let size = size.filter(|_| !(is_packed && is_latin) && (is_ascii || !recoded));
        let bytes = original_bytes(text, content_type, is_latin);
        let is_short = size.is_some_and(|size| size < bytes.len() as u64);
        let holds_lost = || std::str::from_utf8(&bytes).is_ok_and(|text| text.contains('\u{fffd}'));
        if (is_short && !is_packed || is_binary(content_type)) && holds_lost() {
            return Err("lost bytes when it was written as a text".to_owned());
        }
        Ok(HarBytes { bytes: bytes.into(), size })
    }
}

/// Returns the bytes of a request's body.
///
/// # Errors
/// If the file does not hold them as they were sent. The error says why.
pub(super) fn posted_bytes(post: HarBody, message: HarMessage<'_>) -> Result<HarBytes, String> {
    let kind = match message.content_type {
        "" => post.mime_type.clone(),
        named => named.to_owned(),
    };
    if post.is_held() || post.params.is_empty() {
        let message = HarMessage { content_type: &kind, ..message };
        return post.into_bytes(message).map_err(|why| format!("its request's body {why}"));
    }
    if kind.to_ascii_lowercase().starts_with("multipart/") {
        let reason = "the file holds the fields of its form, and not the bytes that were sent";
        return Err(reason.to_owned());
    }
    let encoded = |bytes: LenientString| {
        utf8_percent_encode(&String::from_utf8_lossy(&bytes.0), &FORM).to_string()
    };
    let form: Vec<String> = post
        .params
        .into_iter()
        .map(|HarPair { name, value }| {
            format!("{}={}", encoded(name), encoded(value.unwrap_or_default()))
        })
        .collect();
    Ok(HarBytes { bytes: form.join("&").replace("%20", "+").into(), size: None })
}

/// Returns the original bytes of a text. mitmproxy decodes as Latin-1 any text that names no
/// charset and is not JSON, including event streams.
pub(super) fn original_bytes(text: Vec<u8>, kind: &str, latin: bool) -> Vec<u8> {
    let kind = kind.to_ascii_lowercase();
    let guessed = ["charset", "json", "html", "css"].iter().all(|word| !kind.contains(word));
    if !latin || !guessed {
        return text;
    }
    TextEncoding::Latin1.decode(&text).unwrap_or(text)
}

pub(super) fn text_pairs(pairs: Option<Vec<HarPair>>) -> Vec<(String, String)> {
    let text = |bytes: LenientString| String::from_utf8_lossy(&bytes.0).into_owned();
    let pairs = pairs.unwrap_or_default().into_iter();
    pairs.map(|HarPair { name, value }| (text(name), text(value.unwrap_or_default()))).collect()
}
