//! The address that a request is sent to, with path and query exactly as they came.

use std::borrow::Cow;

use http::uri::PathAndQuery;
use http::{Uri, uri};
use url::{Position, Url};

use super::error::UpstreamError;
use super::request::UpstreamRequest;
use super::socket_address::socket_host;

/// The characters beside letters and digits that no URL library rewrites.
const PLAIN: &[u8] = b"-._~!$&()*+,;=:@%/";

/// Returns the full URL.
fn full_url(forward: &UpstreamRequest) -> Result<Url, UpstreamError> {
    let prefix = base_path(forward);
    // The base is not parsed again: its host is most of the work of parsing a URL.
    let mut url = forward.base.clone();
    url.set_fragment(None);
    url.set_path(&format!("{prefix}{}", forward.path));
    url.set_query(Some(forward.query.as_str()).filter(|query| !query.is_empty()));
    let segments = |path: &str| path.split('/').count();
    if has_dots(forward) || segments(url.path()) != segments(prefix) + segments(&forward.path) - 1 {
        return Err(dot_segments_error(forward));
    }
    Ok(url)
}

/// Returns the same in hyper's type: scheme, host and port, path and query.
pub(super) fn request_uri(forward: &UpstreamRequest) -> Result<Uri, UpstreamError> {
    let socket = socket_host(&forward.base);
    let host = socket.as_deref().or(forward.base.host_str()).unwrap_or_default();
    let builder = Uri::builder().scheme(forward.base.scheme());
    let builder = match forward.base.port() {
        Some(port) => builder.authority(format!("{host}:{port}")),
        None => builder.authority(host),
    };
    let build = |rest: Result<PathAndQuery, uri::InvalidUri>| {
        let rest = rest.map_err(|error| error.to_string())?;
        builder.path_and_query(rest).build().map_err(|error| error.to_string())
    };
    build(PathAndQuery::try_from(path_and_query(forward)?))
        .map_err(|detail| UpstreamError::unreachable(&forward.upstream, &forward.base, detail))
}

/// Returns path and query. A URL is made from them only if that could change something.
fn path_and_query(forward: &UpstreamRequest) -> Result<String, UpstreamError> {
    let UpstreamRequest { path, query, .. } = forward;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || PLAIN.contains(byte);
    let plain_query = |byte: &u8| *byte == b'?' || plain(byte);
    if !path.starts_with('/')
        || !path.as_bytes().iter().all(plain)
        || !query.as_bytes().iter().all(plain_query)
    {
        let url = full_url(forward)?;
        return Ok(url[Position::BeforePath..Position::AfterQuery].to_owned());
    }
    if has_dots(forward) {
        return Err(dot_segments_error(forward));
    }
    let prefix = base_path(forward);
    let mut whole = String::with_capacity(prefix.len() + path.len() + 1 + query.len());
    whole.push_str(prefix);
    whole.push_str(path);
    if !query.is_empty() {
        whole.push('?');
        whole.push_str(query);
    }
    Ok(whole)
}

/// Returns the path that the base puts before every path.
fn base_path(forward: &UpstreamRequest) -> &str {
    forward.base.path().trim_end_matches('/')
}

/// Whether a segment of the path is `.` or `..`, percent-encoded or not.
fn has_dots(forward: &UpstreamRequest) -> bool {
    forward.path.split('/').any(|part| matches!(decode_segment(part).as_ref(), b"." | b".."))
}

fn dot_segments_error(forward: &UpstreamRequest) -> UpstreamError {
    UpstreamError::Path {
        upstream: forward.upstream.clone(),
        path: forward.path.clone(),
        detail: "dot segments in a path would change it on the way".to_owned(),
    }
}

/// Returns a segment of a path, percent-decoded.
fn decode_segment(segment: &str) -> Cow<'_, [u8]> {
    percent_encoding::percent_decode_str(segment).into()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, Method};
    use proptest::prelude::*;

    use super::*;

    fn forward(base: &str, path: &str, query: &str) -> UpstreamRequest {
        UpstreamRequest {
            upstream: "u".to_owned(),
            base: base.parse().unwrap(),
            method: Method::GET,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            aws: None,
            turn: None,
        }
    }

    #[test]
    fn path_and_query_go_on_as_they_came_when_they_are_plain() {
        for (base, path, query, expected) in [
            ("http://127.0.0.1:1", "/v1/x", "", "http://127.0.0.1:1/v1/x"),
            ("http://127.0.0.1", "/", "a=%2F&b", "http://127.0.0.1/?a=%2F&b"),
            ("http://[::1]:1/pre/fix/", "/x%2fy//z", "?", "http://[::1]:1/pre/fix/x%2fy//z??"),
            ("http://u:p@localhost:80/a?b#c", "/x:y", "", "http://localhost/a/x:y"),
        ] {
            assert_eq!(request_uri(&forward(base, path, query)).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn dot_segments_are_refused_by_both_ways() {
        for path in ["/a/../b", "/.", "/%2e%2E/b", "/a/.%2e"] {
            let forward = forward("http://127.0.0.1:1", path, "");
            assert!(matches!(full_url(&forward), Err(UpstreamError::Path { .. })), "{path}");
            assert!(matches!(request_uri(&forward), Err(UpstreamError::Path { .. })), "{path}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_lead_to_the_same_address(
            base in "http://(localhost|10\\.0\\.0\\.1|\\[::1\\])(:8080)?(/[a-z]{1,3}){0,2}/?",
            path in "(/[a-zA-Z0-9._~!$&'()*+,;=:@%^|{}\"\\\\-]{0,6}){1,4}",
            query in "[a-zA-Z0-9._~!$&'()*+,;=:@%/?^|{}-]{0,12}",
        ) {
            let forward = forward(&base, &path, &query);
            match (full_url(&forward), request_uri(&forward)) {
                (Ok(url), Ok(uri)) => {
                    prop_assert_eq!(&url[Position::BeforePath..], uri.path_and_query().unwrap().as_str());
                    prop_assert_eq!(url.host_str(), uri.host());
                    prop_assert_eq!(url.port(), uri.port_u16());
                }
                (Err(UpstreamError::Path { .. }), Err(UpstreamError::Path { .. })) => {}
                (url, uri) => prop_assert!(false, "{:?} and {:?}", url, uri),
            }
        }
    }
}
