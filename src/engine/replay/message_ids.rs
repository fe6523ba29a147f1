//! The ids that a client makes for what it sends over a WebSocket.
//!
//! A client of OpenAI's Realtime API names the items that it creates, and may do so anew in each run.
//! The name of an item has no other meaning than to refer to it. So the id of a live item is bound to
//! the recorded one when the item is created, and from then on the recorded id is read as the live one
//! in both directions. All other ids are compared exactly: the server made them, so they are those of
//! the recording.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use bytes::Bytes;
use memchr::memmem;

use loomrec_identity::{Json, parse};
use loomrec_recording::{MessagePayload, RecordedMessage};

/// The message that creates an item.
const CREATE: &str = "conversation.item.create";

/// The ids of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageIds {
    /// The ids that recorded messages hold. `None` if no id is bound.
    recorded: Option<HashSet<Box<[u8]>>>,
    /// By recorded id, the live one, as they are written in JSON.
    items: HashMap<Box<[u8]>, Bytes>,
    /// The live ids of items.
    live: HashSet<Bytes>,
    /// By recorded id of a client's message, the live one.
    events: HashMap<Box<[u8]>, Bytes>,
}

/// The ids of an item that a client creates: the recorded one, and the live one.
#[derive(Debug)]
pub(super) struct ItemPair {
    recorded: Box<[u8]>,
    live: Bytes,
}

/// An id in a message.
struct FoundId {
    /// Whether it names a message.
    is_event: bool,
    /// Its place, without quotes.
    place: Range<usize>,
}

impl MessageIds {
    /// Returns the ids of a connection with these recorded messages, of which no id is bound yet.
    pub(super) fn of_messages(messages: &[RecordedMessage]) -> Self {
        let texts = messages.iter().filter_map(|message| text_of(&message.payload));
        let ids = texts.flat_map(|text| {
            let found = ids_in(text).filter(|id| !id.is_event);
            found.map(|id| Box::from(&text[id.place]))
        });
        Self { recorded: Some(ids.collect()), ..Self::default() }
    }

    /// Binds the id of the item that a message creates. Returns the pair, if there is one, which is to
    /// be unbound if the message is not the recorded one.
    ///
    /// # Errors
    /// The id cannot be bound: it is already that of another item, or means something else in the
    /// recording.
    pub(super) fn bind_item(
        &mut self,
        recorded: &MessagePayload,
        now: &MessagePayload,
    ) -> Result<Option<ItemPair>, ()> {
        let Some(known) = &self.recorded else { return Ok(None) };
        let Some((old, new)) = created_item_id(recorded).zip(created_item_id(now)) else {
            return Ok(None);
        };
        if self.items.contains_key(&*old) {
            // The recorded client used the id twice.
            return Ok(None);
        }
        let is_other = old != new;
        if is_other && known.contains(&*new) || self.live.contains(&*new) {
            return Err(());
        }
        let live = Bytes::from(new);
        self.items.insert(old.clone(), live.clone());
        self.live.insert(live.clone());
        Ok(Some(ItemPair { recorded: old, live }))
    }

    /// Undoes [`Self::bind_item`].
    pub(super) fn unbind_item(&mut self, pair: &ItemPair) {
        self.items.remove(&pair.recorded);
        self.live.remove(&pair.live);
    }

    /// Notes the ids of a client's message and of the recorded one. The server may quote them.
    pub(super) fn note_event(&mut self, recorded: &MessagePayload, now: &MessagePayload) {
        if self.recorded.is_none() {
            return;
        }
        let id = |payload: &MessagePayload| {
            let text = text_of(payload)?;
            let message = parse(text).ok()?;
            plain_id(message.get("event_id")?)
        };
        if let Some((old, new)) = id(recorded).zip(id(now)).filter(|(old, new)| old != new) {
            self.events.insert(old, new.into());
        }
    }

    /// Returns a recorded payload with the live ids.
    pub(super) fn with_live_ids<'p>(&self, payload: &'p MessagePayload) -> Cow<'p, MessagePayload> {
        if self.items.is_empty() && self.events.is_empty() {
            return Cow::Borrowed(payload);
        }
        let Some(text) = text_of(payload) else { return Cow::Borrowed(payload) };
        let (mut out, mut copied) = (Vec::new(), 0);
        for FoundId { is_event, place } in ids_in(text) {
            let names = if is_event { &self.events } else { &self.items };
            if let Some(live) = names.get(&text[place.clone()]) {
                out.extend_from_slice(&text[copied..place.start]);
                out.extend_from_slice(live);
                copied = place.end;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(payload);
        }
        out.extend_from_slice(&text[copied..]);
        Cow::Owned(MessagePayload::Text(out.into()))
    }
}

fn text_of(payload: &MessagePayload) -> Option<&Bytes> {
    match payload {
        MessagePayload::Text(text) => Some(text),
        MessagePayload::Binary(_) | MessagePayload::Close { .. } => None,
    }
}

