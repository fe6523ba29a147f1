//! Raw requests and answers, if an instrumentation keeps them.

use serde_json::{Map, Value};

use super::attribute::SpanAttributes;
use loomrec_provider::KnownUpstream;

/// A complete request in a span.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanRequest {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// The kind of a call, judged by the bodies of its request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanCallKind {
    Chat,
    Responses,
    Messages,
    Embeddings,
}

impl SpanRequest {
    /// Changes the request to one for a complete answer, since spans keep only the merged result of
    /// a stream.
    pub(super) fn make_complete(&mut self) {
        const VERBS: [(&str, &str); 3] = [
            (":streamGenerateContent", ":generateContent"),
            ("/converse-stream", "/converse"),
            ("/invoke-with-response-stream", "/invoke"),
        ];
        let (path, query) = self.url.split_once('?').unwrap_or((&self.url, ""));
        if let Some((verb, complete)) = VERBS.iter().find(|(verb, _)| path.ends_with(verb)) {
            let rest: Vec<&str> = query.split('&').filter(|pair| *pair != "alt=sse").collect();
            let query = rest.join("&");
            let mark = if query.is_empty() { "" } else { "?" };
            let path = path.strip_suffix(verb).unwrap_or(path);
            self.url = format!("{path}{complete}{mark}{query}");
        }
        if let Ok(Value::Object(mut body)) = serde_json::from_str(&self.body)
            && body.get("stream") == Some(&Value::Bool(true))
        {
            body.shift_remove("stream");
            body.shift_remove("stream_options");
            self.body = Value::Object(body).to_string();
        }
    }
}

/// Returns the request, if its body is the one that was sent.
pub(super) fn asked(attributes: &SpanAttributes, output: Option<&Value>) -> Option<SpanRequest> {
    let names = ["input.value", "gen_ai.request.body", "llm.request.body"];
    let (value, body) = attributes.body(&names)?;
    let map = value.as_object()?;
    let headers = |kind: Option<SpanCallKind>| {
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        if kind == Some(SpanCallKind::Messages) {
            // There is only one version.
            headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
        }
        headers
    };
    let kind = kind(attributes, map, output);
    if let Some(url) = attributes.text(&["url.full", "http.url"])
        && url.starts_with("http")
    {
        let method = attributes.text(&["http.request.method", "http.method"]).unwrap_or("POST");
        let (method, url) = (method.to_owned(), url.to_owned());
        return Some(SpanRequest { method, url, headers: headers(kind), body });
    }
    let kind = kind?;
    let path = match kind {
        SpanCallKind::Chat => "/v1/chat/completions",
        SpanCallKind::Responses => "/v1/responses",
        SpanCallKind::Messages => "/v1/messages",
        SpanCallKind::Embeddings => "/v1/embeddings",
    };
    let url = format!("{}{path}", base(attributes, kind)?);
    let method = "POST".to_owned();
    Some(SpanRequest { method, url, headers: headers(Some(kind)), body })
}

/// Returns the answer's body and its exact text, if it is kept completely.
pub(super) fn answered(attributes: &SpanAttributes) -> Option<(Value, String)> {
    let names = ["output.value", "gen_ai.response.body", "llm.response.body"];
    attributes.body(&names).filter(|(body, _)| body.is_object())
}

/// Whether an answer's body is a real one of such a call, not a summary.
pub(super) fn is_whole(body: &Value) -> bool {
    let list = |name: &str| body.get(name).is_some_and(Value::is_array);
    let chat = || body.pointer("/choices/0/message").is_some_and(Value::is_object);
    let embeddings = || body.pointer("/data/0/embedding").is_some();
    body.get("error").is_some_and(Value::is_object)
        || chat()
        || (list("output") && body.get("object").is_some())
        || (list("content") && body.get("role").is_some())
        || list("candidates")
        || embeddings()
}

fn kind(
    attributes: &SpanAttributes,
    body: &Map<String, Value>,
    output: Option<&Value>,
) -> Option<SpanCallKind> {
    let provider = provider(attributes).unwrap_or_default();
    let answered = |name: &str| output.is_some_and(|output| output.get(name).is_some());
    let has = |name: &str| body.contains_key(name);
    if has("messages") && (answered("choices") || provider == "openai") {
        // A value that is not a list of messages was made for people to read.
        body.get("messages")?.is_array().then_some(SpanCallKind::Chat)
    } else if has("messages") && has("max_tokens") && provider == "anthropic" {
        Some(SpanCallKind::Messages)
    } else if has("input") && (answered("output") || body.contains_key("instructions")) {
        Some(SpanCallKind::Responses)
    } else if has("input") && (answered("data") || is_embedding(attributes)) {
        Some(SpanCallKind::Embeddings)
    } else if has("messages") && output.is_none() && upstream(&provider).is_some() {
        Some(SpanCallKind::Chat)
    } else {
        None
    }
}

/// Whether a span is a call for embeddings.
pub(super) fn is_embedding(attributes: &SpanAttributes) -> bool {
    attributes.text(&["openinference.span.kind"]).is_some_and(|kind| kind == "EMBEDDING")
        || attributes.text(&["gen_ai.operation.name"]).is_some_and(|name| name == "embeddings")
}

/// Returns the provider's name, in lower case.
pub(super) fn provider(attributes: &SpanAttributes) -> Option<String> {
    let names = ["gen_ai.provider.name", "llm.provider", "gen_ai.system", "llm.system"];
    attributes.text(&names).map(|name| name.to_ascii_lowercase().replace("mistralai", "mistral"))
}

fn upstream(provider: &str) -> Option<&'static KnownUpstream> {
    KnownUpstream::find(provider).filter(|upstream| upstream.base.is_some())
}

/// Returns the base address for calls of this kind.
fn base(attributes: &SpanAttributes, kind: SpanCallKind) -> Option<&'static str> {
    let provider = provider(attributes);
    let usual = if kind == SpanCallKind::Messages { "anthropic" } else { "openai" };
    match provider.as_deref() {
        None => upstream(usual)?.base,
        Some(known) if upstream(known).is_some() => upstream(known)?.base,
        Some(_) => None,
    }
}
