//! The HTTP client: for each runtime that sends, a pool of connections to all upstreams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, PROXY_AUTHORIZATION, SEC_WEBSOCKET_ACCEPT,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::client::legacy;
use time::OffsetDateTime;
use url::Url;

use super::aws::{AwsScope, SecretKeys, SignatureError, is_signed_with, sign_request};
use super::body::UpstreamBody;
use super::connect::{ProxyError, UpstreamConnector};
use super::error::UpstreamError;
use super::pools::RuntimePools;
use super::proxy::ProxySettings;
use super::request::UpstreamRequest;
use super::socket_address::is_socket;
use super::tls::{self, HttpVersion, TlsSetup};
use super::{framing, target, tls_error};
use crate::websocket::handshake;
use loomrec_identity::error_chain;
use loomrec_provider::{directory, is_grpc_media};

/// A client with its connection pools.
#[derive(Clone, Debug)]
pub struct UpstreamClient {
    pools: Arc<RuntimePools>,
    /// The settings of TLS connections.
    tls: Arc<TlsSetup>,
    /// The proxies that the environment names.
    proxies: Arc<ProxySettings>,
    connections: Arc<AtomicU64>,
    /// The secrets of the access keys for AWS.
    secrets: Arc<SecretKeys>,
}

impl UpstreamClient {
    /// Builds the client. It trusts the authorities of the system, or those that `SSL_CERT_FILE`
    /// and `SSL_CERT_DIR` name.
    ///
    /// # Errors
    /// [`UpstreamError::Setup`] if these variables name no certificate.
    pub fn new() -> Result<Self, UpstreamError> {
        tls::install_crypto_provider();
        let tls = TlsSetup::from_environment()
            .map_err(|error| UpstreamError::Setup { detail: error_chain(&error) })?;
        let proxies = Arc::new(ProxySettings::from_environment());
        let tls = Arc::new(tls);
        Ok(Self::with_tls_and_proxies(tls, proxies))
    }

    fn with_tls_and_proxies(tls: Arc<TlsSetup>, proxies: Arc<ProxySettings>) -> Self {
        let connections = Arc::new(AtomicU64::new(0));
        let opened = Arc::clone(&connections);
        let connector = UpstreamConnector::new(Arc::clone(&tls), Arc::clone(&proxies), opened);
        let (pools, secrets) = (Arc::new(RuntimePools::new(connector)), Arc::default());
        Self { pools, tls, proxies, connections, secrets }
    }

    /// Returns a client with the same settings, and with connections and a count of its own.
    #[must_use]
    pub fn with_own_connections(&self) -> Self {
        Self::with_tls_and_proxies(Arc::clone(&self.tls), Arc::clone(&self.proxies))
    }

