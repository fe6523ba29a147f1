//! Converts an interaction, a request and its response, to an exchange.

use bytes::Bytes;

use super::super::body_presence::holds_body;
use super::super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, ResponseContent, SkippedItem,
};
use super::super::text_encoding::{StatedBody, untagged};
use super::message::{VcrBody, headers, text};
use crate::yaml::node::{YamlNode, members};
use crate::yaml::scalar::ScalarSchema;
use loomrec_recording::ResponseEnd;
use loomrec_recording::rebuilt_body::rebuild;

/// An interaction.
#[derive(Debug, Default)]
pub(super) struct VcrInteraction {
    request: VcrRequest,
    response: Option<VcrResponse>,
    recorded_at: String,
}

#[derive(Debug, Default)]
struct VcrRequest {
    method: String,
    uri: String,
    headers: Vec<(String, String)>,
    body: VcrBody,
    /// Written by pydantic-ai's serializer in place of a JSON body.
    parsed_body: VcrBody,
}

#[derive(Debug, Default)]
struct VcrResponse {
    /// `{code: 200, message: OK}`, or only the code.
    status: Option<YamlNode>,
    /// Only in older cassettes made with httpx, which hold only the text.
    status_code: Option<YamlNode>,
    headers: Vec<(String, String)>,
    body: VcrBody,
    content: VcrBody,
    parsed_body: VcrBody,
}

/// Listed as lost for a body that the file holds only as a value.
pub(super) const REBUILT: &str = "the bytes of JSON bodies: the file holds their values, and the \
                                  bodies are written again";

/// Listed as lost if the length shows that the bytes differ.
pub(super) const OTHER_LENGTH: &str = "the length of JSON bodies that are written again: no usual \
                                       spelling has the length in their headers";

impl VcrInteraction {
    /// Reads an interaction.
    ///
    /// # Errors
    /// If the file is malformed. The error says what is wrong.
    pub(super) fn from_node(node: YamlNode) -> Result<Self, String> {
        let mut interaction = Self::default();
        let mut asked = false;
        for (name, node) in members(node, "an interaction")? {
            match name.as_str() {
                "request" => {
                    asked = true;
                    interaction.request = VcrRequest::from_node(node)?;
                }
                "response" if node.is_null() => {}
                "response" => interaction.response = Some(VcrResponse::from_node(node)?),
                "recorded_at" => interaction.recorded_at = text(node, "`recorded_at`")?,
                _ => {}
            }
        }
        if asked { Ok(interaction) } else { Err("missing field `request`".to_owned()) }
    }

    pub(super) fn item(self, place: String) -> FoundItem {
        let damaged = |reason: String| FoundItem::Left(SkippedItem::damaged(place.clone(), reason));
        let Some(answered) = self.response else {
            return damaged("it holds no response".to_owned());
        };
        let mut lost = Vec::new();
        let VcrRequest { method, uri, mut headers, body, parsed_body } = self.request;
        let body = match bytes(body, parsed_body, &mut headers, &mut lost) {
            Ok(body) => body,
            Err(reason) => return damaged(format!("its request's body {reason}")),
        };
        let status = answered.status.or(answered.status_code);
        let Some((status, reason)) = status.and_then(status_line) else {
            return damaged("its status cannot be read".to_owned());
        };
        let content = answered.body.or(answered.content);
        let mut answer_headers = answered.headers;
        let content = match bytes(content, answered.parsed_body, &mut answer_headers, &mut lost) {
            Ok(content) => content,
            Err(reason) => return damaged(format!("its response's body {reason}")),
        };
        lost.sort_unstable();
        lost.dedup();
        FoundItem::Exchange(Box::new(ForeignExchange {
            place,
            request: ForeignRequest { method, url: uri, headers, body, size: None },
            response: ForeignResponse {
                status,
                reason,
                headers: answer_headers,
                content: ResponseContent::Wire(content),
                size: None,
                end: ResponseEnd::Complete,
            },
            started: Some(self.recorded_at).filter(|started| !started.is_empty()),
            first_ms: None,
            duration_ms: None,
            own: None,
            lost,
        }))
    }
}

