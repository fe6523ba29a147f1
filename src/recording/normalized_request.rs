//! A request as loomrec observed it: recognised, without secrets, ready to be looked up or
//! recorded.

mod question;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::entry::{Entry, RecordedRequest};
use super::header_names::HeaderNames;
use super::redact::{self, CallCredentials, Placeholders, Redactor};
use loomrec_identity::{
    BoundRequest, BoundRules, ClientPreset, IdentityRules, Json, JsonPointer, KeyForm,
    NormalizeRule, PlacePattern, RequestKey, RequestParts, RequestTexts, RunBinding,
    RunValueFinder, RunValues, TextRole, header, multipart, subprotocol,
};
use loomrec_provider::{
    CALL_REFERENCES, Operation, RecognisedCall, RequestHead, RpcMethod, recognise_request,
    text_roles,
};

/// One request on its way to an engine.
#[derive(Clone, Debug)]
pub struct NormalizedRequest {
    /// The upstream's name.
    pub upstream: String,
    /// The request without secrets, exactly as it would be stored.
    pub(crate) request: RecordedRequest,
    /// The call that it makes.
    pub call: RecognisedCall,
    /// Its session, if it named one.
    pub session: Option<String>,
    /// Its step id, if it has one.
    pub step: Option<String>,
    /// The host of its provider that the client meant, if the client did not call loomrec's address.
    pub named_host: Option<String>,
    /// The numbers of the placeholders in it. Its answer continues them.
    pub placeholders: Placeholders,
    /// The request as it is looked up among recorded ones with this run's values: for each set of
    /// rules.
    pub bound: Vec<Option<BoundRequest>>,
    /// What is known of its client.
    pub client: RequestClient,
    /// The preset of its client, once it was looked for.
    preset: OnceLock<Option<&'static ClientPreset>>,
    /// Its keys under the rules that were given when it was observed.
    keys: Vec<(IdentityRules, RequestKey)>,
}

/// What is known of the client of a request.
#[derive(Clone, Copy, Debug)]
pub enum RequestClient {
    /// Its header names it.
    Known(&'static ClientPreset),
    /// The instructions in the request may name it.
    ByInstructions,
    /// Nothing, or it is not to be known.
    Unknown,
}

impl NormalizedRequest {
    /// Returns the preset of its client, if that is known. Reads the instructions if need be.
    pub fn client_preset(&self) -> Option<&'static ClientPreset> {
        match self.client {
            RequestClient::Known(preset) => Some(preset),
            RequestClient::Unknown => None,
            RequestClient::ByInstructions => *self.preset.get_or_init(|| self.preset_by_text()),
        }
    }

