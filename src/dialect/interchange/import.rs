//! Makes an entry of another tool's exchange: the same entry that recording the exchange would
//! give.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use url::Url;

use super::address::{NO_HOST, PlacedBy, PlacedCall, UpstreamAddresses};
use super::address_placeholder::{FilledAddress, fill_host, substitute_values};
use super::assumption::{ImportNote, assume_request_type, assume_response_type, assume_version};
use super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, OwnDetails, ResponseContent,
};
use super::header_list::{find_value, in_lower_case};
use super::length::{OTHER_LENGTH, has_body, other_length, smaller_request, smaller_than_stated};
use super::response_body::{ReplyTimes, uncompressed_reply};
use super::text_encoding::readable_bytes;
use loomrec_identity::{IdentityRules, RunValueFinder};
use loomrec_provider::directory;
use loomrec_recording::entry_maker::{CompletedExchange, EntryMaker, MadeEntry};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{self, CallCredentials, Placeholders, redact_messages};
use loomrec_recording::request_text::DecodedRequestBody;
use loomrec_recording::{Entry, EntryName, RecordedRequest, encoding, timestamp};

/// Listed as lost if a file does not hold the times of calls.
const UNKNOWN_TIMES: [&str; 2] = ["when calls were made", "how long answers took"];

/// The reason for leaving out a call in which a credential remains.
pub(super) const UNCLEAN: &str = "a credential in it could not be taken out";

/// Headers with a call's session and step.
const SESSION: &str = "x-loomrec-session";
const STEP: &str = "x-loomrec-step-id";

/// Words that other tools write in place of a credential. They are not secrets, and a prompt may
/// well contain them.
const MARKS: [&str; 8] =
    ["redacted", "filtered", "masked", "removed", "hidden", "dummy", "sanitized", "scrubbed"];

/// Makes entries of exchanges.
#[derive(Clone, Copy, Debug)]
pub struct EntryImporter<'a> {
    /// Removes secrets, reads answers and knows prices.
    pub maker: EntryMaker<'a>,
    /// The addresses of upstreams.
    pub addresses: &'a UpstreamAddresses,
    /// The rules under which keys are made.
    pub rules: &'a IdentityRules,
    /// Names of query parameters that are credentials, in lower case.
    pub credential_params: &'a [String],
    /// Whether calls to hosts that are not upstreams are imported, too.
    pub all: bool,
    /// Whether headers that every SDK sends are assumed where a file lacks them.
    pub assume: bool,
    /// Values for placeholders, by name.
    pub substitutes: &'a [(String, String)],
    /// Whether bodies are imported if their length differs from their headers.
    pub any_length: bool,
}

/// An imported entry, and its origin.
#[derive(Clone, Debug)]
pub struct ImportedEntry {
    /// The name under which it must be kept.
    pub name: EntryName,
    /// The entry.
    pub entry: Entry,
    /// How its upstream was found.
    pub by: PlacedBy,
    /// The host to which it was sent.
    pub host: String,
    /// The parts that the file does not hold, in a few words each.
    pub lost: Vec<&'static str>,
    /// What was added to it, or left in it.
    pub notes: Vec<ImportNote>,
}

/// Why no entry was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportRefusal {
    /// It was sent to this host, which is not an upstream.
    Foreign(String),
    /// It is a call whose original bodies are not there. The reason in a few words.
    Damaged(String),
    /// Another reason, in a few words.
    Reason(String),
}

