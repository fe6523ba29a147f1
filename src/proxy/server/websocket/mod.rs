//! WebSockets of clients: a handshake is answered as any other call, and the conversation that follows
//! is held over the connection once HTTP has ended on it. The call is over with its conversation.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::upgrade::OnUpgrade;
use tokio::sync::watch;

use super::connection_context::ConnectionContext;
use super::fault::FaultBodyEnd;
use super::open_call::OpenCall;
use super::peer::CallerStanding;
use super::respond::ResponseBody;
use super::{Proxy, UserNotice};
use loomrec_engine::replay::{RecordingMismatchError, RefusedConversation};
use loomrec_engine::websocket::conversation::{
    ConversationEnd, NextConversation, SocketConversation,
};
use loomrec_engine::websocket::handshake;
use loomrec_engine::websocket::socket::SocketStream;
use loomrec_engine::websocket::terms::ConversationTerms;
use loomrec_engine::{AnswerOrigin, CallOutcome};
use loomrec_provider::SocketProtocol;
use turns::TurnHead;

mod turn_messages;
mod turns;

/// How many times longer than a connection without a request a conversation may be silent: people
/// think between two turns.
const PATIENCE: u32 = 10;

/// The handshake of a client.
pub(super) struct ClientHandshake {
    key: HeaderValue,
    /// The first subprotocol that is offered.
    subprotocol: Option<HeaderValue>,
    protocol: SocketProtocol,
}

impl ClientHandshake {
    /// Reads the handshake of a request that was admitted. All other requests lose their offers of
    /// protocols, which are not part of what they ask for. Subprotocols are joined to one header.
    pub(super) fn read(parts: &mut Parts) -> Option<Self> {
        if !handshake::is_offered(&parts.method, &parts.headers) {
            parts.headers.remove(header::UPGRADE);
            return None;
        }
        parts.headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        if let Some(protocols) = handshake::joined_protocols(&parts.headers) {
            parts.headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocols);
        }
        let key = parts.headers.get(header::SEC_WEBSOCKET_KEY)?.clone();
        let offered = parts.headers.get(header::SEC_WEBSOCKET_PROTOCOL);
        let first = offered.and_then(|offered| offered.to_str().ok()?.split(',').next());
        let subprotocol = first.and_then(|first| HeaderValue::from_str(first.trim()).ok());
        let protocol = SocketProtocol::of_path(parts.uri.path());
        Some(Self { key, subprotocol, protocol })
    }

    /// Whether turns are exchanged over the connection, each of which is a call.
    pub(super) fn is_of_turns(&self) -> bool {
        self.protocol == SocketProtocol::Responses
    }

    /// Returns the head of the calls that are made over the connection, if turns are.
    pub(super) fn turn_head(&self, parts: &Parts) -> Option<TurnHead> {
        self.is_of_turns().then(|| TurnHead::from_handshake(parts))
    }

    /// Returns the response that accepts the handshake of a connection of turns, whose upstream this
    /// is, if it has one.
    pub(super) fn accept_turns(
        &self,
        caller: &Arc<ConnectionContext>,
        parts: &Parts,
        upstream: Option<OnUpgrade>,
    ) -> Response<ResponseBody> {
        let mut response = Response::new(ResponseBody::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        handshake::accept_offer(response.headers_mut(), &self.key);
        self.begin_turns(caller, TurnHead::from_handshake(parts), upstream);
        response
    }

    fn begin_turns(
        &self,
        caller: &Arc<ConnectionContext>,
        head: TurnHead,
        upstream: Option<OnUpgrade>,
    ) {
        let own = Arc::clone(caller);
        caller.connection.after_http().set(Box::new(move |client, closing| {
            Box::pin(async move {
                let terms = conversation_terms(&own, closing).await;
                turns::answer_turns(&own, head, upstream, client, terms).await;
            })
        }));
    }

    /// Has a client that gets a miss learn of it in the way that its API reports errors: SDKs do not
    /// show the body of a refused handshake.
    pub(super) fn explain_miss(&self, open: &mut OpenCall, response: &mut Response<ResponseBody>) {
        let Some(miss) = open.record_mut().mismatch() else { return };
        if self.protocol == SocketProtocol::Realtime {
            let refused = RefusedConversation::new(self.protocol, miss.message());
            *response = Response::new(ResponseBody::empty());
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            let chosen = self.subprotocol.clone();
            let chosen = chosen.map(|chosen| (header::SEC_WEBSOCKET_PROTOCOL, chosen));
            response.headers_mut().extend(chosen);
            NextConversation::attach_to_response(response, refused);
        }
    }

    /// Accepts the handshake if a conversation follows `response`, and leaves the rest of the call to
    /// the connection. Returns the call otherwise.
    pub(super) fn accept_conversation(
        &self,
        caller: &Arc<ConnectionContext>,
        head: Option<TurnHead>,
        mut open: Box<OpenCall>,
        response: &mut Response<ResponseBody>,
    ) -> Option<Box<OpenCall>> {
        let Some(conversation) = NextConversation::take_from_response(response) else {
            return Some(open);
        };
        handshake::accept_offer(response.headers_mut(), &self.key);
        *response.body_mut() = ResponseBody::empty();
        if let Some(head) = head {
            self.begin_turns(caller, head, conversation.into_upstream());
            return Some(open);
        }
        open.begin_sending((response.status(), response.headers()), None, || None);
        let own = Arc::clone(caller);
        caller.connection.after_http().set(Box::new(move |client, closing| {
            Box::pin(
                async move { hold_conversation(&own, open, conversation, client, closing).await },
            )
        }));
        None
    }
}

