//! The messages of a recorded exchange as a script: a server's message is due once the client's
//! messages before it have arrived, and each of them was the recorded one.

use std::borrow::Cow;

use super::audio_progress::AudioProgress;
use super::message_ids::MessageIds;
use super::message_order::index_of;
use loomrec_identity::{IdentityRules, RequestDelta, body_deltas, parse};
use loomrec_provider::SocketAudio;
use loomrec_recording::{MessagePayload, MessageSender, RecordedMessage};

/// The replay of one exchange's messages.
#[derive(Clone, Debug)]
pub struct MessageScript {
    messages: Vec<RecordedMessage>,
    /// The index of the next message of the server; the number of messages if there is no more.
    due: usize,
    /// The index of the next message of the client; the number of messages if there is no more.
    expected: usize,
    /// What is not compared in messages of the client.
    rules: IdentityRules,
    /// The ids that the client makes.
    ids: MessageIds,
    /// What is known of the client's audio, and how much of it has arrived.
    audio: Option<(SocketAudio, AudioProgress)>,
}

/// A client's message that is not the recorded one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("message {index} of the client is not the recorded one")]
pub struct MessageMismatch {
    /// The index of the recorded message among all of its exchange; that after the last if no
    /// further message of the client was recorded.
    pub index: usize,
    /// The recorded message, if there is one, with the ids of this run.
    pub recorded: Option<MessagePayload>,
    /// How many bytes of the client's audio before are the recorded ones, if audio came before.
    pub same_audio: Option<u64>,
}

impl MessageScript {
    /// Begins the replay of these messages.
    pub fn new(messages: Vec<RecordedMessage>) -> Self {
        let due = index_of(MessageSender::Server, &messages, 0);
        let expected = index_of(MessageSender::Client, &messages, 0);
        let (rules, ids) = (IdentityRules::default(), MessageIds::default());
        Self { messages, due, expected, rules, ids, audio: None }
    }

    /// Returns the same script, in which audio of the client may be cut into other messages.
    #[must_use]
    pub(super) fn with_audio(self, audio: SocketAudio) -> Self {
        Self { audio: Some((audio, AudioProgress::default())), ..self }
    }

    /// Returns the same script, in which the ids of items that the client creates are bound.
    #[must_use]
    pub(super) fn with_bound_ids(self) -> Self {
        Self { ids: MessageIds::of_messages(&self.messages), ..self }
    }

    /// Returns the same script, in which the client's messages are compared under these rules.
    #[must_use]
    pub fn with_rules(self, rules: IdentityRules) -> Self {
        Self { rules, ..self }
    }

    /// Returns the next message of the server that is due, and counts it as sent. `None` until the
    /// client's next message has arrived, and at the end.
    pub fn next_due(&mut self) -> Option<&RecordedMessage> {
        let index = self.due;
        if index == self.messages.len() || self.expected < index {
            return None;
        }
        self.due = index_of(MessageSender::Server, &self.messages, index + 1);
        self.messages.get(index)
    }

    /// Does the same as [`Self::next_due`], and returns the message as this client gets it.
    pub(super) fn take_due(&mut self) -> Option<RecordedMessage> {
        let mut message = self.next_due()?.clone();
        if let Cow::Owned(payload) = self.ids.with_live_ids(&message.payload) {
            message.payload = payload;
        }
        Some(message)
    }

    /// Whether all messages have been sent and have arrived.
    pub fn is_at_end(&self) -> bool {
        let end = self.messages.len();
        self.due == end && self.expected == end
    }

