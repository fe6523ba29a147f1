//! Finds credentials in an entry, and reports their places without showing them.

use super::answer::DecodedBody;
use super::{Problem, ProblemKind, Severity};
use loomrec_identity::Json;
use loomrec_identity::pointer_token;
use loomrec_recording::redact::{CleanedEntry, EntryPart, Redactor, UnkeptReason};
use loomrec_recording::{Chunk, ChunkLayout, Entry};

/// The most problems that are reported for one entry.
const MOST: usize = 50;

/// Searches for credentials, and records their places.
pub(super) struct SecretSearch<'a> {
    redactor: &'a Redactor,
    found: Vec<Problem>,
}

impl<'a> SecretSearch<'a> {
    /// Adds the credentials in an entry. `text` is the entry's text in the file.
    pub(super) fn search_entry(
        redactor: &'a Redactor,
        entry: &Entry,
        body: Option<&DecodedBody<'_>>,
        cleaned: &CleanedEntry,
        text: &str,
        found: &mut Vec<Problem>,
    ) {
        let is_clean = cleaned.changed.is_empty() && cleaned.left.is_none();
        let mut search = SecretSearch { redactor, found: Vec::new() };
        if !is_clean {
            search.search_request(entry, text);
            search.search_summary(entry);
            search.search_response(entry, body, text);
            search.search_messages(entry);
        }
        search.found.truncate(MOST);
        search.add_unreported_parts(cleaned, found);
        found.append(&mut search.found);
    }

    /// Adds the parts that `redact` would change and that no reported problem covers. Headers that
    /// must not be kept are reported in `known`.
    fn add_unreported_parts(&mut self, cleaned: &CleanedEntry, known: &[Problem]) {
        for part in &cleaned.changed {
            let is_about = |problem: &Problem| {
                matches!(problem.kind, ProblemKind::Secret | ProblemKind::Header)
                    && is_in(*part, problem)
            };
            if self.found.iter().chain(known).any(is_about) {
                continue;
            }
            let pointer = match part {
                EntryPart::Request => "/request",
                EntryPart::Answer => "/response",
                EntryPart::Messages => "/messages",
                EntryPart::AnswerText => "/content",
                EntryPart::StepId | EntryPart::OtherFields => "",
            };
            let text =
                format!("a credential, or the rest of one that was removed: {}", part.as_str());
            self.add_known(pointer.to_owned(), text, true);
        }
        if cleaned.left == Some(UnkeptReason::Spread) {
            let text = "a credential that is spread over the answer".to_owned();
            self.add_known("/response".to_owned(), text, false);
        }
    }

    fn search_request(&mut self, entry: &Entry, text: &str) {
        let words = [
            ("/request/method", entry.request_method()),
            ("/request/path", entry.request_path()),
            ("/request/query", entry.request_query()),
        ];
        for (pointer, text) in words {
            self.search_text(pointer, text.unwrap_or_default().as_bytes());
        }
        for (name, value) in entry.request_headers() {
            self.search_text("/request/headers", name.as_bytes());
            self.search_text(&format!("/request/headers{}", pointer_token(name)), value.as_bytes());
        }
        if let Some((media, body)) = entry.request_type().zip(entry.request_body()) {
            self.search_body("/request", media, body, text);
        }
    }

    fn search_summary(&mut self, entry: &Entry) {
        let texts = [("/content", &entry.content), ("/session", &entry.session)];
        for (pointer, text) in texts {
            self.search_text(pointer, text.as_deref().unwrap_or_default().as_bytes());
        }
        let words = [
            ("/model", &entry.model),
            ("/finish_reason", &entry.finish_reason),
            ("/provider", &entry.provider),
            ("/upstream", &entry.upstream),
            ("/upstream_origin", &entry.upstream_origin),
        ];
        for (pointer, text) in words {
            self.search_text(pointer, text.as_deref().unwrap_or_default().as_bytes());
        }
        for (name, text) in entry.run_values.iter() {
            self.search_text(&format!("/run_values{}", pointer_token(name)), text.as_bytes());
        }
        for (at, call) in entry.tool_calls.iter().enumerate() {
            let pointer = format!("/tool_calls/{at}/name");
            self.search_text(&pointer, call.name.as_bytes());
            let pointer = format!("/tool_calls/{at}/arguments");
            self.search_json(&pointer, &call.arguments.to_string());
        }
        if let Some(fault) = &entry.fault {
            self.search_json("/fault", &fault.to_string());
        }
        for (name, value) in &entry.extra {
            self.search_json(&pointer_token(name), &value.to_string());
        }
    }

    fn search_response(&mut self, entry: &Entry, body: Option<&DecodedBody<'_>>, text: &str) {
        for (place, fields) in [
            ("/response/headers", entry.answer_headers()),
            ("/response/trailers", entry.answer_trailers()),
        ] {
            for (name, value) in fields {
                self.search_text(place, name.as_bytes());
                self.search_text(&format!("{place}{}", pointer_token(name)), value.as_bytes());
            }
        }
        let whole = entry.answer_layout() != Some(ChunkLayout::Chunks);
        let Some(body) = body else { return };
        if whole && !body.plain.is_decoded && body.framing.is_none() {
            return self.search_body("/response", body.media, &body.plain.bytes, text);
        }
        for secret in self.redactor.find_in_payload(body.framing, body.media, &body.plain.bytes) {
            let pointer = match (body.plain.is_decoded, whole) {
                (true, _) | (_, true) => "/response".to_owned(),
                (false, false) => {
                    let chunk = chunk_at(entry.answer_chunks().unwrap_or_default(), secret.at);
                    format!("/response/chunks/{chunk}/1")
                }
            };
            self.add_secret(pointer, &secret.text);
        }
    }

