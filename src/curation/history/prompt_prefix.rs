//! The beginning of a prompt, in the order in which providers cache it: tools, system prompt,
//! messages. A cache serves a prompt up to the first part that changed.

use loomrec_identity::{Json, canonical};
use loomrec_recording::Entry;

use super::block::{self, SYSTEM};
use super::part_hash::PartHash;

/// How many characters of a part are shown before the first one that changed, and from it on.
const SHOWN: (usize, usize) = (30, 50);

/// The hashes of the parts of a prompt, in the order of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptPrefix {
    /// The requested model: each has a cache of its own.
    model: Option<String>,
    tools: Vec<PartHash>,
    system: Vec<PartHash>,
    messages: Vec<PartHash>,
}

/// What a part of a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPart {
    /// The definition of a tool.
    Tool,
    /// A part of the system prompt.
    System,
    /// A message, or an item of a conversation.
    Message,
}

/// The first part in which the beginning of a prompt differs from an earlier prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixChange {
    /// What the part is.
    pub part: PromptPart,
    /// Its index among the parts of its kind.
    pub index: usize,
    /// Whether it was the last part of the earlier prompt, so that all before it is as it was.
    pub is_last: bool,
}

/// The words around a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixChangeWords {
    /// The JSON pointer of the part, in the body of the later request; in that of the earlier one
    /// if the later one does not have it.
    pub place: String,
    /// The words of the earlier request; empty if it does not have the part.
    pub before: String,
    /// The words of the later request; empty if it does not have the part.
    pub now: String,
    /// Whether the texts have at least half of their length in common, at their beginnings and ends.
    pub is_alike: bool,
}

/// A part of a prompt, and where it is.
struct PlacedPart<'j, 's> {
    place: String,
    value: &'j Json<'s>,
    hash: PartHash,
}

/// The parts of a prompt.
struct PromptParts<'j, 's> {
    tools: Vec<PlacedPart<'j, 's>>,
    system: Vec<PlacedPart<'j, 's>>,
    messages: Vec<PlacedPart<'j, 's>>,
}

impl PromptPrefix {
    /// Reads the prompt of an entry; `None` if its request is not a JSON object.
    pub fn of_entry(entry: &Entry) -> Option<Self> {
        let request = entry.read_request()?;
        let body = request.body?;
        body.as_object()?;
        let parts = PromptParts::of_body(&body);
        let hashes = |parts: &[PlacedPart<'_, '_>]| parts.iter().map(|part| part.hash).collect();
        Some(Self {
            model: request.call.model,
            tools: hashes(&parts.tools),
            system: hashes(&parts.system),
            messages: hashes(&parts.messages),
        })
    }

    /// Whether a prompt may use what the cache holds of an earlier one: it asks the same model, and
    /// has the same tools or the same system prompt. Helpers of an agent, such as one that makes
    /// titles, have others.
    pub fn may_share_cache(&self, earlier: &Self) -> bool {
        let is_same = self.tools == earlier.tools || self.system == earlier.system;
        self.model == earlier.model && is_same
    }

    /// Returns the first part that is not as in the earlier prompt; `None` if this prompt begins
    /// with that one. If the provider holds the messages (`is_stored`), they are not compared.
    pub fn first_change(&self, earlier: &Self, is_stored: bool) -> Option<PrefixChange> {
        let lists = [
            (PromptPart::Tool, &earlier.tools, &self.tools, true),
            (PromptPart::System, &earlier.system, &self.system, true),
            (PromptPart::Message, &earlier.messages, &self.messages, false),
        ];
        lists.into_iter().filter(|(part, ..)| !is_stored || *part != PromptPart::Message).find_map(
            |(part, before, now, is_whole)| {
                let common = before.iter().zip(now).take_while(|(before, now)| before == now);
                let index = common.count();
                let is_kept = index == before.len() && (!is_whole || index == now.len());
                let is_last = part == PromptPart::Message && index + 1 >= before.len();
                (!is_kept).then_some(PrefixChange { part, index, is_last })
            },
        )
    }
}