impl EntryImporter<'_> {
    /// Returns the entry of an exchange.
    ///
    /// # Errors
    /// [`ImportRefusal`] for a call that is not one of an LLM, or cannot be replayed.
    pub fn import_entry(&self, exchange: ForeignExchange) -> Result<ImportedEntry, ImportRefusal> {
        let ForeignExchange { request, mut response, started, first_ms, duration_ms, .. } =
            exchange;
        let ForeignExchange { own, mut messages, mut lost, .. } = exchange;
        let request_size = request.size;
        check_status(response.status, !messages.is_empty())?;
        let mut asked = self.check_request(request, own.as_ref())?;
        if self.assume && own.is_none() {
            let ForeignResponse { headers, content, .. } = &mut response;
            asked.notes.extend(assume_response_type(headers, content, is_mark));
        }
        let other = other_length(&asked.method, &asked.headers, &asked.body, &response)
            .or_else(|| smaller_request(&asked.body, request_size));
        self.accept_length(other, &mut lost)?;
        let (observed, by) = self.observe_request(&asked, own.as_ref());
        let key = observed.key_under(self.rules);
        let step = observed.step.as_deref().map(step_name).transpose()?;
        let name = step.unwrap_or_else(|| EntryName::Hash(key.clone()));
        let guessed = !matches!(response.content, ResponseContent::Chunks(_));
        let times = ReplyTimes { first: first_ms, whole: duration_ms };
        let size = response.size.filter(|_| has_body(&asked.method, &response));
        let reply = uncompressed_reply(response, &asked.method, times, self.maker.max);
        let reply = reply.map_err(ImportRefusal::Damaged)?;
        let smaller = smaller_than_stated(&reply, size).filter(|_| guessed);
        self.accept_length(smaller, &mut lost)?;
        let recorded_at = started.as_deref().and_then(timestamp::normalize_time);
        if own.is_none() {
            lost.extend(unknown_times([recorded_at.is_some(), duration_ms.is_some()]));
        }
        if guessed && reply.chunks.len() > 1 {
            lost.push("the chunks of streamed answers: they are cut at each event");
        }
        let run_values = own.as_ref().map(|own| own.run_values.clone()).unwrap_or_default();
        let upstream_origin = stored_origin(&observed.upstream, &asked, own.as_ref());
        let secrets = Arc::new(asked.secrets);
        let mut placeholders = observed.placeholders.clone();
        redact_messages(&mut messages, self.maker.redactor, &secrets, &mut placeholders);
        let latency_ms = duration_ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
        let over = CompletedExchange {
            observed,
            key,
            secrets: Arc::clone(&secrets),
            recorded_at,
            latency_ms,
            upstream_origin,
            run_values: Arc::new(RunValueFinder::for_entry(&run_values)),
            reply,
        };
        let made = self.maker.make_entry(over);
        let MadeEntry { mut entry, .. } =
            made.map_err(|unkept| ImportRefusal::Damaged(unkept.to_string()))?;
        entry.messages = messages;
        if let Some(own) = own {
            own.complete_entry(&mut entry)
                .map_err(|error| ImportRefusal::Damaged(format!("in `_loomrec`: {error}")))?;
        }
        check_secrets(&entry, &secrets)?;
        Ok(ImportedEntry { name, entry, by, host: asked.host, lost, notes: asked.notes })
    }

    /// Refuses a body of another length, unless the user wants it.
    fn accept_length(
        &self,
        other: Option<String>,
        lost: &mut Vec<&'static str>,
    ) -> Result<(), ImportRefusal> {
        match other {
            Some(reason) if !self.any_length => return Err(ImportRefusal::Damaged(reason)),
            Some(_) => lost.push(OTHER_LENGTH),
            None => {}
        }
        Ok(())
    }

    /// Checks that a request can be replayed.
    pub(super) fn check_request(
        &self,
        request: ForeignRequest,
        own: Option<&OwnDetails>,
    ) -> Result<ImportedRequest, ImportRefusal> {
        let ForeignRequest { method, url, headers, body, .. } = self.substitute_values(request);
        let FilledAddress { url, mut notes } =
            fill_host(&url, self.substitutes).map_err(ImportRefusal::Damaged)?;
        let uri: Uri = url.parse().map_err(|_| refused("its address is not a URL"))?;
        let host = uri.authority().ok_or_else(|| refused("its address names no host"))?;
        // The host may be preceded by a password.
        let host = host.as_str().rsplit('@').next().unwrap_or_default().to_owned();
        let method = method.to_ascii_uppercase();
        let asks = method != "OPTIONS" && !method.is_empty();
        if !asks || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(refused("its method is OPTIONS, missing or not a word"));
        }
        let mut headers = in_lower_case(headers);
        let assumes = self.assume && own.is_none();
        if assumes {
            notes.extend(assume_request_type(&mut headers, &body, is_mark));
        }
        let body = if encoding::coding_in(&headers).is_some() {
            body
        } else {
            let media = find_value(&headers, "content-type").unwrap_or_default();
            readable_bytes(body, media)
                .map_err(|why| ImportRefusal::Damaged(format!("its request's body {why}")))?
        };
        let placed = self.addresses.place_call(&method, &uri, &headers, &body);
        if assumes {
            notes.extend(assume_version(&mut headers, &placed.upstream, is_mark));
        }
        let named = own.is_some_and(|own| own.upstream.is_some());
        if placed.by == PlacedBy::Host && host == NO_HOST {
            return Err(refused(
                "its file names no host: name its upstream by --upstream NAME=URL",
            ));
        }
        if placed.by == PlacedBy::Host && !named && !self.all {
            return Err(ImportRefusal::Foreign(host));
        }
        let upstream = own.and_then(|own| own.upstream.as_deref()).unwrap_or(&placed.upstream);
        let rules = directory::query_rules(Some(upstream), self.credential_params);
        let query = uri.query().unwrap_or_default();
        let mut secrets = CallCredentials::of_request(&credential_headers(&headers), query, rules);
        if let Some(address) = address_with_user(&uri) {
            secrets.add_address(&address);
        }
        Ok(ImportedRequest { method, uri, host, headers, body, placed, secrets, notes })
    }

    /// Replaces placeholders in the headers and the body of a request by the values of the user.
    fn substitute_values(&self, mut request: ForeignRequest) -> ForeignRequest {
        let Ok(text) = std::str::from_utf8(&request.body) else { return request };
        if self.substitutes.is_empty() {
            return request;
        }
        let (old, body) = (request.body.len(), substitute_values(text, self.substitutes));
        for (name, value) in &mut request.headers {
            *value = substitute_values(value, self.substitutes);
            if name.eq_ignore_ascii_case("content-length") && value.trim().parse() == Ok(old) {
                *value = body.len().to_string();
            }
        }
        ForeignRequest { body: body.into(), ..request }
    }

    /// Returns the recognised request without secrets, and how its upstream was found.
    pub(super) fn observe_request(
        &self,
        asked: &ImportedRequest,
        own: Option<&OwnDetails>,
    ) -> (NormalizedRequest, PlacedBy) {
        let ImportedRequest { method, uri, headers, body, placed, secrets, .. } = asked;
        let redactor = self.maker.redactor;
        let own_upstream = own.and_then(|own| own.upstream.clone());
        let by = if own_upstream.is_some() { PlacedBy::Address } else { placed.by };
        let upstream = own_upstream.unwrap_or_else(|| placed.upstream.clone());
        let path = own.and_then(|own| own.path.as_ref()).unwrap_or(&placed.path);
        let rules = directory::query_rules(Some(&upstream), self.credential_params);
        let query = rules.without_credentials(uri.query().unwrap_or_default());
        let stored = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().into()));
        let mut placeholders = Placeholders::default();
        let target = (path.as_str(), &*query);
        let head = RecordedRequest::redacted_head(
            redactor,
            secrets,
            &mut placeholders,
            method,
            target,
            (self.rules.headers(), stored),
        );
        let kind = head.content_type();
        // Other tools keep the text of a compressed body beside the header of its coding.
        let coding = encoding::coding_in(headers).filter(|_| std::str::from_utf8(body).is_err());
        let DecodedRequestBody { text, packed, opaque } =
            DecodedRequestBody::decode(coding.as_deref(), kind, body);
        let packed = packed.filter(|packed| redactor.is_packed_clean(packed, secrets));
        let (body, packed) = match opaque {
            Some(mark) => (mark, None),
            None => match redactor.redact_body(kind, &text, secrets, &mut placeholders) {
                Cow::Borrowed(_) => (text, packed),
                Cow::Owned(clean) => (clean.into(), None),
            },
        };
        let request = RecordedRequest { body, packed, ..head };
        let mut observed =
            NormalizedRequest::new(upstream, request, std::slice::from_ref(self.rules));
        let named = |own: Option<&String>, header: &str| {
            let given = own.map(String::as_str).or_else(|| find_value(headers, header))?;
            Some(redactor.redact_name(given, secrets)).filter(|text| !text.is_empty())
        };
        observed.session = named(own.and_then(|own| own.session.as_ref()), SESSION);
        observed.step = named(own.and_then(|own| own.step.as_ref()), STEP);
        observed.placeholders = placeholders;
        (observed, by)
    }
}

