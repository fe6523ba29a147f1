//! Bodies in HAR files, and the pairs in forms and headers.

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;

use super::super::lenient::{LenientString, decode_base64};

/// The characters that a form does not escape.
const FORM: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'*');

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarPostData {
    pub(super) mime_type: Option<String>,
    pub(super) text: Option<LenientString>,
    pub(super) params: Option<Vec<HarPair>>,
    /// Written by some tools, although the standard does not define it.
    pub(super) encoding: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct HarBody {
    pub(super) text: Option<LenientString>,
    pub(super) encoding: Option<String>,
    pub(super) size: Option<Value>,
}

/// Whether a text is not empty.
pub(super) fn is_some_text(text: &Option<LenientString>) -> bool {
    text.as_ref().is_some_and(|LenientString(text)| !text.is_empty())
}

/// Whether a size states that there was a body. -1 means unknown.
pub(super) fn is_some_size(size: &Option<Value>) -> bool {
    size.as_ref().and_then(Value::as_f64).is_some_and(|size| size > 0.0)
}

#[derive(Deserialize)]
pub(super) struct HarPair {
    #[serde(default)]
    pub(super) name: LenientString,
    pub(super) value: Option<LenientString>,
}

impl HarBody {
    /// Returns the body's length by `size`, if it can be compared with the text. It cannot if the
    /// text was converted from another charset, or if a tool states the compressed size.
    pub(super) fn stated_size(&self, kind: &str, packed: bool) -> Option<u64> {
        let kind = kind.to_ascii_lowercase();
        let recoded = kind.contains("charset") && !kind.contains("utf-8");
        let ascii = self.text.as_ref().is_none_or(|LenientString(text)| text.is_ascii());
        let size = self.size.as_ref().filter(|_| !packed && (ascii || !recoded));
        size.and_then(Value::as_u64)
    }

    pub(super) fn bytes(self, kind: &str, latin: bool) -> Option<Bytes> {
        let LenientString(text) = self.text.unwrap_or_default();
        match self.encoding.as_deref() {
            Some(encoding) if encoding.eq_ignore_ascii_case("base64") => {
                decode_base64(std::str::from_utf8(&text).ok()?).map(Bytes::from)
            }
            _ => Some(original(text, kind, latin).into()),
        }
    }
}

/// Returns the bytes of a request's body.
pub(super) fn posted(
    post: Option<HarPostData>,
    kind: &str,
    latin: bool,
) -> Result<Bytes, &'static str> {
    let Some(post) = post else { return Ok(Bytes::new()) };
    let kind = if kind.is_empty() { post.mime_type.as_deref().unwrap_or_default() } else { kind };
    let LenientString(text) = post.text.unwrap_or_default();
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
    let encoded = |bytes: LenientString| {
        utf8_percent_encode(&String::from_utf8_lossy(&bytes.0), &FORM).to_string()
    };
    let form: Vec<String> = params
        .into_iter()
        .map(|HarPair { name, value }| {
            format!("{}={}", encoded(name), encoded(value.unwrap_or_default()))
        })
        .collect();
    Ok(form.join("&").replace("%20", "+").into())
}

/// Returns the original bytes of a text. mitmproxy decodes as Latin-1 any text that names no
/// charset and is not JSON, including event streams.
pub(super) fn original(text: Vec<u8>, kind: &str, latin: bool) -> Vec<u8> {
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

pub(super) fn pairs(pairs: Option<Vec<HarPair>>) -> Vec<(String, String)> {
    let text = |bytes: LenientString| String::from_utf8_lossy(&bytes.0).into_owned();
    let pairs = pairs.unwrap_or_default().into_iter();
    pairs.map(|HarPair { name, value }| (text(name), text(value.unwrap_or_default()))).collect()
}

pub(super) fn is_packed(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
}

pub(super) fn content_type(headers: &[(String, String)]) -> &str {
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map_or("", |(_, value)| value.as_str())
}
