//! Requests that a browser makes of the listener itself: for the address that somebody opened, and
//! for icons. They name no upstream, so they are neither calls nor failures of the run.

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};

use super::inspector_route;
use super::respond::{self, ResponseBody};
use loomrec_engine::route::{RouteError, RouteTable};

/// Sent by browsers: what a request is for.
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Paths that browsers request without being asked.
const UNASKED: [&str; 4] = [
    "/favicon.ico",
    "/apple-touch-icon.png",
    "/apple-touch-icon-precomposed.png",
    "/.well-known/appspecific/com.chrome.devtools.json",
];

/// Answers the request of a browser for the listener itself: sends `/` on to the inspector, and has
/// no icon. Returns `None` for all other requests, among them those whose path goes to an upstream.
pub(super) fn answer_browser(routes: &RouteTable, parts: &Parts) -> Option<Response<ResponseBody>> {
    let Parts { method, uri, headers, .. } = parts;
    let path = uri.path();
    let is_page = path == "/" && wants_page(headers);
    if !matches!(*method, Method::GET | Method::HEAD) || !(is_page || UNASKED.contains(&path)) {
        return None;
    }
    let Err(RouteError::Path { .. }) = routes.find_route(method, uri, headers) else { return None };
    Some(match is_page {
        true => inspector_route::redirect_to_page(StatusCode::TEMPORARY_REDIRECT),
        false => respond::full_response(StatusCode::NOT_FOUND, "text/plain", Vec::new()),
    })
}

/// Whether a request is for a page to show.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    headers.get(SEC_FETCH_DEST).map(HeaderValue::as_bytes) == Some(b"document")
        || accepts.flat_map(|value| value.split(',')).any(|media| media.trim() == "text/html")
}
