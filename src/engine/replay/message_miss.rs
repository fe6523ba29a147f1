//! The explanation of a client's message that is not the recorded one.

use std::fmt;

use super::explain::UnexplainedMiss;
use super::matcher::Matcher;
use super::message_script::{MessageMismatch, MessageScript};
use super::mismatch::{NearestCall, RecordingMismatchError, RequestDifference, bounded_values};
use super::nearest_call::readable_json;
use super::reason::MissReason;
use loomrec_identity::sha256_text;
use loomrec_recording::MessagePayload;
use loomrec_recording::normalized_request::NormalizedRequest;

/// The most differences that are reported.
const MAX_DIFFERENCES: usize = 16;

impl fmt::Display for RecordingMismatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for RecordingMismatchError {}

impl RecordingMismatchError {
    /// Explains why `now`, a redacted message of the client of `observed`, is not the recorded one of
    /// a take.
    pub(super) fn of_message(
        matcher: &Matcher,
        take: usize,
        observed: &NormalizedRequest,
        (script, mismatch): (&MessageScript, &MessageMismatch),
        now: &MessagePayload,
    ) -> Self {
        let (recorded, arrived) = script.count_of_client();
        let mut error = Self::from_miss(matcher, &UnexplainedMiss::unknown(), observed);
        error.reason = MissReason::Drifted;
        error.same_messages = None;
        let audio = mismatch.same_audio.map_or_else(String::new, |same| {
            format!("; the first {same} bytes of the audio match the recording")
        });
        error.detail = Some(format!(
            "message {} of the client is not the recorded one; {recorded} were recorded{audio}",
            arrived + 1
        ));
        let place = format!("/messages/{}", mismatch.index);
        let mut differences: Vec<_> = script
            .message_differences(mismatch, now, MAX_DIFFERENCES)
            .into_iter()
            .map(|delta| {
                let (recorded, now) =
                    bounded_values(delta.recorded.map(readable_json), delta.now.map(readable_json));
                RequestDifference { place: format!("{place}{}", delta.pointer), recorded, now }
            })
            .collect();
        if differences.is_empty() {
            let recorded = mismatch.recorded.as_ref().map(shown_message);
            let (recorded, now) = bounded_values(recorded, Some(shown_message(now)));
            differences.push(RequestDifference { place, recorded, now });
        }
        let take = matcher.takes.get(take);
        error.nearest = take.map(|take| NearestCall::from_take(matcher, take, differences));
        error
    }
}

/// Returns a message as it is shown.
fn shown_message(payload: &MessagePayload) -> String {
    match payload {
        MessagePayload::Text(text) => String::from_utf8_lossy(text).into_owned(),
        MessagePayload::Binary(bytes) => {
            format!("{} bytes with the SHA-256 {}", bytes.len(), sha256_text(bytes))
        }
        MessagePayload::Close { code, reason } => format!("close {code} {reason}"),
    }
}