/// Holds the conversation of a call, and ends the call with it.
async fn hold_conversation(
    caller: &ConnectionContext,
    mut open: Box<OpenCall>,
    conversation: Box<dyn SocketConversation>,
    client: SocketStream,
    closing: watch::Receiver<bool>,
) {
    let end = conversation.hold_until_end(client, conversation_terms(caller, closing).await).await;
    conclude_call(&caller.proxy, &mut open, end);
}

async fn conversation_terms(
    caller: &ConnectionContext,
    closing: watch::Receiver<bool>,
) -> ConversationTerms {
    let proxy = &*caller.proxy;
    let standing = caller.peer.control_caller().await.standing;
    ConversationTerms {
        largest: proxy.config.max_body,
        silence: proxy.config.client_timeout.saturating_mul(PATIENCE).max(Duration::from_secs(1)),
        closing,
        settles_take: true,
        may_reveal: standing != CallerStanding::OtherUser,
        redactor: Arc::clone(&proxy.redactor),
    }
}

fn conclude_call(proxy: &Proxy, open: &mut OpenCall, end: ConversationEnd) {
    let ConversationEnd { messages, bytes, is_whole, is_changed, miss, take, unplayed } = end;
    let record = open.record_mut();
    if let (Some(take), Some(AnswerOrigin::Take(served))) = (take, &mut record.origin) {
        (served.index, served.number, served.outcome) = (take.index, take.number, take.outcome);
    }
    (record.chunks, record.bytes) = (messages, bytes);
    let facts = Arc::clone(&record.facts);
    match (miss, unplayed) {
        (Some(miss), _) => {
            // Nothing was served: what was found did not take place.
            open.record_mut().origin = None;
            if let Ok(miss) = miss.downcast::<RecordingMismatchError>() {
                let status = Some(StatusCode::SWITCHING_PROTOCOLS);
                open.set_outcome(CallOutcome::Missed(Arc::from(miss)), status);
            }
        }
        (None, Some(unplayed)) => {
            let text = format!(
                "the client of {} {} sent {} of {} recorded messages: its take counts as unused",
                facts.method, facts.path, unplayed.sent, unplayed.recorded
            );
            (proxy.notify)(UserNotice::Warning(&text));
        }
        (None, None) => {}
    }
    if is_whole {
        open.note_all_sent();
    }
    open.conclude(is_changed.then_some(FaultBodyEnd { is_whole, is_changed }));
}
