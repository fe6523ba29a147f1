//! The observer of requests: turns a request on the wire into what the engines work with.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method};
use url::Url;

use super::blocking;
use super::credential::{CredentialCache, RequestCredentials};
use super::known_clients::KnownClients;
use super::parsed_request::{ParsedRequest, RedactedRequest};
use super::repository_watch::RepositoryWatch;
use super::request_cache::RequestCache;
use super::route::Route;
use crate::replay::Matcher;
use crate::request_summary::RequestSummary;
use loomrec_identity::{ClientPreset, IdentityRules, QueryRules};
use loomrec_provider::directory;
use loomrec_recording::encoding::coding_of;
use loomrec_recording::entry::RecordedRequest;
use loomrec_recording::header_text::header_text;
use loomrec_recording::normalized_request::{NormalizedRequest, RequestClient};
use loomrec_recording::redact::{CallCredentials, Placeholders, RedactedBody, Redactor};
use loomrec_recording::request_text::{DecodedRequestBody, may_be_packed};

/// The header that names the session of a call.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("x-loomrec-session");
/// The header that names the step of a call.
pub const STEP_HEADER: HeaderName = HeaderName::from_static("x-loomrec-step-id");

/// What follows from the head of a request alone. All but the route is redacted.
pub struct ParsedHead {
    place: Arc<Route>,
    /// The request without its body.
    request: RecordedRequest,
    session: Option<String>,
    step: Option<String>,
    secrets: Arc<CallCredentials>,
    placeholders: Placeholders,
    /// The content coding of the body.
    coding: Option<String>,
    /// What is known of its client.
    client: RequestClient,
}

impl ParsedHead {
    /// Whether the body belongs on a blocking thread: it is large, or has to be decoded first.
    pub fn has_slow_body(&self, body: &[u8]) -> bool {
        let kind = self.request.content_type();
        blocking::is_large(body.len()) || may_be_packed(self.coding.as_deref(), kind, body)
    }
}

/// Observes the requests of a run.
pub struct RequestObserver {
    redactor: Arc<Redactor>,
    /// The rules that the engines make keys under.
    rules: Vec<IdentityRules>,
    /// The headers that any of these rules makes part of keys.
    named: Vec<String>,
    credentials: CredentialCache,
    /// Names of query parameters that hold credentials, in lower case.
    credential_params: Vec<String>,
    /// The program's own header for the step of a call, in lower case.
    step_header: Option<String>,
    /// The clients whose requests have rules.
    clients: KnownClients,
    /// Reads the state of CMD's repository.
    repository: Option<RepositoryWatch>,
    /// What was observed of earlier requests.
    pub memo: RequestCache,
}

impl RequestObserver {
    /// Returns an observer that redacts requests with `redactor`, and prepares their keys under
    /// `rules`.
    pub fn new(redactor: Arc<Redactor>, rules: Vec<IdentityRules>) -> Self {
        let named = rules.iter().flat_map(|rules| rules.headers().iter().cloned()).collect();
        let (credentials, memo) = (CredentialCache::default(), RequestCache::default());
        let (credential_params, step_header) = (Vec::new(), None);
        let (clients, repository) = (KnownClients::default(), None);
        Self {
            redactor,
            rules,
            named,
            credentials,
            credential_params,
            step_header,
            clients,
            repository,
            memo,
        }
    }

    /// Remembers few requests: there may be many such observers.
    #[must_use]
    pub fn with_small_cache(mut self) -> Self {
        self.memo = RequestCache::with_few_slots();
        self
    }

    /// Returns the headers that rules make part of keys.
    pub fn named_headers(&self) -> &[String] {
        &self.named
    }

    /// Treats query parameters of these names as credentials, wherever a request goes.
    #[must_use]
    pub fn with_credential_params(mut self, names: &[String]) -> Self {
        self.credential_params = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        self
    }

    /// Treats the header of this name as loomrec's own: it names a call's step.
    #[must_use]
    pub fn with_step_header(mut self, name: Option<&str>) -> Self {
        self.step_header = name.map(str::to_ascii_lowercase);
        self
    }

    /// Recognises these clients.
    #[must_use]
    pub fn with_clients(mut self, clients: KnownClients) -> Self {
        self.clients = clients;
        self
    }

    /// Reads the state of a repository when a request may have one that is not known.
    #[must_use]
    pub fn with_repository(mut self, repository: Option<RepositoryWatch>) -> Self {
        self.repository = repository;
        self
    }

    /// Whether a request may take long to be observed, because git is called for it.
    pub fn may_read_repository(&self, head: &ParsedHead, body: &[u8]) -> bool {
        self.repository.is_some()
            && match head.client {
                RequestClient::Known(preset) => preset.finds_repository(),
                RequestClient::ByInstructions => ClientPreset::may_open(body),
                RequestClient::Unknown => false,
            }
    }