/// Returns the id of the item that a message creates, if it names one.
fn created_item_id(payload: &MessagePayload) -> Option<Box<[u8]>> {
    let text = text_of(payload)?;
    memmem::find(text, CREATE.as_bytes())?;
    let message = parse(text).ok()?;
    if message.get("type")?.as_str()? != CREATE {
        return None;
    }
    plain_id(message.get("item")?.get("id")?)
}

/// Returns an id that is written in JSON as it is.
fn plain_id(value: &Json<'_>) -> Option<Box<[u8]>> {
    let id = value.as_str()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    (!id.is_empty() && id.bytes().all(is_plain)).then(|| Box::from(id.as_bytes()))
}

/// Returns the ids of a text of JSON: the values of members that are called `id` or `SOMETHING_id`.
/// Ids with an escape are left out.
fn ids_in(text: &[u8]) -> impl Iterator<Item = FoundId> {
    memmem::find_iter(text, b"id\"").filter_map(move |at| {
        let before = text[..at].last()?;
        if !matches!(before, b'"' | b'_') {
            return None;
        }
        let rest = text.get(at + 3..)?;
        let after_blanks = |from: usize| {
            let blanks = rest.get(from..)?.iter().take_while(|byte| byte.is_ascii_whitespace());
            Some(from + blanks.count())
        };
        let colon = after_blanks(0).filter(|at| rest.get(*at) == Some(&b':'))?;
        let quote = after_blanks(colon + 1).filter(|at| rest.get(*at) == Some(&b'"'))?;
        let length = memchr::memchr2(b'"', b'\\', rest.get(quote + 1..)?)?;
        let start = at + 3 + quote + 1;
        if text.get(start + length) != Some(&b'"') {
            return None;
        }
        let is_event = text[..at].ends_with(b"event_");
        Some(FoundId { is_event, place: start..start + length })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_recording::MessageSender;

    fn text(text: &str) -> MessagePayload {
        MessagePayload::Text(text.to_owned().into())
    }

    fn create(id: &str) -> MessagePayload {
        text(&format!(
            r#"{{"type":"conversation.item.create","event_id":"e_{id}","item":{{"id":"{id}"}}}}"#
        ))
    }

    fn ids(recorded: &[&str]) -> MessageIds {
        let message = |held: &&str| RecordedMessage::new(MessageSender::Client, 1.0, text(held));
        MessageIds::of_messages(&recorded.iter().map(message).collect::<Vec<_>>())
    }

    #[test]
    fn bound_ids_are_read_as_the_live_ones_wherever_they_are_ids() {
        let mut ids = ids(&[r#"{"item":{"id":"item_A"},"previous_item_id":"item_S"}"#]);
        let pair = ids.bind_item(&create("item_A"), &create("live-1")).unwrap().unwrap();
        let recorded = text(
            r#"{"item":{"id" : "item_A","text":"\"id\":\"item_A\" item_A"},"item_id":"item_A","void":"item_A","id":["item_A"],"previous_item_id":"item_AB"}"#,
        );
        let live = r#"{"item":{"id" : "live-1","text":"\"id\":\"item_A\" item_A"},"item_id":"live-1","void":"item_A","id":["item_A"],"previous_item_id":"item_AB"}"#;
        assert_eq!(*ids.with_live_ids(&recorded), text(live));
        ids.unbind_item(&pair);
        assert_eq!(*ids.with_live_ids(&recorded), recorded);
    }

    #[test]
    fn id_that_means_something_else_is_not_bound() {
        let mut ids = ids(&[r#"{"item":{"id":"item_A"}}"#, r#"{"item_id":"item_S"}"#]);
        assert!(ids.bind_item(&create("item_A"), &create("item_S")).is_err());
        ids.bind_item(&create("item_A"), &create("item_L")).unwrap().unwrap();
        assert!(ids.bind_item(&create("item_B"), &create("item_L")).is_err());
        assert!(ids.bind_item(&create("item_A"), &create("item_M")).unwrap().is_none());
        assert!(ids.bind_item(&create("item_C"), &create("item C")).unwrap().is_none());
        let same = ids.bind_item(&create("item_D"), &create("item_D")).unwrap();
        assert!(ids.bind_item(&create("item_D"), &create("item_D")).unwrap().is_none());
        assert!(same.is_some() && ids.bind_item(&create("item_E"), &create("item_D")).is_err());
        assert!(MessageIds::default().bind_item(&create("a"), &create("b")).unwrap().is_none());
    }

    #[test]
    fn server_quotes_the_live_id_of_a_message() {
        let mut ids = ids(&[]);
        ids.note_event(&create("a"), &create("b"));
        let error =
            |id: &str| text(&format!(r#"{{"event_id":"event_9","error":{{"event_id":"{id}"}}}}"#));
        assert_eq!(*ids.with_live_ids(&error("e_a")), error("e_b"));
        assert_eq!(*ids.with_live_ids(&error("e_c")), error("e_c"));
    }
}
