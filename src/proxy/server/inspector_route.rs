//! The inspector's paths, and what every answer to them has in common.

use std::net::SocketAddr;

use http::{HeaderMap, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use super::control_access::ControlAccess;
use super::respond::{self, ResponseBody};
use crate::inspector::CallError;
use crate::inspector::document::{SentDocument, guarded};

/// Where the page is.
const PAGE: &str = "/__loomrec/";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InspectorPage {
    /// The page by another of its names.
    Redirect,
    /// The page.
    Page,
    /// What is looked at.
    Run,
    /// All of one call.
    Call,
    /// The lines of the journal.
    Journal,
}

/// What is asked for by a path, where it is one of the inspector's.
pub(super) fn asked(path: &str) -> Option<InspectorPage> {
    Some(match path {
        "/__loomrec" => InspectorPage::Redirect,
        PAGE => InspectorPage::Page,
        "/__loomrec/run" => InspectorPage::Run,
        "/__loomrec/call" => InspectorPage::Call,
        "/__loomrec/journal" => InspectorPage::Journal,
        _ => return None,
    })
}

/// An answer.
pub(super) type Reply = Response<ResponseBody>;

/// Where a request comes from, and who is let in there.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestOrigin<'a> {
    pub(super) door: ControlAccess<'a>,
    pub(super) peer: SocketAddr,
}

/// Answers what needs no data: refusals, and the page itself. `None` where the data is
/// to be given.
pub(super) fn admit(
    from: RequestOrigin<'_>,
    asked: InspectorPage,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Reply> {
    let RequestOrigin { door, peer } = from;
    let admitted = match asked {
        InspectorPage::Page | InspectorPage::Redirect => door.admit_to_page(headers, peer),
        InspectorPage::Run | InspectorPage::Call | InspectorPage::Journal => {
            door.admit(method, headers, peer)
        }
    };
    if let Err(why) = admitted {
        return Some(refuse(StatusCode::FORBIDDEN, why, door.token.is_some()));
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let why = "the inspector only reads: use GET";
        return Some(refuse(StatusCode::METHOD_NOT_ALLOWED, why, false));
    }
    match asked {
        InspectorPage::Page => Some(page()),
        InspectorPage::Redirect => Some(redirect()),
        // Nobody waits for the lines to come of which none will be read.
        InspectorPage::Journal if method == Method::HEAD => Some(lines(ResponseBody::empty())),
        InspectorPage::Run | InspectorPage::Call | InspectorPage::Journal => None,
    }
}

/// The page.
fn page() -> Reply {
    let document = SentDocument::compose();
    let headers = document.headers();
    guard(
        respond::full(StatusCode::OK, "text/html; charset=utf-8", document.text.into_bytes()),
        headers,
    )
}

/// Where the page is.
fn redirect() -> Reply {
    let mut response = respond::full(StatusCode::PERMANENT_REDIRECT, "text/plain", Vec::new());
    let place = header::HeaderValue::from_static(PAGE);
    response.headers_mut().insert(header::LOCATION, place);
    guard(response, guarded())
}

/// Data.
pub(super) fn data(value: &Value) -> Reply {
    reply(StatusCode::OK, value)
}

/// A refusal: who it is, or what method it uses, is why.
fn refuse(status: StatusCode, why: &str, token_needed: bool) -> Reply {
    let mut response = reply(status, &json!({ "error": why, "token_needed": token_needed }));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = header::HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// A query that cannot be understood, or a path at which there is nothing.
pub(super) fn wrong(status: StatusCode, why: &str) -> Reply {
    reply(status, &json!({ "error": why }))
}

/// All of a call, or why there is nothing to show of it.
pub(super) fn call(found: Result<Value, CallError>) -> Reply {
    let error = match found {
        Ok(value) => return data(&value),
        Err(error) => error,
    };
    let status = match error {
        CallError::Unnamed => StatusCode::BAD_REQUEST,
        CallError::NoLine(_) | CallError::NoTake { .. } => StatusCode::NOT_FOUND,
        CallError::Unread(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    reply(status, &json!({ "error": error.to_string() }))
}

fn reply(status: StatusCode, value: &Value) -> Reply {
    let mut text = value.to_string().into_bytes();
    text.push(b'\n');
    guard(respond::full(status, "application/json", text), guarded())
}

/// An answer with these headers too.
pub(super) fn guard(mut response: Reply, headers: HeaderMap) -> Reply {
    response.headers_mut().extend(headers);
    response
}

/// The lines of a journal.
pub(super) fn lines(body: ResponseBody) -> Reply {
    let mut response = Response::new(body);
    let kind = header::HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    guard(response, guarded())
}