    /// Takes a message of the client. It may come before messages of the server that are due.
    ///
    /// # Errors
    /// [`MessageMismatch`] if it is not the recorded one. The script stays where it is.
    pub fn accept_message(&mut self, payload: &MessagePayload) -> Result<(), MessageMismatch> {
        let index = self.expected;
        let same_audio = self.audio.as_ref().and_then(|(_, progress)| progress.same_bytes());
        if let Some(result) = self.accept_audio(payload) {
            return result;
        }
        let Some(recorded) = self.messages.get(index) else {
            return Err(MessageMismatch { index, recorded: None, same_audio });
        };
        let is_audio = recorded.audio.is_some()
            || self.audio.as_ref().is_some_and(|(_, progress)| progress.is_within_message());
        let recorded = &recorded.payload;
        let bound = self.ids.bind_item(recorded, payload);
        let expected = self.ids.with_live_ids(recorded);
        if is_audio || bound.is_err() || !self.is_same(&expected, payload) {
            let recorded = Some(expected.into_owned());
            bound.iter().flatten().for_each(|pair| self.ids.unbind_item(pair));
            return Err(MessageMismatch { index, recorded, same_audio });
        }
        self.ids.note_event(recorded, payload);
        self.expected = index_of(MessageSender::Client, &self.messages, index + 1);
        if let Some((_, progress)) = &mut self.audio {
            *progress = AudioProgress::default();
        }
        Ok(())
    }

    /// Takes a message of audio. `None` if it is something else, or something else is expected.
    fn accept_audio(&mut self, payload: &MessagePayload) -> Option<Result<(), MessageMismatch>> {
        let (audio, progress) = self.audio.as_mut()?;
        let now = payload.client_audio(audio)?;
        let expected = self.messages.get(self.expected)?;
        expected.client_audio(audio)?;
        let mut next = progress.clone();
        Some(match next.accept_audio(&self.messages, self.expected, &now, audio) {
            Ok(expects) => {
                self.ids.note_event(&expected.payload, payload);
                (self.expected, *progress) = (expects, next);
                Ok(())
            }
            Err(index) => Err(MessageMismatch {
                index,
                recorded: self.messages.get(index).map(|message| message.payload.clone()),
                same_audio: next.same_bytes(),
            }),
        })
    }

    /// Takes the end of what the client sends, however it ends. It is what was recorded if the
    /// recorded client ended there as well.
    pub fn accept_end(&mut self) {
        let recorded = self.messages.get(self.expected).map(|message| &message.payload);
        if matches!(recorded, Some(MessagePayload::Close { .. })) {
            self.expected = self.messages.len();
        }
    }

    /// Returns the recorded time of the client's last message that has arrived, in milliseconds; 0 if
    /// it has sent no message yet.
    pub fn last_accepted_ms(&self) -> f64 {
        let before = self.messages.get(..self.expected).unwrap_or_default().iter().rev();
        let mut of_client = before.filter(|message| message.sender == MessageSender::Client);
        of_client.next().map_or(0.0, |message| message.at_ms)
    }

    /// Returns how many messages the client has to send, and how many of these have arrived. Its close
    /// counts as well.
    pub fn count_of_client(&self) -> (usize, usize) {
        let of_client = |messages: &[RecordedMessage]| {
            messages.iter().filter(|message| message.sender == MessageSender::Client).count()
        };
        let arrived = self.messages.get(..self.expected).unwrap_or_default();
        (of_client(&self.messages), of_client(arrived))
    }

    /// Returns how many messages the server sends, without its close.
    pub fn count_of_server(&self) -> usize {
        let is_sent = |message: &&RecordedMessage| {
            let is_close = matches!(message.payload, MessagePayload::Close { .. });
            message.sender == MessageSender::Server && !is_close
        };
        self.messages.iter().filter(is_sent).count()
    }

    /// Returns where a client's message differs from the recorded one, at most `max` places: pointers
    /// into the JSON of both, or none if they are not JSON.
    pub fn message_differences(
        &self,
        mismatch: &MessageMismatch,
        now: &MessagePayload,
        max: usize,
    ) -> Vec<RequestDelta> {
        let Some(MessagePayload::Text(old) | MessagePayload::Binary(old)) = &mismatch.recorded
        else {
            return Vec::new();
        };
        if mismatch.same_audio.is_some() {
            return Vec::new();
        }
        let (MessagePayload::Text(new) | MessagePayload::Binary(new)) = now else {
            return Vec::new();
        };
        let (Ok(old), Ok(new)) = (parse(old), parse(new)) else { return Vec::new() };
        body_deltas(&old, &new, &self.rules, max)
    }

