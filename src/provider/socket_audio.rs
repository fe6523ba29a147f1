//! Audio in the messages of WebSockets: how much of it there is, and how long it plays.

use std::fmt;

use serde_json::Value;

use super::SocketProtocol;

/// The bytes of a second of OpenAI's usual audio: 16 bits, 24,000 times.
const USUAL: f64 = 48_000.0;
/// The bytes of a second of telephone audio.
const TELEPHONE: f64 = 8_000.0;
/// The ends of paths at which an API hears speech, Deepgram's.
const SPEECH: [&str; 2] = ["/listen", "/agent/converse"];
/// Texts that are shorter are not taken for audio.
const SHORTEST: usize = 16;

/// The audio of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MessageAudio {
    /// How many bytes it has.
    pub bytes: usize,
    /// How many seconds it plays; `None` if its form is not known.
    pub seconds: Option<f64>,
}

/// What is known of the audio of a connection.
#[derive(Clone, Debug)]
pub struct SocketAudio {
    protocol: SocketProtocol,
    /// Whether the client's binary messages are audio.
    is_speech: bool,
    /// The bytes of a second that the client sends, and of one that the server sends.
    rates: [Option<f64>; 2],
}

impl SocketAudio {
    /// Returns what the handshake with this path and query says of audio.
    pub fn of_handshake(path: &str, query: &str) -> Self {
        let protocol = SocketProtocol::of_path(path);
        let rate = match protocol {
            SocketProtocol::Realtime => Some(USUAL),
            SocketProtocol::Responses | SocketProtocol::Other => rate_of_query(query),
        };
        let is_speech = protocol == SocketProtocol::Other
            && (rate.is_some() || SPEECH.iter().any(|end| path.ends_with(end)));
        Self { protocol, is_speech, rates: [rate, rate] }
    }

    /// Whether the client's binary messages are audio.
    pub(super) fn has_binary_audio(&self) -> bool {
        self.is_speech
    }

    /// Returns the audio of a binary message with this many bytes; `None` if nothing says that these
    /// are audio.
    pub fn of_bytes(&self, bytes: usize, is_client: bool) -> Option<MessageAudio> {
        let rate = self.rates[usize::from(!is_client)];
        rate.map(|_| played_audio(bytes, rate))
    }

    /// Returns the audio of a client's message in whose place only this number of bytes is known.
    /// `envelope` is the message without it.
    pub fn of_length(&self, bytes: usize, envelope: &Value) -> MessageAudio {
        let media = find_media(envelope);
        played_audio(bytes, media.map_or(self.rates[0], rate_of_media))
    }

    /// Puts a note in the place of all audio of a message. Returns the audio, if there was any.
    pub fn take_audio(&mut self, message: &mut Value, is_client: bool) -> Option<MessageAudio> {
        self.read_session(message);
        let mut found = None;
        take_from(message, self.rates[usize::from(!is_client)], &mut found);
        found
    }

    /// Reads the form of audio that a session of OpenAI's has.
    fn read_session(&mut self, message: &Value) {
        if self.protocol != SocketProtocol::Realtime {
            return;
        }
        for (rate, side) in self.rates.iter_mut().zip(["input", "output"]) {
            let format = message.pointer(&format!("/session/audio/{side}/format"));
            if let Some(format) = format.filter(|format| format.is_object()) {
                *rate = rate_of_format(format);
            }
        }
    }
}

/// Puts a note in the place of all audio within a value, which has this rate unless it says another.
fn take_from(value: &mut Value, rate: Option<f64>, found: &mut Option<MessageAudio>) {
    match value {
        Value::Object(members) => {
            let word = |name: &str| members.get(name).and_then(Value::as_str);
            let is_delta = word("type").is_some_and(|name| name.ends_with("audio.delta"));
            let media = word("mimeType").or(word("mime_type")).map(str::to_owned);
            for (name, member) in members {
                let of_media = || media.as_deref().filter(|_| name == "data");
                let is_media = || of_media().is_some_and(|media| media.starts_with("audio/"));
                let is_audio = name == "audio" || is_delta && name == "delta" || is_media();
                match member {
                    Value::String(text) if is_audio => {
                        let Some(bytes) = decoded_length(text) else { continue };
                        let rate = of_media().map_or(rate, rate_of_media);
                        let audio = played_audio(bytes, rate);
                        *text = audio.to_string();
                        found.get_or_insert_default().add(audio);
                    }
                    member => take_from(member, rate, found),
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| take_from(item, rate, found));
        }
        _ => {}
    }
}

/// Returns the media type that a value states.
fn find_media(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => {
            let stated = members.get("mimeType").or_else(|| members.get("mime_type"));
            stated.and_then(Value::as_str).or_else(|| members.values().find_map(find_media))
        }
        Value::Array(items) => items.iter().find_map(find_media),
        _ => None,
    }
}

fn played_audio(bytes: usize, rate: Option<f64>) -> MessageAudio {
    MessageAudio { bytes, seconds: rate.map(|rate| bytes as f64 / rate) }
}

impl MessageAudio {
    /// Adds audio that follows.
    fn add(&mut self, other: Self) {
        let is_first = self.bytes == 0;
        self.bytes += other.bytes;
        self.seconds = match (self.seconds, other.seconds) {
            (None, seconds) if is_first => seconds,
            (Some(seconds), Some(more)) => Some(seconds + more),
            _ => None,
        };
    }
}

/// What is shown in the place of audio.
impl fmt::Display for MessageAudio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds {
            Some(seconds) => write!(f, "(audio: {} bytes, {seconds:.2} s)", self.bytes),
            None => write!(f, "(audio: {} bytes)", self.bytes),
        }
    }
}

