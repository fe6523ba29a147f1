//! Messages of a WebSocket in which a client sends audio and nothing else.
//!
//! How speech is cut into messages depends on when a program read its microphone, so it says nothing:
//! what counts is the audio of messages that follow each other. Only messages of known forms are read
//! so: OpenAI's `input_audio_buffer.append`, ElevenLabs' `user_audio_chunk`, Gemini's `realtimeInput`,
//! and binary messages of an API for speech.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem;
use serde_json::{Map, Value};

use super::SocketAudio;

/// Base64 with padding or without.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The end of the names of OpenAI's messages with audio.
const APPEND: &str = "input_audio_buffer.append";
/// The member of a message that numbers it.
const EVENT_ID: &str = "event_id";

/// A client's message of nothing but audio.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientAudio {
    /// The message without its audio: JSON with an empty text in its place, or no bytes.
    pub envelope: Vec<u8>,
    /// The audio, decoded.
    pub bytes: Vec<u8>,
}

impl ClientAudio {
    /// Whether another message sends audio of the same form, so that it continues this one's. What
    /// numbers a message does not count.
    pub fn is_continued_by(&self, next: &Self) -> bool {
        self.envelope == next.envelope || form_of(&self.envelope) == form_of(&next.envelope)
    }
}

impl SocketAudio {
    /// Returns a client's message as audio; `None` if it says anything else, has no byte of audio, or is
    /// not known to be audio.
    pub fn client_audio(&self, message: &[u8], is_binary: bool) -> Option<ClientAudio> {
        if let Ok(value) = serde_json::from_slice::<Value>(message) {
            return of_json(message, &value);
        }
        let is_audio = is_binary && !message.is_empty() && self.has_binary_audio();
        is_audio.then(|| ClientAudio { envelope: Vec::new(), bytes: message.to_vec() })
    }
}

fn of_json(message: &[u8], value: &Value) -> Option<ClientAudio> {
    let text = audio_text(value.as_object()?).filter(|text| !text.is_empty())?;
    let bytes = LENIENT.decode(text.replace('-', "+").replace('_', "/")).ok()?;
    // Audio that is written with an escape is not found, and one that is written twice not known.
    let mut places = memmem::find_iter(message, text.as_bytes());
    let at = places.next().filter(|_| places.next().is_none())?;
    let after = message.get(at + text.len()..)?;
    let is_text = message.get(..at)?.ends_with(b"\"") && after.starts_with(b"\"");
    is_text.then(|| ClientAudio { envelope: [&message[..at], after].concat(), bytes })
}

