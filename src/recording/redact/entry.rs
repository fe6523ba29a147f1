//! Redaction of a whole entry and of its key.

use std::borrow::Cow;

use bytes::Bytes;

use super::super::entry::{Entry, RecordedRequest};
use super::super::entry_name::EntryName;
use super::{
    CallCredentials, Placeholders, RawResponse, Redactor, UnkeptReason, with_replaced_boundary,
};
use loomrec_identity::IdentityRules;
use loomrec_provider::{Answer, Operation, directory};

/// The most plain bytes of a compressed answer that are searched.
const DECODED: usize = 64 << 20;

/// An entry after redaction.
#[derive(Clone, Debug)]
pub struct CleanedEntry {
    /// The name under which it must be kept.
    pub name: EntryName,
    /// The redacted entry.
    pub entry: Entry,
    /// The parts that were changed; empty for an entry that was clean.
    pub changed: Vec<EntryPart>,
    /// Why something could not be removed, if that is so.
    pub left: Option<UnkeptReason>,
}

/// A part of an entry that redaction changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPart {
    /// The step id that is its name.
    StepId,
    /// The request.
    Request,
    /// The response.
    Answer,
    /// The messages after its head.
    Messages,
    /// The summary of the answer, if the response was not changed.
    AnswerText,
    /// Any other field.
    OtherFields,
}

impl EntryPart {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StepId => "step id",
            Self::Request => "request",
            Self::Answer => "answer",
            Self::Messages => "messages",
            Self::AnswerText => "answer's text",
            Self::OtherFields => "other fields",
        }
    }
}

impl Redactor {
    /// Removes credentials from an entry: from its step id and session, its request, its answer,
    /// and all other fields. If this changes the request, its key under `rules` changes too.
    pub fn redact_entry(
        &self,
        name: &EntryName,
        entry: &Entry,
        rules: &IdentityRules,
    ) -> CleanedEntry {
        let mut clean = entry.clone();
        let mut changed = Vec::new();
        let mut kept_under = match name {
            EntryName::Step(step) => EntryName::Step(self.clean_text(step)),
            EntryName::Hash(_) => name.clone(),
        };
        if kept_under != *name {
            changed.push(EntryPart::StepId);
        }
        for text in text_fields(&mut clean) {
            *text = text.as_deref().map(|text| self.clean_text(text));
        }
        let mut placeholders = Placeholders::default();
        clean.request = entry.request.as_ref().map(|request| {
            let query = directory::query_rules(entry.upstream.as_deref(), &[])
                .without_credentials(&request.query);
            self.redact_request(request, &query, &mut placeholders)
        });
        if clean.request != entry.request {
            changed.push(EntryPart::Request);
            if let Ok(renamed) = clean.rekey(&kept_under, rules) {
                kept_under = renamed;
            }
        }
        let left = self.redact_response(&mut clean, &mut placeholders);
        if clean.response != entry.response {
            changed.push(EntryPart::Answer);
        }
        self.redact_messages_of(&mut clean, &mut placeholders);
        if clean.messages != entry.messages {
            changed.push(EntryPart::Messages);
        }
        self.redact_said(&mut clean, &mut placeholders);
        let said = |entry: &Entry| (entry.content.clone(), entry.tool_calls.clone());
        if clean.response == entry.response && said(&clean) != said(entry) {
            changed.push(EntryPart::AnswerText);
        }
        let has_other_words = text_fields(&mut clean).map(|text| text.clone())
            != text_fields(&mut entry.clone()).map(|text| text.clone());
        if has_other_words || clean.fault != entry.fault || clean.extra != entry.extra {
            changed.push(EntryPart::OtherFields);
        }
        CleanedEntry { name: kept_under, entry: clean, changed, left }
    }

