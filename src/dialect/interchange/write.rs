//! The writer of other tools' formats.

mod entry;

pub(super) use entry::TRAILERS;
pub use entry::{EntryToWrite, WrittenEntry};

use super::address::UpstreamAddresses;
use super::agentloom::TurnCounter;
use super::aimock::MatchCounter;
use super::carried_fields::{lost_fields, refuse_limited};
use super::format::ForeignFormat;
use super::vcr::{Cassette, Notation};
use super::{har, openai_chat};
use loomrec_recording::{Entry, ResponseEnd};

/// Writes a file, one entry at a time.
#[derive(Debug)]
pub struct ExportWriter<'a> {
    format: ForeignFormat,
    addresses: &'a UpstreamAddresses,
    count: usize,
    turns: TurnCounter,
    matches: MatchCounter,
}

impl<'a> ExportWriter<'a> {
    /// Returns a writer of a format. Calls get the addresses of their upstreams.
    pub fn new(format: ForeignFormat, addresses: &'a UpstreamAddresses) -> Self {
        let (turns, matches) = (TurnCounter::default(), MatchCounter::default());
        Self { format, addresses, count: 0, turns, matches }
    }

    /// Whether entries must be written in the order that [`ExportWriter::survey`] determines.
    pub fn is_ordered(&self) -> bool {
        self.format == ForeignFormat::Aimock
    }

    /// Examines an entry before any is written. Returns its rank: higher ranks must be written
    /// first.
    pub fn survey(&mut self, entry: &Entry) -> usize {
        self.matches.survey(entry)
    }

    /// Returns the text before all entries.
    pub fn opening_text(&self) -> String {
        match self.format {
            ForeignFormat::Vcr => "interactions:\n".to_owned(),
            ForeignFormat::VcrJson => "{\"version\": 1, \"interactions\": [".to_owned(),
            ForeignFormat::Har => format!(
                "{{\"log\":{{\"version\":\"1.2\",\"creator\":{{\"name\":\"loomrec\",\"version\":\"{}\"}},\
                 \"pages\":[],\"entries\":[",
                env!("CARGO_PKG_VERSION")
            ),
            ForeignFormat::AgentLoom => "{\n  \"_version\": 2".to_owned(),
            ForeignFormat::Aimock => "{\"fixtures\":[".to_owned(),
            ForeignFormat::OpenAiChat
            | ForeignFormat::HttpRr
            | ForeignFormat::Nock
            | ForeignFormat::WireMock => String::new(),
        }
    }

    /// Returns the text of one entry.
    ///
    /// # Errors
    /// If the format cannot represent it. The error says why.
    pub fn write_entry(&mut self, sent: &EntryToWrite<'_>) -> Result<WrittenEntry, String> {
        let entry = sent.entry;
        if matches!(entry.answer_end(), Some(ResponseEnd::ClientAbort | ResponseEnd::Truncated)) {
            return Err("its answer is not whole".to_owned());
        }
        if entry.is_undelivered() {
            return Err("no client got its answer".to_owned());
        }
        if !entry.messages.is_empty() && self.format != ForeignFormat::Har {
            return Err("it is a WebSocket, whose messages only har holds".to_owned());
        }
        refuse_limited(self.format, entry)?;
        let mut written = match self.format {
            ForeignFormat::AgentLoom => self.turns.write_entry(sent)?,
            _ => self.write_call(sent)?,
        };
        written.lost.extend(lost_fields(self.format, entry));
        Ok(written)
    }

    /// Returns the text of a call with its request.
    fn write_call(&mut self, sent: &EntryToWrite<'_>) -> Result<WrittenEntry, String> {
        let EntryToWrite { entry, step, .. } = *sent;
        let words =
            || "it holds only the text of an answer, without request and response".to_owned();
        let target = entry.request_path().zip(entry.request_query());
        let (path, query) = target.ok_or_else(words)?;
        let upstream = entry.upstream.as_deref().unwrap_or("default");
        let origin = entry.upstream_origin.as_deref();
        let url = self.addresses.call_url(upstream, origin, path, query);
        let cassette = |notation| {
            let mut written = Cassette { notation }.write_interaction(&url, entry)?;
            written.lost.push("when calls were made and how long they took");
            if step.is_some() || entry.session.is_some() {
                written.lost.push("step ids and sessions");
            }
            Ok::<_, String>(written)
        };
        let mut written = match (self.format, entry.answer_status()) {
            (ForeignFormat::Vcr, Some(_)) => cassette(Notation::Yaml)?,
            (ForeignFormat::VcrJson, Some(_)) => cassette(Notation::Json)?,
            (ForeignFormat::Har, Some(_)) => har::write_entry(sent, &url),
            (ForeignFormat::Aimock, _) => self.matches.write_entry(sent)?,
            (ForeignFormat::OpenAiChat, status) => {
                openai_chat::write_entry(entry, status.unwrap_or(200))?
            }
            _ => return Err(words()),
        };
        let between = match (self.format, self.count) {
            (ForeignFormat::VcrJson | ForeignFormat::Har | ForeignFormat::Aimock, 0) => "\n",
            (ForeignFormat::VcrJson | ForeignFormat::Har | ForeignFormat::Aimock, _) => ",\n",
            _ => "",
        };
        written.text.insert_str(0, between);
        self.count += 1;
        Ok(written)
    }

    /// Returns the text after all entries.
    pub fn closing_text(&mut self) -> String {
        if self.format == ForeignFormat::AgentLoom {
            return format!("{}\n}}\n", self.turns.flush());
        }
        let end = match self.format {
            ForeignFormat::Vcr if self.count == 0 => "  []\nversion: 1\n",
            ForeignFormat::Vcr => "version: 1\n",
            ForeignFormat::VcrJson => "\n]}\n",
            ForeignFormat::Har => "\n]}}\n",
            ForeignFormat::Aimock => "\n]}\n",
            _ => "",
        };
        end.to_owned()
    }
}
