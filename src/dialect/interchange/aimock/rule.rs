//! Chooses the fixture that answers a request: applies aimock's rules to real requests.

use std::io::Read;
use std::ops::ControlFlow;

use super::super::address::UpstreamAddresses;
use super::super::body_presence::held_or_lost;
use super::super::bounded::{BoundedReader, ReadMeter};
use super::super::exchange::{ForeignRequest, FoundItem, OwnDetails, SkippedItem, TextExchange};
use super::super::format::ForeignFormat;
use super::super::read_context::{ReadContext, ReadError, ReadProblem};
use super::content::{RequestContent, TurnRule};
use super::fixture::{FixtureMatch, ForeignFixture};
use super::read::read_fixtures;
use loomrec_recording::Entry;

/// The most fixtures that are held in memory.
const LIMIT: usize = 200_000;

/// The most bytes of fixture files that are held in memory.
const SIZE_LIMIT: u64 = 256 << 20;

/// Fixtures in the order of their files.
#[derive(Debug, Default)]
pub struct FixtureList {
    rules: Vec<Rule>,
    size: u64,
}

#[derive(Debug)]
struct Rule {
    place: String,
    fixture: ForeignFixture,
    /// How often it has answered, or another rule that differs only in its sequence index.
    count: u64,
    used: bool,
}

impl FixtureList {
    /// Reads a file of fixtures, and appends them to those read before.
    ///
    /// # Errors
    /// If the file is not a fixture file, or is too large to be held.
    pub fn read(&mut self, label: &str, input: &mut dyn Read) -> Result<(), ReadError> {
        let meter = ReadMeter::default();
        let mut go_on = |_| ControlFlow::Continue(());
        let mut finder = ReadContext::new(&mut go_on, meter.clone(), "fixture");
        let mut counted = Counted { inner: BoundedReader::new(input, meter), read: 0 };
        let (mut number, held) = (0, self.rules.len());
        let rules = &mut self.rules;
        let mut done = read_fixtures(&mut counted, &mut |fixture| {
            number += 1;
            let place = match label {
                "" => format!("fixture {number}"),
                label => format!("{label}: fixture {number}"),
            };
            rules.push(Rule { place, fixture, count: 0, used: false });
            finder.note_found();
            Ok(held + number < LIMIT)
        });
        self.size += counted.read;
        if self.size > SIZE_LIMIT || self.rules.len() >= LIMIT {
            done =
                Err(ReadProblem::Form("there are too many fixtures to hold them all".to_owned()));
        }
        finder.into_result(ForeignFormat::Aimock, done)
    }

    /// Returns aimock's answer to a recorded request, or the call as lost if the fixture does not
    /// hold it as words; `None` if aimock would not answer. A fixture of a sequence is used up by
    /// this.
    pub fn answer_request(
        &mut self,
        key: &str,
        step: Option<&str>,
        entry: &Entry,
        addresses: &UpstreamAddresses,
    ) -> Option<FoundItem> {
        let (path, body) = (entry.request_path()?, entry.request_body()?);
        let asked = RequestContent::read(&entry.recognise_call()?, body)?;
        let at = self.choose_fixture(&asked)?;
        let answered = self.rules[at].fixture.rule.clone();
        self.rules[at].used = true;
        for rule in self.rules.iter_mut().filter(|_| answered.sequence.is_some()) {
            let sibling = FixtureMatch { sequence: answered.sequence, ..rule.fixture.rule.clone() };
            if rule.fixture.rule.sequence.is_some() && sibling == answered {
                rule.count += 1;
            }
        }
        let Rule { place, fixture, .. } = &self.rules[at];
        let by = format!("{key} by {place}");
        let said = match &fixture.said {
            Ok(said) => said.clone(),
            Err(reason) => {
                return Some(FoundItem::Left(SkippedItem::damaged(by, reason.clone())));
            }
        };
        let upstream = entry.upstream.clone().unwrap_or_else(|| "openai".to_owned());
        Some(held_or_lost(FoundItem::Words(Box::new(TextExchange {
            place: by,
            request: ForeignRequest {
                method: entry.request_method()?.to_owned(),
                url: addresses.call_url(&upstream, None, path, entry.request_query()?),
                headers: entry.request_headers().to_vec(),
                body: body.clone(),
                size: None,
            },
            said,
            own: Some(OwnDetails {
                upstream: Some(upstream),
                path: Some(path.to_owned()),
                session: entry.session.clone(),
                step: step.map(str::to_owned),
                ..OwnDetails::default()
            }),
            started: entry.recorded_at.clone(),
            duration_ms: fixture.duration_ms,
            chaos: fixture.chaos.clone(),
            lost: fixture.lost.clone(),
        }))))
    }

    /// Returns the fixtures that answered nothing.
    pub fn unused_fixtures(&self) -> impl Iterator<Item = SkippedItem> {
        self.rules.iter().filter(|rule| !rule.used).map(|rule| {
            let reason = match &rule.fixture.said {
                Ok(_) => "it answers none of the requests".to_owned(),
                Err(reason) => reason.clone(),
            };
            SkippedItem::no_call(rule.place.clone(), reason)
        })
    }

    /// Returns the fixture that aimock would choose: the first one that matches. A fixture with a
    /// sequence index matches only if it is its turn.
    fn choose_fixture(&self, asked: &RequestContent) -> Option<usize> {
        let holds = |rule: &Rule| {
            rule.fixture.rule.is_match(asked, TurnRule::Strict)
                && rule.fixture.rule.sequence.is_none_or(|place| place == rule.count)
        };
        self.rules.iter().position(holds)
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    inner: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.read += length as u64;
        if self.read > SIZE_LIMIT {
            return Err(std::io::Error::new(
                std::io::ErrorKind::FileTooLarge,
                "there are too many fixtures to hold them all",
            ));
        }
        Ok(length)
    }
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
