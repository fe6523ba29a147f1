//! The table rows of Perplexity and its chat, and how its requests are recognised.

use super::{chat, error};
use crate::openai;
use crate::operation::Operation;
use crate::provider_row::{ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::RequestHead;
use crate::row_default::CLOUDFLARE_PAGE;

impl Provider {
    /// Perplexity.
    pub const PERPLEXITY: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `/v1/sonar` of Perplexity, and `/chat/completions` with one of its models
    pub const PERPLEXITY_CHAT: Self = Self::new(&chat::ROW);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "perplexity",
    semantic: Some("perplexity"),
    operations: &[Operation::PERPLEXITY_CHAT],
    recognise,
    target: |seen, _| {
        // A chat keeps the key that it had before Perplexity's answers were supported.
        let is_chat = seen.path.ends_with("/chat/completions") && seen.query.is_empty();
        (!is_chat).then(|| openai::unversioned_path(seen.path).to_owned())
    },
    errors: ErrorRow {
        own: |told| error::own_body(told.named, told.kind, told.status),
        natural: error::natural_body,
        gateway_page: CLOUDFLARE_PAGE,
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

/// Recognises Perplexity's own path, and a chat with one of its models at OpenAI's path.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let is_chat = seen.path.ends_with("/chat/completions") && seen.body_model.is_some_and(is_own);
    let is_own = seen.method == "POST" && (is_chat || seen.path.ends_with("/v1/sonar"));
    is_own.then(|| PathShape::new(Provider::PERPLEXITY, Operation::PERPLEXITY_CHAT))
}

/// Whether a model is Perplexity's own. Resellers prefix its name with `perplexity/`.
fn is_own(model: &str) -> bool {
    model == "sonar" || model.starts_with("sonar-") || model == "r1-1776"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognise_request;

    fn asked(path: &str, model: Option<&str>) -> (Provider, Operation, Option<String>) {
        let seen = RequestHead {
            method: "POST",
            path,
            query: "",
            headers: &[],
            body_model: model,
            body_stream: None,
            has_messages: false,
            rpc: None,
        };
        let call = recognise_request(&seen);
        (call.provider, call.operation, call.target)
    }

    #[test]
    fn perplexitys_chat_is_told_by_its_model_or_by_its_own_path() {
        let own = (Provider::PERPLEXITY, Operation::PERPLEXITY_CHAT, None);
        for model in ["sonar", "sonar-pro", "sonar-deep-research", "r1-1776"] {
            assert_eq!(asked("/chat/completions", Some(model)), own, "{model}");
        }
        let (provider, operation, target) = asked("/v1/sonar", None);
        assert_eq!((provider, operation), (own.0, own.1));
        assert_eq!(target.as_deref(), Some("/sonar"));
        for model in ["gpt-4o", "perplexity/sonar", "sonarqube"] {
            let (provider, ..) = asked("/chat/completions", Some(model));
            assert_eq!(provider, Provider::OPEN_AI, "{model}");
        }
    }
}
