//! The audio in the messages that a client sends over a WebSocket.
//!
//! Speech is long and often private, and a replay only has to know whether it is the same. So a client's
//! messages of audio that follow each other without a message of the server are kept as one, with a
//! note in place of the audio.

use bytes::Bytes;

use super::audio_note::{AudioDigest, AudioNote};
use super::message::{MessagePayload, MessageSender, RecordedMessage};
use loomrec_provider::{ClientAudio, SocketAudio};

impl RecordedMessage {
    /// Returns the client's audio, if the message is nothing else. Its bytes are empty if there is a
    /// note in their place.
    pub fn client_audio(&self, audio: &SocketAudio) -> Option<ClientAudio> {
        if self.sender == MessageSender::Server {
            return None;
        }
        if self.audio.is_some() {
            return Some(ClientAudio {
                envelope: self.payload.as_bytes().to_vec(),
                bytes: Vec::new(),
            });
        }
        self.payload.client_audio(audio)
    }
}

impl MessagePayload {
    /// Returns the audio of a client's message that is nothing else.
    pub fn client_audio(&self, audio: &SocketAudio) -> Option<ClientAudio> {
        match self {
            Self::Text(text) => audio.client_audio(text, false),
            Self::Binary(bytes) => audio.client_audio(bytes, true),
            Self::Close { .. } => None,
        }
    }
}

/// Puts notes in the place of the audio that the client sent.
pub fn without_audio(messages: Vec<RecordedMessage>, audio: &SocketAudio) -> Vec<RecordedMessage> {
    let mut out: Vec<RecordedMessage> = Vec::with_capacity(messages.len());
    let mut sent: Option<(ClientAudio, AudioDigest)> = None;
    for message in messages {
        if message.sender == MessageSender::Server {
            out.push(message);
            continue;
        }
        let Some(ClientAudio { envelope, bytes }) = message.client_audio(audio) else {
            sent = None;
            out.push(message);
            continue;
        };
        let form = ClientAudio { envelope, bytes: Vec::new() };
        let before = sent.take().filter(|(before, _)| before.is_continued_by(&form));
        let is_continued = before.is_some();
        let (form, mut digest) = before.unwrap_or((form, AudioDigest::default()));
        digest.add(&bytes);
        let (bytes, sha256) = (bytes.len() as u64, digest.hex_digits());
        match out.last_mut().filter(|last| is_continued && last.sender == MessageSender::Client) {
            Some(last) => {
                let before = last.audio.as_ref().map_or(0, |note| note.bytes);
                last.audio = Some(AudioNote { bytes: before + bytes, sha256 });
                last.at_ms = message.at_ms;
            }
            None => out.push(message_with_note(&message, &form, AudioNote { bytes, sha256 })),
        }
        sent = Some((form, digest));
    }
    out
}

fn message_with_note(
    message: &RecordedMessage,
    form: &ClientAudio,
    note: AudioNote,
) -> RecordedMessage {
    let envelope = Bytes::from(form.envelope.clone());
    let payload = match message.payload {
        MessagePayload::Text(_) => MessagePayload::Text(envelope),
        _ => MessagePayload::Binary(envelope),
    };
    RecordedMessage { payload, audio: Some(note), ..message.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Entry;
    use loomrec_identity::sha256_text;

    fn client(at_ms: f64, text: &str) -> RecordedMessage {
        let payload = MessagePayload::Text(text.to_owned().into());
        RecordedMessage::new(MessageSender::Client, at_ms, payload)
    }

    fn append(at_ms: f64, audio: &str) -> RecordedMessage {
        client(at_ms, &format!(r#"{{"type":"input_audio_buffer.append","audio":"{audio}"}}"#))
    }

    fn server() -> RecordedMessage {
        let payload = MessagePayload::Text(Bytes::from_static(b"{}"));
        RecordedMessage::new(MessageSender::Server, 9.0, payload)
    }

    fn notes(messages: Vec<RecordedMessage>) -> Vec<Option<(u64, String)>> {
        let audio = SocketAudio::of_handshake("/v1/realtime", "");
        let kept = without_audio(messages, &audio);
        kept.into_iter().map(|one| one.audio.map(|note| (note.bytes, note.sha256))).collect()
    }

    #[test]
    fn audio_between_other_messages_is_one_note() {
        let commit = || client(3.0, r#"{"type":"input_audio_buffer.commit"}"#);
        let sent = vec![append(1.0, "AAEC"), append(2.0, "AwQ="), commit(), append(4.0, "BQ==")];
        assert_eq!(
            notes(sent),
            [Some((5, sha256_text(b"\0\x01\x02\x03\x04"))), None, Some((1, sha256_text(b"\x05"))),]
        );
    }

    #[test]
    fn note_ends_at_a_message_of_the_server_and_its_digest_goes_on() {
        let sent = vec![append(1.0, "AAEC"), server(), append(2.0, "AwQ=")];
        assert_eq!(
            notes(sent),
            [
                Some((3, sha256_text(b"\0\x01\x02"))),
                None,
                Some((2, sha256_text(b"\0\x01\x02\x03\x04"))),
            ]
        );
    }

    #[test]
    fn note_comes_back_from_the_file_and_holds_no_audio() {
        let audio = SocketAudio::of_handshake("/v1/realtime", "");
        let messages = without_audio(vec![append(1.0, "AAEC"), append(2.5, "AwQ=")], &audio);
        let entry = Entry { messages, ..Entry::default() };
        let value = entry.to_json();
        assert_eq!(
            value["messages"],
            json!([{ "from": "client", "ms": 2.5,
                "body": { "type": "input_audio_buffer.append", "audio": "" },
                "audio": { "bytes": 5, "sha256": sha256_text(b"\0\x01\x02\x03\x04") } }])
        );
        assert_eq!(Entry::parse(&value).unwrap(), entry);
    }

    #[test]
    fn note_is_in_messages_of_the_client_alone() {
        let note = json!({ "bytes": 1, "sha256": "0".repeat(64) });
        for message in [
            json!({ "from": "server", "ms": 1, "text": "{}", "audio": note }),
            json!({ "from": "client", "ms": 1, "close": 1000, "audio": note }),
        ] {
            let error = Entry::parse(&json!({ "messages": [message] })).unwrap_err();
            assert_eq!(error.0.place, "/messages/0/audio", "{error}");
        }
    }

    #[test]
    fn note_that_is_none_is_refused_with_its_place() {
        for (note, place) in [
            (json!(5), "/messages/0/audio"),
            (json!({ "sha256": "0".repeat(64) }), "/messages/0/audio/bytes"),
            (json!({ "bytes": -1, "sha256": "0".repeat(64) }), "/messages/0/audio/bytes"),
            (json!({ "bytes": 1 }), "/messages/0/audio/sha256"),
            (json!({ "bytes": 1, "sha256": "0".repeat(63) }), "/messages/0/audio/sha256"),
            (json!({ "bytes": 1, "sha256": "G".repeat(64) }), "/messages/0/audio/sha256"),
        ] {
            let message = json!({ "from": "client", "ms": 1, "text": "", "audio": note });
            let error = Entry::parse(&json!({ "messages": [message] })).unwrap_err();
            assert_eq!(error.0.place, place, "{error}");
        }
    }
}
