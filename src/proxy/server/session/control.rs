//! The control endpoints of sessions: begin, end, show, list, environment. docs/sessions.md
//! describes them.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};

use super::call_entry::ControlPrefix;
use super::endpoint::{END, ENVIRONMENT, SESSION, SESSIONS, VARS};
use super::open_session::OpenSession;
use super::table::{SessionEnd, SessionTable, VERSION, report_of};
use super::{SessionRefusal, SessionRequest, prefix_url};
use crate::server::Proxy;
use crate::server::connection_context::ConnectionContext;
use crate::server::control_reply::{json_reply, query_parameter, read_body};
use crate::server::respond::ResponseBody;

/// The most bytes of a request.
const MOST_BYTES: usize = 1 << 20;

/// How long a report waits for calls that are about to end.
const SETTLE: Duration = Duration::from_millis(500);

/// Returns what `health` says of sessions.
pub(crate) fn health_fields(table: &SessionTable) -> Value {
    let totals = table.totals();
    json!({ "version": VERSION, "opened": totals.opened, "ended": totals.ended })
}

/// Answers a request that was admitted.
pub(crate) async fn answer_request(
    caller: &ConnectionContext,
    request: &Request<()>,
    body: Incoming,
) -> Response<ResponseBody> {
    let Some(table) = &caller.sessions else {
        let why = "this server has no sessions that control calls begin: start it with \
                   -r 'FOLDER/{session}.json', or replay one recording";
        return refusal_response(&SessionRefusal::new(StatusCode::CONFLICT, why));
    };
    let below = request.extensions().get::<ControlPrefix>().map(|prefix| prefix.0.as_str());
    let prefix = one_prefix(below, query_parameter(request.uri().query(), "prefix"));
    let result = match (request.method(), request.uri().path()) {
        (&Method::POST, path @ (SESSION | VARS | END)) => {
            match read_members(&caller.proxy, body).await {
                Err(refusal) => Err(refusal),
                Ok(members) => match with_prefix(members, below) {
                    Err(refusal) => Err(refusal),
                    Ok(members) => answer_post(table, path, members).await,
                },
            }
        }
        (&Method::GET | &Method::HEAD, SESSION) => match prefix {
            Err(refusal) => Err(refusal),
            Ok(prefix) => describe_session(table, prefix).await,
        },
        (&Method::GET | &Method::HEAD, SESSIONS) => Ok((StatusCode::OK, table.to_json().await)),
        (&Method::GET | &Method::HEAD, ENVIRONMENT) => {
            prefix.map(|prefix| describe_variables(table, prefix.as_deref()))
        }
        _ => {
            let why = "this endpoint does not take this method";
            Err(SessionRefusal::new(StatusCode::METHOD_NOT_ALLOWED, why))
        }
    };
    match result {
        Ok((status, value)) => json_reply(status, &value),
        Err(refusal) => refusal_response(&refusal),
    }
}

/// Returns the prefix that a request names: in its path, or as `named` otherwise.
///
/// # Errors
/// It names two different ones.
fn one_prefix(
    below: Option<&str>,
    named: Option<String>,
) -> Result<Option<String>, SessionRefusal> {
    match (below, named) {
        (Some(below), Some(named)) if below != named => {
            let why = format!("prefix: the path names {below:?}, and the request {named:?}");
            Err(SessionRefusal::new(StatusCode::BAD_REQUEST, why))
        }
        (Some(below), _) => Ok(Some(below.to_owned())),
        (None, named) => Ok(named),
    }
}

/// Adds the prefix of the request's path to its members, which may leave it out.
///
/// # Errors
/// The members name another prefix.
fn with_prefix(
    mut members: Map<String, Value>,
    below: Option<&str>,
) -> Result<Map<String, Value>, SessionRefusal> {
    let named = members.get("prefix").and_then(Value::as_str).map(str::to_owned);
    if let Some(prefix) = one_prefix(below, named)?
        && members.get("prefix").is_none_or(Value::is_null)
    {
        members.insert("prefix".to_owned(), prefix.into());
    }
    Ok(members)
}

/// The status and the body of an answer.
type ControlAnswer = Result<(StatusCode, Value), SessionRefusal>;

