//! The key that tells which calls repeat one another.

use std::borrow::Cow;

use loomrec_identity::RequestKey;

/// The key of connections that get a fault before any request has come on them.
const CONNECTION: &str = "connection";
/// The key of all calls of a session.
const SESSION: &str = "session";

/// The key that repeated calls share. Attempts are counted by it, and recovery is judged by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallKey {
    /// Connections that get a fault before any request has come on them.
    Connection,
    /// Calls of one session that make the same request of the same upstream in the same step.
    Request {
        /// The session that the calls name.
        session: Option<String>,
        /// The key of their request.
        request: RequestKey,
        /// The name of the upstream.
        upstream: String,
        /// The step that they name.
        step: Option<String>,
    },
    /// Calls of one session in the same step, whatever they request. It only counts calls, and is
    /// never reported.
    Step {
        /// The session that the calls name.
        session: Option<String>,
        /// The step.
        step: String,
    },
    /// Calls of one session to the same upstream, whatever they request. It only counts calls, and
    /// is never reported.
    Upstream {
        /// The session that the calls name.
        session: Option<String>,
        /// The name of the upstream.
        upstream: String,
    },
    /// All calls of one session. It only counts calls, and is never reported.
    Session {
        /// The session that the calls name.
        session: Option<String>,
    },
}

impl CallKey {
    /// The session of the calls.
    pub fn session(&self) -> Option<&str> {
        match self {
            Self::Connection => None,
            Self::Request { session, .. }
            | Self::Step { session, .. }
            | Self::Upstream { session, .. }
            | Self::Session { session } => session.as_deref(),
        }
    }

    /// The key that counts the calls of this one's upstream.
    pub(super) fn of_upstream(&self) -> Option<Self> {
        let Self::Request { session, upstream, .. } = self else { return None };
        Some(Self::Upstream { session: session.clone(), upstream: upstream.clone() })
    }

    /// The key that counts the calls of this one's session.
    pub(super) fn of_session(&self) -> Self {
        Self::Session { session: self.session().map(str::to_owned) }
    }

    /// The step of the calls.
    pub fn step_id(&self) -> Option<&str> {
        match self {
            Self::Connection | Self::Upstream { .. } | Self::Session { .. } => None,
            Self::Request { step, .. } => step.as_deref(),
            Self::Step { step, .. } => Some(step),
        }
    }

    /// Returns the request key in hexadecimal digits. For calls counted by step or upstream, returns
    /// its name; for connections and sessions, what they are.
    pub fn request_or_name(&self) -> &str {
        match self {
            Self::Connection => CONNECTION,
            Self::Session { .. } => SESSION,
            Self::Step { step: name, .. } | Self::Upstream { upstream: name, .. } => name,
            Self::Request { request, .. } => request.as_str(),
        }
    }

    /// The text that enters the dice: the same in every run, and different for each key of a
    /// session.
    pub(super) fn chance_text(&self) -> Cow<'_, str> {
        match self {
            Self::Connection => CONNECTION.into(),
            Self::Session { .. } => SESSION.into(),
            Self::Step { step: name, .. } | Self::Upstream { upstream: name, .. } => name.into(),
            Self::Request { request, upstream, step, .. } => {
                let step = step.as_deref().unwrap_or_default();
                format!("{} {upstream} {step}", request.as_str()).into()
            }
        }
    }

    /// About how many bytes it takes in memory.
    pub fn memory_size(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let texts = match self {
            Self::Connection => 0,
            Self::Session { session } => length(session),
            Self::Request { session, upstream, step, .. } => {
                length(session) + upstream.len() + length(step)
            }
            Self::Step { session, step: name } | Self::Upstream { session, upstream: name } => {
                length(session) + name.len()
            }
        };
        size_of::<Self>() + texts
    }
}
