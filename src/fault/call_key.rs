//! The key that tells which calls repeat one another.

use std::borrow::Cow;

use loomrec_identity::RequestKey;

/// Stands in for a request where a connection is faulted before anything was asked on it.
const CONNECTION: &str = "connection";

/// Which calls repeat one another: attempts are counted, and faults recovered from, by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallKey {
    /// Connections that are faulted before anything was asked on them.
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
}

impl CallKey {
    /// The session of the calls.
    pub fn session(&self) -> Option<&str> {
        match self {
            Self::Connection => None,
            Self::Request { session, .. } => session.as_deref(),
        }
    }

    /// The step of the calls.
    pub fn step(&self) -> Option<&str> {
        match self {
            Self::Connection => None,
            Self::Request { step, .. } => step.as_deref(),
        }
    }

    /// The request key in hexadecimal digits; `connection` where there is none.
    pub fn request(&self) -> &str {
        match self {
            Self::Connection => CONNECTION,
            Self::Request { request, .. } => request.as_str(),
        }
    }

    /// The text that chance is drawn by: the same in every run, and apart for each key of a
    /// session.
    pub(super) fn chance_text(&self) -> Cow<'_, str> {
        match self {
            Self::Connection => CONNECTION.into(),
            Self::Request { request, upstream, step, .. } => {
                let step = step.as_deref().unwrap_or_default();
                format!("{} {upstream} {step}", request.as_str()).into()
            }
        }
    }

    /// The bytes it takes in memory, about.
    pub fn weight(&self) -> usize {
        let texts = match self {
            Self::Connection => 0,
            Self::Request { session, upstream, step, .. } => {
                let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                length(session) + upstream.len() + length(step)
            }
        };
        size_of::<Self>() + texts
    }
}