impl VcrRequest {
    fn from_node(node: YamlNode) -> Result<Self, String> {
        let mut asked = Self::default();
        for (name, node) in members(node, "a request")? {
            match name.as_str() {
                "method" => asked.method = text(node, "a method")?,
                "uri" | "url" => asked.uri = text(node, "an address")?,
                "headers" => asked.headers = headers(node)?,
                "body" => asked.body = VcrBody::from_node(node)?,
                "parsed_body" => asked.parsed_body = parsed(node),
                _ => {}
            }
        }
        Ok(asked)
    }
}

impl VcrResponse {
    fn from_node(node: YamlNode) -> Result<Self, String> {
        let mut answered = Self::default();
        for (name, node) in members(node, "a response")? {
            match name.as_str() {
                "status" if !node.is_null() => answered.status = Some(node),
                "status_code" if !node.is_null() => answered.status_code = Some(node),
                "headers" => answered.headers = headers(node)?,
                "body" => answered.body = VcrBody::from_node(node)?,
                "content" => answered.content = VcrBody::from_node(node)?,
                "parsed_body" => answered.parsed_body = parsed(node),
                _ => {}
            }
        }
        Ok(answered)
    }
}

/// Reads `parsed_body`, which PyYAML writes.
fn parsed(node: YamlNode) -> VcrBody {
    VcrBody::from_value(node, ScalarSchema::PyYaml)
}

/// Reads `{code: 200, message: OK}` or only the code, with or without quotes.
fn status_line(status: YamlNode) -> Option<(u16, Option<String>)> {
    let (mut code, mut reason) = (None, None);
    match status {
        YamlNode::Map(..) => {
            for (name, value) in members(status, "a status").ok()? {
                match name.as_str() {
                    "code" => code = Some(value),
                    "message" if !value.is_null() => reason = text(value, "a reason").ok(),
                    _ => {}
                }
            }
        }
        value => code = Some(value),
    }
    Some((text(code?, "a status").ok()?.trim().parse().ok()?, reason))
}

/// Returns the bytes of a body, none if the file holds none. A body that the file holds as a value is written again, with the
/// length in its headers if possible. Otherwise the headers get the new length.
fn bytes(
    body: VcrBody,
    parsed: VcrBody,
    headers: &mut Vec<(String, String)>,
    lost: &mut Vec<&'static str>,
) -> Result<Bytes, &'static str> {
    let is_length = |name: &str| name.eq_ignore_ascii_case("content-length");
    let length = headers.iter().find(|(name, _)| is_length(name));
    let length = length.and_then(|(_, value)| value.trim().parse().ok());
    let value = match body.or_only(parsed) {
        None => return Err("occurs twice: in `body` and in `parsed_body`"),
        Some(VcrBody::None) => return Ok(Bytes::new()),
        Some(VcrBody::Unreadable(why)) => return Err(why),
        Some(VcrBody::Bytes(bytes)) => {
            let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            let content_type = kind.map_or("", |(_, kind)| kind.as_str());
            let stated = StatedBody { content_type, length, size: None };
            return Ok(untagged(&bytes, stated)?.unwrap_or(bytes).into());
        }
        Some(VcrBody::Json(value)) => value,
    };
    if !holds_body(&value) && length != Some(value.to_string().len() as u64) {
        return Ok(Bytes::new());
    }
    let length = length.and_then(|length| usize::try_from(length).ok());
    let rebuilt = rebuild(&value, length).ok_or("is nested too deeply to be written again")?;
    lost.push(REBUILT);
    if !rebuilt.fits {
        lost.push(OTHER_LENGTH);
    }
    for (name, value) in headers.iter_mut() {
        if is_length(name) {
            *value = rebuilt.bytes.len().to_string();
        }
    }
    // The body was compressed. Its value is not.
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
    Ok(rebuilt.bytes.into())
}