/// A request that can be replayed, with the data needed to store it.
pub(super) struct ImportedRequest {
    pub(super) method: String,
    uri: Uri,
    pub(super) host: String,
    /// Headers with names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    placed: PlacedCall,
    pub(super) secrets: CallCredentials,
    pub(super) notes: Vec<ImportNote>,
}

/// Returns the name of an entry that is kept under a step id.
pub(super) fn step_name(step: &str) -> Result<EntryName, ImportRefusal> {
    EntryName::from_step_id(step).map_err(|error| {
        ImportRefusal::Reason(format!("its step id cannot be a name: failed to {error}"))
    })
}

/// Returns which of the times of calls a file does not hold.
fn unknown_times(known: [bool; 2]) -> impl Iterator<Item = &'static str> {
    let unknown = UNKNOWN_TIMES.into_iter().zip(known).filter(|(_, known)| !known);
    unknown.map(|(what, _)| what)
}

/// Checks that no credential is left in an entry.
pub(super) fn check_secrets(entry: &Entry, secrets: &CallCredentials) -> Result<(), ImportRefusal> {
    if secrets.is_empty() || redact::is_clean(&entry.to_text(), secrets) {
        return Ok(());
    }
    Err(ImportRefusal::Damaged(UNCLEAN.to_owned()))
}

