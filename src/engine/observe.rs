//! From a request on the wire to what the engines see of it.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method};
use url::Url;

use super::credential::{CredentialCache, RequestCredentials};
use super::parsed_request::{ParsedRequest, RedactedRequest};
use super::request_cache::RequestCache;
use super::route::Route;
use crate::replay::Matcher;
use crate::request_summary::RequestSummary;
use loomrec_identity::{IdentityRules, QueryRules};
use loomrec_provider::directory;
use loomrec_recording::encoding::coding_of;
use loomrec_recording::entry::RecordedRequest;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{CallCredentials, Placeholders, RedactedBody, Redactor};
use loomrec_recording::request_text::{RequestText, request_text};

/// Names the session of a call.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("x-loomrec-session");
/// Names the step of a call.
pub const STEP_HEADER: HeaderName = HeaderName::from_static("x-loomrec-step-id");

/// What follows from the head of a request alone: freed of secrets, but for its place.
pub struct ParsedHead {
    place: Arc<Route>,
    /// All but its body.
    request: RecordedRequest,
    session: Option<String>,
    step: Option<String>,
    secrets: Arc<CallCredentials>,
    placeholders: Placeholders,
    /// How the body is encoded.
    coding: Option<String>,
}

/// Observes the requests of a run.
pub struct RequestObserver {
    redactor: Arc<Redactor>,
    /// The rules that the engines will ask for keys under.
    rules: Vec<IdentityRules>,
    /// The headers that any of these rules makes a part of keys.
    named: Vec<String>,
    credentials: CredentialCache,
    /// Names of query parameters that are credentials, in lower case.
    credential_params: Vec<String>,
    /// The program's own header for the step of a call, in lower case.
    step_header: Option<String>,
    /// What was made of earlier requests.
    pub memo: RequestCache,
}

impl RequestObserver {
    /// An observer that frees requests of what `redactor` finds, and makes their
    /// keys under `rules` ready.
    pub fn new(redactor: Arc<Redactor>, rules: Vec<IdentityRules>) -> Self {
        let named = rules.iter().flat_map(|rules| rules.headers().iter().cloned()).collect();
        let (credentials, memo) = (CredentialCache::default(), RequestCache::default());
        let (credential_params, step_header) = (Vec::new(), None);
        Self { redactor, rules, named, credentials, credential_params, step_header, memo }
    }

    /// The headers that rules make a part of keys.
    pub fn named(&self) -> &[String] {
        &self.named
    }

    /// Takes query parameters of these names for credentials, wherever a request goes.
    #[must_use]
    pub fn with_credential_params(mut self, names: &[String]) -> Self {
        self.credential_params = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        self
    }

    /// Takes the header of this name for loomrec's own: it names a call's step.
    #[must_use]
    pub fn with_step_header(mut self, name: Option<&str>) -> Self {
        self.step_header = name.map(str::to_ascii_lowercase);
        self
    }

    /// Takes the users and passwords in the addresses of upstreams for credentials of each
    /// request.
    #[must_use]
    pub fn with_addresses<'a>(mut self, addresses: impl Iterator<Item = &'a Url>) -> Self {
        addresses.for_each(|address| self.credentials.of_upstreams.add_address(address));
        self
    }

    /// Which parameters of a query to an upstream are credentials.
    pub fn query_rules(&self, upstream: &str) -> QueryRules<'_> {
        directory::query_rules(Some(upstream), &self.credential_params)
    }

    /// The credentials a request carries.
    pub fn carried(
        &self,
        headers: &HeaderMap,
        query: &str,
        rules: QueryRules<'_>,
    ) -> Arc<RequestCredentials> {
        self.credentials.of(headers, query, rules)
    }

    /// Frees the head of a request of secrets. What it is made of: the headers that
    /// `parsed_request::looks_at` names.
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
        let stored = headers
            .iter()
            .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())));
        let query = self.query_rules(&place.upstream).stored(&place.query);
        let target = (place.path.as_str(), &*query);
        let mut numbered = Placeholders::default();
        let (redactor, method) = (&self.redactor, method.as_str());
        let stored = (self.named.as_slice(), stored);
        let mut request =
            RecordedRequest::head(redactor, &secrets, &mut numbered, method, target, stored);
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
        ParsedHead { place, request, session, step, secrets, placeholders, coding }
    }

    /// Recognises a request and frees its body of secrets. What is just as it is
    /// `recorded` need not be read.
    pub fn observe(
        &self,
        opening: &ParsedHead,
        body: &Bytes,
        recorded: Option<&Matcher>,
    ) -> ParsedRequest {
        let ParsedHead { place, request, session, step, secrets, placeholders, coding } = opening;
        let mut placeholders = placeholders.clone();
        let kind = request.content_type();
        // A body that is encoded is kept as it came unless something is found inside.
        let (text, opaque) = match request_text(coding.as_deref(), body) {
            RequestText::Plain(text) | RequestText::Decoded(text) => (text, None),
            RequestText::Opaque(mark) => (body.clone(), Some(mark)),
        };
        let is_kept_packed = self.redactor.is_packing_clean(body, &text, secrets);
        let body = if is_kept_packed { body } else { &text };
        let RedactedBody { by_patterns, whole } =
            self.redactor.redact_body_apart(kind, &text, secrets, &mut placeholders);
        let build = |body: Bytes| {
            let request = RecordedRequest { body, ..request.clone() };
            let upstream = place.upstream.clone();
            let mut observed = match recorded.and_then(|matcher| matcher.recall(&request)) {
                Some((call, key)) => NormalizedRequest::recalled(upstream, request, call, key),
                None => NormalizedRequest::new(upstream, request, &self.rules),
            };
            observed.session.clone_from(session);
            observed.step.clone_from(step);
            observed.placeholders = placeholders.clone();
            observed
        };
        let owned = |text: Cow<'_, [u8]>| match text {
            Cow::Borrowed(_) => body.clone(),
            Cow::Owned(bytes) => Bytes::from(bytes),
        };
        let scrubbed = opaque.or_else(|| whole.map(owned)).map(&build);
        let observed = build(owned(by_patterns));
        let redacted = RedactedRequest { observed, scrubbed, secrets: Arc::clone(secrets) };
        let summary = Arc::new(RequestSummary::of(redacted.storable(), self.rules.first()));
        ParsedRequest { route: Arc::clone(place), redacted, summary }
    }
}
