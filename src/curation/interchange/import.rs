//! Makes an entry of another tool's exchange: the same entry that recording the exchange would
//! give.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use url::Url;

use super::address::{PlacedBy, PlacedCall, UpstreamAddresses};
use super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, OwnDetails, ResponseContent,
};
use super::header_list::{find_value, in_lower_case};
use super::length::other_length;
use loomrec_identity::{IdentityRules, RunValueFinder};
use loomrec_provider::{Framing, directory, framing};
use loomrec_recording::entry_maker::{CompletedExchange, EntryMaker, MadeEntry, UpstreamReply};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{self, CallCredentials, Placeholders};
use loomrec_recording::request_text::{RequestText, request_text};
use loomrec_recording::{Chunk, Entry, EntryName, RecordedRequest, encoding, timestamp};

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
    pub fn entry(&self, exchange: ForeignExchange) -> Result<ImportedEntry, ImportRefusal> {
        let ForeignExchange {
            request,
            response,
            started,
            first_ms,
            duration_ms,
            own,
            mut lost,
            ..
        } = exchange;
        let asked = self.asked(request, response.status, own.as_ref())?;
        if let Some(reason) = other_length(&asked.method, &asked.headers, &asked.body, &response) {
            match self.any_length {
                true => lost.push("the length of bodies that another tool has changed"),
                false => return Err(ImportRefusal::Damaged(reason)),
            }
        }
        let (observed, by) = self.observed(&asked, own.as_ref());
        let key = observed.key(self.rules);
        let name = match &observed.step {
            Some(step) => EntryName::step(step).map_err(|error| {
                ImportRefusal::Reason(format!("its step id cannot be a name: failed to {error}"))
            })?,
            None => EntryName::Hash(key.clone()),
        };
        let guessed = !matches!(response.content, ResponseContent::Chunks(_));
        let times = Times { first: first_ms, whole: duration_ms };
        let reply = self.reply(response, &asked.method, times)?;
        let recorded_at = started.as_deref().and_then(timestamp::read);
        if recorded_at.is_none() && own.is_none() {
            lost.push("when calls were made");
        }
        if duration_ms.is_none() && own.is_none() {
            lost.push("how long answers took");
        }
        if guessed && reply.chunks.len() > 1 {
            lost.push("the chunks of streamed answers: they are cut at each event");
        }
        let run_values = own.as_ref().map(|own| own.run_values.clone()).unwrap_or_default();
        let upstream_origin = stored_origin(&observed.upstream, &asked, own);
        let secrets = Arc::new(asked.secrets);
        let latency_ms = duration_ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
        let over = CompletedExchange {
            observed,
            key,
            secrets: Arc::clone(&secrets),
            recorded_at,
            latency_ms,
            upstream_origin,
            run_values: Arc::new(RunValueFinder::new(run_values)),
            reply,
        };
        let MadeEntry { entry, .. } =
            self.maker.entry(over).map_err(|unkept| ImportRefusal::Damaged(unkept.to_string()))?;
        if !secrets.is_empty() && !redact::is_clean(&entry.to_text(), &secrets) {
            let reason = "a credential in it could not be taken out";
            return Err(ImportRefusal::Damaged(reason.to_owned()));
        }
        Ok(ImportedEntry { name, entry, by, host: asked.host, lost })
    }

    /// Checks that a request can be replayed.
    pub(super) fn asked(
        &self,
        request: ForeignRequest,
        status: u16,
        own: Option<&OwnDetails>,
    ) -> Result<ImportedRequest, ImportRefusal> {
        let ForeignRequest { method, url, headers, body } = request;
        let uri: Uri = url.parse().map_err(|_| refused("its address is not a URL"))?;
        let host = uri.authority().ok_or_else(|| refused("its address names no host"))?;
        // The host may be preceded by a password.
        let host = host.as_str().rsplit('@').next().unwrap_or_default().to_owned();
        let method = method.to_ascii_uppercase();
        let asks = method != "OPTIONS" && !method.is_empty();
        if !asks || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(refused("its method is OPTIONS, missing or not a word"));
        }
        match status {
            200..600 => {}
            0 => return Err(refused("it was never answered (status 0)")),
            101 => {
                return Err(refused("it became a WebSocket, whose messages are not an exchange"));
            }
            _ => return Err(refused("its status is not that of an answer")),
        }
        let headers = in_lower_case(headers);
        let placed = self.addresses.place(&method, &uri, &headers, &body);
        let named = own.is_some_and(|own| own.upstream.is_some());
        if placed.by == PlacedBy::Host && !named && !self.all {
            return Err(ImportRefusal::Foreign(host));
        }
        let upstream = own.and_then(|own| own.upstream.as_deref()).unwrap_or(&placed.upstream);
        let rules = directory::query_rules(Some(upstream), self.credential_params);
        let query = uri.query().unwrap_or_default();
        let mut secrets = CallCredentials::of_request(&credentials(&headers), query, rules);
        if let Some(address) = address_with_user(&uri) {
            secrets.add_address(&address);
        }
        Ok(ImportedRequest { method, uri, host, headers, body, placed, secrets })
    }

    /// Returns the recognised request without secrets, and how its upstream was found.
    pub(super) fn observed(
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
        let query = rules.stored(uri.query().unwrap_or_default());
        let stored = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().into()));
        let mut placeholders = Placeholders::default();
        let target = (path.as_str(), &*query);
        let head = RecordedRequest::head(
            redactor,
            secrets,
            &mut placeholders,
            method,
            target,
            (self.rules.headers(), stored),
        );
        let kind = head.content_type();
        let coding = encoding::coding_in(headers);
        let body = match request_text(coding.as_deref(), body) {
            RequestText::Opaque(mark) => mark,
            RequestText::Plain(text) | RequestText::Decoded(text) => {
                match redactor.redact_body(kind, &text, secrets, &mut placeholders) {
                    Cow::Borrowed(_) if redactor.is_packing_clean(body, &text, secrets) => {
                        body.clone()
                    }
                    Cow::Borrowed(_) => text,
                    Cow::Owned(clean) => clean.into(),
                }
            }
        };
        let request = RecordedRequest { body, ..head };
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

    /// Returns the response as it would have been without compression.
    fn reply(
        &self,
        response: ForeignResponse,
        method: &str,
        times: Times,
    ) -> Result<UpstreamReply, ImportRefusal> {
        let ForeignResponse { status, headers, content, end, .. } = response;
        let mut headers = in_lower_case(headers);
        let chunks = match content {
            ResponseContent::Chunks(chunks) => chunks,
            ResponseContent::Plain(body) => {
                headers.retain(|(name, _)| name != "content-encoding");
                times.chunks(&headers, body)
            }
            ResponseContent::Wire(body) => {
                let body = self.unpacked(&mut headers, body)?;
                times.chunks(&headers, body)
            }
        };
        let length: usize = chunks.iter().map(|chunk| chunk.data.len()).sum();
        if method != "HEAD" {
            // The old length was that of the compressed body.
            for (_, value) in headers.iter_mut().filter(|(name, _)| name == "content-length") {
                *value = length.to_string();
            }
        }
        Ok(UpstreamReply { status, headers, chunks, over: false, end })
    }

    /// Returns the plain bytes of a body, and removes the `content-encoding` header.
    fn unpacked(
        &self,
        headers: &mut Vec<(String, String)>,
        body: Bytes,
    ) -> Result<Bytes, ImportRefusal> {
        let Some(coding) = encoding::coding_in(headers) else {
            headers.retain(|(name, _)| name != "content-encoding");
            return Ok(body);
        };
        let plain = match encoding::decode(&coding, &body, self.maker.max) {
            Some(plain) => plain.into(),
            // The tool decoded the body already, and left the header.
            None if std::str::from_utf8(&body).is_ok() => body,
            None => {
                return Err(ImportRefusal::Damaged(format!(
                    "its body cannot be unpacked (content-encoding: {})",
                    coding.chars().take(40).collect::<String>()
                )));
            }
        };
        headers.retain(|(name, _)| name != "content-encoding");
        Ok(plain)
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
}

