//! Converts an interaction, a request and its response, to an exchange.

use bytes::Bytes;

use super::super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, SkippedItem,
};
use super::super::go_duration;
use super::super::text_encoding::{StatedBody, decode_untagged};
use super::super::value_body::{stated_length, written_again};
use super::message::{VcrBody, node_text, read_headers};
use crate::yaml::node::{YamlNode, text_members};
use crate::yaml::repeated_name;
use crate::yaml::scalar::ScalarSchema;

/// An interaction.
#[derive(Debug)]
pub(super) struct VcrInteraction {
    request: VcrRequest,
    response: Option<VcrResponse>,
    recorded_at: String,
    /// Whether a name occurs twice in one of its maps.
    has_repeated_name: bool,
}

/// Listed as lost if a name occurs twice in a map.
const REPEATED: &str = "values of names that occur twice in a map: the last one counts, as for \
                        the tool";

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
    /// go-vcr's number, beside a `status` such as `200 OK`.
    code: Option<YamlNode>,
    /// go-vcr's time for the call.
    duration: String,
    headers: Vec<(String, String)>,
    body: VcrBody,
    content: VcrBody,
    parsed_body: VcrBody,
}

impl VcrInteraction {
    /// Reads an interaction.
    ///
    /// # Errors
    /// If the file is malformed. The error says what is wrong.
    pub(super) fn from_node(node: YamlNode) -> Result<Self, String> {
        let has_repeated_name = repeated_name(&node).is_some();
        let (mut request, mut response, mut recorded_at) = (None, None, String::new());
        for (name, node) in text_members(node, "an interaction")? {
            match name.as_str() {
                "request" => request = Some(VcrRequest::from_node(node)?),
                "response" if node.is_null() => {}
                "response" => response = Some(VcrResponse::from_node(node)?),
                "recorded_at" => recorded_at = node_text(node, "`recorded_at`")?,
                _ => {}
            }
        }
        let request = request.ok_or("missing field `request`")?;
        Ok(Self { request, response, recorded_at, has_repeated_name })
    }

    pub(super) fn into_item(self, place: String) -> FoundItem {
        let damaged = |reason: String| FoundItem::Left(SkippedItem::damaged(place.clone(), reason));
        let Self { request, response, recorded_at, has_repeated_name } = self;
        let Some(answered) = response else {
            return damaged("it holds no response".to_owned());
        };
        let mut lost = Vec::new();
        if has_repeated_name {
            lost.push(REPEATED);
        }
        let VcrRequest { method, uri, mut headers, body, parsed_body } = request;
        let body = match body_bytes(body, parsed_body, &mut headers, &mut lost) {
            Ok(body) => body,
            Err(reason) => return damaged(format!("its request's body {reason}")),
        };
        let status = answered.code.or(answered.status).or(answered.status_code);
        let Some((status, reason)) = status.and_then(status_line) else {
            return damaged("its status cannot be read".to_owned());
        };
        let content = answered.body.or(answered.content);
        let mut answer_headers = answered.headers;
        let content =
            match body_bytes(content, answered.parsed_body, &mut answer_headers, &mut lost) {
                Ok(content) => content,
                Err(reason) => return damaged(format!("its response's body {reason}")),
            };
        let request = ForeignRequest { method, url: uri, headers, body, size: None };
        let mut response = ForeignResponse::from_body(status, answer_headers, content);
        response.reason = reason;
        FoundItem::Exchange(Box::new(ForeignExchange {
            started: Some(recorded_at).filter(|started| !started.is_empty()),
            duration_ms: go_duration::parse_milliseconds(&answered.duration),
            ..ForeignExchange::without_times(&place, request, response).with_lost(lost)
        }))
    }
}

impl VcrRequest {
    fn from_node(node: YamlNode) -> Result<Self, String> {
        let mut asked = Self::default();
        for (name, node) in text_members(node, "a request")? {
            match name.as_str() {
                "method" => asked.method = node_text(node, "a method")?,
                "uri" | "url" => asked.uri = node_text(node, "an address")?,
                "headers" => asked.headers = read_headers(node)?,
                "body" => asked.body = VcrBody::from_node(node)?,
                "parsed_body" => asked.parsed_body = read_parsed_body(node),
                _ => {}
            }
        }
        Ok(asked)
    }
}

impl VcrResponse {
    fn from_node(node: YamlNode) -> Result<Self, String> {
        let mut answered = Self::default();
        for (name, node) in text_members(node, "a response")? {
            match name.as_str() {
                "status" if !node.is_null() => answered.status = Some(node),
                "status_code" if !node.is_null() => answered.status_code = Some(node),
                "code" if !node.is_null() => answered.code = Some(node),
                "duration" => answered.duration = node_text(node, "`duration`")?,
                "headers" => answered.headers = read_headers(node)?,
                "body" => answered.body = VcrBody::from_node(node)?,
                "content" => answered.content = VcrBody::from_node(node)?,
                "parsed_body" => answered.parsed_body = read_parsed_body(node),
                _ => {}
            }
        }
        Ok(answered)
    }
}

/// Reads `parsed_body`, which PyYAML writes.
fn read_parsed_body(node: YamlNode) -> VcrBody {
    VcrBody::from_value(node, ScalarSchema::PyYaml)
}

/// Reads `{code: 200, message: OK}`, only the code, or `200 OK`.
fn status_line(status: YamlNode) -> Option<(u16, Option<String>)> {
    let (mut code, mut reason) = (None, None);
    match status {
        YamlNode::Map(..) => {
            for (name, value) in text_members(status, "a status").ok()? {
                match name.as_str() {
                    "code" => code = Some(value),
                    "message" if !value.is_null() => reason = node_text(value, "a reason").ok(),
                    _ => {}
                }
            }
        }
        value => code = Some(value),
    }
    let line = node_text(code?, "a status").ok()?;
    let line = line.trim();
    let (code, phrase) = line.split_once(' ').unwrap_or((line, ""));
    let phrase = Some(phrase).filter(|phrase| !phrase.is_empty()).map(str::to_owned);
    Some((code.parse().ok()?, reason.or(phrase)))
}

/// Returns the bytes of a body, none if the file holds none. A body that the file holds as a value
/// is written again.
fn body_bytes(
    body: VcrBody,
    parsed: VcrBody,
    headers: &mut Vec<(String, String)>,
    lost: &mut Vec<&'static str>,
) -> Result<Bytes, &'static str> {
    match body.or_only(parsed) {
        None => Err("occurs twice: in `body` and in `parsed_body`"),
        Some(VcrBody::None) => Ok(Bytes::new()),
        Some(VcrBody::Unreadable(why)) => Err(why),
        Some(VcrBody::Bytes(bytes)) => {
            let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            let content_type = kind.map_or("", |(_, kind)| kind.as_str());
            let stated = StatedBody { content_type, length: stated_length(headers), size: None };
            Ok(decode_untagged(&bytes, stated)?.unwrap_or(bytes).into())
        }
        Some(VcrBody::Json(value)) => written_again(&value, headers, lost),
    }
}
