//! Writes errors in the shape that a provider's SDK turns into its own typed
//! exception, with our message where the exception shows it.

use super::{Provider, anthropic, bedrock, cohere, gemini, ollama, openai};

/// An error's JSON body. `kind` names the error (`RecordingMismatchError`): the
/// message begins with it, since some SDKs show nothing but the message, and where
/// the shape has a field of its own for it, it stands there too.
pub fn error_body(provider: Provider, status: u16, kind: &str, message: &str) -> Vec<u8> {
    let named =
        if message.starts_with(kind) { message.to_owned() } else { format!("{kind}: {message}") };
    let body = match provider {
        Provider::OpenAi | Provider::Unknown => openai::error(kind, &named),
        Provider::Anthropic => anthropic::error(status, &named),
        Provider::Gemini => gemini::error(status, kind, &named),
        Provider::Bedrock => bedrock::error(message),
        Provider::Cohere => cohere::error(&named),
        Provider::Ollama => ollama::error(&named),
    };
    body.to_string().into_bytes()
}

/// The headers that belong to [`error_body()`]: its media type, and Bedrock's
/// error type, without which boto3 knows the error by its status alone.
pub fn error_headers(provider: Provider, kind: &str) -> Vec<(&'static str, String)> {
    let mut headers = vec![("content-type", "application/json".to_owned())];
    if provider == Provider::Bedrock {
        headers.push(("x-amzn-errortype", kind.to_owned()));
    }
    headers
}

#[cfg(test)]
mod tests;
