//! What makes a call the same work as another call elsewhere: the conversation that it asks to go
//! on, whatever the model, the provider and the settings; of a tool, its name and its arguments, whatever
//! the server.
//!
//! A program that falls back sends the conversation of the failed call to another model, in another
//! step or with other settings. Its key is another one, so the two calls are compared by what they
//! ask. The comparison is strict: a call that merely resembles another is not the same work.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::RecoveryMeans;
use loomrec_provider::conversation::{self, Conversation};
use loomrec_provider::{Operation, Provider, ToolRequest};

/// A call, as far as its work is told apart.
#[derive(Clone, Copy, Debug)]
pub struct WorkFacts<'a> {
    /// The session that it names.
    pub session: Option<&'a str>,
    /// The step that it names.
    pub step: Option<&'a str>,
    /// The name of its upstream.
    pub upstream: &'a str,
    /// The provider whose API it uses.
    pub provider: Provider,
    /// The model that it asks for.
    pub model: Option<&'a str>,
    /// The operation that it asks for.
    pub operation: Operation,
    /// Its body.
    pub body: &'a [u8],
}

/// The work of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkIdentity {
    session: Option<String>,
    step: Option<String>,
    place: WorkPlace,
    /// The digest of the system instructions.
    system: [u8; 32],
    /// The digest of all other messages.
    dialogue: [u8; 32],
}

/// Where a call is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WorkPlace {
    upstream: String,
    provider: Provider,
    model: Option<String>,
}

impl WorkIdentity {
    /// Returns the work of a call. `None` if the call has neither a conversation nor a tool with
    /// arguments, or has content that is not compared, such as messages that the provider stores.
    pub fn from_call(facts: &WorkFacts<'_>) -> Option<Self> {
        let (system, dialogue) = match facts.operation.has_tool_results() {
            true => tool_digests(&ToolRequest::from_body(facts.body)?),
            false => {
                let conversation = facts.operation.read_conversation(facts.body)?;
                let is_compared = conversation.unsupported.is_none();
                is_compared.then(|| conversation_digests(&conversation)).flatten()?
            }
        };
        let place = WorkPlace {
            upstream: facts.upstream.to_owned(),
            provider: facts.provider,
            model: facts.model.map(str::to_owned),
        };
        let (session, step) = (facts.session.map(str::to_owned), facts.step.map(str::to_owned));
        Some(Self { session, step, place, system, dialogue })
    }

    /// Whether a call in the session `session` may do this work.
    pub fn is_in_session(&self, session: Option<&str>) -> bool {
        self.session.as_deref() == session
    }

    /// Returns how `other`, which is not the same call, does this work: in the same session, with the
    /// same conversation, system instructions included. If both calls name the same step, the
    /// instructions may differ, as a prompt that is written for one model does. `None` if it is other
    /// work.
    pub fn means_of(&self, other: &Self) -> Option<RecoveryMeans> {
        let is_same_step = self.step == other.step;
        let is_named_step = is_same_step && self.step.is_some();
        let is_same_work = self.session == other.session
            && self.dialogue == other.dialogue
            && (is_named_step || self.system == other.system);
        is_same_work.then_some(match (self.place == other.place, is_same_step) {
            (false, _) => RecoveryMeans::Fallback,
            (true, false) => RecoveryMeans::OtherStep,
            (true, true) => RecoveryMeans::OtherSettings,
        })
    }
}

/// Returns the digests of the system instructions and of the other messages. `None` if there are no
/// other messages.
fn conversation_digests(conversation: &Conversation) -> Option<([u8; 32], [u8; 32])> {
    let (mut system, mut dialogue) = (Sha256::new(), Sha256::new());
    let mut has_dialogue = false;
    for message in &conversation.messages {
        match message.get("role").and_then(Value::as_str).unwrap_or_default() {
            "system" | "developer" => add_content(&mut system, message),
            role => {
                has_dialogue = true;
                add_text(&mut dialogue, role);
                add_content(&mut dialogue, message);
                // The ids of tool calls are left out: a provider has ids of its own.
                for call in conversation::tool_calls(message) {
                    add_text(&mut dialogue, &call.name);
                    add_text(&mut dialogue, &call.arguments.to_string());
                }
            }
        }
    }
    has_dialogue.then(|| (system.finalize().into(), dialogue.finalize().into()))
}

/// Returns the digests of a call of a tool: of nothing, and of the tool and its arguments.
fn tool_digests(ToolRequest { tool, arguments }: &ToolRequest) -> ([u8; 32], [u8; 32]) {
    let mut work = Sha256::new();
    [tool, arguments].into_iter().for_each(|text| add_text(&mut work, text));
    (Sha256::new().finalize().into(), work.finalize().into())
}

/// Adds the content of a message: its text as one, and each part that is not text.
fn add_content(digest: &mut Sha256, message: &Value) {
    add_text(digest, &conversation::message_text(message).unwrap_or_default());
    let parts = message.get("content").and_then(Value::as_array);
    let is_text = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("text");
    for part in parts.into_iter().flatten().filter(|part| !is_text(part)) {
        add_text(digest, &part.to_string());
    }
}

/// Adds a text and its length, so that no two lists of texts are one.
fn add_text(digest: &mut Sha256, text: &str) {
    digest.update(text.len().to_le_bytes());
    digest.update(text);
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
