//! The entries of a scripted call, sorted by how an answer uses them.

use bytes::Bytes;

use crate::entry::ScriptEntry;
use crate::failure::ScriptFailure;
use loomrec_provider::{Answer, AnswerPart, TokenUsage};

/// The entries of a scripted call.
pub(super) struct CallContent<'a> {
    pub(super) parts: Vec<AnswerPart<'a>>,
    /// When each part is due, in milliseconds.
    pub(super) due: Vec<f64>,
    /// What comes between the parts of a stream.
    pub(super) inserts: Vec<StreamInsert<'a>>,
    /// The error that the call fails with. It is then all of the answer.
    pub(super) failure: Option<&'a ScriptFailure>,
    pub(super) request_id: Option<&'a str>,
    /// When everything has been said.
    pub(super) end: f64,
    /// Whether a stream has its regular end.
    pub(super) ends_well: bool,
    usage: Option<TokenUsage>,
    finish: Option<&'a str>,
    model: Option<&'a str>,
}

/// Something between the parts of a stream.
pub(super) struct StreamInsert<'a> {
    /// The number of parts before it.
    pub(super) parts_before: usize,
    pub(super) due: f64,
    pub(super) what: Inserted<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Inserted<'a> {
    /// Bytes, unchanged.
    Bytes(&'a Bytes),
    /// An error.
    Error(&'a ScriptFailure),
}

impl<'a> CallContent<'a> {
    /// Sorts the entries for a complete answer or a stream.
    pub(super) fn new(entries: &'a [ScriptEntry], streamed: bool) -> Self {
        let mut call = Self {
            parts: Vec::new(),
            due: Vec::new(),
            inserts: Vec::new(),
            failure: None,
            request_id: None,
            end: 0.0,
            ends_well: true,
            usage: None,
            finish: None,
            model: None,
        };
        let mut places = vec![0; entries.len()];
        for (index, entry) in entries.iter().enumerate() {
            places[index] = call.parts.len();
            call.add_entry(entry, &places);
            if let ScriptEntry::Error(failure) = entry
                && call.fails_with(failure, streamed)
            {
                call.failure = Some(failure);
                break;
            }
        }
        let id = |entry: &'a ScriptEntry| match entry {
            ScriptEntry::RequestId(id) => Some(&**id),
            _ => None,
        };
        call.request_id = entries.iter().rev().find_map(id);
        call
    }

    /// Takes an entry. `places` are the places of earlier entries among the parts.
    fn add_entry(&mut self, entry: &'a ScriptEntry, places: &[usize]) {
        match entry {
            ScriptEntry::Text(text) => self.add_part(AnswerPart::Text(text)),
            ScriptEntry::ToolCall { id, name, arguments } => {
                self.add_part(AnswerPart::Call { id, name, arguments });
            }
            ScriptEntry::ToolCallDelta { call, text } => {
                self.add_part(AnswerPart::Arguments { call: places[*call], text });
            }
            ScriptEntry::Usage(usage) => self.usage = Some(*usage),
            ScriptEntry::RawChunk(bytes) => self.insert(Inserted::Bytes(bytes)),
            ScriptEntry::Finish(reason) => {
                self.finish = Some(reason);
                self.ends_well = true;
            }
            ScriptEntry::Delay(ms) => self.end += ms,
            ScriptEntry::Model(model) => self.model = Some(model),
            ScriptEntry::Error(_) | ScriptEntry::RequestId(_) => {}
        }
    }

    /// Takes an error: returns whether the call fails with it. Otherwise it comes in the stream.
    fn fails_with(&mut self, failure: &'a ScriptFailure, streamed: bool) -> bool {
        let nothing_said = self.parts.is_empty() && self.inserts.is_empty();
        if !streamed || (nothing_said && !failure.is_event) {
            return true;
        }
        self.insert(Inserted::Error(failure));
        self.ends_well = false;
        false
    }

    fn add_part(&mut self, part: AnswerPart<'a>) {
        self.parts.push(part);
        self.due.push(self.end);
        self.ends_well = true;
    }

    fn insert(&mut self, what: Inserted<'a>) {
        let parts_before = self.parts.len();
        self.inserts.push(StreamInsert { parts_before, due: self.end, what });
    }

    /// Whether nothing but bytes and errors is said. They are the whole answer then.
    pub(super) fn is_bare(&self) -> bool {
        let words = !self.parts.is_empty() || self.usage.is_some() || self.finish.is_some();
        !words && !self.inserts.is_empty()
    }

    /// Whether an error comes behind all that is said, before the regular end.
    pub(super) fn errs_before_its_end(&self) -> bool {
        let is_behind = |insert: &StreamInsert<'_>| {
            insert.parts_before == self.parts.len() && matches!(insert.what, Inserted::Error(_))
        };
        self.ends_well && self.inserts.iter().any(is_behind)
    }

    /// Returns what is said beside the parts.
    pub(super) fn answer_without_parts(&self) -> Answer {
        Answer {
            usage: self.usage,
            finish_reason: self.finish.map(str::to_owned),
            model: self.model.map(str::to_owned),
            ..Answer::default()
        }
    }
}
