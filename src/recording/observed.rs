//! A request as loomrec observed it: recognised, freed of secrets, ready to be
//! looked up or recorded.

use super::entry::RecordedRequest;
use crate::identity::{self, Form, IdentityRules, RequestKey, RequestParts};
use crate::provider::recognise::{Seen, recognise};
use crate::provider::{self, Call};

/// One request on its way to an engine.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The upstream's name.
    pub upstream: String,
    /// The request, freed of secrets: exactly what would be stored.
    pub request: RecordedRequest,
    /// What it asks for.
    pub call: Call,
    /// The session it was made in, if one was named.
    pub session: Option<String>,
    /// The step id it was given, if one was.
    pub step: Option<String>,
}

impl RecordedRequest {
    /// What this request asks for.
    pub fn recognise(&self) -> Call {
        let body = identity::parse(&self.body).ok();
        let field = |name: &str| body.as_ref().and_then(|json| json.get(name));
        let model = field("model").and_then(|value| value.as_str().map(|text| text.into_owned()));
        recognise(&Seen {
            method: &self.method,
            path: &self.path,
            query: &self.query,
            headers: &self.headers,
            body_model: model.as_deref(),
            body_stream: field("stream").and_then(|value| value.as_bool()),
        })
    }

    /// What the key of this request is made of.
    pub fn parts<'a>(&'a self, call: &'a Call) -> RequestParts<'a> {
        let form = match &call.target {
            None => Form::Chat,
            Some(target) => Form::Tagged { target, delivery: provider::delivery(call.operation) },
        };
        RequestParts {
            form,
            method: &self.method,
            query: &self.query,
            headers: &self.headers,
            body: &self.body,
        }
    }

    /// The key of this request under `rules`. A stored request gives the key it
    /// was stored under, since nothing is removed between the two.
    pub fn key(&self, call: &Call, rules: &IdentityRules) -> RequestKey {
        RequestKey::of(&self.parts(call), rules)
    }
}