impl PrefixChangeWords {
    /// Returns the words around a change between the bodies of two requests; `None` if one of them
    /// is not JSON.
    pub fn of_bodies(change: PrefixChange, earlier: &[u8], now: &[u8]) -> Option<Self> {
        let (earlier, now) =
            (loomrec_identity::parse(earlier).ok()?, loomrec_identity::parse(now).ok()?);
        let (earlier, now) = (PromptParts::of_body(&earlier), PromptParts::of_body(&now));
        let (earlier, now) = (earlier.changed_part(change), now.changed_part(change));
        let place = now.or(earlier)?.place.clone();
        let (before, now) = (part_text(earlier), part_text(now));
        let (begins, ends) = common_ends(&before, &now);
        let longest = before.chars().count().max(now.chars().count());
        let is_alike = (begins + ends) * 2 >= longest;
        Some(Self {
            place,
            before: text_around(&before, begins),
            now: text_around(&now, begins),
            is_alike,
        })
    }
}

impl<'j, 's> PromptParts<'j, 's> {
    fn of_body(body: &'j Json<'s>) -> Self {
        let of_members = |names: &[&str]| -> Vec<PlacedPart<'j, 's>> {
            let values =
                names.iter().filter_map(|name| Some((format!("/{name}"), body.get(name)?)));
            values.map(|(place, value)| PlacedPart::new(place, value)).collect()
        };
        let (mut system, mut messages) = (of_members(&SYSTEM), Vec::new());
        for block in block::history_blocks(body) {
            let Some(member) = body.get(block.member) else { continue };
            let part = match block.element {
                None => PlacedPart {
                    place: format!("/{}", block.member),
                    value: member,
                    hash: block.hash,
                },
                Some(at) => {
                    let Some(value) = member.as_array().and_then(|items| items.get(at)) else {
                        continue;
                    };
                    PlacedPart { place: format!("/{}/{at}", block.member), value, hash: block.hash }
                }
            };
            if block.is_system { &mut system } else { &mut messages }.push(part);
        }
        Self { tools: tool_definitions(body), system, messages }
    }

    fn changed_part(&self, change: PrefixChange) -> Option<&PlacedPart<'j, 's>> {
        let list = match change.part {
            PromptPart::Tool => &self.tools,
            PromptPart::System => &self.system,
            PromptPart::Message => &self.messages,
        };
        list.get(change.index)
    }
}

impl<'j, 's> PlacedPart<'j, 's> {
    fn new(place: String, value: &'j Json<'s>) -> Self {
        Self { place, value, hash: PartHash::of_meaning(value) }
    }
}

/// Returns the definitions of tools, those of Bedrock's Converse included.
fn tool_definitions<'j, 's>(body: &'j Json<'s>) -> Vec<PlacedPart<'j, 's>> {
    let of_bedrock = body.get("toolConfig").and_then(|config| config.get("tools"));
    let lists = [("/tools", body.get("tools")), ("/toolConfig/tools", of_bedrock)];
    let items = lists.into_iter().filter_map(|(place, list)| Some((place, list?.as_array()?)));
    let placed = items.flat_map(|(place, items)| {
        items.iter().enumerate().map(move |(at, item)| (format!("{place}/{at}"), item))
    });
    placed.map(|(place, value)| PlacedPart::new(place, value)).collect()
}

/// Returns the text of a part: its words if it is a message of words alone.
fn part_text(part: Option<&PlacedPart<'_, '_>>) -> String {
    let Some(part) = part else { return String::new() };
    let said = part.value.get("content").unwrap_or(part.value);
    match said.as_str() {
        Some(words) => words.into_owned(),
        None => canonical::value_text(part.value),
    }
}

/// Returns how many characters two texts have in common at their beginnings, and after those at
/// their ends.
fn common_ends(before: &str, now: &str) -> (usize, usize) {
    let count = |pairs: &mut dyn Iterator<Item = (char, char)>| {
        pairs.take_while(|(before, now)| before == now).count()
    };
    let begins = count(&mut before.chars().zip(now.chars()));
    let shorter = before.chars().count().min(now.chars().count());
    let ends = count(&mut before.chars().rev().zip(now.chars().rev()));
    (begins, ends.min(shorter - begins))
}

/// Returns the text around the character at which it changed.
fn text_around(text: &str, at: usize) -> String {
    let from = at.saturating_sub(SHOWN.0);
    let mut shown: String = text.chars().skip(from).take(at - from + SHOWN.1).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if text.chars().nth(at + SHOWN.1).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[path = "prompt_prefix_tests.rs"]
mod tests;