    /// Whether two messages say the same: the same JSON in any spelling, or the same bytes. A binary
    /// message may hold JSON, too.
    fn is_same(&self, recorded: &MessagePayload, now: &MessagePayload) -> bool {
        match (recorded, now) {
            (MessagePayload::Text(old), MessagePayload::Text(new))
            | (MessagePayload::Binary(old), MessagePayload::Binary(new)) => {
                old == new || self.is_same_json(old, new)
            }
            (old, new) => old == new,
        }
    }

    fn is_same_json(&self, old: &[u8], new: &[u8]) -> bool {
        let (Ok(old), Ok(new)) = (parse(old), parse(new)) else { return false };
        body_deltas(&old, &new, &self.rules, 1).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static str) -> MessagePayload {
        MessagePayload::Text(text.into())
    }

    fn script() -> MessageScript {
        let message = |sender, payload| RecordedMessage::new(sender, 1.0, payload);
        MessageScript::new(vec![
            message(MessageSender::Server, text("hello")),
            message(MessageSender::Client, text(r#"{"a": 1, "b": "é"}"#)),
            message(MessageSender::Server, text("one")),
            message(MessageSender::Server, text("two")),
            message(MessageSender::Client, MessagePayload::Binary(b"\x00\xff".as_slice().into())),
            message(MessageSender::Server, text("three")),
        ])
    }

    fn due(script: &mut MessageScript) -> Vec<String> {
        let bytes =
            std::iter::from_fn(|| script.next_due().map(|due| due.payload.as_bytes().to_vec()));
        bytes.map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    }

    #[test]
    fn server_speaks_once_the_messages_before_have_arrived() {
        let mut script = script();
        assert_eq!(due(&mut script), ["hello"]);
        assert_eq!(due(&mut script), [""; 0]);
        script.accept_message(&text(r#"{"b":"\u00e9","a":1}"#)).unwrap();
        assert_eq!(due(&mut script), ["one", "two"]);
        assert!(!script.is_at_end());
        script.accept_message(&MessagePayload::Binary(b"\x00\xff".as_slice().into())).unwrap();
        assert_eq!(due(&mut script), ["three"]);
        assert!(script.is_at_end());
    }

    #[test]
    fn message_that_comes_before_the_servers_leaves_these_due() {
        let mut script = script();
        script.accept_message(&text(r#"{"a":1,"b":"é"}"#)).unwrap();
        assert_eq!(due(&mut script), ["hello", "one", "two"]);
    }

    #[test]
    fn changed_message_and_one_too_many_are_mismatches() {
        let mut script = script();
        for changed in [
            text(r#"{"a":2,"b":"é"}"#),
            text(r#"{"a":1,"b":"e"}"#),
            text(r#"{"a":1}"#),
            text("hello"),
            MessagePayload::Binary(br#"{"a": 1, "b": "\u00e9"}"#.as_slice().into()),
            MessagePayload::Close { code: 1000, reason: String::new() },
        ] {
            let mismatch = script.accept_message(&changed).unwrap_err();
            assert_eq!(mismatch.index, 1, "{changed:?}");
        }
        script.accept_message(&text(r#"{"a":1,"b":"é"}"#)).unwrap();
        script.accept_message(&MessagePayload::Binary(b"\x00\xff".as_slice().into())).unwrap();
        let further = script.accept_message(&text("more")).unwrap_err();
        assert_eq!(further, MessageMismatch { index: 6, recorded: None, same_audio: None });
        assert_eq!(due(&mut script), ["hello", "one", "two", "three"]);
    }
}