/// Checks that a response with this status can be replayed.
fn check_status(status: u16, is_socket: bool) -> Result<(), ImportRefusal> {
    match status {
        200..600 => Ok(()),
        101 if is_socket => Ok(()),
        0 => Err(refused("it was never answered (status 0)")),
        101 => Err(refused("it became a WebSocket, whose messages the file does not hold")),
        _ => Err(refused("its status is not that of an answer")),
    }
}

pub(super) fn refused(reason: &str) -> ImportRefusal {
    ImportRefusal::Reason(reason.to_owned())
}

/// Returns the scheme, host and port that a call was sent to, unless that is the public address of
/// its upstream.
fn stored_origin(
    upstream: &str,
    asked: &ImportedRequest,
    own: Option<&OwnDetails>,
) -> Option<String> {
    if let Some(own) = own {
        return own.upstream_origin.clone();
    }
    if asked.host == NO_HOST {
        return None;
    }
    let address = format!("{}://{}", asked.uri.scheme_str()?, asked.host);
    let origin = Url::parse(&address).ok()?.origin().ascii_serialization();
    directory::stored_origin(upstream, &origin)
}

/// Returns an address that has a user or a password, unless these are another tool's marks.
fn address_with_user(uri: &Uri) -> Option<Url> {
    let authority = uri.authority()?.as_str();
    let (user, _) = authority.rsplit_once('@')?;
    if user.split(':').all(is_mark) {
        return None;
    }
    Url::parse(&format!("http://{authority}/")).ok()
}

/// Whether another tool replaced a credential by this mark.
fn is_mark(value: &str) -> bool {
    let value = value.rsplit(' ').next().unwrap_or_default();
    let word = value.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
    word.is_empty() || MARKS.contains(&word.as_str())
}

/// Returns the headers that may hold a credential. Omits those in which another tool replaced it by
/// a mark.
fn credential_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers.iter().filter(|(_, value)| !is_mark(value)).cloned().collect()
}

#[cfg(test)]
#[path = "import_tests.rs"]
pub(super) mod tests;
