//! The labels of the other tool's metrics of calls: by method, by the pattern of their path, by status.
//!
//! A path is labelled with the pattern of one of its routes, so the number of labels is bounded.

use std::borrow::Cow;

/// Upper bounds of the histogram, in seconds.
pub const BOUNDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Methods with a label of their own. The last one is for any other.
pub const METHODS: [&str; 8] =
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "UNKNOWN"];

/// The status label of an answer that was not sent whole.
pub const DESTROYED: &str = "destroyed";

/// The label of a path that matches no route.
const UNKNOWN: &str = "{unknown}";

/// The patterns of Azure's paths, which are not rewritten.
const AZURE: [&str; 2] =
    ["/openai/deployments/{id}/chat/completions", "/openai/deployments/{id}/embeddings"];

/// Path endings that are counted as OpenAI's route, whatever comes before them.
const ENDINGS: [&str; 9] = [
    "/chat/completions",
    "/embeddings",
    "/responses",
    "/audio/speech",
    "/audio/transcriptions",
    "/audio/translations",
    "/images/generations",
    "/images/edits",
    "/images/variations",
];

/// Patterns, each of which is its own label. The first that matches labels a path.
const ROUTES: &[&str] = &[
    AZURE[0],
    AZURE[1],
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/embeddings",
    "/v1/moderations",
    "/v1/models",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/images/variations",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/realtime",
    "/v1/videos",
    "/v1/videos/generations",
    "/v1/videos/{id}",
    "/v1/batches",
    "/v1/batches/{id}",
    "/v1/batches/{id}/cancel",
    "/v1/files",
    "/v1/files/{id}",
    "/v1/files/{id}/content",
    "/v1/fine_tuning/jobs",
    "/v1/fine_tuning/alpha/graders/run",
    "/v1/fine_tuning/alpha/graders/validate",
    "/v1/fine_tuning/jobs/{id}",
    "/v1/fine_tuning/jobs/{id}/cancel",
    "/v1/fine_tuning/jobs/{id}/events",
    "/v1/fine_tuning/jobs/{id}/pause",
    "/v1/fine_tuning/jobs/{id}/resume",
    "/v1/fine_tuning/jobs/{id}/checkpoints",
    "/v1/fine_tuning/jobs/{id}/{action}",
    "/v1/fine_tuning/checkpoints/{ckpt}/permissions",
    "/v1/fine_tuning/checkpoints/{ckpt}/permissions/{id}",
    "/v1/fine_tuning/checkpoints/{ckpt}/{action}",
    "/v1/fine_tuning/checkpoints/{ckpt}",
    "/v1/text-to-speech/{voice_id}",
    "/v1/voices/{voice_id}",
    "/v1/projects/{p}/locations/{l}/publishers/google/models/{m}:generateContent",
    "/v1/projects/{p}/locations/{l}/publishers/google/models/{m}:streamGenerateContent",
    "/v1/projects/{p}/locations/{l}/publishers/google/models/{m}:{action}",
    "/v1beta/models/{model}:generateContent",
    "/v1beta/models/{model}:streamGenerateContent",
    "/v1beta/models/{model}:embedContent",
    "/v1beta/models/{model}:batchEmbedContents",
    "/v1beta/models/{model}:countTokens",
    "/v1beta/models/{model}:predict",
    "/v1beta/models/{model}:predictLongRunning",
    "/v1beta/models/{model}:{action}",
    "/v1beta/models/{model}",
    "/v1beta/interactions",
    "/model/{modelId}/invoke",
    "/model/{modelId}/invoke-with-response-stream",
    "/model/{modelId}/converse",
    "/model/{modelId}/converse-stream",
    "/v2/chat",
    "/v2/embed",
    "/v2/rerank",
    "/api/chat",
    "/api/generate",
    "/api/embed",
    "/api/tags",
    "/api/v1/models",
    "/api/v1/key",
    "/api/v1/credits",
    "/health",
    "/ready",
    "/search",
];

