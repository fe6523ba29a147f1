//! The directory of upstreams that loomrec knows by name: their addresses, their error formats, and
//! the environment variables that make their SDKs call loomrec.
//!
//! An upstream is mounted at `/NAME`; the path after the mount is appended to its base URL
//! unchanged.

mod api_address;
mod host;
mod key_form;
mod known_upstream;
mod own_host;
mod provider_host;
mod upstreams;

use super::credential::{KeyPlacement, UpstreamCredential, bearer, needed};
pub use api_address::ApiAddress;
pub use host::upstream_at;
pub use key_form::ApiKeyForm;
pub use known_upstream::{BaseUrlVariable, KnownUpstream};
use loomrec_identity::QueryRules;
pub use own_host::is_provider_host;
pub use provider_host::{PROVIDER_HOSTS, ProviderHosts};
use upstreams::GEMINI;
pub use upstreams::UPSTREAMS;

/// Two names of one key. Google's SDKs read either, warn if both are set, and then use the second.
/// A placeholder in one of them could thus take precedence over the user's own key.
pub const SAME_KEY: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// Variables with other credentials of known upstreams, and their form. A program may have one of
/// them in place of a key, and does something else if it has both.
pub const OTHER_CREDENTIALS: [(&str, ApiKeyForm); 2] = [
    ("ANTHROPIC_AUTH_TOKEN", ApiKeyForm::token("", 40)),
    ("CLAUDE_CODE_OAUTH_TOKEN", ApiKeyForm::token("sk-ant-oat01-", 108)),
];

/// Returns the variables from which programs read a key or another credential of a known upstream.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    let keys = UPSTREAMS.iter().flat_map(|upstream| upstream.keys.iter().copied());
    keys.chain(OTHER_CREDENTIALS.iter().map(|(name, _)| *name))
}

impl KnownUpstream {
    /// The upstream of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        UPSTREAMS.iter().find(|upstream| upstream.name == name)
    }

    /// The variables from which its SDKs read a key. Of two names of one key, the first.
    pub fn first_key_variables(&self) -> impl Iterator<Item = &'static str> + use<> {
        let [_, second] = SAME_KEY;
        self.keys.iter().copied().filter(move |name| *name != second)
    }

    /// The path in the form that this upstream's own base expects. Anthropic's SDKs share one
    /// variable but disagree on whether its value ends with `/v1`, so both forms are accepted;
    /// every other path is unchanged. Not for a base that the user set, whose paths are the user's.
    pub fn own_path<'a>(&self, path: &'a str) -> std::borrow::Cow<'a, str> {
        if self.name != "anthropic" {
            return path.into();
        }
        match path.strip_prefix("/v1/v1/") {
            Some(rest) => format!("/v1/{rest}").into(),
            None if is_below(path, "/messages") || is_below(path, "/models") => {
                format!("/v1{path}").into()
            }
            None => path.into(),
        }
    }
}

/// The credentials for a request with this path to the upstream of this name; `None` if the name is
/// unknown.
pub fn credential_for(upstream: &str, path: &str) -> Option<UpstreamCredential> {
    // Google's paths in OpenAI's format take the key as OpenAI's SDK sends it.
    if upstream == "gemini" && path.split('/').any(|part| part == "openai") {
        return Some(needed(GEMINI_AS_OPENAI, ""));
    }
    KnownUpstream::find(upstream).map(|known| known.credential)
}

const GEMINI_AS_OPENAI: &[KeyPlacement] = &[bearer(GEMINI)];

/// Whether the answers of the upstream of this name state their cost in US dollars.
pub fn states_cost(upstream: &str) -> bool {
    matches!(upstream, "openrouter" | "perplexity" | "vercel" | "xai")
}

/// Which query parameters are credentials for an upstream of this name, besides those in `named`.
/// An entry that names no upstream may be of any provider.
pub fn query_rules<'a>(upstream: Option<&str>, named: &'a [String]) -> QueryRules<'a> {
    let is_known = upstream.is_none_or(|name| KnownUpstream::find(name).is_some());
    QueryRules { is_known, named }
}

/// The path to append to a base with the path `base`, for the upstream of this name. Anthropic's
/// SDKs share one variable and disagree on whether its value ends with `/v1`, so both forms are
/// accepted; every other path is unchanged.
pub fn sent_path(upstream: &str, path: &str, base: &str) -> String {
    let Some(known) = KnownUpstream::find(upstream) else { return path.to_owned() };
    let path = known.own_path(path);
    let doubled = known.name == "anthropic" && base.trim_end_matches('/').ends_with("/v1");
    let path = if doubled { path.strip_prefix("/v1").unwrap_or(&path) } else { &path };
    path.to_owned()
}

