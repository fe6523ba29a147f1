//! The writer of loomrec's errors in the format that a provider's SDK turns into its own typed
//! exception, with our message where the exception shows it.

use super::Provider;
use super::provider_row::OwnError;

/// Returns an error's JSON body. `kind` names the error (`RecordingMismatchError`). The message
/// begins with it, because some SDKs only show the message. If the format has a field for the kind,
/// it is set too.
pub fn error_body(provider: Provider, status: u16, kind: &str, message: &str) -> Vec<u8> {
    let named = message_with_kind(kind, message);
    let error = OwnError { status, kind, message, named: &named };
    (provider.row().errors.own)(&error).to_string().into_bytes()
}

/// Returns the headers of an answer with status 200 and without a body, where that is how the
/// provider's errors look. `None` if they have a body.
pub fn error_head(
    provider: Provider,
    status: u16,
    kind: &str,
    message: &str,
) -> Option<Vec<(&'static str, String)>> {
    let head = provider.row().errors.own_head?;
    Some(head(&OwnError { status, kind, message, named: &message_with_kind(kind, message) }))
}

/// Returns a message with the error's name before it.
fn message_with_kind(kind: &str, message: &str) -> String {
    if message.starts_with(kind) { message.to_owned() } else { format!("{kind}: {message}") }
}

/// Returns the headers that belong to [`error_body()`]: its media type, and the header that names
/// the error, without which boto3 recognises Bedrock's errors only by their status.
pub fn error_headers(provider: Provider, kind: &str) -> Vec<(&'static str, String)> {
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(provider.row().errors.kind_header.map(|name| (name, kind.to_owned())));
    headers
}

#[cfg(test)]
mod tests;