/// Paths with these prefixes that match no pattern share one label for each prefix.
const OTHERS: [(&str, &str); 3] = [
    ("/v1/batches/", "/v1/batches/{other}"),
    ("/v1/files/", "/v1/files/{other}"),
    ("/v1/fine_tuning/", "/v1/fine_tuning/{other}"),
];

/// The number of labels for paths.
pub const LABELS: usize = ROUTES.len() + OTHERS.len() + 1;

/// Returns the number of a path's label, below [`LABELS`].
pub fn label_number(path: &str) -> usize {
    let path = canonical_path(path);
    let route = ROUTES.iter().position(|route| is_of(route, &path));
    let other = || OTHERS.iter().position(|(below, _)| path.starts_with(below));
    route.or_else(|| Some(ROUTES.len() + other()?)).unwrap_or(LABELS - 1)
}

/// Returns the text of the label with this number.
pub fn label_text(label: usize) -> &'static str {
    let other = || OTHERS.get(label - ROUTES.len()).map(|(_, text)| *text);
    ROUTES.get(label).copied().or_else(other).unwrap_or(UNKNOWN)
}

/// Returns a path as it is rewritten before its route is looked for.
fn canonical_path(path: &str) -> Cow<'_, str> {
    if AZURE.iter().any(|route| is_of(route, path)) {
        return path.into();
    }
    let path = path.strip_prefix("/openai").filter(|rest| rest.starts_with('/')).unwrap_or(path);
    if path.starts_with("/v1/") || path.starts_with("/v2/") {
        return path.into();
    }
    match ENDINGS.iter().find(|ending| path.ends_with(**ending)) {
        Some(ending) => format!("/v1{ending}").into(),
        None => path.into(),
    }
}

/// Whether a path matches a pattern, segment by segment.
fn is_of(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(pattern), Some(segment)) if is_segment_match(pattern, segment) => {}
            _ => return false,
        }
    }
}

/// Whether a segment matches: literally, `{name}` any text, `{name}:REST` a text up to a colon
/// followed by what matches the rest.
fn is_segment_match(pattern: &str, segment: &str) -> bool {
    match pattern.split_once("}:") {
        Some((_, rest)) => {
            let parts = segment.split_once(':');
            parts.is_some_and(|(name, after)| !name.is_empty() && is_segment_match(rest, after))
        }
        None if pattern.starts_with('{') => !segment.is_empty(),
        None => pattern == segment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_labels_of_their_routes() {
        for (path, expected) in [
            ("/v1/chat/completions", "/v1/chat/completions"),
            ("/openai/v1/chat/completions", "/v1/chat/completions"),
            ("/compatible/mode/chat/completions", "/v1/chat/completions"),
            ("/v1/else/chat/completions", UNKNOWN),
            ("/openai/deployments/gpt/chat/completions", AZURE[0]),
            ("/openai/deployments/gpt/responses", "/v1/responses"),
            ("/v1/messages", "/v1/messages"),
            ("/v1beta/models/gemini-2:generateContent", "/v1beta/models/{model}:generateContent"),
            ("/v1beta/models/gemini-2:dream", "/v1beta/models/{model}:{action}"),
            ("/v1beta/models/gemini-2", "/v1beta/models/{model}"),
            ("/model/anthropic.claude:1/converse", "/model/{modelId}/converse"),
            ("/model//converse", UNKNOWN),
            ("/v1/files/file-1", "/v1/files/{id}"),
            ("/v1/files/file-1/2/3", "/v1/files/{other}"),
            ("/v1/fine_tuning/jobs/1/dance", "/v1/fine_tuning/jobs/{id}/{action}"),
            ("/api/chat", "/api/chat"),
            ("/api/embeddings", "/v1/embeddings"),
            ("", UNKNOWN),
            ("/v1/messages/", UNKNOWN),
            ("/\n\"{", UNKNOWN),
        ] {
            assert_eq!(label_text(label_number(path)), expected, "{path}");
        }
    }

    #[test]
    fn every_pattern_is_its_own_label() {
        for route in ROUTES {
            let path = route.replace(['{', '}'], "");
            let path = path.replace(":action", ":else").replace("/action", "/else");
            assert_eq!(label_text(label_number(&path)), *route, "{path}");
        }
    }
}
