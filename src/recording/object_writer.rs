//! Writers of JSON objects, member by member: into a value, or straight into text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::body::{Chunk, encode_bytes};
use super::entry_field::{decimal, finite, milliseconds, rounded};
use super::json_style::{JsonStyle, write_file_string, write_file_value};
use super::restyle::StyledBody;

/// An object that is being written. No member may be written twice.
pub(super) trait ObjectSink {
    /// Writes a member of any value.
    fn value(&mut self, name: &str, value: &Value);
    /// Writes a string.
    fn text(&mut self, name: &str, text: &str);
    /// Writes a finite number.
    fn number(&mut self, name: &str, number: f64);
    /// Writes a count.
    fn count(&mut self, name: &str, count: u64);
    /// Writes a non-empty list of lists of finite numbers.
    fn rows(&mut self, name: &str, rows: &[Vec<f64>]);
    /// Writes an object.
    fn object(&mut self, name: &str, write: impl FnOnce(&mut Self));
    /// Writes a non-empty list of objects.
    fn objects<T>(&mut self, name: &str, items: &[T], write: impl Fn(&mut Self, &T));
    /// Writes headers in order, with repeats.
    fn headers(&mut self, name: &str, headers: &[(String, String)]);
    /// Writes the members that hold a body's bytes: see [`encode_bytes`].
    fn body(&mut self, bytes: &[u8]);
    /// Writes a list of chunks.
    fn chunks(&mut self, name: &str, chunks: &[Chunk]);
    /// Whether bodies are written.
    fn has_bodies(&self) -> bool {
        true
    }
}

impl ObjectSink for Map<String, Value> {
    fn value(&mut self, name: &str, value: &Value) {
        self.insert(name.to_owned(), value.clone());
    }

    fn text(&mut self, name: &str, text: &str) {
        self.insert(name.to_owned(), text.into());
    }

    fn number(&mut self, name: &str, number: f64) {
        self.insert(name.to_owned(), decimal(number));
    }

    fn count(&mut self, name: &str, count: u64) {
        self.insert(name.to_owned(), count.into());
    }

    fn rows(&mut self, name: &str, rows: &[Vec<f64>]) {
        let row = |row: &Vec<f64>| -> Value { row.iter().map(|&number| decimal(number)).collect() };
        self.insert(name.to_owned(), rows.iter().map(row).collect());
    }

    fn object(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::new();
        write(&mut inner);
        self.insert(name.to_owned(), inner.into());
    }

    fn objects<T>(&mut self, name: &str, items: &[T], write: impl Fn(&mut Self, &T)) {
        let object = |item| {
            let mut inner = Self::new();
            write(&mut inner, item);
            Value::Object(inner)
        };
        self.insert(name.to_owned(), items.iter().map(object).collect());
    }

    fn headers(&mut self, name: &str, headers: &[(String, String)]) {
        self.insert(name.to_owned(), headers_json(headers));
    }

    fn body(&mut self, bytes: &[u8]) {
        encode_bytes(bytes, self);
    }

    fn chunks(&mut self, name: &str, chunks: &[Chunk]) {
        let row = |chunk: &Chunk| {
            let data = match std::str::from_utf8(&chunk.data) {
                Ok(text) => Value::from(text),
                Err(_) => serde_json::json!({ "base64": STANDARD.encode(&chunk.data) }),
            };
            Value::Array(vec![milliseconds(chunk.at_ms), data])
        };
        self.insert(name.to_owned(), chunks.iter().map(row).collect());
    }
}

/// Returns headers as an object, or as a list of pairs if a name repeats. Both keep the order.
fn headers_json(headers: &[(String, String)]) -> Value {
    let object: Map<String, Value> =
        headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    if object.len() == headers.len() {
        return Value::Object(object);
    }
    let pair = |(name, value): &(String, String)| Value::from([name.as_str(), value.as_str()]);
    headers.iter().map(pair).collect()
}

/// Writes the text of an object without building a value. The text is the same as that of a value
/// with the same members.
pub(super) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    layout: Layout,
    empty: bool,
}

/// How an object's text is laid out.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// The file's own style. The object's closing bracket is indented by this many levels.
    File(usize),
    /// Without white space and without bodies. Headers are pairs.
    Head,
}

impl<'a> ObjectWriter<'a> {
    /// Writes an object in the recording file's style, with its lines indented for `level`.
    pub(super) fn write_file(out: &'a mut Vec<u8>, level: usize, write: impl FnOnce(&mut Self)) {
        Self { out, layout: Layout::File(level), empty: true }.braces(write);
    }

    /// Writes an object without white space and without bodies.
    pub(super) fn write_head(out: &'a mut Vec<u8>, write: impl FnOnce(&mut Self)) {
        Self { out, layout: Layout::Head, empty: true }.braces(write);
    }