    fn search_messages(&mut self, entry: &Entry) {
        for (index, message) in entry.messages.iter().enumerate() {
            self.search_text(&format!("/messages/{index}"), message.payload.as_bytes());
        }
    }

    /// Searches the body of a request or a response at the pointer `at`.
    fn search_body(&mut self, at: &str, media: &str, bytes: &[u8], text: &str) {
        let secrets = self.redactor.find_in_body(media, bytes);
        if secrets.is_empty() {
            return;
        }
        let form = body_field(at, text);
        let json = if form == "body" { loomrec_identity::parse(bytes).ok() } else { None };
        let base = bytes.as_ptr() as usize;
        for secret in &secrets {
            let pointer = json.as_ref().and_then(|json| string_pointer(json, base + secret.at));
            let pointer = pointer.unwrap_or_default();
            self.add_secret(format!("{at}/{form}{pointer}"), &secret.text);
        }
    }

    /// Searches a JSON text value by value.
    fn search_json(&mut self, pointer: &str, text: &str) {
        for secret in self.redactor.find_in_body("application/json", text.as_bytes()) {
            self.add_secret(pointer.to_owned(), &secret.text);
        }
    }

    /// Searches a text.
    fn search_text(&mut self, pointer: &str, bytes: &[u8]) {
        for range in self.redactor.find_matches(bytes) {
            self.add_secret(pointer.to_owned(), &bytes[range]);
        }
    }

    fn add_secret(&mut self, pointer: String, secret: &[u8]) {
        self.add_known(pointer, format!("a credential: {}", mask_secret(secret)), true);
    }

    /// Adds what `redact` would remove. It is not `mendable` if `redact` cannot remove it.
    fn add_known(&mut self, pointer: String, text: String, mendable: bool) {
        let remedy = match mendable {
            true => {
                "revoke it if it was ever valid; --fix takes it out, and recomputes the request's \
                 hash"
            }
            false => "revoke it if it was ever valid; prune the entry, or record the call again",
        };
        let problem = Problem::of_file(ProblemKind::Secret, Severity::Error, text);
        let problem = problem.with_place(pointer, None).with_remedy(remedy);
        self.found.push(Problem { mendable, ..problem });
    }
}

/// Whether a problem is about this part of its entry.
fn is_in(part: EntryPart, problem: &Problem) -> bool {
    let begins = |names: &[&str]| names.iter().any(|name| problem.pointer.starts_with(name));
    match part {
        EntryPart::StepId => false,
        EntryPart::Request => begins(&["/request/"]),
        EntryPart::Answer => begins(&["/response"]),
        EntryPart::Messages => begins(&["/messages"]),
        EntryPart::AnswerText => begins(&["/content", "/tool_calls"]),
        EntryPart::OtherFields => {
            !begins(&["/request", "/response", "/messages", "/content", "/tool_calls"])
        }
    }
}

/// Returns enough of a secret to find it: its first characters, at most a quarter.
pub(super) fn mask_secret(secret: &[u8]) -> String {
    let shown = secret.iter().take((secret.len() / 4).min(4));
    let head: String =
        shown.map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' }).collect();
    format!("{head}… ({} characters)", secret.len())
}

/// Returns the field that holds a body in the entry's text at `at`.
fn body_field(at: &str, text: &str) -> &'static str {
    let name = at.trim_start_matches('/');
    let members = super::pointer_place::object_members(text).and_then(|members| {
        let (_, value) = members.into_iter().rev().find(|(key, _)| *key == name)?;
        super::pointer_place::object_members(value)
    });
    let members = members.unwrap_or_default();
    let stands = |form: &&str| members.iter().any(|(key, _)| key == form);
    ["body", "text", "base64"].into_iter().find(stands).unwrap_or("body")
}

/// Returns the pointer to the string at a memory address.
fn string_pointer(json: &Json<'_>, address: usize) -> Option<String> {
    let holds = |text: &loomrec_identity::JsonStr<'_>| {
        let (source, _) = text.source();
        (text.source_address()..text.source_address() + source.len().max(1)).contains(&address)
    };
    match json {
        Json::String(text) => holds(text).then(String::new),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| Some(format!("/{at}{}", string_pointer(item, address)?))),
        Json::Object(members) => members.iter().find_map(|(key, value)| {
            let below = if holds(key) { String::new() } else { string_pointer(value, address)? };
            Some(format!("{}{below}", pointer_token(&key.as_str())))
        }),
        _ => None,
    }
}

/// Returns the index of the chunk that contains a byte.
fn chunk_at(chunks: &[Chunk], offset: usize) -> usize {
    let mut end = 0;
    chunks
        .iter()
        .take_while(|chunk| {
            end += chunk.data.len();
            end <= offset
        })
        .count()
}
