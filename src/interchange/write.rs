//! Writes entries in the formats of other tools.

use super::address::Addresses;
use super::agentloom::Turns;
use super::aimock::Matches;
use super::format::Format;
use super::vcr::{Cassette, Notation};
use super::{har, openai, otel};
use crate::recording::{End, Entry};

/// An entry that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// What it is kept under, with its take.
    pub key: &'a str,
    /// The step id it is kept under.
    pub step: Option<&'a str>,
    /// The entry.
    pub entry: &'a Entry,
}

/// An entry, written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its text, without what stands between entries.
    pub text: String,
    /// What of it was lost, in a few words each.
    pub lost: Vec<&'static str>,
}

/// Writes a file, an entry at a time.
#[derive(Debug)]
pub struct Writer<'a> {
    format: Format,
    addresses: &'a Addresses,
    count: usize,
    /// Whether a batch's answers are written, and not its requests.
    answers: bool,
    turns: Turns,
    matches: Matches,
}

impl<'a> Writer<'a> {
    /// A writer of a format; calls get the addresses that their upstreams have.
    pub fn new(format: Format, addresses: &'a Addresses) -> Self {
        let (turns, matches) = (Turns::default(), Matches::default());
        Self { format, addresses, count: 0, answers: false, turns, matches }
    }

    /// Has the answers of a batch written, and not its requests.
    pub fn answers(mut self) -> Self {
        self.answers = true;
        self
    }

    /// Whether entries have to be written in the order that [`Writer::survey`] says.
    pub fn is_ordered(&self) -> bool {
        self.format == Format::Aimock
    }

    /// Looks at an entry before any is written: those of a higher rank come first.
    pub fn survey(&mut self, entry: &Entry) -> usize {
        self.matches.survey(entry)
    }

    /// What comes before all entries.
    pub fn head(&self) -> String {
        match self.format {
            Format::Vcr => "interactions:\n".to_owned(),
            Format::VcrJson => "{\"version\": 1, \"interactions\": [".to_owned(),
            Format::Har => format!(
                "{{\"log\":{{\"version\":\"1.2\",\"creator\":{{\"name\":\"loomrec\",\"version\":\"{}\"}},\
                 \"pages\":[],\"entries\":[",
                env!("CARGO_PKG_VERSION")
            ),
            Format::AgentLoom => "{\n  \"_version\": 2".to_owned(),
            Format::Aimock => "{\"fixtures\":[".to_owned(),
            Format::OpenAiBatch | Format::OpenAiChat | Format::Otel => String::new(),
        }
    }

    /// One entry.
    ///
    /// # Errors
    /// Why the format cannot hold it.
    pub fn entry(&mut self, sent: &Sent<'_>) -> Result<Written, String> {
        let Sent { entry, step, .. } = *sent;
        let response = entry.response.as_ref();
        if response
            .is_some_and(|response| matches!(response.end, End::ClientAbort | End::Truncated))
        {
            return Err("its answer is not whole, and never replayed".to_owned());
        }
        if self.format == Format::AgentLoom {
            return self.turns.entry(sent);
        }
        let words = || "it holds no request and response, but words alone".to_owned();
        let request = entry.request.as_ref().ok_or_else(words)?;
        let upstream = entry.upstream.as_deref().unwrap_or("default");
        let url = self.addresses.url(upstream, &request.path, &request.query);
        let cassette = |notation, response| {
            let mut written = Cassette { notation }.interaction(&url, request, response)?;
            written.lost.push("when calls were made and how long they took");
            if step.is_some() || entry.session.is_some() {
                written.lost.push("step ids and sessions");
            }
            Ok::<_, String>(written)
        };
        let mut written = match (self.format, response) {
            (Format::Vcr, Some(response)) => cassette(Notation::Yaml, response)?,
            (Format::VcrJson, Some(response)) => cassette(Notation::Json, response)?,
            (Format::Har, Some(response)) => har::entry(sent, &url, request, response),
            (Format::Aimock, _) => self.matches.entry(sent, request)?,
            (Format::OpenAiBatch, Some(response)) if self.answers => {
                openai::batch_answer(sent, request, response)?
            }
            (Format::OpenAiBatch, _) if !self.answers => openai::batch_request(sent, request)?,
            (Format::OpenAiChat, response) => {
                let status = response.map_or(200, |response| response.status);
                openai::chat_example(entry, request, status)?
            }
            (Format::Otel, _) => otel::span(sent, &url, request)?,
            _ => return Err(words()),
        };
        let between = match (self.format, self.count) {
            (Format::VcrJson | Format::Har | Format::Aimock, 0) => "\n",
            (Format::VcrJson | Format::Har | Format::Aimock, _) => ",\n",
            _ => "",
        };
        written.text.insert_str(0, between);
        self.count += 1;
        Ok(written)
    }

    /// What comes behind all entries.
    pub fn end(&mut self) -> String {
        if self.format == Format::AgentLoom {
            return format!("{}\n}}\n", self.turns.flush());
        }
        let end = match self.format {
            Format::Vcr if self.count == 0 => "  []\nversion: 1\n",
            Format::Vcr => "version: 1\n",
            Format::VcrJson => "\n]}\n",
            Format::Har => "\n]}}\n",
            Format::Aimock => "\n]}\n",
            _ => "",
        };
        end.to_owned()
    }
}
