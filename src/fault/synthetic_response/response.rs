//! A response made by a fault.

use loomrec_identity::media_type;
use loomrec_provider::RpcIds;

/// A response made by a fault. Its headers do not include the length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntheticResponse {
    /// The status.
    pub status: u16,
    /// The headers, the media type first.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl SyntheticResponse {
    pub(super) fn with_body(status: u16, media: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), media.to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// Returns the error that a client of a tool raises at its time limit, as MCP's SDKs word it.
    pub fn tool_timeout() -> Self {
        const ERROR: &str =
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Request timed out"}}"#;
        Self::with_body(200, "application/json", ERROR)
    }

    /// Gives its responses in JSON-RPC the ids of the requests that they answer.
    pub fn set_rpc_ids(&mut self, ids: &RpcIds) {
        let is_media = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
        let media = self.headers.iter().find(is_media).map(|(_, value)| value.as_str());
        let media = media.map_or("", media_type);
        self.body = ids.address_answer(media, &self.body);
    }

    /// Whether it has a header of this name.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Sets a header, replacing one of the same name.
    pub(super) fn set_header(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.headers.iter_mut().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
            Some((_, own)) => *own = value,
            None => self.headers.push((name.to_owned(), value)),
        }
    }
}
