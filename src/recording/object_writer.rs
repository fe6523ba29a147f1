//! Writers of JSON objects, member by member: into a value, or straight into text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::body::{Chunk, encode_bytes};
use super::entry_field::{float_json, milliseconds_json, normalize_float, round_milliseconds};
use super::json_style::{JsonStyle, write_file_string, write_file_value};
use super::restyle::StyledBody;

/// An object that is being written. No member may be written twice.
pub(super) trait ObjectSink {
    /// Writes a member of any value.
    fn write_value(&mut self, name: &str, value: &Value);
    /// Writes a string.
    fn write_text(&mut self, name: &str, text: &str);
    /// Writes a finite number.
    fn write_number(&mut self, name: &str, number: f64);
    /// Writes a count.
    fn write_count(&mut self, name: &str, count: u64);
    /// Writes a non-empty list of lists of finite numbers.
    fn write_rows(&mut self, name: &str, rows: &[Vec<f64>]);
    /// Writes an object.
    fn write_object(&mut self, name: &str, write: impl FnOnce(&mut Self));
    /// Writes a non-empty list of objects.
    fn write_objects<T>(&mut self, name: &str, items: &[T], write: impl Fn(&mut Self, &T));
    /// Writes headers in order, with repeats.
    fn write_headers(&mut self, name: &str, headers: &[(String, String)]);
    /// Writes the members that hold a body's bytes: see [`encode_bytes`].
    fn write_body(&mut self, bytes: &[u8]);
    /// Writes a list of chunks.
    fn write_chunks(&mut self, name: &str, chunks: &[Chunk]);
    /// Whether bodies are written.
    fn has_bodies(&self) -> bool {
        true
    }
}

impl ObjectSink for Map<String, Value> {
    fn write_value(&mut self, name: &str, value: &Value) {
        self.insert(name.to_owned(), value.clone());
    }

    fn write_text(&mut self, name: &str, text: &str) {
        self.insert(name.to_owned(), text.into());
    }

    fn write_number(&mut self, name: &str, number: f64) {
        self.insert(name.to_owned(), float_json(number));
    }

    fn write_count(&mut self, name: &str, count: u64) {
        self.insert(name.to_owned(), count.into());
    }

    fn write_rows(&mut self, name: &str, rows: &[Vec<f64>]) {
        let row =
            |row: &Vec<f64>| -> Value { row.iter().map(|&number| float_json(number)).collect() };
        self.insert(name.to_owned(), rows.iter().map(row).collect());
    }

    fn write_object(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::new();
        write(&mut inner);
        self.insert(name.to_owned(), inner.into());
    }

    fn write_objects<T>(&mut self, name: &str, items: &[T], write: impl Fn(&mut Self, &T)) {
        let object = |item| {
            let mut inner = Self::new();
            write(&mut inner, item);
            Value::Object(inner)
        };
        self.insert(name.to_owned(), items.iter().map(object).collect());
    }

    fn write_headers(&mut self, name: &str, headers: &[(String, String)]) {
        self.insert(name.to_owned(), headers_json(headers));
    }

    fn write_body(&mut self, bytes: &[u8]) {
        encode_bytes(bytes, self);
    }

