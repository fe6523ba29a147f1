//! Writes entries in the formats of other tools.

use super::address::Addresses;
use super::format::Format;
use super::har;
use super::vcr::{Cassette, Notation};
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
}

impl<'a> Writer<'a> {
    /// A writer of a format; calls get the addresses that their upstreams have.
    pub fn new(format: Format, addresses: &'a Addresses) -> Self {
        Self { format, addresses, count: 0 }
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
        }
    }

    /// One entry.
    ///
    /// # Errors
    /// Why the format cannot hold it.
    pub fn entry(&mut self, sent: &Sent<'_>) -> Result<Written, String> {
        let (Some(request), Some(response)) = (&sent.entry.request, &sent.entry.response) else {
            return Err("it holds no request and response, but words alone".to_owned());
        };
        if matches!(response.end, End::ClientAbort | End::Truncated) {
            return Err("its answer is not whole, and never replayed".to_owned());
        }
        let upstream = sent.entry.upstream.as_deref().unwrap_or("default");
        let url = self.addresses.url(upstream, &request.path, &request.query);
        let mut written = match self.format {
            Format::Vcr => {
                Cassette { notation: Notation::Yaml }.interaction(&url, request, response)?
            }
            Format::VcrJson => {
                Cassette { notation: Notation::Json }.interaction(&url, request, response)?
            }
            Format::Har => har::entry(sent, &url, request, response),
        };
        let between = match (self.format, self.count) {
            (Format::Vcr, _) => "",
            (_, 0) => "\n",
            _ => ",\n",
        };
        written.text.insert_str(0, between);
        if self.format != Format::Har {
            written.lost.push("when calls were made and how long they took");
            if sent.step.is_some() || sent.entry.session.is_some() {
                written.lost.push("step ids and sessions");
            }
        }
        self.count += 1;
        Ok(written)
    }

    /// What comes behind all entries.
    pub fn end(&self) -> &'static str {
        match self.format {
            Format::Vcr if self.count == 0 => "  []\nversion: 1\n",
            Format::Vcr => "version: 1\n",
            Format::VcrJson => "\n]}\n",
            Format::Har => "\n]}}\n",
        }
    }
}
