//! The paths of the control endpoints of sessions.

pub(super) const SESSION: &str = "/__loomrec/session";
pub(super) const VARS: &str = "/__loomrec/session/vars";
pub(super) const END: &str = "/__loomrec/session/end";
pub(super) const SESSIONS: &str = "/__loomrec/sessions";
pub(super) const ENVIRONMENT: &str = "/__loomrec/environment";

/// Whether a path is one of these endpoints.
pub(crate) fn is_session_path(path: &str) -> bool {
    [SESSION, VARS, END, SESSIONS, ENVIRONMENT].contains(&path)
}