    fn preset_by_text(&self) -> Option<&'static ClientPreset> {
        let body = Some(&self.request.body).filter(|body| ClientPreset::may_open(body))?;
        let body = loomrec_identity::parse(body).ok()?;
        let texts = text_roles(&body).into_iter();
        let mut texts = texts.filter(|(role, _)| *role == TextRole::System);
        let text = texts.find_map(|(_, place)| body.value_at(&place)?.as_str())?;
        ClientPreset::of_instructions(&text)
    }

    /// Makes a normalized request of `request`, which was sent to `upstream`. It has no session and
    /// no step. Its key is computed under each of `rules`, and its body is parsed once for all of
    /// them.
    pub fn new(upstream: String, request: RecordedRequest, rules: &[IdentityRules]) -> Self {
        let read = request.read_once();
        let mut keys: Vec<(IdentityRules, RequestKey)> = Vec::with_capacity(rules.len());
        for rules in rules {
            if keys.iter().all(|(known, _)| known != rules) {
                keys.push((rules.clone(), read.compute_key(rules)));
            }
        }
        let call = read.call;
        Self::with_keys(upstream, request, call, keys)
    }

    /// Makes the normalized request that an entry was recorded from, as [`Self::new`] does. It is
    /// empty if the entry has no request.
    pub fn from_entry(entry: &Entry, rules: &[IdentityRules]) -> Self {
        let upstream = entry.upstream.clone().unwrap_or_default();
        Self::new(upstream, entry.request.clone().unwrap_or_default(), rules)
    }

    /// As [`Self::new`], if the call and the key under `rules` are known already. The request is
    /// not parsed.
    pub fn with_known_key(
        upstream: String,
        request: RecordedRequest,
        call: RecognisedCall,
        (rules, key): (IdentityRules, RequestKey),
    ) -> Self {
        Self::with_keys(upstream, request, call, vec![(rules, key)])
    }

    /// Makes the normalized request that an entry was recorded from, if the call is known already.
    /// Its key is computed when it is needed. `None` if the entry has no request.
    pub fn with_unknown_key(entry: &Entry, call: RecognisedCall) -> Option<Self> {
        let upstream = entry.upstream.clone().unwrap_or_default();
        Some(Self::with_keys(upstream, entry.request.clone()?, call, Vec::new()))
    }

    fn with_keys(
        upstream: String,
        request: RecordedRequest,
        call: RecognisedCall,
        keys: Vec<(IdentityRules, RequestKey)>,
    ) -> Self {
        let (placeholders, bound) = (Placeholders::default(), Vec::new());
        Self {
            upstream,
            request,
            call,
            session: None,
            step: None,
            named_host: None,
            placeholders,
            bound,
            client: RequestClient::Unknown,
            preset: OnceLock::new(),
            keys,
        }
    }

    /// Returns the key of the request under `rules`. It was computed already if the request was
    /// observed with these rules.
    pub fn key_under(&self, rules: &IdentityRules) -> RequestKey {
        let known = self.keys.iter().find(|(known, _)| known == rules);
        known.map_or_else(|| self.request.compute_key(&self.call, rules), |(_, key)| key.clone())
    }
}