    fn write_chunks(&mut self, name: &str, chunks: &[Chunk]) {
        let row = |chunk: &Chunk| {
            let data = match std::str::from_utf8(&chunk.data) {
                Ok(text) => Value::from(text),
                Err(_) => serde_json::json!({ "base64": STANDARD.encode(&chunk.data) }),
            };
            Value::Array(vec![milliseconds_json(chunk.at_ms), data])
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
        Self { out, layout: Layout::File(level), empty: true }.write_braces(write);
    }

    /// Writes an object without white space and without bodies.
    pub(super) fn write_head(out: &'a mut Vec<u8>, write: impl FnOnce(&mut Self)) {
        Self { out, layout: Layout::Head, empty: true }.write_braces(write);
    }

    /// Writes the brackets of an object around its members.
    fn write_braces(&mut self, write: impl FnOnce(&mut Self)) {
        self.out.push(b'{');
        let outer = std::mem::replace(&mut self.empty, true);
        write(self);
        if !std::mem::replace(&mut self.empty, outer) {
            self.write_line_break(0);
        }
        self.out.push(b'}');
    }

    /// Writes a member that is a list, with each item on its own line.
    fn write_list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.begin_member(name);
        self.out.push(b'[');
        self.write_indented(|out| {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.out.push(b',');
                }
                out.write_line_break(1);
                out.write_indented(|out| write(out, item));
            }
            if !items.is_empty() {
                out.write_line_break(0);
            }
        });
        self.out.push(b']');
    }

    /// Runs `write` with one more level of indentation.
    fn write_indented(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = self.layout;
        if let Layout::File(level) = outer {
            self.layout = Layout::File(level + 1);
        }
        write(self);
        self.layout = outer;
    }

    /// Begins a member; its value is indented by one level more.
    fn begin_member(&mut self, name: &str) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.write_line_break(1);
        write_file_string(self.out, name);
        self.out.extend_from_slice(match self.layout {
            Layout::File(_) => b": ",
            Layout::Head => b":",
        });
    }

    /// Begins a line that is indented by `more` levels.
    fn write_line_break(&mut self, more: usize) {
        if let Layout::File(level) = self.layout {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * (level + more), b' ');
        }
    }

    /// Writes the separator between items of a list on one line.
    fn write_comma(&mut self) {
        self.out.extend_from_slice(match self.layout {
            Layout::File(_) => b", ",
            Layout::Head => b",",
        });
    }

    fn write_digits(&mut self, number: impl serde::Serialize) {
        // Writing a finite number into a vector cannot fail.
        let _ = serde_json::to_writer(&mut *self.out, &number);
    }

    fn write_pairs(&mut self, name: &str, headers: &[(String, String)]) {
        self.write_list(name, headers, |out, (name, value)| {
            out.out.push(b'[');
            write_file_string(out.out, name);
            out.write_comma();
            write_file_string(out.out, value);
            out.out.push(b']');
        });
    }
}

impl ObjectSink for ObjectWriter<'_> {
    fn write_value(&mut self, name: &str, value: &Value) {
        self.begin_member(name);
        match self.layout {
            Layout::File(level) => write_file_value(self.out, value, level + 1),
            Layout::Head => self.out.extend_from_slice(&JsonStyle::PLAIN.value_text(value)),
        }
    }

    fn write_text(&mut self, name: &str, text: &str) {
        self.begin_member(name);
        write_file_string(self.out, text);
    }

    fn write_number(&mut self, name: &str, number: f64) {
        self.begin_member(name);
        self.write_digits(number);
    }

    fn write_count(&mut self, name: &str, count: u64) {
        self.begin_member(name);
        self.write_digits(count);
    }

    fn write_rows(&mut self, name: &str, rows: &[Vec<f64>]) {
        self.write_list(name, rows, |out, row| {
            out.out.push(b'[');
            for (index, number) in row.iter().enumerate() {
                if index > 0 {
                    out.write_comma();
                }
                out.write_digits(normalize_float(*number));
            }
            out.out.push(b']');
        });
    }

    fn write_object(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.begin_member(name);
        self.write_indented(|out| out.write_braces(write));
    }

    fn write_objects<T>(&mut self, name: &str, items: &[T], write: impl Fn(&mut Self, &T)) {
        self.write_list(name, items, |out, item| out.write_braces(|out| write(out, item)));
    }

    fn write_headers(&mut self, name: &str, headers: &[(String, String)]) {
        match self.layout {
            Layout::Head => self.write_pairs(name, headers),
            Layout::File(_) => self.write_value(name, &headers_json(headers)),
        }
    }

    fn write_body(&mut self, bytes: &[u8]) {
        let Layout::File(level) = self.layout else { return };
        if let Some(styled) = StyledBody::detect(bytes) {
            self.begin_member("body");
            styled.write_file(self.out, level + 1);
            if let Some(style) = styled.style.name() {
                self.write_text("style", &style);
            }
            return;
        }
        let mut members = Map::new();
        encode_bytes(bytes, &mut members);
        members.iter().for_each(|(name, value)| self.write_value(name, value));
    }

    fn write_chunks(&mut self, name: &str, chunks: &[Chunk]) {
        self.write_list(name, chunks, |out, chunk| {
            out.out.push(b'[');
            out.write_digits(round_milliseconds(chunk.at_ms));
            out.write_comma();
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