    fn clean_text(&self, text: &str) -> String {
        match self.redact_bytes(text.as_bytes(), &CallCredentials::default()) {
            Cow::Borrowed(_) => text.to_owned(),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    fn redact_request(
        &self,
        request: &RecordedRequest,
        query: &str,
        placeholders: &mut Placeholders,
    ) -> RecordedRequest {
        let none = CallCredentials::default();
        let path = self.redact_path(&request.path, &none, placeholders);
        let query = self.redact_query(query, &none, placeholders);
        let mut header = |(name, value): &(String, String)| {
            (name.clone(), self.redact_header(name, value, &none, placeholders))
        };
        let named =
            request.headers.iter().filter(|(name, _)| self.may_be_name(name.as_bytes(), &none));
        let headers: Vec<(String, String)> = named.map(&mut header).collect();
        // A compressed body that holds a credential is stored as its text.
        let is_clean = |packed: &Bytes| self.is_packed_clean(packed, &none);
        let packed = request.packed.clone().filter(is_clean);
        let mut clean = RecordedRequest {
            method: self.clean_text(&request.method),
            path,
            query,
            headers,
            other_headers: request.other_headers.cleaned(|name| self.is_clean_name(name, &none)),
            body: request.body.clone(),
            packed,
        };
        if let Some(body) = with_replaced_boundary(clean.content_type(), &clean.body) {
            clean.set_text(body);
        }
        let kind = clean.content_type();
        if let Cow::Owned(body) = self.redact_body(kind, &clean.body, &none, placeholders) {
            let body = body.into();
            clean.set_text(body);
        }
        clean
    }

    /// Redacts the response, and reads the answer again. Returns why something could not be
    /// removed.
    fn redact_response(
        &self,
        entry: &mut Entry,
        placeholders: &mut Placeholders,
    ) -> Option<UnkeptReason> {
        let none = CallCredentials::default();
        let operation = entry.recognise_call().map_or(Operation::OTHER, |call| call.operation);
        let response = entry.response.as_mut()?;
        let before = response.clone();
        let came = RawResponse {
            operation,
            status: response.status,
            headers: &mut response.headers,
            chunks: response.payload.chunks_mut(),
            placeholders,
        };
        let answer = self.redact_answer(came, &none, DECODED);
        if let Err(UnkeptReason::Compressed | UnkeptReason::TooLarge) = answer {
            response.clone_from(&before);
        }
        // The head is redacted even if the body cannot be.
        response.reason =
            response.reason.take().map(|reason| self.redact_text(&reason, &none).into_owned());
        for fields in [&mut response.headers, &mut response.trailers] {
            *fields = self.stored_response_headers(fields, &none, placeholders);
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(unkept) => return Some(unkept),
        };
        let is_changed = response.payload != before.payload;
        if let Some(left) = entry.client_left.as_mut().filter(|_| is_changed) {
            *left = left.after_change(before.payload.chunks(), response.payload.chunks());
        }
        if is_changed && entry.content.is_some() {
            entry.content = Some(answer.answer.content);
            entry.tool_calls = answer.answer.tool_calls;
        }
        None
    }

    /// Redacts what both sides sent after the head.
    fn redact_messages_of(&self, entry: &mut Entry, placeholders: &mut Placeholders) {
        let none = CallCredentials::default();
        for message in &mut entry.messages {
            message.redact(self, &none, placeholders);
        }
    }

    /// Redacts the summary of the answer, and the other fields.
    fn redact_said(&self, entry: &mut Entry, placeholders: &mut Placeholders) {
        let none = CallCredentials::default();
        let had_content = entry.content.is_some();
        let mut said = Answer {
            content: entry.content.take().unwrap_or_default(),
            tool_calls: std::mem::take(&mut entry.tool_calls),
            ..Answer::default()
        };
        self.redact_summary(&mut said, &none, placeholders);
        entry.content = Some(said.content).filter(|_| had_content);
        entry.tool_calls = said.tool_calls;
        for value in entry.fault.iter_mut().chain(entry.extra.iter_mut().map(|(_, value)| value)) {
            self.redact_json(value, &none, placeholders);
        }
        entry.run_values.retain(|_, text| self.is_clean_name(text, &none));
        let is_clean = |name: &String| self.may_be_name(name.as_bytes(), &none);
        if entry.extra.keys().all(is_clean) {
            return;
        }
        for (name, value) in std::mem::take(&mut entry.extra) {
            let mut name = if is_clean(&name) { name } else { self.clean_text(&name) };
            while entry.extra.contains_key(&name) {
                name.push('_');
            }
            entry.extra.insert(name, value);
        }
    }
}

/// Returns the fields of an entry that hold a plain text.
fn text_fields(entry: &mut Entry) -> [&mut Option<String>; 9] {
    [
        &mut entry.session,
        &mut entry.model,
        &mut entry.finish_reason,
        &mut entry.provider,
        &mut entry.upstream,
        &mut entry.upstream_origin,
        &mut entry.recorded_at,
        &mut entry.ended_at,
        &mut entry.edited_at,
    ]
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