impl RecordedRequest {
    /// Builds a request as it is stored, without its body. It contains neither what `redactor`
    /// finds nor these secrets. `placeholders` numbers its placeholders. The query must already be
    /// [without credentials](loomrec_identity::QueryRules::without_credentials). Names of headers
    /// must be in lower case. Of headers that are not stored, only the names are kept. Headers in
    /// `named` are always stored.
    pub fn redacted_head<'a>(
        redactor: &Redactor,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
        method: &str,
        (path, query): (&str, &str),
        (named, headers): (&[String], impl Iterator<Item = (&'a str, Cow<'a, str>)>),
    ) -> Self {
        let is_stored =
            |name: &str| redact::is_stored_header(name) || named.iter().any(|it| it == name);
        let method = redactor.redact_value(method, secrets, placeholders);
        let path = redactor.redact_path(path, secrets, placeholders);
        let query = redactor.redact_query(query, secrets, placeholders);
        let (mut kept, mut others, mut connection) = (Vec::new(), Vec::new(), String::new());
        for (name, value) in headers {
            if name == "connection" {
                connection.push_str(&value.to_ascii_lowercase());
                connection.push(',');
            }
            if !is_stored(name) {
                others.push(name);
                continue;
            }
            let value = match header::kept_value(name, &value) {
                Cow::Borrowed(value) if !header::is_digest(value) => {
                    redactor.redact_header(name, value, secrets, placeholders)
                }
                changed => changed.into_owned(),
            };
            // Subprotocols of which each carries a key leave nothing.
            if !value.is_empty() || name != subprotocol::SUBPROTOCOLS {
                kept.push((name.to_owned(), value));
            }
        }
        let is_clean = |name: &str| redactor.is_clean_name(name, secrets);
        let other_headers = HeaderNames::select(others, &connection, is_clean);
        let body = Bytes::new();
        Self { method, path, query, headers: kept, other_headers, body, packed: None }
    }

    /// Returns the content type of its body; empty if it has none.
    pub fn content_type(&self) -> &str {
        let named = self.headers.iter().find(|(name, _)| name == "content-type");
        named.map_or("", |(_, value)| value.as_str())
    }

    /// Recognises the call that this request makes.
    pub fn recognise_call(&self) -> RecognisedCall {
        self.recognise_parsed(loomrec_identity::parse(&self.body).ok().as_ref())
    }

    /// Recognises the call that this request makes, and computes its key under `rules`. Its body is
    /// parsed once.
    pub fn recognise_with_key(&self, rules: &IdentityRules) -> (RecognisedCall, RequestKey) {
        let read = self.read_once();
        let key = read.compute_key(rules);
        (read.call, key)
    }

    /// Recognises the call that this request makes, from a body that was parsed already.
    pub fn recognise_parsed(&self, body: Option<&Json<'_>>) -> RecognisedCall {
        let field = |name: &str| body.and_then(|json| json.get(name));
        let model = field("model").and_then(|value| value.as_str().map(|text| text.into_owned()));
        let rpc = self.rpc_method(body);
        let mut call = recognise_request(&RequestHead {
            method: &self.method,
            path: &self.path,
            query: &self.query,
            headers: &self.headers,
            body_model: model.as_deref(),
            body_stream: field("stream").and_then(|value| value.as_bool()),
            has_messages: field("messages").is_some_and(|value| value.as_array().is_some()),
            rpc: rpc.as_ref(),
        });
        if call.model.is_none() && body.is_none() {
            let named = multipart::field_text(self.content_type(), &self.body, "model");
            call.model = named.map(str::to_owned);
        }
        call
    }

    /// Returns what the request asks for, if it may be one in JSON-RPC.
    fn rpc_method(&self, body: Option<&Json<'_>>) -> Option<RpcMethod> {
        if self.method == "POST" {
            return RpcMethod::from_body(body?);
        }
        let names = self.headers.iter().map(|(name, _)| name.as_str());
        RpcMethod::of_head(&self.method, names.chain(self.other_headers.iter()))
    }

    /// Returns this recorded request as it is looked up under a binding; `None` if it is not JSON,
    /// is only found as it is, or cannot be bound.
    pub fn bound_recorded(
        &self,
        call: &RecognisedCall,
        rules: &BoundRules,
        binding: &RunBinding,
        identity: &IdentityRules,
    ) -> Option<BoundRequest> {
        let parts = self.key_parts(call);
        let body = parts.json_body()?;
        rules.recorded_request(binding, &parts, &body, identity, &request_texts(call, rules, &body))
    }

    /// Returns this request of a run with these values as it is looked up among bound ones; `None`
    /// if it is not JSON.
    pub fn bound_here(
        &self,
        call: &RecognisedCall,
        rules: &BoundRules,
        values: &RunValues,
        identity: &IdentityRules,
    ) -> Option<BoundRequest> {
        let parts = self.key_parts(call);
        let body = parts.json_body()?;
        Some(rules.current_request(
            values,
            &parts,
            &body,
            identity,
            &request_texts(call, rules, &body),
        ))
    }

    /// Returns the places of the texts in this request, and whose they are.
    pub fn text_roles(&self) -> Vec<(TextRole, JsonPointer)> {
        loomrec_identity::parse(&self.body).map(|body| text_roles(&body)).unwrap_or_default()
    }

    /// Returns the values of a run that are in this request.
    pub fn run_values(
        &self,
        call: &RecognisedCall,
        finder: &RunValueFinder,
        preset: Option<&ClientPreset>,
    ) -> RunValues {
        if !finder.is_for(preset.is_some()) {
            return RunValues::default();
        }
        let parts = self.key_parts(call);
        let Some(body) = parts.json_body() else { return RunValues::default() };
        let rules = finder.rules_with(preset.map(|it| it.rules.as_slice()).unwrap_or_default());
        let texts = request_texts(call, &rules, &body);
        finder.in_request(preset.is_some(), &rules, &parts, &body, &texts)
    }

    /// Returns the parts that the key of this request is made of.
    pub fn key_parts<'a>(&'a self, call: &'a RecognisedCall) -> RequestParts<'a> {
        let form = match (&call.target, loomrec_provider::key_reduction(call.operation)) {
            (None, _) => KeyForm::Chat,
            (Some(target), Some(reduction)) => KeyForm::Reduced { target, reduction },
            (Some(target), None) => KeyForm::Tagged {
                target,
                delivery: loomrec_provider::has_delivery_mode(call.operation),
                known: call.operation != Operation::OTHER,
            },
        };
        RequestParts {
            form,
            method: &self.method,
            query: &self.query,
            headers: &self.headers,
            body: &self.body,
        }
    }

    /// Returns the names of its headers that are not part of its key under `rules`: stored headers
    /// that do not count, and headers of which only the name is stored.
    pub fn headers_outside_key(&self, call: &RecognisedCall, rules: &IdentityRules) -> Vec<String> {
        let parts = self.key_parts(call);
        let stored = header::stored_outside_key(&parts, rules);
        let mut names: Vec<String> =
            stored.into_iter().chain(self.other_headers.iter()).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the keys that this request had in versions whose keys did not include all headers
    /// that change an answer, were made of the compressed bytes of a body, or did not know the
    /// operation.
    pub fn earlier_keys(&self, rules: &IdentityRules) -> Vec<RequestKey> {
        let keys = |request: &Self| {
            let call = request.recognise_call();
            let parts = request.key_parts(&call);
            let mut keys = RequestKey::of_earlier_versions(&parts, rules).to_vec();
            if let (Some(target), true) = (&call.target, call.operation.was_unknown()) {
                let form = KeyForm::Tagged { target, delivery: false, known: false };
                let parts = RequestParts { form, ..parts };
                keys.extend(RequestKey::of_earlier_versions(&parts, rules));
                keys.push(RequestKey::from_parts(&parts, rules));
            }
            keys
        };
        let as_packed = |packed: &Bytes| Self { body: packed.clone(), ..self.clone() };
        let packed = self.packed.as_ref().map(as_packed);
        std::iter::once(self).chain(&packed).flat_map(keys).collect()
    }

    /// Returns the headers that this request was sent with, and whose values were not stored,
    /// because keys did not include them then.
    pub fn headers_of_later_keys(&self) -> impl Iterator<Item = &str> {
        self.other_headers.iter().filter(|name| header::is_of_later_keys(name))
    }

    /// Returns the key of this request under `rules`. A stored request has the key that it was
    /// stored under, since nothing is removed in between.
    pub fn compute_key(&self, call: &RecognisedCall, rules: &IdentityRules) -> RequestKey {
        RequestKey::from_parts(&self.key_parts(call), rules)
    }
}

/// Returns the rules that recorded requests are compared under: those of the recording, those of
/// their client, and those for references to calls. `given` are ids of calls that recorded answers
/// gave.
pub fn bound_rules(
    identity: &IdentityRules,
    preset: Option<&ClientPreset>,
    given: Arc<HashSet<String>>,
) -> BoundRules {
    let references = CALL_REFERENCES.iter().filter_map(|place| PlacePattern::parse(place).ok());
    let of_preset = preset.map(|preset| preset.rules.as_slice()).unwrap_or_default();
    let rules = identity.normalize_rules().iter().chain(of_preset).cloned();
    BoundRules::new(rules.chain(references.map(NormalizeRule::for_references)).collect(), given)
}

/// Returns what these rules need to know of the texts of a request.
fn request_texts(call: &RecognisedCall, rules: &BoundRules, body: &Json<'_>) -> RequestTexts {
    let results = || call.operation.tool_results(body);
    let tool_results = if rules.needs_tool_results() { results() } else { Vec::new() };
    let roles = if rules.has_roles() { text_roles(body) } else { Vec::new() };
    RequestTexts { tool_results, roles }
}
