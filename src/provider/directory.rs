//! Lists the upstreams that loomrec knows by name: where they are, whose errors
//! they speak, and which environment variables bring their SDKs here.
//!
//! An upstream is mounted at `/NAME`; what follows the mount is appended to its
//! base URL as it came.

mod host;

use super::Provider;
use crate::identity::QueryRules;
pub use host::upstream_at;

/// An upstream known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownUpstream {
    /// Its name, which is also the first segment of its mount.
    pub name: &'static str,
    /// Its public base URL without a trailing slash; `None` where only the user
    /// knows it (a resource's or a region's own host).
    pub base: Option<&'static str>,
    /// The shape its errors take.
    pub provider: Provider,
    /// The variables its SDKs read their base URL from. Those of an upstream
    /// without a base are of use only once its address is known.
    pub variables: &'static [BaseUrlVariable],
    /// The variables its SDKs read a key from and refuse to start without.
    pub keys: &'static [&'static str],
}

/// Two names of one key. Google's SDKs read either, warn where they find both, and then
/// take the second: a stand-in beside the user's own key would take its place.
pub const SAME_KEY: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// An environment variable that holds a base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseUrlVariable {
    /// Its name.
    pub name: &'static str,
    /// What its value has behind loomrec's origin: the mount, and the part of the
    /// path that this SDK expects in its base (`/openai/v1`).
    pub suffix: &'static str,
}

impl KnownUpstream {
    /// The part of a variable's suffix behind the mount (`/v1`, or nothing). A
    /// value the user had set names this upstream's base once it is cut off.
    pub fn tail(&self, variable: &BaseUrlVariable) -> &'static str {
        variable
            .suffix
            .strip_prefix('/')
            .and_then(|suffix| suffix.strip_prefix(self.name))
            .unwrap_or("")
    }
}

const fn var(name: &'static str, suffix: &'static str) -> BaseUrlVariable {
    BaseUrlVariable { name, suffix }
}

/// The upstreams known by name, in a fixed order.
pub const UPSTREAMS: &[KnownUpstream] = &[
    KnownUpstream {
        name: "openai",
        base: Some("https://api.openai.com"),
        provider: Provider::OpenAi,
        variables: &[var("OPENAI_BASE_URL", "/openai/v1"), var("OPENAI_API_BASE", "/openai/v1")],
        keys: &["OPENAI_API_KEY"],
    },
    KnownUpstream {
        name: "anthropic",
        base: Some("https://api.anthropic.com"),
        provider: Provider::Anthropic,
        variables: &[
            var("ANTHROPIC_BASE_URL", "/anthropic"),
            var("ANTHROPIC_API_BASE", "/anthropic"),
        ],
        keys: &["ANTHROPIC_API_KEY"],
    },
    KnownUpstream {
        name: "gemini",
        base: Some("https://generativelanguage.googleapis.com"),
        provider: Provider::Gemini,
        variables: &[
            var("GOOGLE_GEMINI_BASE_URL", "/gemini"),
            var("GEMINI_API_BASE", "/gemini/v1beta"),
        ],
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    },
    KnownUpstream {
        name: "vertex",
        base: None,
        provider: Provider::Gemini,
        variables: &[
            var("GOOGLE_VERTEX_BASE_URL", "/vertex"),
            var("ANTHROPIC_VERTEX_BASE_URL", "/vertex/v1"),
        ],
        keys: &[],
    },
    KnownUpstream {
        name: "azure",
        base: None,
        provider: Provider::OpenAi,
        variables: &[var("AZURE_OPENAI_ENDPOINT", "/azure"), var("AZURE_API_BASE", "/azure")],
        keys: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
    },
    KnownUpstream {
        name: "mistral",
        base: Some("https://api.mistral.ai"),
        provider: Provider::OpenAi,
        // The SDK reads no variable; LiteLLM reads the one for chat, the other else.
        variables: &[
            var("MISTRAL_AZURE_API_BASE", "/mistral/v1"),
            var("MISTRAL_API_BASE", "/mistral/v1"),
        ],
        keys: &["MISTRAL_API_KEY"],
    },
    KnownUpstream {
        name: "cohere",
        base: Some("https://api.cohere.com"),
        provider: Provider::Cohere,
        variables: &[
            var("CO_API_URL", "/cohere"),
            // LiteLLM wants the whole URL here.
            var("COHERE_API_BASE", "/cohere/v2/chat"),
        ],
        keys: &["CO_API_KEY", "COHERE_API_KEY"],
    },
    KnownUpstream {
        name: "groq",
        base: Some("https://api.groq.com"),
        provider: Provider::OpenAi,
        variables: &[var("GROQ_BASE_URL", "/groq"), var("GROQ_API_BASE", "/groq/openai/v1")],
        keys: &["GROQ_API_KEY"],
    },
    KnownUpstream {
        name: "ollama",
        base: Some("http://127.0.0.1:11434"),
        provider: Provider::Ollama,
        variables: &[var("OLLAMA_HOST", "/ollama"), var("OLLAMA_API_BASE", "/ollama")],
        keys: &[],
    },
    KnownUpstream {
        name: "bedrock",
        base: None,
        provider: Provider::Bedrock,
        variables: &[
            var("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "/bedrock"),
            var("AWS_BEDROCK_RUNTIME_ENDPOINT", "/bedrock"),
            var("AWS_BEDROCK_BASE_URL", "/bedrock"),
            var("ANTHROPIC_BEDROCK_BASE_URL", "/bedrock"),
        ],
        // A stand-in for AWS's keys would also hide a profile or a role from
        // every other AWS client of the program.
        keys: &[],
    },
    // Claude in the clouds of others, on Anthropic's own paths.
    KnownUpstream {
        name: "anthropic-mantle",
        base: None,
        provider: Provider::Anthropic,
        variables: &[var("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "/anthropic-mantle")],
        keys: &[],
    },
    KnownUpstream {
        name: "anthropic-aws",
        base: None,
        provider: Provider::Anthropic,
        variables: &[var("ANTHROPIC_AWS_BASE_URL", "/anthropic-aws")],
        keys: &[],
    },
    KnownUpstream {
        name: "anthropic-google-cloud",
        base: None,
        provider: Provider::Anthropic,
        variables: &[var("ANTHROPIC_GOOGLE_CLOUD_BASE_URL", "/anthropic-google-cloud")],
        keys: &[],
    },
    KnownUpstream {
        name: "anthropic-foundry",
        base: None,
        provider: Provider::Anthropic,
        variables: &[var("ANTHROPIC_FOUNDRY_BASE_URL", "/anthropic-foundry")],
        keys: &["ANTHROPIC_FOUNDRY_API_KEY"],
    },
    KnownUpstream {
        name: "openrouter",
        base: Some("https://openrouter.ai"),
        provider: Provider::OpenAi,
        variables: &[var("OPENROUTER_API_BASE", "/openrouter/api/v1")],
        keys: &["OPENROUTER_API_KEY"],
    },
    KnownUpstream {
        name: "deepseek",
        base: Some("https://api.deepseek.com"),
        provider: Provider::OpenAi,
        variables: &[var("DEEPSEEK_API_BASE", "/deepseek")],
        keys: &["DEEPSEEK_API_KEY"],
    },
    KnownUpstream {
        name: "xai",
        base: Some("https://api.x.ai"),
        provider: Provider::OpenAi,
        variables: &[var("XAI_API_BASE", "/xai/v1")],
        keys: &["XAI_API_KEY"],
    },
    KnownUpstream {
        name: "together",
        base: Some("https://api.together.xyz"),
        provider: Provider::OpenAi,
        variables: &[
            var("TOGETHER_BASE_URL", "/together/v1"),
            var("TOGETHER_AI_API_BASE", "/together/v1"),
        ],
        keys: &["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"],
    },
    KnownUpstream {
        name: "fireworks",
        base: Some("https://api.fireworks.ai"),
        provider: Provider::OpenAi,
        variables: &[var("FIREWORKS_API_BASE", "/fireworks/inference/v1")],
        keys: &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"],
    },
];

impl KnownUpstream {
    /// The upstream of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        UPSTREAMS.iter().find(|upstream| upstream.name == name)
    }

    /// The path as this upstream's own base takes it. Anthropic's SDKs share one
    /// variable but disagree on whether its value ends with `/v1`, so both ways
    /// of writing are understood; every other path is left as it came. Not for a
    /// base that the user gave, whose paths are the user's.
    pub fn own_path<'a>(&self, path: &'a str) -> std::borrow::Cow<'a, str> {
        if self.name != "anthropic" {
            return path.into();
        }
        match path.strip_prefix("/v1/v1/") {
            Some(rest) => format!("/v1/{rest}").into(),
            None if under(path, "/messages") || under(path, "/models") => {
                format!("/v1{path}").into()
            }
            None => path.into(),
        }
    }
}

