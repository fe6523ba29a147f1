//! The parts of a request that its key is made of.

use super::json::Json;
use super::key_reduction::KeyReduction;
use super::reader;

/// How the key is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm<'a> {
    /// OpenAI-style chat completions: the hash of plain entries, made of the body alone. A body that is not
    /// a plain JSON object has no such hash; its key takes the tagged form with the target `chat`.
    Chat,
    /// All other requests: the domain-tagged form.
    Tagged {
        /// The target of the request: the name of an operation if several paths mean the same
        /// (`anthropic.messages`), else the raw path. A verb that only chooses the delivery
        /// (Gemini's `:streamGenerateContent`) is normalised.
        target: &'a str,
        /// Whether the body's top-level `stream` and `stream_options` and the
        /// query's `alt` only choose the mode of delivery, and so are left out.
        delivery: bool,
        /// Whether the operation is known. Then it answers in JSON, or in the format that its path
        /// or body selects, and `accept: application/json` selects nothing.
        known: bool,
    },
    /// The tagged form, of a protocol whose requests carry values that a client makes anew.
    Reduced {
        /// The target of the request: the raw path.
        target: &'a str,
        /// What the key leaves out.
        reduction: &'static KeyReduction,
    },
}

/// One request, ready to be hashed: its credentials are removed, nothing else.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// How the key is formed.
    pub form: KeyForm<'a>,
    /// The HTTP method, upper case.
    pub method: &'a str,
    /// The raw query without its `?` and without credentials.
    pub query: &'a str,
    /// The request's headers, names in lower case, in the order in which they came. Only those that
    /// change an answer enter the key.
    pub headers: &'a [(String, String)],
    /// The body's bytes.
    pub body: &'a [u8],
}

impl<'a> RequestParts<'a> {
    /// The body as JSON, if it is sent as JSON and is plain JSON.
    ///
    /// It counts as sent as JSON if its media type is absent or malformed, is `…/json`, `…/…+json`
    /// or AWS's `…/x-amz-json-1.x`, or is `application/x-www-form-urlencoded` (which `curl -d`
    /// sends with JSON too), and if it has no content encoding but `identity`. JSON in a
    /// `text/plain` or any other body stays bytes, because its spelling may matter there. What a
    /// reduction leaves out is not in it.
    pub fn json_body(&self) -> Option<Json<'a>> {
        if !self.offers_json() {
            return None;
        }
        let body = reader::parse(self.body).ok()?;
        Some(match self.key_reduction() {
            Some(reduction) => (reduction.body)(&body),
            None => body,
        })
    }

    /// What the key leaves out of this request, beside rules.
    pub(super) fn key_reduction(&self) -> Option<&'static KeyReduction> {
        match self.form {
            KeyForm::Reduced { reduction, .. } => Some(reduction),
            KeyForm::Chat | KeyForm::Tagged { .. } => None,
        }
    }

    /// Whether the headers declare the body as JSON; see [`Self::json_body`].
    pub(super) fn offers_json(&self) -> bool {
        let plain = self.header_values("content-encoding").all(|coding| {
            coding.trim().is_empty() || coding.trim().eq_ignore_ascii_case("identity")
        });
        let media = self.media_type().unwrap_or_default();
        let json = match media.split_once('/') {
            Some((_, "json")) | None => true,
            Some(("application", "x-www-form-urlencoded")) => true,
            Some((_, kind)) => kind.ends_with("+json") || kind.starts_with("x-amz-json-"),
        };
        plain && json
    }

    /// The media type of the body, in lower case, without parameters.
    pub(super) fn media_type(&self) -> Option<String> {
        let value = self.header_values("content-type").next()?;
        let media = value.split([';', ',']).next().unwrap_or_default().trim();
        (!media.is_empty()).then(|| media.to_ascii_lowercase())
    }

    /// The values of the headers of this name, in order.
    pub(super) fn header_values(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let wanted =
            move |(header, value): &'a (String, String)| (header == name).then_some(value.as_str());
        self.headers.iter().filter_map(wanted)
    }
}