    /// Writes the brackets of an object around its members.
    fn braces(&mut self, write: impl FnOnce(&mut Self)) {
        self.out.push(b'{');
        let outer = std::mem::replace(&mut self.empty, true);
        write(self);
        if !std::mem::replace(&mut self.empty, outer) {
            self.line(0);
        }
        self.out.push(b'}');
    }

    /// Writes a member that is a list, with each item on its own line.
    fn list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.name(name);
        self.out.push(b'[');
        self.deeper(|out| {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.out.push(b',');
                }
                out.line(1);
                out.deeper(|out| write(out, item));
            }
            if !items.is_empty() {
                out.line(0);
            }
        });
        self.out.push(b']');
    }

    /// Runs `write` with one more level of indentation.
    fn deeper(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = self.layout;
        if let Layout::File(level) = outer {
            self.layout = Layout::File(level + 1);
        }
        write(self);
        self.layout = outer;
    }

    /// Begins a member; its value is indented by one level more.
    fn name(&mut self, name: &str) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.line(1);
        write_file_string(self.out, name);
        self.out.extend_from_slice(match self.layout {
            Layout::File(_) => b": ",
            Layout::Head => b":",
        });
    }

    /// Begins a line that is indented by `more` levels.
    fn line(&mut self, more: usize) {
        if let Layout::File(level) = self.layout {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * (level + more), b' ');
        }
    }

    /// Writes the separator between items of a list on one line.
    fn comma(&mut self) {
        self.out.extend_from_slice(match self.layout {
            Layout::File(_) => b", ",
            Layout::Head => b",",
        });
    }

    fn digits(&mut self, number: impl serde::Serialize) {
        // Writing a finite number into a vector cannot fail.
        let _ = serde_json::to_writer(&mut *self.out, &number);
    }

    fn pairs(&mut self, name: &str, headers: &[(String, String)]) {
        self.list(name, headers, |out, (name, value)| {
            out.out.push(b'[');
            write_file_string(out.out, name);
            out.comma();
            write_file_string(out.out, value);
            out.out.push(b']');
        });
    }
}

impl ObjectSink for ObjectWriter<'_> {
    fn value(&mut self, name: &str, value: &Value) {
        self.name(name);
        match self.layout {
            Layout::File(level) => write_file_value(self.out, value, level + 1),
            Layout::Head => self.out.extend_from_slice(&JsonStyle::PLAIN.write(value)),
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        write_file_string(self.out, text);
    }

    fn number(&mut self, name: &str, number: f64) {
        self.name(name);
        self.digits(number);
    }

    fn count(&mut self, name: &str, count: u64) {
        self.name(name);
        self.digits(count);
    }

    fn rows(&mut self, name: &str, rows: &[Vec<f64>]) {
        self.list(name, rows, |out, row| {
            out.out.push(b'[');
            for (index, number) in row.iter().enumerate() {
                if index > 0 {
                    out.comma();
                }
                out.digits(finite(*number));
            }
            out.out.push(b']');
        });
    }

    fn object(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.name(name);
        self.deeper(|out| out.braces(write));
    }

    fn objects<T>(&mut self, name: &str, items: &[T], write: impl Fn(&mut Self, &T)) {
        self.list(name, items, |out, item| out.braces(|out| write(out, item)));
    }

    fn headers(&mut self, name: &str, headers: &[(String, String)]) {
        match self.layout {
            Layout::Head => self.pairs(name, headers),
            Layout::File(_) => self.value(name, &headers_json(headers)),
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        let Layout::File(level) = self.layout else { return };
        if let Some(styled) = StyledBody::detect(bytes) {
            self.name("body");
            styled.write_file(self.out, level + 1);
            if let Some(style) = styled.style.name() {
                self.text("style", &style);
            }
            return;
        }
        let mut members = Map::new();
        encode_bytes(bytes, &mut members);
        members.iter().for_each(|(name, value)| self.value(name, value));
    }

    fn chunks(&mut self, name: &str, chunks: &[Chunk]) {
        self.list(name, chunks, |out, chunk| {
            out.out.push(b'[');
            out.digits(rounded(chunk.at_ms));
            out.comma();
            match std::str::from_utf8(&chunk.data) {
                Ok(text) => write_file_string(out.out, text),
                Err(_) => {
                    out.out.extend_from_slice(b"{\"base64\": ");
                    write_file_string(out.out, &STANDARD.encode(&chunk.data));
                    out.out.push(b'}');
                }
            }
            out.out.push(b']');
        });
    }

    fn has_bodies(&self) -> bool {
        matches!(self.layout, Layout::File(_))
    }
}
