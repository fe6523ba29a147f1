//! Writes errors in the shape that a provider's SDK turns into its own typed
//! exception, with our message where the exception shows it.

use super::Provider;
use super::provider_row::OwnError;

/// An error's JSON body. `kind` names the error (`RecordingMismatchError`): the
/// message begins with it, since some SDKs show nothing but the message, and where
/// the shape has a field of its own for it, it stands there too.
pub fn error_body(provider: Provider, status: u16, kind: &str, message: &str) -> Vec<u8> {
    let named =
        if message.starts_with(kind) { message.to_owned() } else { format!("{kind}: {message}") };
    let error = OwnError { status, kind, message, named: &named };
    (provider.row().errors.own)(&error).to_string().into_bytes()
}

/// The headers that belong to [`error_body()`]: its media type, and the one that names
/// the error, without which boto3 knows Bedrock's errors by their status alone.
pub fn error_headers(provider: Provider, kind: &str) -> Vec<(&'static str, String)> {
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(provider.row().errors.kind_header.map(|name| (name, kind.to_owned())));
    headers
}

#[cfg(test)]
mod tests;
