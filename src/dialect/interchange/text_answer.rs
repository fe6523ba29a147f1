//! Makes entries of calls with only the text of their answers, and of entries that another tool
//! keeps in the same form.

use std::borrow::Cow;

use super::exchange::{
    ForeignExchange, ForeignResponse, NamedEntry, ResponseContent, TextAnswer, TextExchange,
};
use super::import::{
    EntryImporter, ImportRefusal, ImportedEntry, UNCLEAN, check_secrets, refused, step_name,
};
use loomrec_provider::{Answer, ErrorRequest};
use loomrec_recording::cost::priced_model;
use loomrec_recording::entry::CHAOS;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{CallCredentials, Placeholders};
use loomrec_recording::{Entry, EntryName, ResponseEnd, timestamp};

/// The most texts to which one vector is given.
const INPUTS: usize = 4096;

/// The most numbers of a vector that is repeated for several texts. Without this limit, a small
/// file could make an entry of gigabytes.
const NUMBERS: usize = 4 << 20;

impl EntryImporter<'_> {
    /// Returns the entry of a call with only the text of its answer. Replay puts the text into the
    /// shape that the client asks for.
    ///
    /// # Errors
    /// [`ImportRefusal`] for a call that is not one of an LLM, or whose answers cannot be made from
    /// text.
    pub fn import_text(&self, mut words: TextExchange) -> Result<ImportedEntry, ImportRefusal> {
        let rates = words.chaos.take().filter(|rates| !rates.is_empty());
        let mut imported = self.entry_of(words)?;
        if let Some(rates) = rates {
            imported.entry.extra.insert(CHAOS.to_owned(), rates.to_json());
        }
        Ok(imported)
    }

    /// Returns the entry of a call, without rates of chaos.
    fn entry_of(&self, words: TextExchange) -> Result<ImportedEntry, ImportRefusal> {
        let TextExchange { request, said, own, started, duration_ms, mut lost, place, .. } = words;
        let asked = self.check_request(request.clone(), own.as_ref())?;
        let (mut observed, by) = self.observe_request(&asked, own.as_ref());
        let answer = match said {
            TextAnswer::Answer(answer) => answer,
            TextAnswer::Error { status, kind, message } => {
                let response =
                    error_response(&observed, status, kind.as_deref(), message.as_deref());
                let first_ms = None;
                return self.import_entry(ForeignExchange {
                    place,
                    request,
                    response,
                    started,
                    first_ms,
                    duration_ms,
                    own,
                    messages: Vec::new(),
                    lost,
                });
            }
        };
        let mut answer = self.redact_answer(answer, &asked.secrets, &mut observed.placeholders);
        let form = observed.asked_format();
        // A tool that keeps a single vector gives it to each text.
        if let (Some(inputs), [only]) = (form.inputs, answer.embeddings.as_slice()) {
            answer.embeddings = repeat_vector(only, inputs.min(INPUTS))?;
        }
        let key = observed.key_under(self.rules);
        loomrec_provider::write_answer(&form, &answer, key.as_str())
            .map_err(|error| ImportRefusal::Reason(error.to_string()))?;
        lost.push("how answers were sent: replay puts the words into the shape that is asked for");
        let recorded_at = started.as_deref().and_then(timestamp::normalize_time);
        if recorded_at.is_none() {
            lost.push("when calls were made");
        }
        let cost = self.answer_cost(&observed, &answer);
        let unanswered = observed.to_unanswered();
        let model = answer.model.or(observed.call.model);
        let step = observed.step.as_deref().map(step_name).transpose()?;
        let name = step.unwrap_or_else(|| EntryName::Hash(key.clone()));
        let latency_ms = duration_ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
        let entry = Entry {
            content: Some(answer.content),
            model,
            usage: answer.usage,
            cost_usd: cost,
            latency_ms,
            finish_reason: answer.finish_reason,
            tool_calls: answer.tool_calls,
            embeddings: answer.embeddings,
            request_hash: Some(key),
            provider: Some(observed.call.provider.name().to_owned()),
            upstream: Some(observed.upstream),
            session: observed.session,
            recorded_at,
            ..unanswered
        };
        check_secrets(&entry, &asked.secrets)?;
        Ok(ImportedEntry { name, entry, by, host: asked.host, lost, notes: asked.notes })
    }

    /// Returns the cost of an answer, if the model's price is known.
    fn answer_cost(&self, observed: &NormalizedRequest, answer: &Answer) -> Option<f64> {
        let upstream = Some(observed.upstream.as_str());
        let model = priced_model(upstream, observed.call.model.as_deref(), answer.model.as_deref());
        self.maker.prices.call_cost(upstream, model?, answer.usage.as_ref()?)
    }

    /// Returns an entry that is in the file in the same form as in a loomrec recording.
    ///
    /// # Errors
    /// [`ImportRefusal`] if its key cannot be a name, or a credential cannot be removed.
    pub fn import_named(&self, named: NamedEntry) -> Result<ImportedEntry, ImportRefusal> {
        let NamedEntry { key, mut entry, lost, .. } = named;
        let name = match EntryName::of_key(&key).0 {
            EntryName::Step(step) => step_name(&self.without_credentials(&step))?,
            hash @ EntryName::Hash(_) => hash,
        };
        let hashed = entry.request_hash.is_some() || name.step_id().is_none();
        if hashed && !self.rules.ignored_places().is_empty() {
            return Err(refused(
                "its hash was made of the whole request, and it holds no request to make one \
                 of under --ignore",
            ));
        }
        let none = CallCredentials::default();
        let answer = Answer {
            content: entry.content.take().unwrap_or_default(),
            tool_calls: std::mem::take(&mut entry.tool_calls),
            ..Answer::default()
        };
        let answer = self.redact_answer(answer, &none, &mut Placeholders::default());
        entry.content = Some(answer.content);
        entry.tool_calls = answer.tool_calls;
        let none_numbered = &mut Placeholders::default();
        let text = entry.to_text();
        let redacted = self.maker.redactor.redact_body("", &text, &none, none_numbered);
        if let Cow::Owned(_) = redacted {
            return Err(ImportRefusal::Damaged(UNCLEAN.to_owned()));
        }
        let by = super::address::PlacedBy::Address;
        Ok(ImportedEntry { name, entry, by, host: String::new(), lost, notes: Vec::new() })
    }

    /// Returns a name without credentials, as `redact` leaves it.
    fn without_credentials(&self, name: &str) -> String {
        self.maker.redactor.redact_name(name, &CallCredentials::default())
    }

    /// Returns an answer without secrets.
    fn redact_answer(
        &self,
        mut answer: Answer,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> Answer {
        self.maker.redactor.redact_summary(&mut answer, secrets, placeholders);
        answer
    }
}

/// Repeats a vector for each of several texts.
///
/// # Errors
/// [`ImportRefusal`] if the total has too many numbers.
fn repeat_vector(vector: &[f64], texts: usize) -> Result<Vec<Vec<f64>>, ImportRefusal> {
    if vector.len().saturating_mul(texts) > NUMBERS {
        return Err(ImportRefusal::Damaged(format!(
            "its one vector of {} numbers would be given to {texts} texts, which is more than \
             {NUMBERS} numbers",
            vector.len()
        )));
    }
    Ok(vec![vector.to_vec(); texts])
}

/// Returns an error in the form of the request's provider.
fn error_response(
    observed: &NormalizedRequest,
    status: u16,
    kind: Option<&str>,
    message: Option<&str>,
) -> ForeignResponse {
    let asked = ErrorRequest::new(observed.call.provider, &observed.upstream, status);
    let error = ErrorRequest { kind, message, ..asked }.write_error();
    let headers = error.headers.into_iter();
    ForeignResponse {
        status: error.status,
        reason: None,
        headers: headers.map(|(name, value)| (name.to_owned(), value)).collect(),
        content: ResponseContent::Plain(error.body.into()),
        size: None,
        end: ResponseEnd::Complete,
    }
}
