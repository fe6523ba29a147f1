//! Names and addresses of upstreams, as `--upstream` gives them.

use url::{ParseError, Url};

use crate::exit::CommandFailure;
use loomrec_engine::route::is_upstream_name;
use loomrec_engine::upstream::socket_url;

/// Removes the secret parts from an address, or from a text that contains one: the user and
/// password before the host, and the query.
pub fn without_secrets(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, "?…"),
        None => (rest, ""),
    };
    // A password may contain a slash, although the URL standard would end the host there.
    let host = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("…@{host}"));
    format!("{scheme}{host}{query}")
}

/// Reads only `--upstream`: names, or `None` for everything else, with addresses.
///
/// # Errors
/// An invalid address.
pub fn read_addresses(flags: &[String]) -> Result<Vec<(Option<String>, Url)>, CommandFailure> {
    let read = |text: &String| match text.split_once('=').filter(|(name, _)| is_upstream_name(name))
    {
        Some((name, address)) => Ok((Some(name.to_owned()), parse_address(text, address)?)),
        None => Ok((None, parse_address(text, text)?)),
    };
    flags.iter().filter(|text| !text.is_empty()).map(read).collect()
}

/// Parses the address of an upstream.
pub(super) fn parse_address(flag: &str, address: &str) -> Result<Url, CommandFailure> {
    let wrong = |why: &str| {
        CommandFailure::usage(format!(
            "--upstream {}: {why}; it takes NAME=URL or URL, \
             such as openai=http://127.0.0.1:9999",
            without_secrets(flag)
        ))
    };
    if let Some(socket) = socket_url(address) {
        return socket.map_err(|why| wrong(&why));
    }
    let url = parse_url(address).map_err(|why| wrong(&why))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("the address is neither http:// nor https:// nor unix:/PATH"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("the address may not have a query or a fragment"));
    }
    Ok(url)
}

/// Parses a URL.
///
/// # Errors
/// Why the text is no URL, for a message.
pub fn parse_url(text: &str) -> Result<Url, String> {
    Url::parse(text).map_err(|error| match error {
        // The tables for other letters are not built in (docs/decisions/size-and-build.md).
        ParseError::IdnaError if !text.is_ascii() => {
            "the host has letters beyond ASCII; write it as DNS has it, xn--…".to_owned()
        }
        error => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_beyond_ascii_is_refused_with_the_form_to_write() {
        let failure = parse_address("x=https://bücher.example", "https://bücher.example");
        let message = failure.unwrap_err().message;
        assert!(message.contains("write it as DNS has it, xn--"), "{message}");
        let url = parse_url("https://xn--bcher-kva.example/v1").unwrap();
        assert_eq!(url.host_str(), Some("xn--bcher-kva.example"));
    }
}
