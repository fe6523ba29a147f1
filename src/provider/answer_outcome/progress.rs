//! What the events of a stream say of its outcome, one after the other.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::error_text::{error_in, object_text, with_json};
use crate::framing::StreamEvent;
use crate::json_view::member_text;
use loomrec_identity::Json;

/// Takes the data of an event into the progress of its stream.
pub(crate) type TakeData = fn(&mut StreamProgress, &AnswerEvent<'_>);

/// What is known of a stream after some of its events.
#[derive(Debug, Default)]
pub(crate) struct StreamProgress {
    /// Whether an event that was not cut carried data.
    pub(super) has_data: bool,
    /// Whether an event is one of the operation's.
    pub(super) is_known: bool,
    /// Whether the end mark has come.
    pub(super) is_ended: bool,
    /// The choices that have begun, and those that have a finish reason.
    open: BTreeSet<u64>,
    finished: BTreeSet<u64>,
    /// The text of the first error.
    pub(super) failure: Option<String>,
}

/// The data of an event, read only as far as necessary.
pub(crate) struct AnswerEvent<'a> {
    /// The event's type, if the framing has one.
    pub(crate) name: Option<&'a str>,
    /// The data.
    pub(crate) bytes: &'a [u8],
}

impl StreamProgress {
    /// Notes that the event is one of the operation's.
    pub(crate) fn note_known(&mut self) {
        self.is_known = true;
    }

    /// Notes the end mark.
    pub(crate) fn note_end(&mut self) {
        (self.is_known, self.is_ended) = (true, true);
    }

    /// Notes a piece of a choice, and whether it has the choice's finish reason. A stream whose
    /// choices all have one has ended.
    pub(crate) fn note_choice(&mut self, index: u64, is_finished: bool) {
        self.is_known = true;
        self.open.insert(index);
        if is_finished {
            self.finished.insert(index);
        }
    }

    /// Notes an error with this text.
    pub(crate) fn note_failure(&mut self, text: impl Into<String>) {
        self.is_known = true;
        self.failure.get_or_insert_with(|| text.into());
    }

    /// Whether the stream has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.is_ended || (!self.open.is_empty() && self.open.is_subset(&self.finished))
    }

    /// Takes an event. `take_data` takes the data of one that reports no failure by its name.
    pub(super) fn take_event(&mut self, take_data: Option<TakeData>, event: &StreamEvent<'_>) {
        if event.failed {
            self.note_failure(failed_event(event));
        }
        let Some(data) = event.data.as_deref().filter(|_| !event.failed) else { return };
        self.has_data |= event.finished && !data.trim_ascii().is_empty();
        let data = AnswerEvent { name: event.name, bytes: data };
        if matches!(event.name, Some("error" | "response.failed")) {
            return self.note_failure(data.error_text());
        }
        if let Some(take) = take_data {
            take(self, &data);
        }
    }
}

impl AnswerEvent<'_> {
    /// Whether the data is OpenAI's end marker, `[DONE]`.
    pub(crate) fn is_done(&self) -> bool {
        self.bytes.trim_ascii() == b"[DONE]"
    }

    /// Reads the data; `None` if it is not JSON.
    pub(crate) fn read_json<T>(&self, read: impl FnOnce(&Json<'_>) -> T) -> Option<T> {
        with_json(self.bytes, read)
    }

    /// The event's kind: the member `type` of its data, else its name; empty if it has neither.
    pub(crate) fn kind(&self) -> Cow<'_, str> {
        if let Some(kind) = self.leading_type() {
            return Cow::Borrowed(kind);
        }
        let named = self.read_json(|json| member_text(json, "type").map(Cow::into_owned)).flatten();
        named.map(Cow::Owned).or(self.name.map(Cow::Borrowed)).unwrap_or_default()
    }

    /// The member `type`, if it is the first one, as most providers write it.
    fn leading_type(&self) -> Option<&str> {
        let rest = self.bytes.trim_ascii_start().strip_prefix(b"{\"type\":")?;
        let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr::memchr2(b'"', b'\\', rest).filter(|end| rest[*end] == b'"')?;
        std::str::from_utf8(&rest[..end]).ok()
    }

    /// The text of the error that the data is; empty if it says nothing.
    pub(crate) fn error_text(&self) -> String {
        let text = self.read_json(|json| error_in(json).or_else(|| object_text(json)));
        match text {
            Some(text) => text.unwrap_or_default(),
            None => String::from_utf8_lossy(self.bytes).into_owned(),
        }
    }
}

/// Takes an event whose kind says everything: one of `ends` ends the stream.
pub(crate) fn typed_events(progress: &mut StreamProgress, event: &AnswerEvent<'_>, ends: &[&str]) {
    let kind = event.kind();
    if ends.contains(&&*kind) {
        progress.note_end();
    } else if kind == "error" {
        progress.note_failure(event.error_text());
    } else if kind.is_empty() {
        if let Some(text) = event.read_json(error_in).flatten() {
            progress.note_failure(text);
        }
    } else {
        progress.note_known();
    }
}

/// The text of an event that the framing marks as an error.
fn failed_event(event: &StreamEvent<'_>) -> String {
    let data = event.data.as_deref().unwrap_or_default();
    let text = AnswerEvent { name: None, bytes: data }.error_text();
    match (event.name, text.as_str()) {
        (None, "") => "a message of its stream is damaged".to_owned(),
        (None, text) => text.to_owned(),
        (Some(name), "") => name.to_owned(),
        (Some(name), text) => format!("{name}: {text}"),
    }
}
