//! Routes of the inspector, and the headers that every answer to them shares.

use http::{HeaderMap, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use super::control_access::ControlAccess;
use super::peer::ControlCaller;
use super::respond::{self, ResponseBody};
use crate::inspector::CallError;
use crate::inspector::document::{SentDocument, security_headers};
use crate::inspector::query::QueryKind;

/// The path of the page.
const PAGE: &str = "/__loomrec/";

/// What a request asks of the inspector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InspectorPage {
    /// The page, under another path.
    Redirect,
    /// The page.
    Page,
    /// The description of the run or file that is shown.
    Run,
    /// Everything about one call.
    Call,
    /// What some calls ask.
    Questions,
    /// A query over calls.
    Query(QueryKind),
    /// The lines of the journal.
    Journal,
}

/// Returns what a path asks for, if it is one of the inspector's paths.
pub(super) fn requested_page(path: &str) -> Option<InspectorPage> {
    Some(match path {
        "/__loomrec" => InspectorPage::Redirect,
        PAGE => InspectorPage::Page,
        "/__loomrec/run" => InspectorPage::Run,
        "/__loomrec/call" => InspectorPage::Call,
        "/__loomrec/questions" => InspectorPage::Questions,
        "/__loomrec/search" => InspectorPage::Query(QueryKind::Search),
        "/__loomrec/conversations" => InspectorPage::Query(QueryKind::Conversations),
        "/__loomrec/compare" => InspectorPage::Query(QueryKind::Compare),
        "/__loomrec/curl" => InspectorPage::Query(QueryKind::Curl),
        "/__loomrec/journal" => InspectorPage::Journal,
        _ => return None,
    })
}

/// An answer of the inspector.
pub(super) type Reply = Response<ResponseBody>;

/// The origin of a request, and the access check for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestOrigin<'a> {
    pub(super) access: ControlAccess<'a>,
    pub(super) caller: ControlCaller,
}

/// Answers a request that needs no data: refusals, and the page itself. Returns `None` if the
/// request needs data.
pub(super) fn answer_without_data(
    from: RequestOrigin<'_>,
    asked: InspectorPage,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Reply> {
    let RequestOrigin { access, caller } = from;
    let admitted = match asked {
        InspectorPage::Page | InspectorPage::Redirect => access.admit_to_page(headers, caller),
        InspectorPage::Run
        | InspectorPage::Call
        | InspectorPage::Questions
        | InspectorPage::Query(_)
        | InspectorPage::Journal => access.admit_request(method, headers, caller),
    };
    if let Err(why) = admitted {
        return Some(refusal_reply(StatusCode::FORBIDDEN, why, access.token.is_some()));
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let why = "the inspector only reads: use GET";
        return Some(refusal_reply(StatusCode::METHOD_NOT_ALLOWED, why, false));
    }
    match asked {
        InspectorPage::Page => Some(page_reply()),
        InspectorPage::Redirect => Some(redirect_to_page(StatusCode::PERMANENT_REDIRECT)),
        // A HEAD request must not wait for lines that it will not read.
        InspectorPage::Journal if method == Method::HEAD => {
            Some(lines_reply(ResponseBody::empty()))
        }
        InspectorPage::Run
        | InspectorPage::Call
        | InspectorPage::Questions
        | InspectorPage::Query(_)
        | InspectorPage::Journal => None,
    }
}

/// Returns the page.
fn page_reply() -> Reply {
    let document = SentDocument::compose();
    let headers = document.headers();
    add_headers(
        respond::full_response(
            StatusCode::OK,
            "text/html; charset=utf-8",
            document.text.into_bytes(),
        ),
        headers,
    )
}

/// Returns a redirect to the page.
pub(super) fn redirect_to_page(status: StatusCode) -> Reply {
    let mut response = respond::full_response(status, "text/plain", Vec::new());
    let place = header::HeaderValue::from_static(PAGE);
    response.headers_mut().insert(header::LOCATION, place);
    add_headers(response, security_headers())
}

/// Returns data as JSON.
pub(super) fn data_reply(value: &Value) -> Reply {
    reply(StatusCode::OK, value)
}

/// Refuses a request because of its caller or its method.
fn refusal_reply(status: StatusCode, why: &str, token_needed: bool) -> Reply {
    let mut response = reply(status, &json!({ "error": why, "token_needed": token_needed }));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = header::HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// Answers a query that is invalid, or a path that does not exist.
pub(super) fn error_reply(status: StatusCode, why: &str) -> Reply {
    reply(status, &json!({ "error": why }))
}

/// Returns the data about calls, or the error if there is nothing to show.
pub(super) fn call_reply(found: Result<Value, CallError>) -> Reply {
    let error = match found {
        Ok(value) => return data_reply(&value),
        Err(error) => error,
    };
    let status = match error {
        CallError::Unnamed | CallError::Query(_) => StatusCode::BAD_REQUEST,
        CallError::NoLine(_) | CallError::NoTake { .. } => StatusCode::NOT_FOUND,
        CallError::Unread(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    reply(status, &json!({ "error": error.to_string() }))
}

fn reply(status: StatusCode, value: &Value) -> Reply {
    let mut text = value.to_string().into_bytes();
    text.push(b'\n');
    add_headers(respond::full_response(status, "application/json", text), security_headers())
}

/// Adds these headers to an answer.
pub(super) fn add_headers(mut response: Reply, headers: HeaderMap) -> Reply {
    response.headers_mut().extend(headers);
    response
}

/// Returns the lines of a journal.
pub(super) fn lines_reply(body: ResponseBody) -> Reply {
    let mut response = Response::new(body);
    let kind = header::HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    add_headers(response, security_headers())
}
