//! Calls of a bridge to its run: each message of the client is a POST, as in MCP over HTTP.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Response};
use url::Url;

use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup;
use loomrec_engine::tool_bridge::BRIDGE_HEADER;
use loomrec_engine::upstream::{
    UpstreamBody, UpstreamClient, UpstreamError, UpstreamRequest, install_crypto_provider,
};

/// Sends messages to a run.
pub(super) struct RunClient {
    client: UpstreamClient,
    base: Url,
    /// The path of the server.
    path: String,
    headers: HeaderMap,
}

impl RunClient {
    /// Returns what sends messages for the server `name`, whose socket is `bridge`.
    ///
    /// # Errors
    /// Certificates of the environment that cannot be read.
    pub(super) fn new(base: Url, name: &str, bridge: &str) -> Result<Self, CommandFailure> {
        install_crypto_provider();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accepted);
        if let Ok(bridge) = HeaderValue::from_str(bridge) {
            headers.insert(HeaderName::from_static(BRIDGE_HEADER), bridge);
        }
        let client = serve_setup::upstream_client()?;
        Ok(Self { client, base, path: format!("/{name}/mcp"), headers })
    }

    /// Sends a message. Returns its answer as soon as the head of it is there.
    ///
    /// # Errors
    /// No answer.
    pub(super) async fn post(
        &self,
        message: Bytes,
    ) -> Result<Response<UpstreamBody>, UpstreamError> {
        let request = UpstreamRequest {
            upstream: "loomrec".to_owned(),
            base: self.base.clone(),
            method: Method::POST,
            path: self.path.clone(),
            query: String::new(),
            headers: self.headers.clone(),
            body: message,
            aws: None,
            turn: None,
        };
        self.client.send_request(request).await
    }
}
