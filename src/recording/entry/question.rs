//! The question of an entry: what its request asks. An entry may have no request.

use bytes::Bytes;

use super::super::header_names::HeaderNames;
use super::super::request_print::RequestPrint;
use super::super::similarity::RequestSketch;
use super::{Entry, RecordedRequest};
use loomrec_identity::{IdentityRules, Json, JsonPointer, RequestKey, RequestParts, TextRole};
use loomrec_provider::{RecognisedCall, ResponseFormat, SocketAudio, SocketProtocol};

/// A recorded request that was read once: the JSON of its body, and the call that it makes.
#[derive(Debug)]
pub struct RecognisedRequest<'e> {
    request: &'e RecordedRequest,
    /// Its body; `None` if it is not JSON.
    pub body: Option<Json<'e>>,
    /// The call that it makes.
    pub call: RecognisedCall,
}

impl RecognisedRequest<'_> {
    /// Returns the key of the request under `rules`.
    pub fn compute_key(&self, rules: &IdentityRules) -> RequestKey {
        RequestKey::of_parsed(&self.request.key_parts(&self.call), self.body.as_ref(), rules)
    }

    /// Returns the sketch by which similar requests are found.
    pub fn to_sketch(&self) -> RequestSketch {
        self.request.to_sketch(&self.call)
    }
}

impl RecordedRequest {
    /// Parses the body once, and recognises the call that this request makes.
    pub fn read_once(&self) -> RecognisedRequest<'_> {
        let body = loomrec_identity::parse(&self.body).ok();
        let call = self.recognise_parsed(body.as_ref());
        RecognisedRequest { request: self, body, call }
    }

    /// Returns its path with its query, as it was sent.
    pub fn path_and_query(&self) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.path, self.query)
    }

    /// Returns its sketch. `call` is what it asks for.
    pub fn to_sketch(&self, call: &RecognisedCall) -> RequestSketch {
        RequestSketch::from_call(call, self.target(), &self.body)
    }

    /// Returns its print; `None` if its body is large.
    pub fn to_print(&self) -> Option<RequestPrint> {
        RequestPrint::from_parts(self.target(), &self.headers, &self.body)
    }

    /// Returns its method, its path and its query.
    fn target(&self) -> [&str; 3] {
        [&self.method, &self.path, &self.query]
    }

    /// Whether a call with this request is free of charge: its operation is, or it asks no model. A
    /// request to an operation of models asks one, even if it does not name it.
    pub fn is_free(&self, call: &RecognisedCall) -> bool {
        let operation = call.operation;
        let asks_model = match self.method.as_str() {
            "POST" => call.model.is_some() || !operation.is_free_unnamed(),
            _ => self.opens_realtime(),
        };
        operation.is_free() || !asks_model
    }

    /// Whether it opens a conversation with a model over a WebSocket.
    fn opens_realtime(&self) -> bool {
        self.is_handshake() && SocketProtocol::of_path(&self.path) == SocketProtocol::Realtime
    }

    /// Whether it asks for a WebSocket.
    pub fn is_handshake(&self) -> bool {
        self.headers.iter().any(|(name, value)| name == "upgrade" && value == "websocket")
    }

    /// Returns the audio of the WebSocket that it opens.
    pub fn socket_audio(&self) -> SocketAudio {
        SocketAudio::of_handshake(&self.path, &self.query)
    }
}

impl Entry {
    /// Whether its request is recorded.
    pub fn has_request(&self) -> bool {
        self.request.is_some()
    }

