//! From a request on the wire to what the engines see of it.

use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Method};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::route::Place;
use crate::record::capture::header_list;
use crate::recording::entry::RecordedRequest;
use crate::recording::observed::Observed;
use crate::recording::redact::{self, Redactor, Secrets};

/// Names the session of a call.
pub const SESSION_HEADER: &str = "x-loomrec-session";
/// Names the step of a call.
pub const STEP_HEADER: &str = "x-loomrec-step-id";

/// A request with its secrets apart.
#[derive(Debug)]
pub struct Seen {
    /// Freed of everything that looks like a key, for looking it up: the caller's
    /// own credentials may still stand in its body, so it is never shown.
    pub observed: Observed,
    /// The same with this request's own credentials taken out of its body too,
    /// where they stood in it.
    pub scrubbed: Option<Observed>,
    /// The request's own credentials.
    pub secrets: Secrets,
}

impl Seen {
    /// What may be stored or shown of the request.
    pub fn storable(&self) -> &Observed {
        self.scrubbed.as_ref().unwrap_or(&self.observed)
    }

    /// The same, and the credentials that were taken out of it.
    pub fn into_stored(self) -> (Observed, Secrets) {
        (self.scrubbed.unwrap_or(self.observed), self.secrets)
    }
}

/// Recognises a request and frees it of secrets.
pub fn observe(
    place: &Place,
    method: &Method,
    headers: &HeaderMap,
    body: &Bytes,
    redactor: &Redactor,
) -> Seen {
    let list = header_list(headers);
    let secrets = Secrets::of(&list, &place.query);
    let clean = |text: &str| {
        String::from_utf8_lossy(&redactor.redact(text.as_bytes(), &secrets)).into_owned()
    };
    let named = |name: &str| {
        let value = list.iter().find(|(known, _)| known == name)?;
        Some(value.1.as_str()).filter(|text| !text.is_empty())
    };
    let stored_headers = || {
        let headers = redact::stored_request_headers(&list).into_iter();
        headers.map(|(name, value)| (name, clean(&value))).collect()
    };
    let build = |body: Bytes| {
        let request = RecordedRequest {
            method: method.as_str().to_owned(),
            path: clean(&place.path),
            query: clean(&redact::stored_query(&place.query)),
            headers: stored_headers(),
            body,
        };
        let call = request.recognise();
        Observed {
            upstream: place.upstream.clone(),
            request,
            call,
            session: place.session.as_deref().or_else(|| named(SESSION_HEADER)).map(clean),
            step: named(STEP_HEADER).map(clean),
        }
    };
    let patterns = redactor.redact_patterns_only(body);
    let scrubbed = redactor.redact(body, &secrets);
    let differs = patterns != scrubbed;
    let owned = |text: std::borrow::Cow<'_, [u8]>| match text {
        std::borrow::Cow::Borrowed(_) => body.clone(),
        std::borrow::Cow::Owned(bytes) => Bytes::from(bytes),
    };
    let scrubbed = differs.then(|| build(owned(scrubbed)));
    let observed = build(owned(patterns));
    Seen { observed, scrubbed, secrets }
}

/// Now, as microseconds since 1970, later than every time given out before, so
/// that arrival times order the calls of a process.
pub fn arrival(clock: &AtomicI64) -> i64 {
    let micros = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000;
    let now = i64::try_from(micros).unwrap_or(i64::MAX - 1);
    let next = |last: i64| now.max(last + 1);
    match clock.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(next(last))) {
        Ok(last) | Err(last) => next(last),
    }
}

/// Such a time as text: RFC 3339, UTC, always six digits of a second.
pub fn timestamp(micros: i64) -> String {
    let time = OffsetDateTime::UNIX_EPOCH + Duration::microseconds(micros);
    let seconds = time.replace_nanosecond(0).unwrap_or(time);
    let text = seconds.format(&Rfc3339).unwrap_or_default();
    format!("{}.{:06}Z", text.trim_end_matches('Z'), micros.rem_euclid(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrival_times_are_unique_and_rising() {
        let clock = AtomicI64::new(0);
        let times: Vec<i64> = (0..1000).map(|_| arrival(&clock)).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(clock.load(Ordering::Relaxed), times[999]);
    }

    #[test]
    fn timestamps_sort_as_text() {
        assert_eq!(timestamp(1_700_000_000_000_042), "2023-11-14T22:13:20.000042Z");
        assert!(timestamp(999_999) < timestamp(1_000_000));
    }
}
