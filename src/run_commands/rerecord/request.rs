//! Conversion of a recorded request to the one that is sent.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::request_override::{self, RequestOverride};
use super::route::{self, NoRoute, RerecordRoute, RerecordUpstreams};
use loomrec_engine::record::capture::header_list;
use loomrec_engine::route::UNNAMED;
use loomrec_engine::upstream::UpstreamRequest;
use loomrec_identity::{IdentityRules, RequestKey, header};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{CallCredentials, Placeholders, Redactor};
use loomrec_recording::{Entry, EntryName};

/// The user agent that upstreams see.
const AGENT: &str = concat!("loomrec/", env!("CARGO_PKG_VERSION"));

/// Why a recorded call cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnsendableCall {
    /// The entry holds no request.
    NoRequest,
    /// It opened a WebSocket.
    Socket,
    /// A secret was removed from the request.
    Redacted,
    /// One of its headers is stored as a digest, and the environment does not have its value.
    Digest(String),
    /// Something in it cannot be sent.
    Odd(&'static str),
    /// An override does not apply to it.
    Set(String),
    /// It has no route.
    Way(NoRoute),
}

impl std::fmt::Display for UnsendableCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoRequest => f.write_str("its request is not recorded"),
            Self::Socket => f.write_str(
                "it is a WebSocket, whose client may answer what its server says: record it again \
                 with its program (loomrec record)",
            ),
            Self::Redacted => f.write_str(
                "its request was redacted: record it again with its program (record --mode \
                 new_episodes), or send it as it is with --send-redacted",
            ),
            Self::Digest(name) => match header::environment_variable(name) {
                Some(variable) => write!(
                    f,
                    "its header {name} is kept as a digest only: set {variable} as it was when \
                     the call was recorded"
                ),
                None => write!(
                    f,
                    "its header {name} is kept as a digest only: record the call again with its \
                     program"
                ),
            },
            Self::Odd(what) => write!(f, "its {what} cannot be sent"),
            Self::Set(why) => f.write_str(why),
            Self::Way(way) => way.fmt(f),
        }
    }
}

/// A request that can be sent.
pub(super) struct SendableRequest {
    /// The request as it is stored.
    pub(super) observed: NormalizedRequest,
    /// Its key.
    pub(super) key: RequestKey,
    /// The name under which its answer is kept.
    pub(super) name: EntryName,
    /// The request as it is sent.
    pub(super) forward: UpstreamRequest,
    /// The credentials in the sent request.
    pub(super) secrets: Arc<CallCredentials>,
    /// The missing key, if nothing is sent.
    pub(super) missing_key: Option<NoRoute>,
}

/// Builds requests.
pub(super) struct RequestMaker {
    pub(super) rules: IdentityRules,
    pub(super) redactor: Arc<Redactor>,
    pub(super) sets: Vec<RequestOverride>,
    pub(super) gateways: RerecordUpstreams,
    pub(super) send_redacted: bool,
    /// The credentials of all requests so far.
    pub(super) secrets: Mutex<KnownCredentials>,
}

/// A list of headers.
type HeaderPairs = Vec<(String, String)>;

/// Credentials, collected once for all requests that carry the same ones.
#[derive(Default)]
pub(super) struct KnownCredentials {
    lists: Vec<(HeaderPairs, Arc<CallCredentials>)>,
}

impl RequestMaker {
    /// Builds the request of an entry, as it is sent now.
    ///
    /// # Errors
    /// The reason why it cannot be sent.
    pub(super) fn make(
        &self,
        name: &EntryName,
        entry: &Entry,
    ) -> Result<SendableRequest, UnsendableCall> {
        let call = entry.recognise_call().ok_or(UnsendableCall::NoRequest)?;
        if !entry.messages.is_empty() || entry.is_handshake() {
            return Err(UnsendableCall::Socket);
        }
        if !self.send_redacted && is_redacted(&self.redactor, entry) {
            return Err(UnsendableCall::Redacted);
        }
        let upstream = entry.upstream.clone().unwrap_or_else(|| UNNAMED.to_owned());
        let mut request = Entry { upstream: Some(upstream.clone()), ..entry.to_unanswered() };
        request_override::apply_overrides(&mut request, call.model.as_deref(), &self.sets)
            .map_err(|why| UnsendableCall::Set(why.to_string()))?;
        let path = request.request_path().unwrap_or_default();
        let way = self.gateways.find_route(&upstream, path, call.provider);
        let mut way = way.map_err(UnsendableCall::Way)?;
        let missing_key = way.missing_key.take();
        let secrets = self.secrets_of(&way.headers);
        let headers = self.sent_headers(&request)?;
        let forward = upstream_request(&upstream, &request, (headers, way))?;
        // A value of `--set` may contain a secret, which must not be stored.
        let mut placeholders = Placeholders::default();
        let text = request.request_body().cloned().unwrap_or_default();
        let kind = request.request_type().unwrap_or_default();
        let body = self.redactor.redact_body(kind, &text, &secrets, &mut placeholders);
        if let Cow::Owned(clean) = body {
            request.set_request_text(Bytes::from(clean));
        }
        let rules = std::slice::from_ref(&self.rules);
        let mut observed = NormalizedRequest::from_entry(&request, rules);
        observed.session.clone_from(&entry.session);
        observed.step = name.step_id().map(str::to_owned);
        observed.placeholders = placeholders;
        let key = observed.key_under(&self.rules);
        let name = match name {
            EntryName::Step(_) => name.clone(),
            EntryName::Hash(_) => EntryName::Hash(key.clone()),
        };
        Ok(SendableRequest { observed, key, name, forward, secrets, missing_key })
    }