/// Which parameters of a query to an upstream of this name are credentials, beside those
/// that are `named`. An entry that names none may be of any provider.
pub fn query_rules<'a>(upstream: Option<&str>, named: &'a [String]) -> QueryRules<'a> {
    let is_known = upstream.is_none_or(|name| KnownUpstream::find(name).is_some());
    QueryRules { is_known, named }
}

/// The path as the upstream of this name takes it behind a base of this path.
/// Anthropic's SDKs share one variable and disagree on whether its value ends in
/// `/v1`, so both ways are understood; every other path goes on as it came.
pub fn sent_path(upstream: &str, path: &str, base: &str) -> String {
    let Some(known) = KnownUpstream::find(upstream) else { return path.to_owned() };
    let path = known.own_path(path);
    let doubled = known.name == "anthropic" && base.trim_end_matches('/').ends_with("/v1");
    let path = if doubled { path.strip_prefix("/v1").unwrap_or(&path) } else { &path };
    path.to_owned()
}

/// Whether the path is this one or below it.
fn under(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The upstream that a bare path (one without a mount) is meant for, by its shape.
pub fn upstream_for(
    method: &str,
    path: &str,
    headers: &[(String, String)],
) -> Option<&'static str> {
    let any = |paths: &[&str]| paths.iter().any(|parent| under(path, parent));
    let anthropic = headers.iter().any(|(name, _)| name == "anthropic-version");
    if path.starts_with("/openai/deployments/") {
        return Some("azure");
    }
    if path.contains("/publishers/") && path.contains("/projects/") {
        return Some("vertex");
    }
    if under(path, "/v1beta") || (method == "POST" && is_google_verb(path)) {
        return Some("gemini");
    }
    if any(&["/v1/messages", "/v1/v1/messages", "/messages"]) {
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
    if any(OLLAMA) {
        return Some("ollama");
    }
    (any(OPENAI)
        || path
            .strip_prefix("/v1")
            .is_some_and(|rest| OPENAI.iter().any(|parent| under(rest, parent))))
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