    /// Returns how many connections were opened so far.
    pub fn opened_connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Sends `forward` and returns as soon as the response's head has arrived. A response with
    /// [`AmbiguousFraming`](super::AmbiguousFraming) in its extensions has a body that ends in a
    /// cut. A response with status 101 accepts the WebSocket that was offered, and has its connection
    /// in its extensions.
    ///
    /// # Errors
    /// [`UpstreamError::Unreachable`] if no response head arrived.
    pub async fn send_request(
        &self,
        mut forward: UpstreamRequest,
    ) -> Result<Response<UpstreamBody>, UpstreamError> {
        let may_have_body = matches!(forward.method, Method::POST | Method::PUT | Method::PATCH);
        if forward.body.is_empty() && may_have_body {
            // Some servers answer 411 to a method that may have a body if there is no length.
            forward.headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let (upstream, method) = (forward.upstream.clone(), forward.method.clone());
        if let Some(turn) = forward.turn.take() {
            let (upstream, base) = (&forward.upstream, &forward.base);
            let ended =
                || UpstreamError::unreachable(upstream, base, "its WebSocket has ended".to_owned());
            return Ok(turn.send().await.ok_or_else(ended)?.map(UpstreamBody::of_turn));
        }
        let proof = handshake::expected_proof(&forward.headers);
        let mut response = self.send_over_pool(forward).await?;
        let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS
            && proof.is_some()
            && response.headers().get(SEC_WEBSOCKET_ACCEPT) == proof.as_ref();
        if is_upgrade {
            return Ok(response);
        }
        if response.status().is_informational() {
            let status = response.status().as_u16();
            return Err(UpstreamError::NoAnswer { upstream, status });
        }
        // The upstream's HTTP version concerns its own connection only.
        *response.version_mut() = Version::HTTP_11;
        let status = response.status();
        Ok(match framing::settle_length(&method, status, response.headers_mut()) {
            None => response,
            Some(ambiguous) => {
                response.extensions_mut().insert(ambiguous);
                response.map(UpstreamBody::cut_at_end)
            }
        })
    }

    /// Signs a request for AWS again, with the key that its client signed it with. Another server
    /// than AWS gets the client's signature if nothing has the key's secret.
    async fn sign_again(
        &self,
        request: (&Method, &Uri, &mut HeaderMap, &[u8]),
        scope: &AwsScope,
        base: &Url,
    ) -> Result<(), SignatureError> {
        let is_aws = base.host_str().is_some_and(directory::is_provider_host);
        let now = OffsetDateTime::now_utc();
        match self.secrets.secret_of(&scope.key_id, is_aws).await {
            Ok(secret) if is_signed_with((request.0, request.3), scope, &secret, now) => {
                sign_request(request, scope, &secret, now);
            }
            Ok(_) if is_aws => return Err(SignatureError::other_secret(&scope.key_id)),
            Ok(_) => {}
            Err(error) if is_aws => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    /// Sends a request. If a pooled connection was closed before the request began, it is sent on
    /// another one. Otherwise it is sent once.
    async fn send_over_pool(
        &self,
        forward: UpstreamRequest,
    ) -> Result<Response<UpstreamBody>, UpstreamError> {
        let uri = target::request_uri(&forward)?;
        let UpstreamRequest { upstream, base, method, mut headers, body, aws, .. } = forward;
        if let Some(scope) = aws {
            // Boxed: few calls are signed.
            let signing = self.sign_again((&method, &uri, &mut headers, &body), &scope, &base);
            Box::pin(signing).await.map_err(|source| UpstreamError::Signature {
                upstream: upstream.clone(),
                source,
            })?;
        }
        if let Some(authorization) = self.proxies.proxy_authorization(&uri) {
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        if is_socket(&base) {
            headers.insert(HOST, HeaderValue::from_static("localhost"));
        }
        let mut request = Request::new(body.into());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let version = prepare_version(request.headers_mut());
        let response = self.pools.current(version).request(request).await.map_err(|error| {
            let failed = UpstreamError::unreachable(&upstream, &base, failure_reason(&error));
            failed.with_connection_state(!error.is_connect())
        })?;
        Ok(response.map(UpstreamBody::new))
    }
}

/// Returns the version of HTTP that a request needs. gRPC needs HTTP/2, which has no headers about the
/// connection.
fn prepare_version(headers: &mut HeaderMap) -> HttpVersion {
    if !is_grpc(headers) {
        return HttpVersion::Http1;
    }
    headers.remove(CONNECTION);
    HttpVersion::Http2
}

/// Whether a head is that of a message of gRPC.
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    media.is_some_and(is_grpc_media)
}

/// Returns why a request had no answer. Failures of TLS are explained; others keep their text.
fn failure_reason(error: &legacy::Error) -> String {
    let Some(words) = tls_error::explain_failure(error, &tls::trusted_source()) else {
        return format!("error sending request: {}", error_chain(error));
    };
    match ProxyError::find_in_causes(error) {
        Some(proxy) => format!("{proxy}: {words}"),
        None => words,
    }
}
