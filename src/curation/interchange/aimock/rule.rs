//! Chooses the fixture that answers a request: applies aimock's rules to real requests.

use std::io::Read;
use std::ops::ControlFlow;

use serde_json::Value;

use super::super::address::UpstreamAddresses;
use super::super::bounded::{BoundedReader, ReadMeter};
use super::super::exchange::{ForeignRequest, OwnDetails, SkippedItem, TextExchange};
use super::super::format::ForeignFormat;
use super::super::read_context::{ReadContext, ReadError, ReadProblem};
use super::fixture::{Fixture, FixtureMatch};
use super::read::fixtures;
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
    fixture: Fixture,
    /// How often it has answered, or another rule that differs only in its sequence index.
    count: u64,
    used: bool,
}

/// The parts of a request that rules check.
#[derive(Default)]
struct Asked {
    model: String,
    user: Option<String>,
    system: String,
    /// The last message, if it is a tool's result: the id of the call, and the text.
    result: Option<(String, String)>,
    tools: Vec<String>,
    turns: usize,
    has_tool_result: bool,
    response_format: Option<String>,
    /// The texts to embed.
    input: Option<String>,
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
        let mut done = fixtures(&mut counted, &mut |fixture| {
            number += 1;
            let place = match label {
                "" => format!("fixture {number}"),
                label => format!("{label}: fixture {number}"),
            };
            rules.push(Rule { place, fixture, count: 0, used: false });
            finder.found();
            Ok(held + number < LIMIT)
        });
        self.size += counted.read;
        if self.size > SIZE_LIMIT || self.rules.len() >= LIMIT {
            done =
                Err(ReadProblem::Form("there are too many fixtures to hold them all".to_owned()));
        }
        finder.ended(ForeignFormat::Aimock, done)
    }

    /// Returns aimock's answer to a recorded request; `None` if aimock would not answer. A fixture
    /// of a sequence is used up by this.
    pub fn answer(
        &mut self,
        key: &str,
        step: Option<&str>,
        entry: &Entry,
        addresses: &UpstreamAddresses,
    ) -> Option<TextExchange> {
        let request = entry.request.as_ref()?;
        let call = request.recognise();
        let asked = Asked::of(&call, &request.body)?;
        let at = self.choose(&asked)?;
        let answered = self.rules[at].fixture.rule.clone();
        self.rules[at].used = true;
        for rule in self.rules.iter_mut().filter(|_| answered.sequence.is_some()) {
            let sibling = FixtureMatch { sequence: answered.sequence, ..rule.fixture.rule.clone() };
            if rule.fixture.rule.sequence.is_some() && sibling == answered {
                rule.count += 1;
            }
        }
        let Rule { place, fixture, .. } = &self.rules[at];
        let said = fixture.said.clone().ok()?;
        let upstream = entry.upstream.clone().unwrap_or_else(|| "openai".to_owned());
        Some(TextExchange {
            place: format!("{key} by {place}"),
            request: ForeignRequest {
                method: request.method.clone(),
                url: addresses.url(&upstream, &request.path, &request.query),
                headers: request.headers.clone(),
                body: request.body.clone(),
            },
            said,
            own: Some(OwnDetails {
                upstream: Some(upstream),
                path: Some(request.path.clone()),
                session: entry.session.clone(),
                step: step.map(str::to_owned),
            }),
            started: entry.recorded_at.clone(),
            duration_ms: fixture.duration_ms,
            lost: fixture.lost.clone(),
        })
    }

    /// Returns the fixtures that answered nothing.
    pub fn unused(&self) -> impl Iterator<Item = SkippedItem> {
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
    fn choose(&self, asked: &Asked) -> Option<usize> {
        let holds = |rule: &Rule| {
            rule.fixture.rule.holds(asked)
                && rule.fixture.rule.sequence.is_none_or(|place| place == rule.count)
        };
        self.rules.iter().position(holds)
    }
}

impl Asked {
    fn of(call: &loomrec_provider::RecognisedCall, body: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(body).ok()?;
        let model = call.model.clone().unwrap_or_default();
        let format = json.get("response_format").and_then(|format| format.get("type")?.as_str());
        let response_format = format.map(str::to_owned);
        if call.operation.embeds_input() {
            let input = match json.get("input")? {
                Value::String(text) => text.clone(),
                Value::Array(texts) => {
                    texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
                }
                _ => return None,
            };
            return Some(Self { model, input: Some(input), ..Self::default() });
        }
        let talk = call.operation.conversation(body)?;
        let name = |tool: &Value| Some(tool.get("function")?.get("name")?.as_str()?.to_owned());
        Some(Self {
            model,
            user: talk.last_user(),
            system: talk.system(),
            result: talk.last_result().map(|(id, text)| (id.to_owned(), text)),
            tools: talk.tools.iter().filter_map(name).collect(),
            turns: talk.turns(),
            has_tool_result: talk.has_tool_result(),
            response_format,
            input: None,
        })
    }
}

impl FixtureMatch {
    /// Whether a fixture answers a request, apart from its sequence index.
    fn holds(&self, asked: &Asked) -> bool {
        let within = |needle: &Option<String>, text: Option<&String>| match needle {
            None => true,
            Some(needle) => text.is_some_and(|text| text.contains(needle.as_str())),
        };
        let endpoint = match self.endpoint.as_deref() {
            None => true,
            Some("chat") => asked.input.is_none(),
            Some("embedding") => asked.input.is_some(),
            Some(_) => false,
        };
        let result = asked.result.as_ref();
        let id = self.tool_call_id.as_ref();
        let format = self.response_format.as_ref();
        endpoint
            // The context is in a header, which is not kept.
            && self.context.is_none()
            && self.model.as_ref().is_none_or(|model| is_model(&asked.model, model))
            && self.turn.is_none_or(|turn| usize::try_from(turn) == Ok(asked.turns))
            && self.has_tool_result.is_none_or(|has| has == asked.has_tool_result)
            && within(&self.user, asked.user.as_ref())
            && within(&self.input, asked.input.as_ref())
            && self.system.iter().all(|needle| asked.system.contains(needle.as_str()))
            && id.is_none_or(|id| result.is_some_and(|(own, _)| own == id))
            && within(&self.tool_result, result.map(|(_, text)| text))
            && self.tool_name.as_ref().is_none_or(|name| asked.tools.contains(name))
            && format.is_none_or(|format| asked.response_format.as_ref() == Some(format))
    }
}

/// Whether a model has this name, or this name followed by a date.
fn is_model(asked: &str, model: &str) -> bool {
    let Some(rest) = asked.strip_prefix(model) else { return false };
    let mut rest = rest.chars();
    match rest.next() {
        None => true,
        Some('-') => rest.next().is_some_and(|first| first.is_ascii_digit()),
        Some(_) => false,
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
