//! The session of a call: found by the prefix of its path or by its header, and taken out of the
//! request.

use std::sync::Arc;

use http::request::Parts;
use http::uri::PathAndQuery;
use http::{StatusCode, Uri};
use percent_encoding::percent_decode_str;

use super::endpoint::is_session_path;
use super::limits::OutsideCalls;
use super::open_session::OpenSession;
use super::request::is_prefix;
use super::table::{EntryRefusal, SessionTable};
use crate::server::connection_context::ConnectionContext;
use loomrec_engine::observe::SESSION_HEADER;

impl SessionTable {
    /// Returns the connection as the session of this call sees it, and takes the session's prefix
    /// out of the request. Opens the session if its calls may. If the run answers the call, returns
    /// the connection as it is, and leaves the request whole.
    ///
    /// # Errors
    /// The call names no session, or its session cannot be opened.
    pub(crate) async fn enter_session(
        self: &Arc<Self>,
        caller: &Arc<ConnectionContext>,
        parts: &mut Parts,
    ) -> Result<Arc<ConnectionContext>, EntryRefusal> {
        if self.leaves_all_to_run() {
            return Ok(Arc::clone(caller));
        }
        let refused = |message: String| EntryRefusal { status: StatusCode::BAD_REQUEST, message };
        let is_left_to_run = self.outside_calls() == OutsideCalls::AnswerInRun;
        let prefix = match prefix_of(parts) {
            Some(prefix) => prefix,
            None if is_left_to_run => return Ok(Arc::clone(caller)),
            None => return Err(refused(self.no_prefix_text())),
        };
        if !is_prefix(&prefix) {
            if is_left_to_run {
                return Ok(Arc::clone(caller));
            }
            let text = "the session in the path or in x-loomrec-session takes 1 to 200 bytes \
                        without / and control characters";
            return Err(refused(text.to_owned()));
        }
        if let Some(known) = caller.session_connection(&prefix) {
            take_prefix_out(parts);
            return Ok(known);
        }
        let Some(session) = self.session_of_call(&prefix).await? else {
            return Ok(Arc::clone(caller));
        };
        take_prefix_out(parts);
        let connection = session_connection(&session, caller);
        session.keep_connection(caller.number.unique_id(), Arc::clone(&connection) as _);
        caller.set_session_connection(prefix, &session, &connection);
        Ok(connection)
    }

    /// Returns the connection as a session sees it if the request is a control call of that
    /// session, `/@PREFIX/__loomrec/…`, and takes the prefix out of the request. The session must be
    /// open.
    pub(crate) async fn enter_control(
        &self,
        caller: &Arc<ConnectionContext>,
        parts: &mut Parts,
    ) -> Option<Arc<ConnectionContext>> {
        split_prefix(parts.uri.path()).filter(|(_, rest)| rest.starts_with("/__loomrec/"))?;
        let session = self.find_session(&prefix_of(parts)?).await.ok()?;
        take_prefix_out(parts);
        Some(session_connection(&session, caller))
    }

    /// Returns the refusal of a call that names no session.
    fn no_prefix_text(&self) -> String {
        let why = match self.outside_calls() {
            OutsideCalls::OpenSession => "this server has a recording for each session",
            _ => "this server answers calls of open sessions only",
        };
        format!(
            "{why}, and the call names none: begin its path with /@NAME, as in \
             {}/@NAME/openai/v1, or send the header x-loomrec-session",
            self.server_url()
        )
    }
}

/// The prefix below which a control call of sessions came: `/@PREFIX/__loomrec/session`.
#[derive(Clone, Debug)]
pub(crate) struct ControlPrefix(pub(super) String);

/// Takes the prefix out of a control call about sessions, `/@PREFIX/__loomrec/session…`, and keeps
/// it beside the request. The session need not be open.
pub(crate) fn take_control_prefix(parts: &mut Parts) {
    let is_about_sessions =
        split_prefix(parts.uri.path()).is_some_and(|(_, rest)| is_session_path(rest));
    if is_about_sessions && let Some(prefix) = prefix_of(parts) {
        take_prefix_out(parts);
        parts.extensions.insert(ControlPrefix(prefix));
    }
}

