//! The blocks of a request's history, read from any provider's request by its shape.

use loomrec_identity::{Json, JsonStr};

use super::part_hash::PartHash;

/// Members of a request that are a list of messages or items: those of Cohere's first version, of
/// OpenAI's chat, Anthropic, Bedrock, Ollama and Cohere, of Gemini, of OpenAI's Responses.
pub(crate) const LISTS: [&str; 4] = ["chat_history", "messages", "contents", "input"];

/// Members that hold the newest message alone, the role that it gets in the list of a later request,
/// and the member that it gets there.
const NEWEST: [(&str, &str, &str); 3] = [
    ("input", "user", "content"),
    ("message", "USER", "message"),
    ("tool_results", "TOOL", "tool_results"),
];

/// Members that hold the system prompt.
pub(super) const SYSTEM: [&str; 5] =
    ["system", "instructions", "systemInstruction", "system_instruction", "preamble"];

/// A block of a history: a message, or an item of a conversation.
#[derive(Clone, Debug)]
pub(super) struct HistoryBlock {
    /// The member of the body that holds it.
    pub(super) member: &'static str,
    /// Its index, if the member is a list.
    pub(super) element: Option<usize>,
    pub(super) hash: PartHash,
    /// Whether it belongs to the system prompt, which stands first in some lists.
    pub(super) is_system: bool,
}

/// Returns the items of a list of messages; `None` if the member is something else.
pub(crate) fn list_items<'j, 's>(body: &'j Json<'s>, member: &str) -> Option<&'j [Json<'s>]> {
    let items = body.get(member)?.as_array()?;
    (member != "input" || items.iter().any(Json::is_object)).then_some(items)
}

/// Whether a member of a request holds messages.
pub(super) fn holds_messages(member: &str) -> bool {
    LISTS.contains(&member) || NEWEST.iter().any(|(name, ..)| *name == member)
}

/// Returns the blocks of a request in order.
pub(super) fn history_blocks(body: &Json<'_>) -> Vec<HistoryBlock> {
    let mut blocks = Vec::new();
    for member in LISTS {
        let mut is_system = true;
        for (at, item) in list_items(body, member).unwrap_or_default().iter().enumerate() {
            is_system &= is_of_system(item);
            let hash = PartHash::of_meaning(item);
            blocks.push(HistoryBlock { member, element: Some(at), hash, is_system });
        }
    }
    blocks.extend(newest_blocks(body));
    blocks
}

/// Returns the blocks that stand in members of their own, as they are in the list of a later
/// request.
fn newest_blocks(body: &Json<'_>) -> Vec<HistoryBlock> {
    let blocks = NEWEST.into_iter().filter_map(|(member, role, place)| {
        let said = body.get(member)?;
        let is_said = match member {
            "tool_results" => said.as_array().is_some_and(|items| !items.is_empty()),
            _ => said.as_str().is_some_and(|text| !text.is_empty()),
        };
        if !is_said {
            return None;
        }
        let item = Json::from_members([
            (JsonStr::from("role"), Json::from_text(role)),
            (JsonStr::from(place), said.clone()),
        ]);
        let hash = PartHash::of_meaning(&item);
        Some(HistoryBlock { member, element: None, hash, is_system: false })
    });
    blocks.collect()
}

/// Returns the hash of the system prompt, wherever it stands.
pub(super) fn system_hash(body: &Json<'_>, blocks: &[HistoryBlock]) -> PartHash {
    let members = SYSTEM.iter().filter_map(|name| body.get(name)).map(PartHash::of_meaning);
    let first = blocks.iter().filter(|block| block.is_system).map(|block| block.hash);
    members.chain(first).fold(PartHash::of_texts([]), PartHash::followed_by)
}

fn is_of_system(item: &Json<'_>) -> bool {
    let role = item.get("role").and_then(Json::as_str);
    role.is_some_and(|role| matches!(&*role, "system" | "developer" | "SYSTEM"))
}
