//! The table rows of Gemini and its operations, and how its requests are recognised.

use serde_json::Value;

use super::error::{natural_body, own_body};
use super::{count_tokens, embed, generate, interaction};
use crate::credential::KeyCarrier;
use crate::error_reason::{ErrorReason, ReasonedError};
use crate::framing::Framing;
use crate::operation::Operation;
use crate::provider_row::{ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::{RequestHead, decode_segment, has_header, is_deployment, with_verb};

impl Provider {
    /// Google Gemini and Vertex.
    pub const GEMINI: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `:generateContent` and `:streamGenerateContent`
    pub const GENERATE_CONTENT: Self = Self::new(&generate::ROW);
    /// `:embedContent` and `:batchEmbedContents`
    pub const EMBED_CONTENT: Self = Self::new(&embed::ROW);
    /// `/interactions`, and what is below it
    pub const INTERACTIONS: Self = Self::new(&interaction::ROW);
    /// `:countTokens`
    pub const GEMINI_COUNT_TOKENS: Self = Self::new(&count_tokens::ROW);
}

/// The message for a conversation that is too long.
const TOO_LONG: &str =
    "The input token count exceeds the maximum number of tokens allowed (1048576).";

static PROVIDER: ProviderRow = ProviderRow {
    name: "gemini",
    semantic: Some("gcp.gemini"),
    operations: &[
        Operation::GENERATE_CONTENT,
        Operation::EMBED_CONTENT,
        Operation::GEMINI_COUNT_TOKENS,
        Operation::INTERACTIONS,
    ],
    recognise,
    has_header: |headers| {
        has_header(headers, "x-goog-api-key") || has_header(headers, "x-goog-api-client")
    },
    has_path: |path| {
        (path.starts_with("/v1beta/") || path.starts_with("/v1beta1/")) && !is_deployment(path)
    },
    target: |seen, operation| {
        Some(match operation == Operation::GENERATE_CONTENT {
            true => with_verb(seen.path, ":streamGenerateContent", ":generateContent"),
            false => seen.path.to_owned(),
        })
    },
    key_carrier: KeyCarrier::Header("x-goog-api-key"),
    call_ids: false,
    errors: ErrorRow {
        own: |told| own_body(told.status, told.kind, told.named),
        natural: |error_request| match error_request.framing {
            Some(Framing::Array) => Value::Array(vec![natural_body(error_request)]),
            _ => natural_body(error_request),
        },
        media: "application/json; charset=UTF-8",
        // The body contains it.
        retry: |_, _, _| {},
        reason: |reason, usual| match reason {
            ErrorReason::ContextLengthExceeded => {
                ReasonedError { message: Some(TOO_LONG), ..usual }
            }
            _ => usual,
        },
        gateway_page: GATEWAY_PAGE,
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

const GATEWAY_PAGE: &str = "<!DOCTYPE html>\n<html lang=en>\n  <title>Error 502 (Server Error)!!1</title>\n  <p><b>502.</b> <ins>That\u{2019}s an error.</ins>\n  <p>The server encountered a temporary error and could not complete your request.<p>Please try again in 30 seconds.  <ins>That\u{2019}s all we know.</ins>\n";

/// Recognises Gemini and Vertex: `…/models/MODEL:verb`.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    if is_interaction(seen.path) {
        return Some(PathShape::new(Provider::GEMINI, Operation::INTERACTIONS));
    }
    // OpenAI's fine-tuned models have colons in their names: GET /models/ft:NAME.
    if seen.method != "POST" {
        return None;
    }
    let (parent, last) = seen.path.rsplit_once('/')?;
    let (model, verb) = last.rsplit_once(':')?;
    let tuned = parent.ends_with("/tunedModels");
    if !tuned && !parent.ends_with("/models") && !parent.ends_with("/endpoints") {
        return None;
    }
    let claude = parent.ends_with("/publishers/anthropic/models");
    let (provider, operation) = match verb {
        "generateContent" | "streamGenerateContent" => {
            (Provider::GEMINI, Operation::GENERATE_CONTENT)
        }
        "predict" if model.contains("embedding") && !claude => {
            (Provider::GEMINI, Operation::EMBED_CONTENT)
        }
        "embedContent" | "batchEmbedContents" => (Provider::GEMINI, Operation::EMBED_CONTENT),
        "countTokens" => (Provider::GEMINI, Operation::GEMINI_COUNT_TOKENS),
        "rawPredict" | "streamRawPredict" if claude && model == "count-tokens" => {
            (Provider::ANTHROPIC, Operation::COUNT_TOKENS)
        }
        "rawPredict" | "streamRawPredict" if claude => (Provider::ANTHROPIC, Operation::MESSAGES),
        _ => (Provider::GEMINI, Operation::OTHER),
    };
    let mut shape = PathShape::new(provider, operation);
    if operation != Operation::COUNT_TOKENS {
        let model = decode_segment(model);
        shape.model = if tuned { model.map(|model| format!("tunedModels/{model}")) } else { model };
    }
    shape.streamed = Some(verb.starts_with("stream"));
    Some(shape)
}

/// Whether a path is that of interactions, or below it: `/v1beta/interactions/ID`, also below a
/// project of Vertex.
fn is_interaction(path: &str) -> bool {
    let Some((before, below)) = path.split_once("/interactions") else { return false };
    let versions = ["/v1", "/v1beta", "/v1beta1", "/v1alpha"];
    let is_google = versions.contains(&before)
        || before.contains("/projects/") && before.contains("/locations/");
    is_google && (below.is_empty() || below.starts_with('/'))
}
