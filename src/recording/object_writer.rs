//! Writes an object of the file member by member, in the file's own spelling: as
//! the same members in a value would be written, without that value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::body::{ChunkLayout, ResponsePayload, encode_bytes};
use super::entry_field::milliseconds;
use super::json_style::{write_file_string, write_file_value};
use super::restyle::StyledBody;

/// An object that is being written.
pub(super) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    /// How deep its own bracket is indented.
    level: usize,
    empty: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Begins an object whose lines are indented behind `level`.
    pub(super) fn open(out: &'a mut Vec<u8>, level: usize) -> Self {
        out.push(b'{');
        Self { out, level, empty: true }
    }

    /// Ends it.
    pub(super) fn close(self) {
        if !self.empty {
            line(self.out, self.level);
        }
        self.out.push(b'}');
    }

    /// A member of any value.
    pub(super) fn value(&mut self, name: &str, value: &Value) {
        let level = self.name(name);
        write_file_value(self.out, value, level);
    }

    /// Members of any value.
    pub(super) fn values<'v>(
        &mut self,
        members: impl IntoIterator<Item = (&'v String, &'v Value)>,
    ) {
        members.into_iter().for_each(|(name, value)| self.value(name, value));
    }

    /// A member that is an object again.
    pub(super) fn object(&mut self, name: &str) -> ObjectWriter<'_> {
        let level = self.name(name);
        ObjectWriter::open(self.out, level)
    }

    /// The members that hold a body's bytes: see [`encode_bytes`].
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if let Some(spelled) = StyledBody::detect(bytes) {
            let level = self.name("body");
            spelled.write_file(self.out, level);
            if let Some(style) = spelled.style.name() {
                self.value("style", &style.into());
            }
            return;
        }
        let mut members = serde_json::Map::new();
        encode_bytes(bytes, &mut members);
        self.values(&members);
    }

    /// The members that hold a response's payload: see [`ResponsePayload::encode`].
    pub(super) fn payload(&mut self, payload: &ResponsePayload) {
        match payload.layout {
            _ if payload.is_empty() => {}
            ChunkLayout::Whole => self.bytes(&payload.bytes()),
            ChunkLayout::Frames => {
                let mut members = serde_json::Map::new();
                payload.encode(&mut members);
                self.values(&members);
            }
            ChunkLayout::Chunks => {
                let level = self.name("chunks");
                self.out.push(b'[');
                for (index, chunk) in payload.chunks.iter().enumerate() {
                    if index > 0 {
                        self.out.push(b',');
                    }
                    line(self.out, level + 1);
                    self.out.push(b'[');
                    write_file_value(self.out, &milliseconds(chunk.at_ms), 0);
                    self.out.extend_from_slice(b", ");
                    chunk_data(self.out, &chunk.data);
                    self.out.push(b']');
                }
                line(self.out, level);
                self.out.push(b']');
            }
        }
    }

    /// Begins a member; gives the level of its value.
    fn name(&mut self, name: &str) -> usize {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        line(self.out, self.level + 1);
        write_file_string(self.out, name);
        self.out.extend_from_slice(b": ");
        self.level + 1
    }
}

fn chunk_data(out: &mut Vec<u8>, data: &[u8]) {
    match std::str::from_utf8(data) {
        Ok(text) => write_file_string(out, text),
        Err(_) => {
            out.extend_from_slice(b"{\"base64\": ");
            write_file_string(out, &STANDARD.encode(data));
            out.push(b'}');
        }
    }
}

fn line(out: &mut Vec<u8>, level: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * level, b' ');
}
