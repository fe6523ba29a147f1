//! Writes the errors that a provider itself would have sent: its body, its words for
//! the status, and the headers that its SDK reads.
//!
//! Where a shape has an id, it is made of the status and the message: the same error
//! has the same id on every run.

mod limit;

use serde_json::Value;

use super::error_request::ErrorRequest;
use super::{Framing, Provider, answer_draft, anthropic, bedrock, cohere, gemini, ollama, openai};

/// An error as the provider sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// The HTTP status.
    pub status: u16,
    /// The headers that belong to it, its media type first.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON, or the page of a gateway.
    pub body: Vec<u8>,
}

/// A provider's own error for a status, in the dialect of the upstream of this name.
/// Without a message it is the one that the provider usually gives.
pub fn natural_error(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
) -> ProviderError {
    ErrorRequest { message, ..ErrorRequest::new(provider, upstream, status) }.write()
}

/// The same, of a provider that says after how many seconds the call may be tried
/// again: in a header, or, as Gemini does it, in the body.
pub fn natural_error_after(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
    seconds: u64,
) -> ProviderError {
    let retry_after_ms = Some(seconds.saturating_mul(1000));
    let asked = ErrorRequest::new(provider, upstream, status);
    ErrorRequest { message, retry_after_ms, ..asked }.write()
}

impl ErrorRequest<'_> {
    /// The error as it is sent. A status of 502 without words is a gateway's page, but
    /// for OpenRouter, which has words of its own for it.
    pub fn write(&self) -> ProviderError {
        let wordless = self.message.is_none() && self.kind.is_none();
        let page = self.status == 502 && wordless && self.upstream != "openrouter";
        let (media, body) = if page {
            ("text/html", gateway_page(self.provider).as_bytes().to_vec())
        } else {
            (self.media(), self.json().to_string().into_bytes())
        };
        let mut headers = vec![("content-type", media.to_owned())];
        if !page {
            self.identify(&mut headers);
        }
        if self.status == 429 {
            limit::add_limit_headers(self, &mut headers);
        }
        if let Some(wait) = self.retry_after_ms.filter(|_| self.provider != Provider::Gemini) {
            if self.provider == Provider::OpenAi && matches!(self.upstream, "openai" | "azure") {
                headers.push(("retry-after-ms", wait.to_string()));
            }
            headers.push(("retry-after", wait.div_ceil(1000).to_string()));
        }
        ProviderError { status: self.status, headers, body }
    }

    fn media(&self) -> &'static str {
        match self.provider {
            Provider::Gemini => "application/json; charset=UTF-8",
            Provider::Ollama => "application/json; charset=utf-8",
            _ => "application/json",
        }
    }

    /// Adds the headers that name the request, and Bedrock's, which names the error.
    fn identify(&self, headers: &mut Vec<(&'static str, String)>) {
        match self.provider {
            Provider::OpenAi if self.upstream == "azure" => {
                headers.push(("apim-request-id", self.uuid()));
                headers.push(("x-ms-region", "East US".to_owned()));
                headers.push(("x-request-id", self.uuid()));
            }
            Provider::OpenAi | Provider::Unknown => {
                headers.push(("x-request-id", self.id("req_")));
            }
            Provider::Anthropic => headers.push(("request-id", self.id("req_"))),
            Provider::Bedrock => {
                let kind = self.kind.unwrap_or_else(|| bedrock::exception(self.status));
                headers.push(("x-amzn-errortype", kind.to_owned()));
                headers.push(("x-amzn-requestid", self.uuid()));
            }
            Provider::Gemini | Provider::Cohere | Provider::Ollama => {}
        }
    }

    fn json(&self) -> Value {
        match self.provider {
            Provider::OpenAi | Provider::Unknown => openai::natural(self, &self.id("req_")),
            Provider::Anthropic => anthropic::natural(self, &self.id("req_")),
            Provider::Gemini => match self.framing {
                Some(Framing::Array) => Value::Array(vec![gemini::natural(self)]),
                _ => gemini::natural(self),
            },
            Provider::Bedrock => bedrock::natural(self),
            Provider::Cohere => cohere::natural(self, &self.uuid()),
            Provider::Ollama => ollama::natural(self.status, self.message),
        }
    }

    fn id(&self, prefix: &str) -> String {
        answer_draft::id(prefix, usize::from(self.status), self.message.unwrap_or_default())
    }

    fn uuid(&self) -> String {
        let digits = self.id("") + &answer_draft::id("", usize::from(self.status), "uuid");
        let group = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
        let groups = [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)];
        groups.join("-")
    }
}

/// What stands in front of a provider says that nothing behind it answers.
fn gateway_page(provider: Provider) -> &'static str {
    match provider {
        Provider::Gemini => {
            "<!DOCTYPE html>\n<html lang=en>\n  <title>Error 502 (Server Error)!!1</title>\n  <p><b>502.</b> <ins>That\u{2019}s an error.</ins>\n  <p>The server encountered a temporary error and could not complete your request.<p>Please try again in 30 seconds.  <ins>That\u{2019}s all we know.</ins>\n"
        }
        Provider::OpenAi | Provider::Anthropic => {
            "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"
        }
        _ => {
            "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
        }
    }
}

#[cfg(test)]
mod status_tests;
#[cfg(test)]
mod tests;