    fn secrets_of(&self, headers: &HeaderMap) -> Arc<CallCredentials> {
        let list = header_list(headers);
        let mut known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, secrets)) = known.lists.iter().find(|(known, _)| *known == list) {
            return Arc::clone(secrets);
        }
        let secrets = Arc::new(CallCredentials::for_known_provider(&list, ""));
        known.lists.push((list, Arc::clone(&secrets)));
        secrets
    }

    /// Returns the recorded headers as they are sent. For a header that is stored as a digest, the
    /// value comes from the variable that SDKs read it from, if the digest matches.
    fn sent_headers(&self, entry: &Entry) -> Result<HeaderMap, UnsendableCall> {
        let mut headers = HeaderMap::new();
        for (name, value) in entry.request_headers() {
            let mut sent = value.as_str();
            if header::changes_answers(name) && header::is_digest(value) {
                let given = header::environment_variable(name)
                    .and_then(|name| self.gateways.environment_value(name));
                let given = given.filter(|given| header::kept_value(name, given) == value.as_str());
                sent = given.ok_or_else(|| UnsendableCall::Digest(name.clone()))?;
            }
            let name = HeaderName::from_bytes(name.as_bytes()).ok();
            let Some((name, value)) = name.zip(HeaderValue::from_str(sent).ok()) else {
                return Err(UnsendableCall::Odd("headers"));
            };
            headers.append(name, value);
        }
        Ok(headers)
    }

    /// Returns the credentials of all requests so far.
    pub(super) fn all_secrets(&self) -> CallCredentials {
        let known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = CallCredentials::default();
        known.lists.iter().for_each(|(_, secrets)| all.extend(secrets));
        all
    }
}

/// Whether something was removed from a request by redaction.
fn is_redacted(redactor: &Redactor, entry: &Entry) -> bool {
    let texts = [entry.request_path(), entry.request_query()].into_iter().flatten();
    let headers = entry.request_headers().iter().map(|(_, value)| value.as_str());
    texts.chain(headers).any(|text| redactor.is_redacted(text.as_bytes()))
        || entry.request_body().is_some_and(|body| redactor.is_redacted(body))
}

/// Returns the request as it is sent.
fn upstream_request(
    upstream: &str,
    entry: &Entry,
    (mut headers, way): (HeaderMap, RerecordRoute),
) -> Result<UpstreamRequest, UnsendableCall> {
    let method = Method::from_bytes(entry.request_method().unwrap_or_default().as_bytes());
    let method = method.map_err(|_| UnsendableCall::Odd("method"))?;
    let own: BTreeSet<&str> = ["host", "content-length", "accept-encoding", "user-agent"].into();
    own.iter().for_each(|name| drop(headers.remove(*name)));
    headers.insert("accept-encoding", HeaderValue::from_static("identity"));
    headers.insert("user-agent", HeaderValue::from_static(AGENT));
    headers.extend(way.headers);
    let path = entry.request_path().filter(|path| path.starts_with('/'));
    let path = path.ok_or(UnsendableCall::Odd("path"))?;
    Ok(UpstreamRequest {
        upstream: upstream.to_owned(),
        path: route::upstream_path(upstream, path, &way.base),
        base: way.base,
        method,
        query: entry.request_query().unwrap_or_default().to_owned(),
        headers,
        body: entry.body_to_send().cloned().unwrap_or_default(),
        aws: None,
        turn: None,
    })
}