    /// Whether both entries hold the same request, in all that is stored of it.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        self.has_request() && self.request == other.request
    }

    /// Returns an entry that holds only the request of this one.
    pub fn to_unanswered(&self) -> Self {
        Self { request: self.request.clone(), ..Self::default() }
    }

    /// Whether its request asks for nothing that costs.
    pub fn has_free_request(&self) -> Option<bool> {
        self.request.as_ref().map(|request| request.is_free(&request.recognise_call()))
    }

    /// Whether its request asks for a WebSocket.
    pub fn is_handshake(&self) -> bool {
        self.request.as_ref().is_some_and(RecordedRequest::is_handshake)
    }

    /// Reads its request, whose body is parsed once.
    pub fn read_request(&self) -> Option<RecognisedRequest<'_>> {
        self.request.as_ref().map(RecordedRequest::read_once)
    }

    /// Recognises the call that its request makes.
    pub fn recognise_call(&self) -> Option<RecognisedCall> {
        self.request.as_ref().map(RecordedRequest::recognise_call)
    }

    /// As [`Self::recognise_call`], without a look at a body of JSON. The operation is known by the
    /// head alone; the model only if the path or a form names it.
    pub fn recognise_head(&self) -> Option<RecognisedCall> {
        self.request.as_ref().map(|request| request.recognise_parsed(None))
    }

    /// Returns the requested model, if it is not in a body of JSON.
    pub fn model_in_head(&self) -> Option<String> {
        self.recognise_head()?.model
    }

    /// Returns the method of its request.
    pub fn request_method(&self) -> Option<&str> {
        self.request.as_ref().map(|request| request.method.as_str())
    }

    /// Returns the path of its request.
    pub fn request_path(&self) -> Option<&str> {
        self.request.as_ref().map(|request| request.path.as_str())
    }

    /// Returns the raw query of its request; empty if there was none.
    pub fn request_query(&self) -> Option<&str> {
        self.request.as_ref().map(|request| request.query.as_str())
    }

    /// Returns method and path of its request, with a space between them.
    pub fn request_line(&self) -> Option<String> {
        self.request.as_ref().map(|request| format!("{} {}", request.method, request.path))
    }

    /// Returns the path of its request, with the query if there is one.
    pub fn request_target(&self) -> Option<String> {
        self.request.as_ref().map(RecordedRequest::path_and_query)
    }

    /// Returns method, path and query of its request, with a space after the method.
    pub fn full_request_line(&self) -> Option<String> {
        Some(format!("{} {}", self.request_method()?, self.request_target()?))
    }

    /// Returns the stored headers of its request; none if it has no request.
    pub fn request_headers(&self) -> &[(String, String)] {
        self.request.as_ref().map_or(&[], |request| request.headers.as_slice())
    }

    /// Returns the content type of its request's body; empty if it states none.
    pub fn request_type(&self) -> Option<&str> {
        self.request.as_ref().map(RecordedRequest::content_type)
    }

    /// Returns the text of its request's body.
    pub fn request_body(&self) -> Option<&Bytes> {
        self.request.as_ref().map(|request| &request.body)
    }

    /// Sets the path of its request, if it has one.
    pub fn set_request_path(&mut self, path: String) {
        if let Some(request) = &mut self.request {
            request.path = path;
        }
    }

    /// Sets the body of its request to this text, if it has one.
    pub fn set_request_text(&mut self, text: Bytes) {
        if let Some(request) = &mut self.request {
            request.set_text(text);
        }
    }

    /// Replaces the text of its request's body by what `change` makes of it, unless that is `None`.
    pub fn change_request_body(&mut self, change: impl FnOnce(&Bytes) -> Option<Bytes>) {
        if let Some(request) = &mut self.request
            && let Some(body) = change(&request.body)
        {
            request.body = body;
        }
    }

    /// Returns the body of its request as it is sent again.
    pub fn body_to_send(&self) -> Option<&Bytes> {
        self.request.as_ref().map(RecordedRequest::body_to_send)
    }

    /// Returns the names of headers that its request was sent with, and that are not stored.
    pub fn unstored_headers(&self) -> Option<&HeaderNames> {
        self.request.as_ref().map(|request| &request.other_headers)
    }

    /// Sets the names of headers that its request was sent with, and that are not stored.
    pub fn set_unstored_headers(&mut self, names: HeaderNames) {
        if let Some(request) = &mut self.request {
            request.other_headers = names;
        }
    }

    /// Whether its request was sent with a header of this name, whose value is not stored.
    pub fn was_sent_with(&self, name: &str) -> bool {
        self.unstored_headers().is_some_and(|names| names.iter().any(|known| known == name))
    }

    /// Whether the body of its request contains these bytes.
    pub fn asks_with(&self, bytes: &[u8]) -> bool {
        self.request_body().is_some_and(|body| memchr::memmem::find(body, bytes).is_some())
    }

    /// Returns the parts that the key of its request is made of. `call` is what it asks for.
    pub fn key_parts<'e>(&'e self, call: &'e RecognisedCall) -> Option<RequestParts<'e>> {
        self.request.as_ref().map(|request| request.key_parts(call))
    }

    /// Returns the key of its request under `rules`. `call` is what it asks for.
    pub fn compute_key(&self, call: &RecognisedCall, rules: &IdentityRules) -> Option<RequestKey> {
        self.request.as_ref().map(|request| request.compute_key(call, rules))
    }

    /// Returns the keys that its request had in earlier versions; none if it has no request.
    pub fn earlier_keys(&self, rules: &IdentityRules) -> Vec<RequestKey> {
        self.request.as_ref().map(|request| request.earlier_keys(rules)).unwrap_or_default()
    }

    /// Returns the names of its request's headers that are not part of its key; none if it has no
    /// request. `call` is what it asks for.
    pub fn headers_outside_key(&self, call: &RecognisedCall, rules: &IdentityRules) -> Vec<String> {
        let request = self.request.as_ref();
        request.map(|request| request.headers_outside_key(call, rules)).unwrap_or_default()
    }

    /// Returns the format that its request asks its answer in. `call` is what it asks for.
    pub fn asked_format<'e>(&'e self, call: &'e RecognisedCall) -> Option<ResponseFormat<'e>> {
        let request = self.request.as_ref()?;
        let upstream = self.upstream.as_deref().unwrap_or_default();
        Some(ResponseFormat::from_call(call, upstream, &request.query, &request.body))
    }

    /// Returns the audio of the WebSocket that its request opens.
    pub fn socket_audio(&self) -> Option<SocketAudio> {
        self.request.as_ref().map(RecordedRequest::socket_audio)
    }

    /// Whether the query of its request asks for server-sent events.
    pub fn asks_for_events(&self) -> Option<bool> {
        self.request.as_ref().map(RecordedRequest::asks_for_events)
    }

    /// Returns the places of the texts in its request, and whose they are; none if it has no request.
    pub fn text_roles(&self) -> Vec<(TextRole, JsonPointer)> {
        self.request.as_ref().map(RecordedRequest::text_roles).unwrap_or_default()
    }

    /// Returns the sketch of its request. `call` is what it asks for.
    pub fn request_sketch(&self, call: &RecognisedCall) -> Option<RequestSketch> {
        self.request.as_ref().map(|request| request.to_sketch(call))
    }

    /// Returns the print of its request; `None` if it has none, or a large one.
    pub fn request_print(&self) -> Option<RequestPrint> {
        self.request.as_ref()?.to_print()
    }

    /// Returns the headers that its request was sent with, and whose values were not stored because
    /// keys did not include them then.
    pub fn headers_of_later_keys(&self) -> impl Iterator<Item = &str> {
        self.request.iter().flat_map(RecordedRequest::headers_of_later_keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(query: &str) -> Entry {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        let request = json!({"method": "POST", "path": "/v1/chat/completions", "query": query,
            "headers": {"content-type": "application/json"}, "body": body});
        Entry::parse(&json!({"content": "", "upstream": "openai", "request": request})).unwrap()
    }

    #[test]
    fn entry_says_what_its_request_asks() {
        let entry = entry("a=b");
        assert_eq!(entry.full_request_line().as_deref(), Some("POST /v1/chat/completions?a=b"));
        assert_eq!(entry.request_type(), Some("application/json"));
        assert_eq!(entry.recognise_call().unwrap().model.as_deref(), Some("m"));
        assert_eq!(entry.model_in_head(), None, "the body of JSON is not looked at");
        assert!(entry.asks_with(b"hi") && !entry.asks_with(b"ho"));
        let rules = IdentityRules::default();
        let read = entry.read_request().unwrap();
        assert_eq!(entry.compute_key(&read.call, &rules), Some(read.compute_key(&rules)));
        assert_eq!(entry.request_sketch(&read.call), Some(read.to_sketch()));
        assert!(entry.asks_the_same(&entry.to_unanswered()));
    }

    #[test]
    fn entry_without_a_request_asks_nothing() {
        let entry = Entry::default();
        assert!(!entry.has_request() && !entry.asks_the_same(&entry) && !entry.asks_with(b""));
        assert_eq!(entry.full_request_line(), None);
        assert!(entry.request_headers().is_empty());
        assert!(entry.earlier_keys(&IdentityRules::default()).is_empty());
        assert!(entry.read_request().is_none() && entry.recognise_call().is_none());
    }

    #[test]
    fn changed_body_is_another_question() {
        let (before, mut entry) = (entry(""), entry(""));
        entry.change_request_body(|_| None);
        assert!(entry.asks_the_same(&before));
        entry.change_request_body(|body| Some(body.slice(1..)));
        assert!(!entry.asks_the_same(&before));
    }
}