/// Returns the audio of a message that has nothing else.
fn audio_text(message: &Map<String, Value>) -> Option<&str> {
    let has_only = |members: &Map<String, Value>, known: &[&str]| {
        members.keys().all(|name| known.contains(&name.as_str()))
    };
    let text = |members: &Map<String, Value>, name: &str| {
        members.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    if text(message, "type").is_some_and(|name| name.ends_with(APPEND)) {
        return message
            .get("audio")?
            .as_str()
            .filter(|_| has_only(message, &["type", EVENT_ID, "audio"]));
    }
    if let Some(audio) = message.get("user_audio_chunk") {
        return audio.as_str().filter(|_| message.len() == 1);
    }
    let (name, input) = message.iter().next().filter(|_| message.len() == 1)?;
    let input = input.as_object().filter(|input| {
        matches!(name.as_str(), "realtimeInput" | "realtime_input") && input.len() == 1
    })?;
    let (name, blob) = input.iter().next()?;
    let blob = match (name.as_str(), blob) {
        ("audio", blob) => blob,
        ("mediaChunks" | "media_chunks", Value::Array(blobs)) if blobs.len() == 1 => &blobs[0],
        _ => return None,
    };
    let blob =
        blob.as_object().filter(|blob| has_only(blob, &["mimeType", "mime_type", "data"]))?;
    let media = text(blob, "mimeType").or_else(|| text(blob, "mime_type"))?;
    blob.get("data")?.as_str().filter(|_| media.starts_with("audio/"))
}

/// Returns a message without what numbers it; `None` if it is not JSON.
fn form_of(envelope: &[u8]) -> Option<Value> {
    let mut form: Value = serde_json::from_slice(envelope).ok()?;
    form.as_object_mut()?.remove(EVENT_ID);
    Some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audio(path: &str, query: &str) -> SocketAudio {
        SocketAudio::of_handshake(path, query)
    }

    fn read(message: &str) -> Option<ClientAudio> {
        audio("/v1/realtime", "").client_audio(message.as_bytes(), false)
    }

    #[test]
    fn messages_of_audio_alone_are_read() {
        for (message, envelope, bytes) in [
            (
                r#"{"type":"input_audio_buffer.append","audio":"AAEC"}"#,
                r#"{"type":"input_audio_buffer.append","audio":""}"#,
                &b"\0\x01\x02"[..],
            ),
            (
                r#"{"event_id":"e1","type":"session.input_audio_buffer.append","audio":"AAE="}"#,
                r#"{"event_id":"e1","type":"session.input_audio_buffer.append","audio":""}"#,
                b"\0\x01",
            ),
            (r#"{"user_audio_chunk": "_-8"}"#, r#"{"user_audio_chunk": ""}"#, b"\xff\xef"),
            (
                r#"{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"AA=="}}}"#,
                r#"{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":""}}}"#,
                b"\0",
            ),
            (
                r#"{"realtime_input":{"media_chunks":[{"data":"AQ==","mime_type":"audio/pcm"}]}}"#,
                r#"{"realtime_input":{"media_chunks":[{"data":"","mime_type":"audio/pcm"}]}}"#,
                b"\x01",
            ),
        ] {
            let expected = ClientAudio { envelope: envelope.into(), bytes: bytes.to_vec() };
            assert_eq!(read(message), Some(expected), "{message}");
        }
    }

    #[test]
    fn messages_that_say_anything_else_are_not() {
        for message in [
            r#"{"type":"input_audio_buffer.commit"}"#,
            r#"{"type":"input_audio_buffer.append","audio":""}"#,
            r#"{"realtime_input":{"media_chunks":[{"data":"","mime_type":"audio/pcm"}]}}"#,
            r#"{"type":"input_audio_buffer.append","audio":"AAEC","commit":true}"#,
            r#"{"type":"input_audio_buffer.append","audio":"not base64"}"#,
            r#"{"type":"input_audio_buffer.append","audio":"\u0041AEC"}"#,
            r#"{"type":"input_audio_buffer.append","event_id":"AAEC","audio":"AAEC"}"#,
            r#"{"type":"conversation.item.create","audio":"AAEC"}"#,
            r#"{"user_audio_chunk":"AAEC","text":"hi"}"#,
            r#"{"realtimeInput":{"audio":{"mimeType":"audio/pcm","data":"AA=="},"text":"hi"}}"#,
            r#"{"realtimeInput":{"audio":{"mimeType":"image/png","data":"AA=="}}}"#,
            r#"{"realtimeInput":{"video":{"mimeType":"audio/pcm","data":"AA=="}}}"#,
            r#"{"realtimeInput":{"audio":{"mimeType":"audio/pcm","data":"AA==","last":true}}}"#,
            r#"{"clientContent":{"audio":{"mimeType":"audio/pcm","data":"AA=="}}}"#,
            r#"["AAEC"]"#,
            "AAEC",
        ] {
            assert_eq!(read(message), None, "{message}");
        }
    }

    #[test]
    fn binary_messages_are_audio_where_the_handshake_says_so() {
        let deepgram = audio("/v1/listen", "model=nova-3");
        let stated = audio("/speech", "encoding=linear16&sample_rate=16000");
        for (audio, is_binary, is_audio) in [
            (&deepgram, true, true),
            (&stated, true, true),
            (&deepgram, false, false),
            (&audio("/v1/realtime", ""), true, false),
            (&audio("/unknown", ""), true, false),
        ] {
            assert_eq!(audio.client_audio(b"\0\xff", is_binary).is_some(), is_audio, "{audio:?}");
        }
        assert_eq!(deepgram.client_audio(br#"{"type":"KeepAlive"}"#, true), None);
        assert_eq!(deepgram.client_audio(b"", true), None);
    }

    #[test]
    fn audio_of_another_form_does_not_continue() {
        let gemini = |media: &str| {
            read(&format!(
                r#"{{"realtimeInput":{{"audio":{{"mimeType":"{media}","data":"AA=="}}}}}}"#
            ))
            .unwrap()
        };
        let numbered = |id: &str| {
            read(&format!(
                r#"{{"event_id":"{id}","type":"input_audio_buffer.append","audio":"AA=="}}"#
            ))
            .unwrap()
        };
        assert!(gemini("audio/pcm;rate=16000").is_continued_by(&gemini("audio/pcm;rate=16000")));
        assert!(!gemini("audio/pcm;rate=16000").is_continued_by(&gemini("audio/pcm;rate=24000")));
        assert!(numbered("a").is_continued_by(&numbered("b")));
        assert!(!numbered("a").is_continued_by(&gemini("audio/pcm")));
    }
}
