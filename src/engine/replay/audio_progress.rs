//! How much of the recorded audio a client has sent: its bytes count, not how they are cut into
//! messages.

use bytes::Bytes;

use super::message_order::index_of;
use loomrec_provider::{ClientAudio, SocketAudio};
use loomrec_recording::{AudioDigest, AudioNote, MessageSender, RecordedMessage};

/// The audio that a client has sent since its last other message.
#[derive(Clone, Debug, Default)]
pub(super) struct AudioProgress {
    /// Its form; `None` if the client's last message was another, or it has sent none.
    form: Option<ClientAudio>,
    /// The digest of all of it.
    digest: AudioDigest,
    /// How many bytes of it are known to be the recorded ones.
    same: u64,
    /// How many bytes of the expected message have arrived.
    arrived: u64,
    /// The audio of the expected message, if the recording holds it and a part has arrived.
    expected: Option<Bytes>,
}

/// The recorded audio of one message.
enum RecordedAudio {
    Held(Bytes),
    Noted(AudioNote),
}

impl AudioProgress {
    /// Whether only a part of a recorded message has arrived.
    pub(super) fn is_within_message(&self) -> bool {
        self.arrived > 0
    }

    /// How many bytes since the client's last other message are known to be the recorded ones; `None`
    /// if that message was the last.
    pub(super) fn same_bytes(&self) -> Option<u64> {
        self.form.is_some().then_some(self.same)
    }

    /// Takes audio. Returns the index of the client's message that is expected next.
    ///
    /// # Errors
    /// The index of the recorded message that differs; the number of messages if no further one was
    /// recorded.
    pub(super) fn accept_audio(
        &mut self,
        messages: &[RecordedMessage],
        mut index: usize,
        now: &ClientAudio,
        audio: &SocketAudio,
    ) -> Result<usize, usize> {
        let mut rest = &now.bytes[..];
        while !rest.is_empty() {
            let recorded = messages.get(index).ok_or(index)?;
            let found = self.expected_audio(recorded, audio).ok_or(index)?;
            if !self.form.as_ref().is_some_and(|form| form.is_continued_by(now)) {
                return Err(index);
            }
            let length = match &found {
                RecordedAudio::Held(bytes) => bytes.len() as u64,
                RecordedAudio::Noted(note) => note.bytes,
            };
            let left = usize::try_from(length - self.arrived).unwrap_or(usize::MAX);
            let part;
            (part, rest) = rest.split_at(left.min(rest.len()));
            self.digest.add(part);
            if let RecordedAudio::Held(bytes) = &found {
                let from = usize::try_from(self.arrived).unwrap_or(usize::MAX);
                let same = bytes.iter().skip(from).zip(part).take_while(|(old, new)| old == new);
                let same = same.count();
                self.same += same as u64;
                if same < part.len() {
                    return Err(index);
                }
            }
            self.arrived += part.len() as u64;
            if self.arrived == length {
                if let RecordedAudio::Noted(note) = found {
                    if note.sha256 != self.digest.hex_digits() {
                        return Err(index);
                    }
                    self.same += note.bytes;
                }
                (self.arrived, self.expected) = (0, None);
                index = index_of(MessageSender::Client, messages, index + 1);
            }
        }
        Ok(index)
    }

    /// Returns the audio of the expected message; `None` if it is something else. With audio of another
    /// form, counting begins anew.
    fn expected_audio(
        &mut self,
        message: &RecordedMessage,
        audio: &SocketAudio,
    ) -> Option<RecordedAudio> {
        if let Some(bytes) = &self.expected {
            return Some(RecordedAudio::Held(bytes.clone()));
        }
        let ClientAudio { envelope, bytes } = message.client_audio(audio)?;
        let form = ClientAudio { envelope, bytes: Vec::new() };
        if !self.form.as_ref().is_some_and(|before| before.is_continued_by(&form)) {
            *self = Self { form: Some(form), ..Self::default() };
        }
        Some(match &message.audio {
            Some(note) => RecordedAudio::Noted(note.clone()),
            None => {
                let bytes = Bytes::from(bytes);
                self.expected = Some(bytes.clone());
                RecordedAudio::Held(bytes)
            }
        })
    }
}
