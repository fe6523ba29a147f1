//! What the recorded bytes of an answer say, beside what its entry sums up.

use bytes::Bytes;

use super::{Problem, ProblemKind, Severity};
use crate::encoding::DecodeError::{Damaged, Unknown};
use crate::encoding::{self, DecodableBody, DecodeError, LARGEST};
use crate::redact::{CallCredentials, MARK, Placeholders, Redactor};
use crate::{Entry, RecordedResponse};
use loomrec_provider::{Answer, Framing, Operation, RecognisedCall};

/// The bytes of an answer, decoded.
pub(super) struct DecodedBody<'a> {
    pub(super) media: &'a str,
    pub(super) bytes: Bytes,
    /// How it is framed, where it is a stream.
    pub(super) framing: Option<Framing>,
    /// Whether they are other bytes than those recorded.
    pub(super) decoded: bool,
    /// Why they are not all that the recorded bytes say.
    pub(super) problem: Option<DecodeError>,
}

impl<'a> DecodedBody<'a> {
    /// The body of a response to a call of `operation`, as far as it decodes.
    pub(super) fn of(operation: Operation, response: &'a RecordedResponse) -> Self {
        let recorded = response.payload.bytes();
        let decodable = encoding::coding_in(&response.headers)
            .map(|coding| encoding::decode_available(&coding, &recorded, LARGEST));
        let (bytes, decoded, problem) = match decodable {
            None => (recorded, false, None),
            // A text that is sent under the header of a coding by mistake.
            Some(DecodableBody { problem: problem @ Some(Damaged | Unknown), .. })
                if std::str::from_utf8(&recorded).is_ok() =>
            {
                (recorded, false, problem)
            }
            Some(DecodableBody { plain, problem }) => (plain.into(), true, problem),
        };
        let media = header(response, "content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        let framing = Framing::answered(operation, media, &bytes);
        Self { media, bytes, framing, decoded, problem }
    }

    /// The body, where all of it decodes.
    pub(super) fn whole(&self) -> Option<&Self> {
        self.problem.is_none().then_some(self)
    }

    /// What it says.
    pub(super) fn read(&self, call: &RecognisedCall) -> Option<Answer> {
        match self.framing {
            None => loomrec_provider::read_complete(call.operation, self.media, &self.bytes),
            framing => loomrec_provider::read(call.operation, framing, &self.bytes),
        }
    }
}

/// The first value of a header.
pub(super) fn header<'a>(response: &'a RecordedResponse, name: &str) -> Option<&'a str> {
    response.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The entry with its summary as the recorded answer has it, and the names of the fields
/// that said something else. An answer that says nothing leaves it as it is.
pub(super) fn summed_up(
    entry: &Entry,
    call: &RecognisedCall,
    body: Option<&DecodedBody<'_>>,
    redactor: &Redactor,
) -> Option<(Entry, Vec<&'static str>)> {
    let response = entry.response.as_ref()?;
    if entry.fault.is_some() || !(200..300).contains(&response.status) {
        return None;
    }
    let mut answer = body?.read(call)?;
    redactor.redact_summary(&mut answer, &CallCredentials::default(), &mut Placeholders::default());
    let mut summed = entry.clone();
    let mut names = Vec::new();
    // What was taken out of the assembled text alone cannot be told from the pieces.
    if !is_marked(entry.content.as_deref()) {
        set(&mut summed.content, Some(answer.content), "content", &mut names, |old, new| {
            old.as_deref().unwrap_or_default() == new.as_deref().unwrap_or_default()
        });
    }
    if answer.model.is_some() {
        set(&mut summed.model, answer.model, "model", &mut names, PartialEq::eq);
    }
    set(&mut summed.usage, answer.usage, "usage", &mut names, PartialEq::eq);
    set(
        &mut summed.finish_reason,
        answer.finish_reason,
        "finish_reason",
        &mut names,
        PartialEq::eq,
    );
    let marked = entry.tool_calls.iter().any(|call| is_marked(Some(&call.arguments.to_string())));
    if !marked {
        set(&mut summed.tool_calls, answer.tool_calls, "tool_calls", &mut names, PartialEq::eq);
    }
    Some((summed, names))
}

fn is_marked(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.contains(MARK))
}

fn set<T>(
    place: &mut T,
    new: T,
    name: &'static str,
    names: &mut Vec<&'static str>,
    same: impl Fn(&T, &T) -> bool,
) {
    if !same(place, &new) {
        *place = new;
        names.push(name);
    }
}

/// Adds the fields that say something else than the recorded answer.
pub(super) fn check(
    entry: &Entry,
    call: &RecognisedCall,
    body: Option<&DecodedBody<'_>>,
    redactor: &Redactor,
    found: &mut Vec<Problem>,
) {
    let Some((_, names)) = summed_up(entry, call, body, redactor) else { return };
    for name in names {
        let text = format!("`{name}` is not what the recorded answer says");
        let remedy = "--fix takes it from the recorded answer; to change an answer, change the \
                      response, or make the entry one of words alone";
        let problem = Problem::of_file(ProblemKind::Answer, Severity::Error, text);
        found.push(problem.at(format!("/{name}"), None).helped(remedy).mendable());
    }
}
