//! The forms of failure of the table, each as bytes on the wire.

use loomrec_provider::Framing;

use super::call_form::{CallForm, error_body};
use crate::support::Answer;

/// A form of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureForm {
    ErrorStatus,
    Reset,
    EarlyClose,
    ErrorEvent,
    ErrorAtOnce,
    ErrorBody,
    NoEndMark,
    EarlyEnd,
    NoBytes,
    WebPage,
    OtherMedia,
}

impl FailureForm {
    pub(super) const ALL: [Self; 11] = [
        Self::ErrorStatus,
        Self::Reset,
        Self::EarlyClose,
        Self::ErrorEvent,
        Self::ErrorAtOnce,
        Self::ErrorBody,
        Self::NoEndMark,
        Self::EarlyEnd,
        Self::NoBytes,
        Self::WebPage,
        Self::OtherMedia,
    ];

    /// Its name in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ErrorStatus => "status 529",
            Self::Reset => "the connection is reset",
            Self::EarlyClose => "the connection is closed early",
            Self::ErrorEvent => "an error event within the stream",
            Self::ErrorAtOnce => "an error event alone",
            Self::ErrorBody => "an error body, status 200",
            Self::NoEndMark => "the end mark is missing",
            Self::EarlyEnd => "the JSON ends early",
            Self::NoBytes => "no bytes",
            Self::WebPage => "a web page, status 200",
            Self::OtherMedia => "a text, status 200",
        }
    }

    /// The answer to a call; `None` if calls of this form cannot fail so.
    pub(super) fn answer(self, call: &CallForm) -> Option<Answer> {
        let error = error_body(call.provider).to_string();
        let beginning = || call.events()[..2].to_vec();
        let is_stream = call.framing.is_some();
        Some(match self {
            Self::ErrorStatus => Answer::json(529, error),
            Self::Reset if is_stream => call.stream(&beginning()).reset(),
            Self::EarlyClose if is_stream => call.stream(&beginning()).close(),
            Self::EarlyClose => {
                let head = ["content-type: application/json", "content-length: 5000"];
                Answer::head(200, &head).bytes(call.body()).close()
            }
            Self::ErrorEvent if call.framing == Some(Framing::Array) => {
                let events = [&beginning()[..], &[format!(",\r\n{error}]").into_bytes()]].concat();
                call.stream(&events).end()
            }
            Self::ErrorEvent if is_stream => {
                let events = [&beginning()[..], &[call.error_event()]].concat();
                call.stream(&events).end()
            }
            Self::ErrorAtOnce if is_stream => call.stream(&[call.error_event()]).end(),
            Self::ErrorBody if !is_stream => Answer::json(200, error),
            Self::NoEndMark if is_stream => call.stream(&beginning()).end(),
            Self::EarlyEnd if !is_stream => {
                let body = call.body();
                Answer::json(200, &body[..body.len() - 1])
            }
            Self::NoBytes if is_stream => call.stream(&[]).end(),
            Self::NoBytes => Answer::json(200, ""),
            Self::WebPage => {
                let page = "<!DOCTYPE html><title>Bad Gateway</title>";
                Answer::whole(200, &["content-type: text/html"], page)
            }
            Self::OtherMedia if !is_stream => {
                Answer::whole(200, &["content-type: text/plain"], "upstream connect error")
            }
            _ => return None,
        })
    }
}