/// The origin (scheme, host and port) of a call as an entry keeps it: `None` if it is the public
/// address of the upstream of this name.
pub fn stored_origin(upstream: &str, origin: &str) -> Option<String> {
    let public = KnownUpstream::find(upstream).and_then(|known| known.base);
    (public != Some(origin)).then(|| origin.to_owned())
}

/// Returns the host at which calls to the upstream of this name are made, from its origin as entries
/// keep it (see [`stored_origin`]). `None` if that is no host of its provider: a gateway, or a server
/// of a test.
pub fn provider_host<'a>(upstream: &str, origin: Option<&'a str>) -> Option<&'a str> {
    let known = KnownUpstream::find(upstream);
    let public = known.and_then(|known| known.base);
    let (_, host) = origin.or(public)?.split_once("://")?;
    // The address of some upstreams is always that of a region or a customer.
    let has_public = known.is_none_or(|known| known.base.is_some());
    let of_provider = ProviderHosts::upstream_at(host)?;
    (of_provider == upstream || !has_public).then_some(host)
}

/// Returns the upstream of a recorded call: the known one of its name or, behind a name that a user
/// made up, the one that its method and path have the form of.
pub fn upstream_of_call(
    name: Option<&str>,
    request: Option<(&str, &str)>,
) -> Option<&'static KnownUpstream> {
    let by_form = || KnownUpstream::find(upstream_for(request?.0, request?.1, &[])?);
    name.and_then(KnownUpstream::find).or_else(by_form)
}

/// Whether the path is this one or below it.
fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The upstream for a bare path (one without a mount), guessed from its form.
pub fn upstream_for(
    method: &str,
    path: &str,
    headers: &[(String, String)],
) -> Option<&'static str> {
    let any = |paths: &[&str]| paths.iter().any(|parent| is_below(path, parent));
    let anthropic = headers.iter().any(|(name, _)| name == "anthropic-version");
    if path.starts_with("/openai/deployments/") {
        return Some("azure");
    }
    if path.contains("/publishers/") && path.contains("/projects/") {
        return Some("vertex");
    }
    if is_below(path, "/v1beta")
        || is_below(path, "/v1/interactions")
        || (method == "POST" && is_google_verb(path))
    {
        return Some("gemini");
    }
    if any(&["/v1/messages", "/v1/v1/messages", "/messages", "/v1/complete"]) {
        return Some("anthropic");
    }
    if anthropic && any(&["/v1", "/models"]) {
        return Some("anthropic");
    }
    if is_bedrock(path) {
        return Some("bedrock");
    }
    if any(&["/v2/chat", "/v2/embed", "/v2/rerank", "/v1/embed", "/v1/rerank"])
        || path == "/v1/chat"
    {
        return Some("cohere");
    }
    if any(&["/v1/sonar"]) {
        return Some("perplexity");
    }
    if any(&["/v1/contextualizedembeddings", "/v1/multimodalembeddings"]) {
        return Some("voyage");
    }
    if any(OLLAMA) {
        return Some("ollama");
    }
    (any(OPENAI)
        || path
            .strip_prefix("/v1")
            .is_some_and(|rest| OPENAI.iter().any(|parent| is_below(rest, parent))))
    .then_some("openai")
}

const OLLAMA: &[&str] = &[
    "/api/chat",
    "/api/generate",
    "/api/embed",
    "/api/embeddings",
    "/api/tags",
    "/api/show",
    "/api/pull",
    "/api/push",
    "/api/create",
    "/api/copy",
    "/api/delete",
    "/api/ps",
    "/api/version",
];

/// OpenAI's resources, with or without `/v1` before them.
const OPENAI: &[&str] = &[
    "/chat/completions",
    "/completions",
    "/responses",
    "/embeddings",
    "/audio",
    "/images",
    "/files",
    "/uploads",
    "/batches",
    "/models",
    "/moderations",
    "/fine_tuning",
    "/vector_stores",
    "/conversations",
    "/videos",
    "/realtime",
    "/assistants",
    "/threads",
    "/evals",
    "/containers",
];

fn is_google_verb(path: &str) -> bool {
    let Some((parent, last)) = path.rsplit_once('/') else {
        return false;
    };
    last.contains(':') && (parent.ends_with("/models") || parent.ends_with("/tunedModels"))
}

fn is_bedrock(path: &str) -> bool {
    let verb = path.strip_prefix("/model/").and_then(|rest| rest.rsplit_once('/'));
    matches!(
        verb,
        Some((
            _,
            "converse"
                | "converse-stream"
                | "invoke"
                | "invoke-with-response-stream"
                | "count-tokens"
        ))
    )
}

#[cfg(test)]
mod tests;