/// Returns a connection as a session sees it.
fn session_connection(session: &OpenSession, caller: &ConnectionContext) -> Arc<ConnectionContext> {
    let (proxy, link) = (Arc::clone(&session.proxy), Arc::clone(session.link()));
    Arc::new(caller.for_session(proxy, link))
}

/// Returns the session that a request names: in its path, else in its header.
fn prefix_of(parts: &Parts) -> Option<String> {
    if let Some((name, _)) = split_prefix(parts.uri.path()) {
        return Some(percent_decode_str(name).decode_utf8_lossy().into_owned());
    }
    let named = parts.headers.get(SESSION_HEADER)?;
    Some(String::from_utf8_lossy(named.as_bytes()).into_owned()).filter(|name| !name.is_empty())
}

/// Splits `/@NAME` off a path.
fn split_prefix(path: &str) -> Option<(&str, &str)> {
    let tail = path.strip_prefix("/@")?;
    let (name, rest) = tail.split_at(tail.find('/').unwrap_or(tail.len()));
    (!name.is_empty()).then_some((name, rest))
}

/// The part of a request's path that names its session, if it does: `/@NAME`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionPath(pub(crate) Option<Box<str>>);

/// Returns the part of a request's path that names its session, or named it before it was taken out.
pub(crate) fn take_session_path(parts: &mut Parts) -> SessionPath {
    match (parts.extensions.remove(), path_of(parts)) {
        (Some(SessionPath(Some(taken))), SessionPath(Some(inner))) => {
            SessionPath(Some(format!("{taken}{inner}").into()))
        }
        (Some(taken @ SessionPath(Some(_))), _) => taken,
        (_, named) => named,
    }
}

/// Returns the path and the query of a request, with the session that was taken out of them.
pub(crate) fn whole_target(parts: &Parts) -> Box<str> {
    let taken = parts.extensions.get::<SessionPath>().and_then(|taken| taken.0.as_deref());
    let rest = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    format!("{}{rest}", taken.unwrap_or_default()).into()
}

fn path_of(parts: &Parts) -> SessionPath {
    let path = parts.uri.path();
    let named = split_prefix(path).and_then(|(_, rest)| path.strip_suffix(rest));
    SessionPath(named.map(Box::from))
}

/// Removes the session from the request, so that it is the same request in every session.
fn take_prefix_out(parts: &mut Parts) {
    let Some((_, rest)) = split_prefix(parts.uri.path()) else {
        parts.headers.remove(SESSION_HEADER);
        return;
    };
    let rest = if rest.is_empty() { "/" } else { rest };
    parts.extensions.insert(path_of(parts));
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut target = parts.uri.clone().into_parts();
    // A part of a valid path is one, too.
    target.path_and_query = PathAndQuery::try_from(format!("{rest}{query}")).ok();
    if let Ok(uri) = Uri::from_parts(target) {
        parts.uri = uri;
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn taken(uri: &str, header: Option<&str>) -> (Option<String>, String, bool) {
        let mut request = Request::builder().uri(uri);
        if let Some(value) = header {
            request = request.header(SESSION_HEADER, value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let prefix = prefix_of(&parts);
        take_prefix_out(&mut parts);
        (prefix, parts.uri.to_string(), parts.headers.contains_key(SESSION_HEADER))
    }

    #[test]
    fn session_is_taken_out_of_the_path_or_else_of_the_header() {
        let named = |name: &str| Some(name.to_owned());
        for (uri, header, prefix, left, kept) in [
            ("/@gw0/openai/v1/x?a=b", None, named("gw0"), "/openai/v1/x?a=b", false),
            ("/@gw0", None, named("gw0"), "/", false),
            ("/@a%2Fb/v1", None, named("a/b"), "/v1", false),
            ("/@gw0/@sub/v1", None, named("gw0"), "/@sub/v1", false),
            ("/@gw0/v1", Some("sub"), named("gw0"), "/v1", true),
            ("/v1?x", Some("gw0"), named("gw0"), "/v1?x", false),
            ("/v1", None, None, "/v1", false),
            ("/@/v1", None, None, "/@/v1", false),
        ] {
            assert_eq!(taken(uri, header), (prefix, left.to_owned(), kept), "{uri}");
        }
    }
}