pub(super) fn refused(reason: &str) -> ImportRefusal {
    ImportRefusal::Reason(reason.to_owned())
}

/// The times of an answer, as far as they are known.
#[derive(Clone, Copy, Debug)]
struct Times {
    first: Option<f64>,
    whole: Option<f64>,
}

impl Times {
    /// Returns the chunks of a body: one for each event of a stream, or a single one. Only the
    /// times of the first and of the last byte are known.
    fn chunks(self, headers: &[(String, String)], body: Bytes) -> Vec<Chunk> {
        let good = |ms: Option<f64>| ms.filter(|ms| ms.is_finite() && *ms >= 0.0).unwrap_or(0.0);
        let media = find_value(headers, "content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        let pieces = match Framing::of_media(media) {
            Some(framing) => events(framing, body),
            None => vec![body],
        };
        let (first, last) = (good(self.first), good(self.whole));
        let pieces: Vec<Bytes> = pieces.into_iter().filter(|data| !data.is_empty()).collect();
        let single = pieces.len() == 1;
        let at = |index: usize| if index == 0 && !single { first } else { last };
        let numbered = pieces.into_iter().enumerate();
        numbered.map(|(index, data)| Chunk { at_ms: at(index), data }).collect()
    }
}

/// Splits a stream into its events.
fn events(framing: Framing, body: Bytes) -> Vec<Bytes> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    for event in framing::events(framing, &body) {
        let end = event.range.end.min(body.len());
        if end > start {
            pieces.push(body.slice(start..end));
            start = end;
        }
    }
    pieces.push(body.slice(start..));
    pieces
}

/// Returns the scheme, host and port that a call was sent to, unless that is the public address of
/// its upstream.
fn stored_origin(
    upstream: &str,
    asked: &ImportedRequest,
    own: Option<OwnDetails>,
) -> Option<String> {
    if let Some(own) = own {
        return own.upstream_origin;
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
fn credentials(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers.iter().filter(|(_, value)| !is_mark(value)).cloned().collect()
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
