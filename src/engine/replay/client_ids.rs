//! The ids that clients give their requests in JSON-RPC. They take the place of the recorded ones in
//! what a client gets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::asked_form::AskedForm;
use loomrec_provider::{RpcEdit, RpcIds, RpcSessionIds, UnknownRpcId};
use loomrec_recording::normalized_request::NormalizedRequest;

/// The most sessions whose ids are kept.
const MOST_SESSIONS: usize = 4096;

/// The ids that a client gave the requests which an answer is for.
#[derive(Clone, Debug)]
pub(super) enum ClientIds {
    /// Of one request, whose recorded ids are others.
    Request(RpcIds),
    /// Of those of its session: the answer is a stream that it resumes.
    Session(RpcSessionIds),
}

/// The ids of the requests that were answered, by the session of their client.
#[derive(Debug, Default)]
pub(super) struct SessionIds(Mutex<HashMap<ClientSession, RpcSessionIds>>);

/// A session of a client with a server of tools.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ClientSession {
    session: Option<String>,
    upstream: String,
    /// The name that the server gave it.
    name: Option<String>,
}

impl ClientIds {
    /// Returns the changes that put these ids into an answer, in the order of their places. `media` is
    /// the media type of its body.
    ///
    /// # Errors
    /// A response whose request is not known.
    pub(super) fn answer_edits(
        &self,
        recorded: Option<&RpcIds>,
        media: &str,
        body: &[u8],
    ) -> Result<Vec<RpcEdit>, UnknownRpcId> {
        match self {
            Self::Request(here) => {
                let edits = recorded.map(|recorded| recorded.answer_edits(here, media, body));
                Ok(edits.unwrap_or_default())
            }
            Self::Session(ids) => ids.stream_edits(media, body),
        }
    }
}

impl ClientSession {
    fn new(observed: &NormalizedRequest, asked: &AskedForm<'_>) -> Self {
        let (session, upstream) = (observed.session.clone(), observed.upstream.clone());
        Self { session, upstream, name: asked.rpc_session.map(str::to_owned) }
    }
}

impl SessionIds {
    /// Returns the ids that the answer to a recorded request with the ids `recorded` needs; `None` if
    /// its own are right.
    pub(super) fn ids_for_answer(
        &self,
        observed: &NormalizedRequest,
        asked: &AskedForm<'_>,
        recorded: Option<&RpcIds>,
    ) -> Option<ClientIds> {
        if asked.resumes_stream {
            let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let ids = sessions.get(&ClientSession::new(observed, asked)).cloned();
            return Some(ClientIds::Session(ids.unwrap_or_default()));
        }
        let recorded = recorded?;
        asked.ids.filter(|here| *here != recorded).cloned().map(ClientIds::Request)
    }

    /// Notes that a call is answered with a take, whose recorded request has the ids `recorded`.
    pub(super) fn note_answer(
        &self,
        observed: &NormalizedRequest,
        asked: &AskedForm<'_>,
        take: usize,
        recorded: Option<&Arc<RpcIds>>,
    ) {
        let Some((recorded, here)) = recorded.zip(asked.ids) else { return };
        let session = ClientSession::new(observed, asked);
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MOST_SESSIONS && !sessions.contains_key(&session) {
            // A stream of a session that is forgotten is a miss.
            sessions.clear();
        }
        let ids = sessions.entry(session).or_default();
        ids.note_answer(take, Arc::clone(recorded), here.clone());
    }

    /// Forgets the ids of one session of the run, or of all sessions.
    pub(super) fn forget_session(&self, session: Option<&str>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|known, _| session.is_some() && known.session.as_deref() != session);
    }
}