/// Returns how many bytes a text of base64 is; `None` for another text.
fn decoded_length(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches('=').as_bytes();
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    (digits.len() >= SHORTEST && digits.iter().all(is_digit)).then_some(digits.len() * 3 / 4)
}

/// Returns the bytes of a second in a format of OpenAI's, if that is known.
fn rate_of_format(format: &Value) -> Option<f64> {
    match format.get("type")?.as_str()? {
        "audio/pcm" => {
            Some(format.get("rate").and_then(Value::as_f64).map_or(USUAL, |rate| rate * 2.0))
        }
        "audio/pcmu" | "audio/pcma" => Some(TELEPHONE),
        _ => None,
    }
}

/// Returns the bytes of a second of a media type such as `audio/pcm;rate=16000`.
fn rate_of_media(media: &str) -> Option<f64> {
    let rest = media.strip_prefix("audio/pcm")?;
    let rate = rest.split(';').find_map(|part| part.trim().strip_prefix("rate="))?;
    rate.parse::<f64>().ok().filter(|rate| *rate >= 1.0).map(|rate| rate * 2.0)
}

/// Returns the bytes of a second that the query of a handshake states, as Deepgram's does.
fn rate_of_query(query: &str) -> Option<f64> {
    let value = |wanted: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(name, value)| (name == wanted).then_some(value))
    };
    let width = match value("encoding")? {
        "linear16" => 2.0,
        "mulaw" | "alaw" => 1.0,
        _ => return None,
    };
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 1.0);
    Some(number(value("sample_rate")?)? * value("channels").map_or(Some(1.0), number)? * width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn base64(bytes: usize) -> String {
        format!(
            "{}{}",
            "A".repeat(bytes.div_ceil(3) * 4 - (3 - bytes % 3) % 3),
            "=".repeat((3 - bytes % 3) % 3)
        )
    }

    #[test]
    fn audio_of_each_api_has_its_length_and_its_time() {
        let realtime = SocketAudio::of_handshake("/v1/realtime", "model=m");
        let gemini = SocketAudio::of_handshake("/ws/google.ai.Live", "");
        for (audio, is_client, mut message, bytes, seconds) in [
            (
                &realtime,
                true,
                json!({ "type": "input_audio_buffer.append", "audio": base64(48_000) }),
                48_000,
                Some(1.0),
            ),
            (
                &realtime,
                false,
                json!({ "type": "response.output_audio.delta", "delta": base64(24_000) }),
                24_000,
                Some(0.5),
            ),
            (
                &realtime,
                true,
                json!({ "item": { "content": [
                { "type": "input_audio", "audio": base64(12_001) }, { "audio": base64(11_999) }] } }),
                24_000,
                Some(0.5),
            ),
            (
                &gemini,
                true,
                json!({ "realtimeInput": { "audio": { "mimeType": "audio/pcm;rate=16000", "data": base64(32_000) } } }),
                32_000,
                Some(1.0),
            ),
            (
                &gemini,
                false,
                json!({ "serverContent": { "parts": [{ "inlineData": { "mimeType": "audio/pcm", "data": base64(600) } }] } }),
                600,
                None,
            ),
            (&gemini, false, json!({ "audio": base64(500), "isFinal": false }), 500, None),
        ] {
            let found = audio.clone().take_audio(&mut message, is_client);
            assert_eq!(found, Some(MessageAudio { bytes, seconds }), "{message}");
            assert!(message.to_string().len() < 250, "{message}");
            assert!(message.to_string().contains("(audio: "), "{message}");
        }
    }

    #[test]
    fn session_says_the_form_of_audio() {
        let mut audio = SocketAudio::of_handshake("/v1/realtime", "");
        let format =
            |format: Value| json!({ "session": { "audio": { "input": { "format": format } } } });
        for (stated, seconds) in [
            (json!({ "type": "audio/pcmu" }), Some(6.0)),
            (json!({ "type": "audio/pcm", "rate": 12_000 }), Some(2.0)),
            (json!({ "type": "audio/opus" }), None),
        ] {
            assert_eq!(audio.take_audio(&mut format(stated), false), None);
            let mut sent = json!({ "audio": base64(48_000) });
            assert_eq!(audio.take_audio(&mut sent, true).unwrap().seconds, seconds);
        }
        let mut heard = json!({ "type": "response.output_audio.delta", "delta": base64(48_000) });
        assert_eq!(audio.take_audio(&mut heard, false).unwrap().seconds, Some(1.0));
        let query = "model=nova&encoding=linear16&sample_rate=16000&channels=2";
        let speech = SocketAudio::of_handshake("/v1/listen", query);
        assert_eq!(speech.of_bytes(64_000, true).unwrap().seconds, Some(1.0));
        assert_eq!(SocketAudio::of_handshake("/v1/listen", "model=m").of_bytes(9, true), None);
    }

    #[test]
    fn words_are_no_audio() {
        let mut audio = SocketAudio::of_handshake("/v1/realtime", "");
        for message in [
            json!({ "type": "response.output_text.delta", "delta": "AAAAAAAAAAAAAAAAAAAAAAAA" }),
            json!({ "type": "response.output_audio.delta", "delta": "not, as it seems, audio" }),
            json!({ "audio": { "voice": "alloy" }, "data": "AAAAAAAAAAAAAAAAAAAAAAAA" }),
            json!({ "mimeType": "image/png", "data": "AAAAAAAAAAAAAAAAAAAAAAAA" }),
            json!(["audio", null, 1]),
        ] {
            let mut taken = message.clone();
            assert_eq!(audio.take_audio(&mut taken, true), None);
            assert_eq!(taken, message);
        }
    }
}
