//! A request as loomrec observed it: recognised, freed of secrets, ready to be
//! looked up or recorded.

use std::borrow::Cow;

use bytes::Bytes;

use super::entry::RecordedRequest;
use super::header_names::HeaderNames;
use super::redact::{self, CallCredentials, Placeholders, Redactor};
use loomrec_identity::{IdentityRules, Json, KeyForm, RequestKey, RequestParts, header};
use loomrec_provider::RecognisedCall;
use loomrec_provider::{RequestHead, recognise};

/// One request on its way to an engine.
#[derive(Clone, Debug)]
pub struct NormalizedRequest {
    /// The upstream's name.
    pub upstream: String,
    /// The request, freed of secrets: exactly what would be stored.
    pub request: RecordedRequest,
    /// What it asks for.
    pub call: RecognisedCall,
    /// The session it was made in, if one was named.
    pub session: Option<String>,
    /// The step id it was given, if one was.
    pub step: Option<String>,
    /// The numbers of the placeholders in it, which go on in its answer.
    pub placeholders: Placeholders,
    /// Its keys under the rules that were asked for when it was observed.
    keys: Vec<(IdentityRules, RequestKey)>,
}

impl NormalizedRequest {
    /// `request` as it was sent to `upstream`, in no session and no step, with its
    /// keys under each of `rules` made ready. The body is read once for all of it.
    pub fn new(upstream: String, request: RecordedRequest, rules: &[IdentityRules]) -> Self {
        let body = loomrec_identity::parse(&request.body).ok();
        let call = request.recognise_parsed(body.as_ref());
        let parts = request.parts(&call);
        let mut keys: Vec<(IdentityRules, RequestKey)> = Vec::with_capacity(rules.len());
        for rules in rules {
            if keys.iter().all(|(known, _)| known != rules) {
                let key = RequestKey::of_parsed(&parts, body.as_ref(), rules);
                keys.push((rules.clone(), key));
            }
        }
        let placeholders = Placeholders::default();
        Self { upstream, request, call, session: None, step: None, placeholders, keys }
    }

    /// The same, where it is known what `request` asks for and which key it has under
    /// `rules`: nothing of it is read.
    pub fn recalled(
        upstream: String,
        request: RecordedRequest,
        call: RecognisedCall,
        (rules, key): (IdentityRules, RequestKey),
    ) -> Self {
        let (placeholders, keys) = (Placeholders::default(), vec![(rules, key)]);
        Self { upstream, request, call, session: None, step: None, placeholders, keys }
    }

    /// The key of the request under `rules`: without work where they are among
    /// those it was observed with.
    pub fn key(&self, rules: &IdentityRules) -> RequestKey {
        let known = self.keys.iter().find(|(known, _)| known == rules);
        known.map_or_else(|| self.request.key(&self.call, rules), |(_, key)| key.clone())
    }
}

impl RecordedRequest {
    /// All of a request but its body, as it is stored: freed of what `redactor` finds
    /// and of these secrets, its placeholders numbered by `placeholders`. The query is
    /// [without credentials](loomrec_identity::QueryRules::stored) already. Names of headers in
    /// lower case; those that are not stored may be among them, and are kept by their
    /// names alone. Those that are `named` are stored, whatever they say.
    pub fn head<'a>(
        redactor: &Redactor,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
        method: &str,
        (path, query): (&str, &str),
        (named, headers): (&[String], impl Iterator<Item = (&'a str, Cow<'a, str>)>),
    ) -> Self {
        let is_stored = |name: &str| redact::stores(name) || named.iter().any(|it| it == name);
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
                digest => digest.into_owned(),
            };
            kept.push((name.to_owned(), value));
        }
        let is_clean = |name: &str| redactor.is_clean_name(name, secrets);
        let other_headers = HeaderNames::select(others, &connection, is_clean);
        Self { method, path, query, headers: kept, other_headers, body: Bytes::new() }
    }

    /// The content type of its body; empty where it names none.
    pub fn content_type(&self) -> &str {
        let named = self.headers.iter().find(|(name, _)| name == "content-type");
        named.map_or("", |(_, value)| value.as_str())
    }

    /// What this request asks for.
    pub fn recognise(&self) -> RecognisedCall {
        self.recognise_parsed(loomrec_identity::parse(&self.body).ok().as_ref())
    }

    /// What this request asks for, and its key under `rules`: its body is read once.
    pub fn recognise_with_key(&self, rules: &IdentityRules) -> (RecognisedCall, RequestKey) {
        let body = loomrec_identity::parse(&self.body).ok();
        let call = self.recognise_parsed(body.as_ref());
        let key = RequestKey::of_parsed(&self.parts(&call), body.as_ref(), rules);
        (call, key)
    }

    /// What this request asks for, of a body that has been read already.
    pub(crate) fn recognise_parsed(&self, body: Option<&Json<'_>>) -> RecognisedCall {
        let field = |name: &str| body.and_then(|json| json.get(name));
        let model = field("model").and_then(|value| value.as_str().map(|text| text.into_owned()));
        recognise(&RequestHead {
            method: &self.method,
            path: &self.path,
            query: &self.query,
            headers: &self.headers,
            body_model: model.as_deref(),
            body_stream: field("stream").and_then(|value| value.as_bool()),
        })
    }

    /// What the key of this request is made of.
    pub fn parts<'a>(&'a self, call: &'a RecognisedCall) -> RequestParts<'a> {
        let form = match &call.target {
            None => KeyForm::Chat,
            Some(target) => {
                KeyForm::Tagged { target, delivery: loomrec_provider::delivery(call.operation) }
            }
        };
        RequestParts {
            form,
            method: &self.method,
            query: &self.query,
            headers: &self.headers,
            body: &self.body,
        }
    }

    /// The names of its headers that are not part of its key under `rules`: those that
    /// are stored and do not count, and those that are known by their names only.
    pub fn headers_outside_key(&self, call: &RecognisedCall, rules: &IdentityRules) -> Vec<String> {
        let parts = self.parts(call);
        let stored = header::stored_outside_key(&parts, rules);
        let mut names: Vec<String> =
            stored.into_iter().chain(self.other_headers.iter()).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The key that this request had before keys were made of all headers that change an
    /// answer.
    pub fn first_generation_key(&self, rules: &IdentityRules) -> RequestKey {
        RequestKey::of_first_generation(&self.parts(&self.recognise()), rules)
    }

    /// The key of this request under `rules`. A stored request gives the key it
    /// was stored under, since nothing is removed between the two.
    pub fn key(&self, call: &RecognisedCall, rules: &IdentityRules) -> RequestKey {
        RequestKey::of(&self.parts(call), rules)
    }
}