    /// Treats the users and passwords in the addresses of upstreams as credentials of every
    /// request.
    #[must_use]
    pub fn with_addresses<'a>(mut self, addresses: impl Iterator<Item = &'a Url>) -> Self {
        addresses.for_each(|address| self.credentials.of_upstreams.add_address(address));
        self
    }

    /// Treats these values as credentials of every request.
    #[must_use]
    pub fn with_secrets(mut self, secrets: &CallCredentials) -> Self {
        self.credentials.of_upstreams.extend(secrets);
        self
    }

    /// Returns the rules that say which query parameters to an upstream are credentials.
    pub fn query_rules(&self, upstream: &str) -> QueryRules<'_> {
        directory::query_rules(Some(upstream), &self.credential_params)
    }

    /// Returns the credentials that a request carries.
    pub fn carried_credentials(
        &self,
        headers: &HeaderMap,
        query: &str,
        rules: QueryRules<'_>,
    ) -> Arc<RequestCredentials> {
        self.credentials.find_or_prepare(headers, query, rules)
    }

    /// Redacts the head of a request. It reads only the headers that `parsed_request::looks_at`
    /// names.
    pub fn open(
        &self,
        place: Route,
        method: &Method,
        headers: &HeaderMap,
        secrets: Arc<CallCredentials>,
    ) -> ParsedHead {
        let clean = |text: &str| self.redactor.redact_name(text, &secrets);
        let named = |name: HeaderName| {
            let value = String::from_utf8_lossy(headers.get(name)?.as_bytes());
            Some(clean(&value)).filter(|_| !value.is_empty())
        };
        let stored =
            headers.iter().map(|(name, value)| (name.as_str(), header_text(value.as_bytes())));
        let query = self.query_rules(&place.upstream).without_credentials(&place.query);
        let target = (place.path.as_str(), &*query);
        let mut numbered = Placeholders::default();
        let (redactor, method) = (&self.redactor, method.as_str());
        let stored = (self.named.as_slice(), stored);
        let mut request = RecordedRequest::redacted_head(
            redactor,
            &secrets,
            &mut numbered,
            method,
            target,
            stored,
        );
        if let Some(step_header) = &self.step_header {
            request.other_headers = request.other_headers.cleaned(|name| name != step_header);
        }
        let session = match &place.session {
            Some(session) => Some(clean(session)),
            None => named(SESSION_HEADER),
        };
        let step = named(STEP_HEADER);
        let (place, placeholders) = (Arc::new(place), numbered);
        let coding = coding_of(headers);
        let client = self.clients.client_of(headers);
        ParsedHead { place, request, session, step, secrets, placeholders, coding, client }
    }

    /// Identifies a request and redacts its body. A request that is exactly the same as one in
    /// `recorded` is not parsed.
    pub fn observe_request(
        &self,
        opening: &ParsedHead,
        body: &Bytes,
        recorded: Option<&Matcher>,
    ) -> ParsedRequest {
        let ParsedHead { place, request, session, step, secrets, placeholders, coding, client } =
            opening;
        let mut placeholders = placeholders.clone();
        let kind = request.content_type();
        // A request is known by its text. The upstream gets the bytes that arrived.
        let DecodedRequestBody { text, packed, opaque } =
            DecodedRequestBody::decode(coding.as_deref(), kind, body);
        let packed = packed.filter(|packed| self.redactor.is_packed_clean(packed, secrets));
        let RedactedBody { by_patterns, whole } =
            self.redactor.redact_body_apart(kind, &text, secrets, &mut placeholders);
        let build = |(body, packed): (Bytes, Option<Bytes>)| {
            let request = RecordedRequest { body, packed, ..request.clone() };
            let upstream = place.upstream.clone();
            let print = || request.to_print();
            let mut observed = match recorded.and_then(|matcher| matcher.recall_exact(print)) {
                Some((call, key)) => {
                    NormalizedRequest::with_known_key(upstream, request, call, key)
                }
                None => NormalizedRequest::new(upstream, request, &self.rules),
            };
            observed.session.clone_from(session);
            observed.step.clone_from(step);
            observed.named_host.clone_from(&place.named_host);
            observed.client = *client;
            observed.placeholders = placeholders.clone();
            if let Some(repository) = &self.repository {
                repository.look_at(&observed);
            }
            if let Some(matcher) = recorded {
                matcher.bind_request(&mut observed);
            }
            observed
        };
        let owned = |clean: Cow<'_, [u8]>| match clean {
            Cow::Borrowed(_) => (text.clone(), packed.clone()),
            Cow::Owned(bytes) => (Bytes::from(bytes), None),
        };
        let opaque = opaque.map(|mark| (mark, None));
        let scrubbed = opaque.or_else(|| whole.map(owned)).map(&build);
        let observed = build(owned(by_patterns));
        let redacted = RedactedRequest { observed, scrubbed, secrets: Arc::clone(secrets) };
        let summary =
            Arc::new(RequestSummary::from_request(redacted.storable_request(), self.rules.first()));
        ParsedRequest { route: Arc::clone(place), redacted, summary }
    }
}
