//! What a normalized request asks: its head and its body, and what follows from them and its call.

use bytes::Bytes;

use super::super::call_scope::CallForm;
use super::super::entry::{Entry, RecordedResponse};
use super::super::similarity::RequestSketch;
use super::NormalizedRequest;
use loomrec_identity::{
    BoundRequest, BoundRules, IdentityRules, Json, JsonPointer, NormalizeRule, RequestParts,
    RunBinding, RunValueFinder, RunValues, TextRole,
};
use loomrec_provider::{JudgedAnswer, ResponseFormat, SocketAudio, text_roles};

impl NormalizedRequest {
    /// Returns the method, in upper case.
    pub fn method(&self) -> &str {
        &self.request.method
    }

    /// Returns the raw path after the upstream's mount.
    pub fn path(&self) -> &str {
        &self.request.path
    }

    /// Returns the raw query without credentials; empty if there was none.
    pub fn query(&self) -> &str {
        &self.request.query
    }

    /// Returns the path with the query, as it was sent.
    pub fn path_and_query(&self) -> String {
        self.request.path_and_query()
    }

    /// Returns the stored headers, with names in lower case.
    pub fn headers(&self) -> &[(String, String)] {
        &self.request.headers
    }

    /// Returns the names of headers that were sent but are not stored.
    pub fn unstored_headers(&self) -> impl Iterator<Item = &str> {
        self.request.other_headers.iter()
    }

    /// Returns the text of the body.
    pub fn body(&self) -> &Bytes {
        &self.request.body
    }

    /// Returns all bytes that it holds of its body: the text, and what is stored instead of it.
    pub fn held_bodies(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.request.body).chain(&self.request.packed)
    }

    /// Returns method and path, with a space between them.
    pub fn request_line(&self) -> String {
        format!("{} {}", self.method(), self.path())
    }

    /// Returns the mount of the path: see [`loomrec_provider::chat_mount`].
    pub fn chat_mount(&self) -> &str {
        loomrec_provider::chat_mount(self.path())
    }

    /// Whether its query asks for server-sent events.
    pub fn asks_for_events(&self) -> bool {
        self.request.asks_for_events()
    }

    /// Whether the call is free of charge.
    pub fn is_free(&self) -> bool {
        self.request.is_free(&self.call)
    }

    /// Returns the mount and the delivery of the call.
    pub fn call_form(&self) -> CallForm {
        CallForm::from_call(&self.call, self.path(), self.asks_for_events())
    }

    /// Returns the audio of the WebSocket that it opens.
    pub fn socket_audio(&self) -> SocketAudio {
        self.request.socket_audio()
    }

    /// Returns the sketch by which similar requests are found.
    pub fn to_sketch(&self) -> RequestSketch {
        self.request.to_sketch(&self.call)
    }

    /// Returns the outcome of an entry's response as an answer to this request, whatever the entry's
    /// fault and messages say. An entry without a response counts as complete.
    pub fn judge_answer(&self, entry: &Entry) -> JudgedAnswer {
        let judge = |it: &RecordedResponse| it.judge_answer(self.call.operation, self.method());
        entry.response.as_ref().map_or(JudgedAnswer::COMPLETE, judge)
    }

    /// Returns the format that it asks its answer in.
    pub fn asked_format(&self) -> ResponseFormat<'_> {
        ResponseFormat::from_call(&self.call, &self.upstream, self.query(), self.body())
    }

    /// Returns an entry that holds only this request, and no answer.
    pub fn to_unanswered(&self) -> Entry {
        Entry { request: Some(self.request.clone()), ..Entry::default() }
    }

    /// Returns the parts that its key is made of.
    pub fn key_parts(&self) -> RequestParts<'_> {
        self.request.key_parts(&self.call)
    }

    /// Returns the names of its headers that are not part of its key under `rules`.
    pub fn headers_outside_key(&self, rules: &IdentityRules) -> Vec<String> {
        self.request.headers_outside_key(&self.call, rules)
    }

    /// Returns the places of the texts in it, and whose they are.
    pub fn text_roles(&self) -> Vec<(TextRole, JsonPointer)> {
        self.request.text_roles()
    }

    /// Whether a text in it has a state of a repository that is in none of these values.
    pub fn has_other_state(&self, rules: &[NormalizeRule], known: &[RunValues]) -> bool {
        let Ok(body) = loomrec_identity::parse(self.body()) else { return false };
        text_roles(&body).iter().any(|(role, place)| {
            let mut of_role = rules.iter().filter(|rule| rule.text_role() == Some(*role));
            let text = body.value_at(place).and_then(Json::as_str);
            text.is_some_and(|text| of_role.any(|rule| rule.has_other_state(&text, known)))
        })
    }

    /// Returns the values of a run that are in it. Its client is recognised for that.
    pub fn run_values(&self, finder: &RunValueFinder) -> RunValues {
        self.request.run_values(&self.call, finder, self.client_preset())
    }

    /// Returns this recorded request as it is looked up under a binding; `None` if it is not JSON,
    /// is only found as it is, or cannot be bound.
    pub fn bound_recorded(
        &self,
        rules: &BoundRules,
        binding: &RunBinding,
        identity: &IdentityRules,
    ) -> Option<BoundRequest> {
        self.request.bound_recorded(&self.call, rules, binding, identity)
    }

    /// Returns this request of a run with these values as it is looked up among bound ones; `None`
    /// if it is not JSON.
    pub fn bound_here(
        &self,
        rules: &BoundRules,
        values: &RunValues,
        identity: &IdentityRules,
    ) -> Option<BoundRequest> {
        self.request.bound_here(&self.call, rules, values, identity)
    }
}
