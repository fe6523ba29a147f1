//! The history of a request, as hashes.

use std::borrow::Cow;

use loomrec_identity::Json;
use loomrec_provider::{Framing, Operation, RecognisedCall, framing};
use loomrec_recording::{Entry, encoding};

use super::block;
use super::part_hash::PartHash;

/// How many events of a stream are searched for the id of its answer.
const FIRST_EVENTS: usize = 4;

/// The hashes of a request's history, without its texts.
#[derive(Clone, Debug)]
pub struct RequestHistory {
    /// Where the call goes: upstream, operation, session.
    pub(super) group: PartHash,
    pub(super) system: PartHash,
    /// The blocks that are not the system prompt.
    pub(super) blocks: Vec<PartHash>,
    /// `begins[n]` is the hash of the group and the first `n` blocks.
    pub(super) begins: Vec<PartHash>,
    /// What the provider continues, if it holds the history itself.
    pub(super) stored: Option<StoredHistory>,
    /// The id of the answer, which a later call may continue.
    pub(super) answer_id: Option<String>,
}

/// A history that the provider holds, by the name that a request gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoredHistory {
    /// That of the answer with this id, with the answer.
    Answer(String),
    /// That of a conversation.
    Conversation(String),
}

impl RequestHistory {
    /// Reads the history of an entry; `None` if its request is not part of a conversation.
    pub fn of_entry(entry: &Entry) -> Option<Self> {
        let request = entry.read_request()?;
        Self::of_parsed(entry, &request.call, request.body.as_ref()?)
    }

    /// Reads the history of an entry whose request was parsed and recognised already.
    pub fn of_parsed(entry: &Entry, call: &RecognisedCall, body: &Json<'_>) -> Option<Self> {
        let all = block::history_blocks(body);
        let blocks: Vec<PartHash> =
            all.iter().filter(|block| !block.is_system).map(|block| block.hash).collect();
        let stored = stored_history(body);
        if blocks.is_empty() && stored.is_none() {
            return None;
        }
        let path = entry.request_path().unwrap_or_default();
        let group = PartHash::of_texts([
            entry.upstream.as_deref().unwrap_or_default(),
            entry.session.as_deref().unwrap_or_default(),
            call.operation.as_str(),
            if call.operation == Operation::OTHER { path } else { "" },
        ]);
        let mut begins = vec![group];
        for block in &blocks {
            begins.push(begins[begins.len() - 1].followed_by(*block));
        }
        let system = block::system_hash(body, &all);
        let answer_id = body.get("input").and_then(|_| answer_id(entry));
        Some(Self { group, system, blocks, begins, stored, answer_id })
    }

    /// Returns how many messages it has, about as many hashes as it holds.
    pub fn message_count(&self) -> usize {
        self.begins.len()
    }

    /// Whether the call may continue another one: its request has more than one message, or names
    /// what it continues.
    pub fn may_continue(&self) -> bool {
        self.blocks.len() > 1 || self.stored.is_some()
    }

    /// Returns the hash of the newest message.
    pub(crate) fn newest_hash(&self) -> Option<PartHash> {
        self.blocks.last().copied()
    }
}

/// Returns what a request of OpenAI's Responses continues.
fn stored_history(body: &Json<'_>) -> Option<StoredHistory> {
    let text = |value: &Json<'_>| value.as_str().map(Cow::into_owned);
    if let Some(id) = body.get("previous_response_id").and_then(text) {
        return Some(StoredHistory::Answer(id));
    }
    let conversation = body.get("conversation")?;
    let id = text(conversation).or_else(|| text(conversation.get("id")?))?;
    Some(StoredHistory::Conversation(id))
}

/// Returns the id of an answer of OpenAI's Responses.
fn answer_id(entry: &Entry) -> Option<String> {
    let body = entry.coded_body(encoding::LARGEST)?;
    let plain = body.plain_bytes()?;
    match Framing::of_media(&body.media) {
        None => {
            let body = loomrec_identity::parse(plain).ok()?;
            Some(body.get("id")?.as_str()?.into_owned())
        }
        Some(framing) => framing::events(framing, plain).take(FIRST_EVENTS).find_map(|event| {
            Some(event.json_data()?.pointer("/response/id")?.as_str()?.to_owned())
        }),
    }
}
