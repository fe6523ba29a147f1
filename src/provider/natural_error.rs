//! Writes the errors that a provider itself would have sent: its body, its words for
//! the status, and the headers that its SDK reads.
//!
//! Where a shape has an id, it is made of the status and the message: the same error
//! has the same id on every run.

use serde_json::Value;

use super::{Provider, anthropic, bedrock, cohere, gemini, ollama, openai, words};

/// An error as the provider sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaturalError {
    /// The HTTP status.
    pub status: u16,
    /// The headers that belong to it, its media type first.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON body.
    pub body: Vec<u8>,
}

/// A provider's own error for a status, in the dialect of the upstream of this name.
/// Without a message it is the one that the provider usually gives.
pub fn natural_error(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
) -> NaturalError {
    let body = body(provider, upstream, status, message, None);
    let mut headers = vec![("content-type", "application/json".to_owned())];
    let id = |prefix| request_id(prefix, status, message);
    match provider {
        Provider::OpenAi | Provider::Unknown => headers.push(("x-request-id", id("req_"))),
        Provider::Anthropic => headers.push(("request-id", id("req_"))),
        Provider::Bedrock => {
            headers.push(("x-amzn-errortype", bedrock::exception(status).to_owned()));
            headers.push(("x-amzn-requestid", id("")));
        }
        Provider::Gemini | Provider::Cohere | Provider::Ollama => {}
    }
    NaturalError { status, headers, body: body.to_string().into_bytes() }
}

/// The same, of a provider that says after how many seconds the call may be tried
/// again: in a header, or, as Gemini does it, in the body.
pub fn natural_error_after(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
    seconds: u64,
) -> NaturalError {
    let mut error = natural_error(provider, upstream, status, message);
    if provider == Provider::Gemini {
        error.body = body(provider, upstream, status, message, Some(seconds)).to_string().into();
    } else {
        error.headers.push(("retry-after", seconds.to_string()));
    }
    error
}

fn body(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
    retry: Option<u64>,
) -> Value {
    let id = |prefix| request_id(prefix, status, message);
    match provider {
        Provider::OpenAi | Provider::Unknown => {
            openai::natural(upstream, status, message, &id("req_"))
        }
        Provider::Anthropic => anthropic::natural(status, message, &id("req_")),
        Provider::Gemini => gemini::natural(status, message, retry),
        Provider::Bedrock => bedrock::natural(status, message),
        Provider::Cohere => cohere::natural(status, message, &id("")),
        Provider::Ollama => ollama::natural(status, message),
    }
}

fn request_id(prefix: &str, status: u16, message: Option<&str>) -> String {
    words::id(prefix, usize::from(status), message.unwrap_or_default())
}

#[cfg(test)]
mod tests;