async fn answer_post(
    table: &Arc<SessionTable>,
    path: &str,
    members: Map<String, Value>,
) -> ControlAnswer {
    let wrong = |why: String| SessionRefusal::new(StatusCode::BAD_REQUEST, why);
    match path {
        SESSION => {
            let request = SessionRequest::from_json(&Value::Object(members));
            let request = request.map_err(|error| wrong(error.to_string()))?;
            let session = table.begin_session(request).await?;
            Ok((StatusCode::CREATED, json!({ "session": describe_info(table, &session) })))
        }
        VARS => {
            let session = table.add_vars(&named_prefix(&members)?, &members).await?;
            Ok((StatusCode::OK, json!({ "session": describe_info(table, &session) })))
        }
        _ => {
            let keep = match members.get("keep") {
                None => true,
                Some(Value::Bool(keep)) => *keep,
                Some(_) => return Err(wrong("keep: expected true or false".to_owned())),
            };
            let ended = end_session(table, named_prefix(&members)?, keep).await?;
            let mut reply = json!({
                "session": describe_info(table, &ended.session),
                "kept": ended.kept,
                "receipt": ended.report.receipt,
                "summary": ended.report.summary,
            });
            reply["calls"] = describe_calls(&ended.session);
            Ok((StatusCode::OK, reply))
        }
    }
}

/// Ends a session, also if the caller leaves meanwhile: a framework may be killed.
async fn end_session(
    table: &Arc<SessionTable>,
    prefix: String,
    keep: bool,
) -> Result<SessionEnd, SessionRefusal> {
    let table = Arc::clone(table);
    let ended = tokio::spawn(async move { table.end_session(&prefix, keep).await }).await;
    let failed = |_| {
        let why = "failed to end the session; the messages of the server say why";
        SessionRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, why)
    };
    ended.map_err(failed)?
}

async fn describe_session(table: &SessionTable, prefix: Option<String>) -> ControlAnswer {
    let missing = || SessionRefusal::new(StatusCode::BAD_REQUEST, "name a session with ?prefix=");
    let session = table.find_session(&prefix.ok_or_else(missing)?).await?;
    session.wait_for_calls(SETTLE).await;
    let report = report_of(&session).await;
    let shown = json!({
        "session": describe_info(table, &session),
        "receipt": report.receipt,
        "summary": report.summary,
        "calls": describe_calls(&session),
    });
    Ok((StatusCode::OK, shown))
}

fn describe_variables(table: &SessionTable, prefix: Option<&str>) -> (StatusCode, Value) {
    let variables = table.session_host().client_variables(prefix);
    let variables: Map<String, Value> =
        variables.into_iter().map(|(name, value)| (name, value.into())).collect();
    (StatusCode::OK, json!({ "variables": variables }))
}

/// Returns the prefix that a request names.
fn named_prefix(members: &Map<String, Value>) -> Result<String, SessionRefusal> {
    let prefix = members.get("prefix").and_then(Value::as_str);
    let missing = || SessionRefusal::new(StatusCode::BAD_REQUEST, "prefix: expected a text");
    prefix.map(str::to_owned).ok_or_else(missing)
}

fn describe_info(table: &SessionTable, session: &OpenSession) -> Value {
    let mut info = session.info.to_json();
    info["url"] = prefix_url(&table.server_url(), &session.info.prefix).into();
    info
}

fn describe_calls(session: &OpenSession) -> Value {
    let calls = session.proxy.telemetry.session_calls.as_ref();
    calls.map_or_else(|| json!([]), |calls| calls.to_json())
}

async fn read_members(proxy: &Proxy, body: Incoming) -> Result<Map<String, Value>, SessionRefusal> {
    let wrong = |why: String| SessionRefusal::new(StatusCode::BAD_REQUEST, why);
    let body = read_body(proxy, body, MOST_BYTES).await.map_err(wrong)?;
    match serde_json::from_slice(&body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(wrong("expected an object".to_owned())),
        Err(error) => Err(wrong(format!("expected an object as JSON: {error}"))),
    }
}

fn refusal_response(refusal: &SessionRefusal) -> Response<ResponseBody> {
    json_reply(refusal.status, &json!({ "error": refusal.message }))
}
