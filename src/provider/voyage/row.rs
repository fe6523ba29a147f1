//! The table rows of Voyage and its operations, and how its requests are recognised.

use serde_json::{Value, json};

use super::{embed, rerank};
use crate::openai;
use crate::operation::Operation;
use crate::provider_row::{ErrorRequest, ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::RequestHead;

impl Provider {
    /// Voyage.
    pub const VOYAGE: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `/contextualizedembeddings` and `/multimodalembeddings` of Voyage, and `/embeddings`
    /// with one of its models
    pub const VOYAGE_EMBED: Self = Self::new(&embed::ROW);
    /// `/rerank` with one of Voyage's models
    pub const VOYAGE_RERANK: Self = Self::new(&rerank::ROW);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "voyage",
    semantic: Some("voyage"),
    operations: &[Operation::VOYAGE_EMBED, Operation::VOYAGE_RERANK],
    recognise,
    target: |seen, operation| {
        // These calls keep the keys that they had before they were recognised as Voyage's.
        Some(match operation == Operation::VOYAGE_RERANK {
            true => seen.path.to_owned(),
            false => openai::unversioned_path(seen.path).to_owned(),
        })
    },
    errors: ErrorRow {
        own: |told| json!({ "detail": told.named }),
        natural: natural_body,
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

/// Recognises Voyage's own paths, and those of OpenAI and Cohere with one of its models.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let ends = |suffix| seen.path.ends_with(suffix);
    let model = seen.body_model.unwrap_or_default();
    let operation = match () {
        () if seen.method != "POST" => return None,
        () if ends("/contextualizedembeddings") || ends("/multimodalembeddings") => {
            Operation::VOYAGE_EMBED
        }
        () if ends("/embeddings") && model.starts_with("voyage-") => Operation::VOYAGE_EMBED,
        () if ends("/rerank") && is_reranker(model) => Operation::VOYAGE_RERANK,
        () => return None,
    };
    Some(PathShape::new(Provider::VOYAGE, operation))
}

/// Whether a model is one of Voyage's rerankers. Cohere's have a word or a `v` after `rerank-`, and
/// no `lite`.
fn is_reranker(model: &str) -> bool {
    let rest = model.strip_prefix("rerank-").unwrap_or_default();
    rest.starts_with(|first: char| first.is_ascii_digit()) || rest.starts_with("lite-")
}

/// The body of an error as Voyage sends it.
fn natural_body(error_request: &ErrorRequest<'_>) -> Value {
    let usual = match error_request.status {
        401 => "Provided API key is invalid.",
        403 => "This API key has no access to the requested resource.",
        404 => "Not Found",
        429 => "You have reached your rate limit. Please wait and try again later.",
        500.. => "The server had an error while processing the request.",
        _ => "The request body is not valid.",
    };
    json!({ "detail": error_request.message.unwrap_or(usual) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognise_request;

    fn asked(path: &str, model: &str) -> (Provider, Operation, Option<String>) {
        let seen = RequestHead {
            method: "POST",
            path,
            query: "",
            headers: &[],
            body_model: Some(model),
            body_stream: None,
            has_messages: false,
            rpc: None,
        };
        let call = recognise_request(&seen);
        (call.provider, call.operation, call.target)
    }

    #[test]
    fn voyages_calls_are_told_by_their_models_or_by_their_own_paths() {
        let expect =
            |operation, target: &str| (Provider::VOYAGE, operation, Some(target.to_owned()));
        let (embed, rerank) = (Operation::VOYAGE_EMBED, Operation::VOYAGE_RERANK);
        assert_eq!(asked("/v1/embeddings", "voyage-3.5"), expect(embed, "/embeddings"));
        let own = asked("/v1/contextualizedembeddings", "any");
        assert_eq!(own, expect(embed, "/contextualizedembeddings"));
        for model in ["rerank-2.5", "rerank-lite-1", "rerank-3"] {
            assert_eq!(asked("/v1/rerank", model), expect(rerank, "/v1/rerank"), "{model}");
        }
    }

    #[test]
    fn calls_of_others_at_the_same_paths_stay_theirs() {
        assert_eq!(asked("/v1/embeddings", "text-embedding-3-small").0, Provider::OPEN_AI);
        for model in ["rerank-v3.5", "rerank-english-v3.0", "rerank-v4.0-pro"] {
            assert_eq!(asked("/v1/rerank", model).0, Provider::COHERE, "{model}");
        }
    }
}
