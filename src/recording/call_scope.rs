//! The scope of a call: what tells it apart from other calls of the same name, beside its request.

use super::entry::Entry;
use loomrec_provider::RecognisedCall;

/// Where and how a call was made. What is `None` is not known, as in entries that imports make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallScope {
    /// Its session; a call without a session has none.
    pub session: Option<String>,
    /// Its upstream.
    pub upstream: Option<String>,
    /// Its mount and its delivery.
    pub form: Option<CallForm>,
}

/// The mount and the delivery of a call. The key of a chat includes neither.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallForm {
    /// The mount of its path: see [`loomrec_provider::chat_mount`].
    pub mount: String,
    /// The delivery that it asks for.
    pub delivery: CallDelivery,
}

/// How a call asks for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallDelivery {
    /// Complete.
    Complete,
    /// As a stream.
    Stream,
    /// As server-sent events, of an operation that streams arrays unless it is asked for events.
    Events,
}

impl CallScope {
    /// Returns the scope of an entry.
    pub fn from_entry(entry: &Entry) -> Self {
        Self::with_form(entry, CallForm::from_entry(entry))
    }

    /// As [`Self::from_entry`], for an entry whose form is known.
    pub fn with_form(entry: &Entry, form: Option<CallForm>) -> Self {
        let stated = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Self { session: stated(&entry.session), upstream: stated(&entry.upstream), form }
    }

    /// Whether a take in this scope answers a call: a take without a session answers any.
    pub fn answers_call(&self, call: &Self) -> bool {
        let session = self.session.clone().and(call.session.clone());
        self.agrees_with(&Self { session, ..call.clone() })
    }

    /// Whether nothing that is known of both tells two calls apart.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.session == other.session
            && may_be_equal(self.upstream.as_ref(), other.upstream.as_ref())
            && may_be_equal(self.form.as_ref(), other.form.as_ref())
    }
}

fn may_be_equal<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

impl CallDelivery {
    const ALL: [Self; 3] = [Self::Complete, Self::Stream, Self::Events];

    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stream => "stream",
            Self::Events => "events",
        }
    }
}

impl CallForm {
    /// Returns the form of an entry's call; `None` if its request is not recorded.
    pub fn from_entry(entry: &Entry) -> Option<Self> {
        let (path, asks_for_events) = entry.request_path().zip(entry.asks_for_events())?;
        Some(Self::from_call(&entry.recognise_call()?, path, asks_for_events))
    }

    /// Returns the form of a call at this path. `asks_for_events` says whether its query asks for
    /// server-sent events.
    pub fn from_call(call: &RecognisedCall, path: &str, asks_for_events: bool) -> Self {
        let delivery = match call.streamed {
            false => CallDelivery::Complete,
            true if call.operation.streams_arrays() && asks_for_events => CallDelivery::Events,
            true => CallDelivery::Stream,
        };
        Self { mount: loomrec_provider::chat_mount(path).to_owned(), delivery }
    }

    /// Returns it as text: its delivery, a space, and its mount.
    pub fn to_text(&self) -> String {
        format!("{} {}", self.delivery.name(), self.mount)
    }

    /// Reads such a text; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (delivery, mount) = text.split_once(' ')?;
        let delivery = CallDelivery::ALL.into_iter().find(|known| known.name() == delivery)?;
        Some(Self { mount: mount.to_owned(), delivery })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedRequest;

    #[test]
    fn form_is_read_back_from_its_text() {
        for mount in ["", "/openai", "/a b"] {
            for delivery in CallDelivery::ALL {
                let form = CallForm { mount: mount.to_owned(), delivery };
                assert_eq!(CallForm::parse(&form.to_text()), Some(form));
            }
        }
        for text in ["", "stream", "streamed /a", "/a"] {
            assert_eq!(CallForm::parse(text), None, "{text}");
        }
    }

    #[test]
    fn scopes_agree_unless_something_known_of_both_differs() {
        use CallDelivery::{Complete, Events, Stream};
        let form = |mount: &str, delivery| Some(CallForm { mount: mount.to_owned(), delivery });
        let text = |text: &str| Some(text.to_owned());
        let known =
            CallScope { session: None, upstream: text("gw"), form: form("/openai", Complete) };
        for other in [
            CallScope::default(),
            CallScope { upstream: None, ..known.clone() },
            CallScope { form: None, ..known.clone() },
            known.clone(),
        ] {
            assert!(known.agrees_with(&other) && other.agrees_with(&known), "{other:?}");
        }
        let in_session = CallScope { session: text("one"), ..known.clone() };
        assert!(known.answers_call(&in_session) && !in_session.answers_call(&known));
        assert!(in_session.answers_call(&in_session));
        for other in [
            in_session,
            CallScope { upstream: text("two"), ..known.clone() },
            CallScope { form: form("/groq", Complete), ..known.clone() },
            CallScope { form: form("/openai", Stream), ..known.clone() },
            CallScope { form: form("/openai", Events), ..known.clone() },
        ] {
            assert!(!known.agrees_with(&other) && !other.agrees_with(&known), "{other:?}");
        }
    }

    #[test]
    fn events_are_a_delivery_of_their_own_where_streams_are_arrays() {
        let delivery = |path: &str, query: &str, body: &'static str| {
            let request = RecordedRequest {
                method: "POST".to_owned(),
                path: path.to_owned(),
                query: query.to_owned(),
                body: body.into(),
                ..RecordedRequest::default()
            };
            let entry = Entry { request: Some(request), ..Entry::default() };
            CallForm::from_entry(&entry).unwrap().delivery
        };
        let gemini = "/v1beta/models/g:streamGenerateContent";
        assert_eq!(delivery(gemini, "alt=sse", "{}"), CallDelivery::Events);
        assert_eq!(delivery(gemini, "", "{}"), CallDelivery::Stream);
        assert_eq!(
            delivery("/v1beta/models/g:generateContent", "alt=sse", "{}"),
            CallDelivery::Complete
        );
        let chat = "/v1/chat/completions";
        assert_eq!(delivery(chat, "alt=sse", r#"{"stream": true}"#), CallDelivery::Stream);
    }
}
