//! A recorded request as a `curl` command for a shell: with the exact body, and variables in place
//! of credentials.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use loomrec_provider::credential::{self, KeyCarrier};
use loomrec_provider::{KnownUpstream, directory};
use loomrec_recording::Entry;
use loomrec_recording::redact::CallCredentials;

/// The largest body of a command.
const LARGEST: usize = 4 << 20;
/// The largest body that is an argument. Linux accepts 128 KiB.
const ARGUMENT: usize = 96 << 10;

/// The variable for the key of an upstream without a usable name.
const UNKNOWN_KEY: &str = "UPSTREAM_API_KEY";

/// Headers that `curl` or the connection sets.
const OWN: [&str; 7] = [
    "host",
    "connection",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "accept-encoding",
    "expect",
];

/// Returns the command that sends the request of an entry again to the upstream of this name.
///
/// # Errors
/// Why no such command can be written, as a message for people.
pub fn curl_command(entry: &Entry, upstream: Option<&str>) -> Result<String, String> {
    let Some((method, body)) = entry.request_method().zip(entry.body_to_send()) else {
        return Err("no request is kept of it".to_owned());
    };
    if !entry.messages.is_empty() || entry.answer_status() == Some(101) {
        return Err("curl cannot send it: it is a WebSocket".to_owned());
    }
    if body.len() > LARGEST {
        let bytes = body.len();
        return Err(format!("its body is too large for a command: {bytes} bytes of {LARGEST}"));
    }
    let target = CurlTarget::from_entry(entry, upstream)?;
    let mut command = String::new();
    let (before, data) = data_of(body);
    // `curl` would replace brackets and dots in the address.
    let _ = write!(command, "{before}curl --globoff --path-as-is {}", target.address);
    match (method, body.is_empty()) {
        ("POST", false) | ("GET", true) => {}
        ("HEAD", true) => command.push_str(" --head"),
        (method, _) if is_token(method) => {
            let _ = write!(command, " -X {}", quote_for_shell(method));
        }
        _ => return Err("its method is not valid".to_owned()),
    }
    for header in target.key.into_iter().chain(quoted_headers(entry)) {
        let _ = write!(command, " \\\n  -H {header}");
    }
    let mut names = entry.request_headers().iter().map(|(name, _)| name);
    let has_type = names.any(|name| name.eq_ignore_ascii_case("content-type"));
    if !body.is_empty() && !has_type {
        // Otherwise `curl` sends one of its own.
        command.push_str(" \\\n  -H 'content-type:'");
    }
    command.push_str(&data);
    Ok(command)
}

/// Where a request goes, in words of a shell.
struct CurlTarget {
    address: String,
    /// The header with the key, if it needs one.
    key: Option<String>,
}

impl CurlTarget {
    fn from_entry(entry: &Entry, upstream: Option<&str>) -> Result<Self, String> {
        let known = upstream.and_then(KnownUpstream::find);
        let origin = entry.upstream_origin.as_deref();
        let base = origin.or_else(|| known?.base);
        let path = entry.request_path().unwrap_or_default();
        let path = directory::sent_path(upstream.unwrap_or_default(), path, "");
        let query = entry.request_query().unwrap_or_default();
        let mark = if query.is_empty() { "" } else { "?" };
        let path = format!("{path}{mark}{query}");
        let is_plain = |text: &str| !text.chars().any(|c| c.is_control() || c.is_whitespace());
        let is_address = |base: &str| base.starts_with("http://") || base.starts_with("https://");
        let is_valid = base.is_none_or(|base| is_address(base) && is_plain(base));
        if !path.starts_with('/') || !is_plain(&path) || !is_valid {
            return Err("its address is not valid".to_owned());
        }
        let address = match base {
            Some(base) => quote_for_shell(&format!("{base}{path}")),
            None => {
                let variable = key_variable(upstream.unwrap_or_default());
                let variable = variable.trim_end_matches("_API_KEY");
                format!("\"${{{variable}_BASE_URL}}\"{}", quote_for_shell(&path))
            }
        };
        Ok(Self { address, key: key_header(entry, upstream, origin.is_none()) })
    }
}

/// Returns the header with a variable for the key. An address that a recording names does not get
/// the key of a provider, since the file may come from elsewhere.
fn key_header(entry: &Entry, upstream: Option<&str>, is_public: bool) -> Option<String> {
    let (method, path) = entry.request_method().zip(entry.request_path())?;
    let name = upstream.unwrap_or_default();
    let known = directory::upstream_of_call(upstream, Some((method, path)));
    let known = known.and_then(|known| directory::credential_for(known.name, path));
    let is_named = directory::credential_for(name, path).is_some();
    let carrier = match known {
        Some(known) if is_named && !known.needed => return None,
        Some(known) if is_named || is_sent(entry, known.usual_carrier()) => known.usual_carrier(),
        _ if is_sent(entry, KeyCarrier::Bearer) => KeyCarrier::Bearer,
        _ => return None,
    };
    let usual = || known.filter(|_| is_named)?.variables().next().map(str::to_owned);
    let variable = match is_public {
        true => usual().unwrap_or_else(|| key_variable(name)),
        false => UNKNOWN_KEY.to_owned(),
    };
    Some(match carrier {
        KeyCarrier::Bearer => format!("\"authorization: Bearer ${{{variable}}}\""),
        KeyCarrier::Header(header) => format!("\"{header}: ${{{variable}}}\""),
    })
}

/// Returns the variable that holds the key of an upstream without a known name.
fn key_variable(upstream: &str) -> String {
    match upstream.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => credential::variable_name(upstream),
        false => UNKNOWN_KEY.to_owned(),
    }
}

/// Whether a request was sent with a key.
fn is_sent(entry: &Entry, carrier: KeyCarrier) -> bool {
    entry.was_sent_with(match carrier {
        KeyCarrier::Bearer => "authorization",
        KeyCarrier::Header(name) => name,
    })
}

/// Returns the other headers, quoted.
fn quoted_headers(entry: &Entry) -> impl Iterator<Item = String> {
    let kept = entry.request_headers().iter().filter(|(name, value)| {
        let is_own = OWN.iter().any(|own| name.eq_ignore_ascii_case(own));
        is_token(name)
            && !is_own
            && !CallCredentials::may_be_in(&name.to_ascii_lowercase())
            && !value.chars().any(char::is_control)
    });
    kept.map(|(name, value)| match value.is_empty() {
        true => quote_for_shell(&format!("{name};")),
        false => quote_for_shell(&format!("{name}: {value}")),
    })
}

/// Returns what stands before `curl`, and its arguments, for a body. A body is not an argument if
/// that is too long, or if it has characters that a terminal changes when they are pasted.
fn data_of(body: &[u8]) -> (String, String) {
    let is_pasted = |text: &&str| text.chars().all(|c| c == '\n' || !c.is_control());
    let read = " \\\n  --data-binary @-";
    match std::str::from_utf8(body).ok().filter(is_pasted) {
        Some("") => (String::new(), String::new()),
        Some(text) if text.len() <= ARGUMENT => {
            (String::new(), format!(" \\\n  --data-raw {}", quote_for_shell(text)))
        }
        Some(text) => (format!("printf %s {} | ", quote_for_shell(text)), read.to_owned()),
        None => {
            let encoded = STANDARD.encode(body);
            (format!("printf %s '{encoded}' | base64 -d | "), read.to_owned())
        }
    }
}

/// Returns a text as one word of a shell.
fn quote_for_shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a text may be the name of a header or a method.
fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

#[cfg(test)]
#[path = "curl_tests.rs"]
mod tests;
