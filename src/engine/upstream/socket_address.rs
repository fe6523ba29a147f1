//! Addresses of upstreams that listen at a socket in the file system: `unix:/run/docker.sock`.
//!
//! As a URL, the path is the host, percent-encoded. As hyper's URI, whose host may hold neither
//! slashes nor percent signs, it is in hexadecimal digits.

use std::ffi::OsString;
use std::path::PathBuf;

use http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::{Position, Url};

/// The scheme of these addresses.
const SCHEME: &str = "unix";

/// Reads an address of a socket; `None` for an address with another scheme.
///
/// # Errors
/// Why it is no address of a socket, for a message.
pub fn socket_url(text: &str) -> Option<Result<Url, String>> {
    let rest = text.strip_prefix("unix:")?;
    let path = percent_decode_str(rest.strip_prefix("//").unwrap_or(rest)).decode_utf8_lossy();
    let path = path.trim_end_matches('/');
    if !path.starts_with('/') {
        return Some(
            Err("a socket has an absolute path, such as unix:/run/docker.sock".to_owned()),
        );
    }
    let host = utf8_percent_encode(path, NON_ALPHANUMERIC);
    Some(Url::parse(&format!("{SCHEME}://{host}/")).map_err(|error| error.to_string()))
}

/// Returns an upstream's scheme, host and port as people write them; never its credentials.
pub fn origin_words(base: &Url) -> String {
    match socket_path(base) {
        Some(path) => format!("{SCHEME}:{path}"),
        None => base.origin().ascii_serialization(),
    }
}

/// Returns an upstream's scheme, host and port as recordings name them; never its credentials.
pub fn recorded_origin(base: &Url) -> String {
    match is_socket(base) {
        true => base[..Position::BeforePath].to_owned(),
        false => base.origin().ascii_serialization(),
    }
}

/// Whether a URL is that of a socket.
pub(super) fn is_socket(base: &Url) -> bool {
    base.scheme() == SCHEME
}

/// Returns the host of hyper's URI for a socket.
pub(super) fn socket_host(base: &Url) -> Option<String> {
    let path = socket_path(base)?;
    Some(path.bytes().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the path of the socket that hyper's URI leads to.
pub(super) fn uri_path(uri: &Uri) -> Option<PathBuf> {
    let digits = uri.host().filter(|_| uri.scheme_str() == Some(SCHEME))?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    Some(OsString::from(String::from_utf8(bytes?).ok()?).into())
}

fn socket_path(base: &Url) -> Option<String> {
    let host = base.host_str().filter(|_| is_socket(base))?;
    Some(percent_decode_str(host).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_the_same_in_each_spelling() {
        let path = "/run/a b/docker.sock";
        for text in [
            "unix:/run/a b/docker.sock",
            "unix:///run/a%20b/docker.sock",
            "unix://%2Frun%2Fa%20b%2Fdocker.sock/",
        ] {
            let url = socket_url(text).unwrap().unwrap();
            assert_eq!(origin_words(&url), format!("unix:{path}"), "{text}");
            let host = socket_host(&url).unwrap();
            let uri: Uri = format!("unix://{host}/v1/x").parse().unwrap();
            assert_eq!(uri_path(&uri).unwrap(), PathBuf::from(path));
            assert_eq!(socket_url(url.as_str()).unwrap().unwrap(), url);
        }
    }

    #[test]
    fn other_addresses_are_no_sockets() {
        assert!(socket_url("http://a").is_none());
        assert!(socket_url("unix:run/x.sock").unwrap().is_err());
        assert!(socket_url("unix:").unwrap().is_err());
        assert_eq!(uri_path(&"http://2f61/".parse().unwrap()), None);
        assert_eq!(origin_words(&Url::parse("https://a:1/b").unwrap()), "https://a:1");
    }
}
