//! Compares the recorded bytes of an answer with the summary in its entry.

use super::{Problem, ProblemKind, Severity};
use loomrec_provider::{Answer, Framing, Operation, RecognisedCall};
use loomrec_recording::redact::{CallCredentials, MARK, Placeholders, Redactor};
use loomrec_recording::{Entry, PlainBody};

/// The decoded bytes of an answer.
pub(super) struct DecodedBody<'a> {
    pub(super) media: &'a str,
    pub(super) plain: PlainBody,
    /// Its framing, if it is a stream.
    pub(super) framing: Option<Framing>,
}

impl<'a> DecodedBody<'a> {
    /// Decodes the body of an entry's response to a call of `operation`, as far as possible. Returns
    /// `None` if it has no response.
    pub(super) fn from_entry(operation: Operation, entry: &'a Entry) -> Option<Self> {
        let (media, plain) = (entry.answer_media()?, entry.plain_body()?);
        let framing = Framing::from_answer(operation, media, &plain.bytes);
        Some(Self { media, plain, framing })
    }

    /// Returns the body if all of it was decoded.
    pub(super) fn fully_decoded(&self) -> Option<&Self> {
        self.plain.problem.is_none().then_some(self)
    }

    /// Reads the answer.
    pub(super) fn read_answer(&self, call: &RecognisedCall) -> Option<Answer> {
        match self.framing {
            None => loomrec_provider::read_complete(call.operation, self.media, &self.plain.bytes),
            framing => loomrec_provider::read_answer(call.operation, framing, &self.plain.bytes),
        }
    }
}

/// Returns the entry with a summary made from the recorded answer, and the names of the fields that
/// differed. Returns `None` if the answer cannot be summed up.
pub(super) fn summed_up(
    entry: &Entry,
    call: &RecognisedCall,
    body: Option<&DecodedBody<'_>>,
    redactor: &Redactor,
) -> Option<(Entry, Vec<&'static str>)> {
    if entry.fault.is_some() || !entry.has_good_status() {
        return None;
    }
    let mut answer = body?.read_answer(call)?;
    redactor.redact_summary(&mut answer, &CallCredentials::default(), &mut Placeholders::default());
    let mut summed = entry.clone();
    let mut names = Vec::new();
    // Redaction may have removed text that spans pieces only from the joined text. The pieces do
    // not show this.
    if !is_marked(entry.content.as_deref()) {
        set_if_different(
            &mut summed.content,
            Some(answer.content),
            "content",
            &mut names,
            |old, new| old.as_deref().unwrap_or_default() == new.as_deref().unwrap_or_default(),
        );
    }
    if answer.model.is_some() {
        set_if_different(&mut summed.model, answer.model, "model", &mut names, PartialEq::eq);
    }
    set_if_different(&mut summed.usage, answer.usage, "usage", &mut names, PartialEq::eq);
    set_if_different(
        &mut summed.finish_reason,
        answer.finish_reason,
        "finish_reason",
        &mut names,
        PartialEq::eq,
    );
    let marked = entry.tool_calls.iter().any(|call| is_marked(Some(&call.arguments.to_string())));
    if !marked {
        set_if_different(
            &mut summed.tool_calls,
            answer.tool_calls,
            "tool_calls",
            &mut names,
            PartialEq::eq,
        );
    }
    Some((summed, names))
}

fn is_marked(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.contains(MARK))
}

fn set_if_different<T>(
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

/// Adds a field that says other than the response, where the answer cannot be summed up again.
pub(super) fn check_summary(entry: &Entry, found: &mut Vec<Problem>) {
    let Some(name) = entry.misstated_field() else { return };
    let text = format!("`{name}` is not what the recorded response says");
    let problem = Problem::of_file(ProblemKind::Answer, Severity::Error, text);
    let remedy = "record the call again, or remove the field; replay --strict refuses it without \
                  --allow-unchecked";
    found.push(problem.with_place(format!("/{name}"), None).with_remedy(remedy));
}

/// Adds a cost that no call can have.
pub(super) fn check_cost(entry: &Entry, found: &mut Vec<Problem>) {
    if entry.has_impossible_cost() {
        let text = "`cost_usd` is no cost of a call, and is ignored";
        let problem = Problem::of_file(ProblemKind::Answer, Severity::Warning, text.to_owned());
        found.push(problem.with_place("/cost_usd", None).with_remedy("remove the field"));
    }
}

/// Adds the fields that differ from the recorded answer.
pub(super) fn add_problems(
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
                      response, or make it an entry of text alone (loomrec edit FILE KEY)";
        let problem = Problem::of_file(ProblemKind::Answer, Severity::Error, text);
        found
            .push(problem.with_place(format!("/{name}"), None).with_remedy(remedy).mark_mendable());
    }
}
