//! How a recorded connection over a WebSocket begins: what its server says first, and the first message
//! of its client.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use loomrec_identity::{IdentityRules, PlacePattern, canonical_json, parse};
use loomrec_provider::{ClientAudio, SocketProtocol};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::{Entry, MessagePayload, MessageSender};

/// The id of an item, which its client may make anew in each run.
const ITEM_ID: &str = "/item/id";

/// A SHA-256.
pub(super) type MessageDigest = [u8; 32];

/// How a recorded connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionOpening {
    /// What the server sends before the client's first message.
    pub(super) greeting: MessageDigest,
    /// The client's first message; `None` if it sends none.
    pub(super) first: Option<MessageDigest>,
}

/// How the recorded connections begin, by the index of their take.
#[derive(Debug, Default)]
pub(super) struct ConnectionOpenings(HashMap<usize, ConnectionOpening>);

impl ConnectionOpenings {
    /// Returns how the connection of a take begins, if it has one.
    pub(super) fn find(&self, take: usize) -> Option<&ConnectionOpening> {
        self.0.get(&take)
    }

    /// Notes how the connection of an entry begins, which is compared under these rules.
    pub(super) fn note_opening(&mut self, take: usize, entry: &Entry, rules: &IdentityRules) {
        let (Some(path), Some(audio)) = (entry.request_path(), entry.socket_audio()) else {
            return;
        };
        if entry.messages.is_empty() {
            return;
        }
        let is_greeting = |sender| sender == MessageSender::Server;
        let mut greeting = Sha256::new();
        let mut rest = entry.messages.iter().skip_while(|message| {
            let is_before = is_greeting(message.sender);
            if is_before {
                greeting.update(message.payload.kind());
                greeting.update((message.payload.as_bytes().len() as u64).to_le_bytes());
                greeting.update(message.payload.as_bytes());
            }
            is_before
        });
        let is_close = |payload: &MessagePayload| matches!(payload, MessagePayload::Close { .. });
        let first = rest.next().filter(|first| !is_close(&first.payload));
        let first = first.map(|first| {
            let audio = first.client_audio(&audio);
            digest_of(&first.payload, audio, &opening_rules(path, rules))
        });
        let greeting = greeting.finalize().into();
        self.0.insert(take, ConnectionOpening { greeting, first });
    }
}

/// Returns the digest of the first message after this handshake, which is compared under these rules.
/// Of audio, only the form counts: it may be cut into other messages.
pub(super) fn first_digest(
    handshake: &NormalizedRequest,
    first: &MessagePayload,
    rules: &IdentityRules,
) -> MessageDigest {
    let audio = first.client_audio(&handshake.socket_audio());
    digest_of(first, audio, &opening_rules(handshake.path(), rules))
}

/// Returns the rules under which first messages are compared.
fn opening_rules(path: &str, rules: &IdentityRules) -> IdentityRules {
    let protocol = SocketProtocol::of_path(path);
    let item = protocol.names_items().then_some(ITEM_ID);
    let ids = protocol.own_ids().iter().copied().chain(item);
    rules.with_ignored(ids.filter_map(|id| PlacePattern::parse(id).ok()))
}

/// Returns a digest that is equal for all messages that are the same under these rules.
fn digest_of(
    payload: &MessagePayload,
    audio: Option<ClientAudio>,
    rules: &IdentityRules,
) -> MessageDigest {
    let mut hasher = Sha256::new();
    hasher.update(payload.kind());
    hasher.update([u8::from(audio.is_some())]);
    let envelope = audio.map(|audio| audio.envelope);
    let bytes = envelope.as_deref().unwrap_or_else(|| payload.as_bytes());
    match parse(bytes) {
        Ok(value) => hasher.update(canonical_json(&value, rules)),
        Err(_) => hasher.update(bytes),
    }
    hasher.finalize().into()
}
